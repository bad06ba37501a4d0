/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netlink.h - reads the kernel's IPVS table over generic netlink.
 */
#ifndef XLBD_IPVS_NETLINK_H
#define XLBD_IPVS_NETLINK_H

#include "xlbd/ipvs/timeouts.h"
#include "xlbd/model/service.h"

struct ipvs_netlink; /* opaque */

/*
 * netns: name under /run/netns, or a path with a slash, where the table lives (keepalived's net_namespace_ipvs); NULL: ours.
 * The calling thread is back in its own namespace afterwards. -ENOENT: this kernel has no IPVS (module not
 * loaded; we never load it); -ENXIO: no such network namespace; -EPERM: no CAP_NET_ADMIN of the initial user namespace.
 */
int ipvs_netlink_open(const char *netns, struct ipvs_netlink **ret);
struct ipvs_netlink *ipvs_netlink_close(struct ipvs_netlink *ipvs); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct ipvs_netlink, ipvs_netlink_close)

/*
 * The whole table, services in the kernel's order, reals newest first, both families, fwmark services too. Dumps can skip
 * or repeat entries while the table changes, so it reads until two agree (that of the call before counts), at most 5
 * times; then the last counts and *ret_unstable is set. -EIO, -EBADMSG, -ENOBUFS, -E2BIG, -ENOMEM, -ENOENT (module gone),
 * -ENXIO (namespace gone): nothing returned. After any of these call it again: it starts afresh.
 */
int ipvs_netlink_read(struct ipvs_netlink *ipvs, struct service_set **ret, bool *ret_unstable);
int ipvs_netlink_timeouts(struct ipvs_netlink *ipvs, struct ipvs_timeouts *ret);

#endif
