/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sysctls.h - net.ipv4.vs.* of this network namespace, as far as the data plane has to honour or to mind them.
 */
#ifndef XLBD_SYSCTLS_H
#define XLBD_SYSCTLS_H

#include <stdbool.h>
#include <stddef.h>

#define SYSCTLS_FOLDER "/proc/sys/net/ipv4/vs"

/* Name in the folder, what the kernel starts with. -1 as a value: an unreadable number. */
#define SYSCTLS(S)                      \
	S(conntrack, 0)                 \
	S(secure_tcp, 0)                \
	S(drop_entry, 0)                \
	S(drop_packet, 0)               \
	S(schedule_icmp, 0)             \
	S(cache_bypass, 0)              \
	S(sloppy_tcp, 0)                \
	S(backup_only, 0)               \
	S(expire_nodest_conn, 0)        \
	S(expire_quiescent_template, 0) \
	S(conn_reuse_mode, 1)           \
	S(pmtu_disc, 1)

struct sysctls {
#define S(name, value) int name;
	SYSCTLS(S)
#undef S
};

void sysctls_defaults(struct sysctls *ret);
/*
 * Reads `folder` over `defaults`: what is not there keeps its default. Returns how many were there (0: this kernel has no
 * IPVS, or it is not loaded). What is there but is no number, or cannot be read, counts as -1: not 0, so
 * that who asks "is it off?" hears no.
 */
size_t sysctls_read(const char *folder, const struct sysctls *defaults, struct sysctls *ret);

/* Whether this network namespace forwards packets of the family: ip_forward, or conf/all/forwarding. */
bool sysctls_forward(int family);

#endif
