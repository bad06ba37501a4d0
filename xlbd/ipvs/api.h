/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api.h - the IPVS table that bpf/ipvs_api.bpf.c keeps, where the kernel has none.
 */
#ifndef XLBD_IPVS_API_H
#define XLBD_IPVS_API_H

#include "xlbd/ipvs/timeouts.h"
#include "xlbd/model/service.h"

struct ipvs_api; /* opaque */

struct ipvs_api_options {
	const char *
		pin_folder; /* on a bpffs, made if missing; programs and table outlive the daemon there */
	const char *cgroup; /* where to attach; NULL: the root of the cgroup2 mount */
	const char *
		netns; /* as for ipvs_netlink_open(): keepalived's net_namespace_ipvs; NULL: ours */
};

/*
 * Loads and attaches, or takes over what is pinned: the table stays, the programs become ours. The interface serves one network
 * namespace, no other: commands count that come by a socket made there. Does not log: ipvs_api_problem() has the sentence.
 * -EEXIST: the kernel has IPVS, or will: the module is installed; -ENODEV: no cgroup2; -EBADF: pin_folder is not on a bpffs; -ENXIO: no such network namespace; -EXDEV, -ESTALE: what is
 * pinned is of another namespace, of another layout; -EPERM; -EOPNOTSUPP: not on this kernel.
 */
int ipvs_api_open(const struct ipvs_api_options *options, struct ipvs_api **ret);
/* What an error of ipvs_api_open() means, for a person. */
const char *ipvs_api_problem(int error);
/* Leaves everything pinned and attached. */
struct ipvs_api *ipvs_api_close(struct ipvs_api *api);
DEFINE_CLEANUP(struct ipvs_api, ipvs_api_close)
/* Takes everything away: programs detached, pins removed. ipvs_api_close() it afterwards. */
int ipvs_api_detach(struct ipvs_api *api);
/* The same for what a daemon left behind; 0 too if there is nothing. */
int ipvs_api_remove(const char *pin_folder);

/* The table, as ipvs_netlink_read() gives the kernel's: services oldest first, reals newest first. -ENXIO: its network namespace is gone. */
int ipvs_api_read(struct ipvs_api *api, struct service_set **ret);
int ipvs_api_timeouts(struct ipvs_api *api, struct ipvs_timeouts *ret);

/*
 * Statistics of one real server, for SERVICES, SERVICE and DESTS: totals that only grow, and how many connections there are now. The
 * service's own are added up from them; rates are estimated; ZERO is followed. Once a second is often enough. -ENOENT:
 * not in the table (any more).
 */
struct ipvs_api_stats {
	uint64_t connections, packets, bytes;
	uint32_t active, inactive;
};
int ipvs_api_write_stats(struct ipvs_api *api, const struct service *service,
                         const struct real_server *real, const struct ipvs_api_stats *stats);
/* Counts of what the interface had to refuse or to cut short, for `xlbctl vip` and the log. */
struct ipvs_api_counts {
	uint64_t refused, denied, truncated, unanswerable;
};
int ipvs_api_counts(struct ipvs_api *api, struct ipvs_api_counts *ret);

#endif
