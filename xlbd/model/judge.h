/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge.h - what is declared, joined with what is in force, and for each virtual server: who serves it, and why. Pure.
 *
 * "The same answer as IPVS, or hands off": everything that the data plane cannot do exactly as IPVS is a reason, in
 * words. One rule is one row of a table. What has to be asked of the system (firewall, sysctls, roles,
 * devices) is asked before and handed in.
 */
#ifndef XLBD_MODEL_JUDGE_H
#define XLBD_MODEL_JUDGE_H

#include "xlbd/model/service.h"

/* What the world outside says about one service; asked by judge() per service that is in force. */
struct judge_world {
	bool kernel_ipvs;  /* IPVS stands underneath: what XDP cannot do is its; else unserved */
	bool all_services; /* xlbd.yaml `services: all` */
	bool mh_exact;     /* maglev_size is the kernel's */
	size_t mh_size;
	/* net.ipv4.vs.*, as the kernel or xlbd.yaml has them. schedule_icmp and cache_bypass are no reason for any
	 * service that XDP takes (unknown ICMP errors pass; firewall marks stay with IPVS), backup_only is the daemon's business. */
	int conntrack, secure_tcp, drop_entry, drop_packet, schedule_icmp, cache_bypass, sloppy_tcp,
		backup_only;
	void *context;
	bool forwards_ipv4, forwards_ipv6; /* sysctls ip_forward and forwarding: NAT needs them */
	/* Each may be NULL. */
	/* Sentence why packets of the service do not reach INPUT's ACCEPT for every source, or NULL. */
	const char *(*firewall)(void *context, const struct service *service);
	/* Whether this director owns the address now; *ret_instance: VRRP instance or NULL. */
	bool (*owns)(void *context, const struct service *service, const char **ret_instance);
	/* Whether the address is one of this host's own. */
	bool (*is_local)(void *context, const struct xlb_addr *addr);
	/* Sentence why the real server cannot be reached by XDP (no route, no program on that device), or NULL. */
	const char *(*route)(void *context, const struct real_server *real);
	/* Whether an operator switched the service off by hand (xlbctl bypass). */
	bool (*bypassed)(void *context, const struct service *service);
	/* Whether a service that is in force was declared, and in force, the last time. */
	bool (*declared_before)(void *context, const struct xlb_service_key *key);
	/*
	 * The last weight that was not 0, from before; 0: not known; -1: none, the real server was seen being added
	 * with weight 0 (IPVS gives such a one no places until it gets a weight).
	 */
	int32_t (*last_weight)(void *context, const struct service *service,
	                       const struct real_server *real);
	/* Sentence why keepalived may have made something else of the declaration than the reader did, or NULL. */
	const char *(*doubt)(void *context, const struct service *service);
};

/*
 * Joins and judges. Order: as declared, then what is only in force. Every service that is declared or in force is in the result, once, `side` and `reason` filled;
 * fields of what is in force win, names and origins come from the declaration. declared may be NULL (no readable
 * keepalived.conf). What is declared but not in force is SIDE_UNSERVED whatever the kernel has: nobody forwards it.
 * `standby` says who owns the address, whatever the side. -ENOMEM; -E2BIG: more than SERVICES_MAX in all.
 */
int judge(const struct service_set *declared, const struct service_set *in_force,
          const struct judge_world *world, struct service_set **ret);

#endif
