/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * privileges.h - which capabilities xlbd needs and keeps.
 *
 *	CAP_BPF          programs and maps
 *	CAP_NET_ADMIN    XDP on a device, XDP and cgroup programs, the IPVS table, next hops, firewall rules, offloads
 *	CAP_PERFMON      loading without Spectre barriers (faster packets), tracepoint and CO-RE of the IPVS interface; kept, since a
 *	                 reload may load again
 *	CAP_SYS_ADMIN    only to read an IPVS table in another network namespace (keepalived's net_namespace_ipvs): setns(2).
 *	                 Attaching to a cgroup needs CAP_NET_ADMIN alone
 *	CAP_DAC_READ_SEARCH   only if we are not root: keepalived.conf and the bpf and trace file systems are often root's alone
 * Everything else is dropped.
 */
#ifndef XLBD_PRIVILEGES_H
#define XLBD_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>

#define PRIVILEGES_SENTENCE 300

/*
 * Is what is needed there? -EPERM: `ret_sentence` names all that is missing and what for. 0 with a
 * sentence that is not empty: it works, but worse (a warning); "" if all is well.
 */
int privileges_check(bool other_namespace, char ret_sentence[PRIVILEGES_SENTENCE]);
/* Drops everything else for good, from the bounding and ambient sets too where we may. Logs. */
int privileges_drop(bool other_namespace);

#endif
