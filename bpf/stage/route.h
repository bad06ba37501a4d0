/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * route.h - the way to a client, for answers that this host rewrites: the kernel's, by bpf_fib_lookup(), as IPVS routes an answer anew.
 *
 * A rewritten packet can not be handed to the kernel's forwarding: its source is an address of this host, which is martian on a
 * wire. So without a known next hop it is dropped and counted.
 */
#ifndef XLB_STAGE_ROUTE_H
#define XLB_STAGE_ROUTE_H

#include "maps.h"
#include "packet.h"
#include "stage/nat.h"

#define ROUTE_AF_INET  2
#define ROUTE_AF_INET6 10

/* The way to the client, in the form of a real server's link-layer part. `packet` is turned. */
static __always_inline enum xlb_verdict route_to_client(struct xdp_md *ctx,
                                                        const struct packet *packet,
                                                        const struct xlb_service_key *source,
                                                        struct xlb_real *ret)
{
	struct bpf_fib_lookup route = {.family = packet->ipv6 ? ROUTE_AF_INET6 : ROUTE_AF_INET,
	                               .l4_protocol = packet->to.protocol,
	                               .tot_len = packet->length,
	                               .ifindex = ctx->ingress_ifindex};
	struct xlb_way *way;
	long result;
	__u32 device;

	if (packet->ipv6) {
		nat_put_addr(route.ipv6_src, &source->addr);
		nat_put_addr(route.ipv6_dst, &packet->client);
	} else {
		route.ipv4_src = source->addr.word[3];
		route.ipv4_dst = packet->client.word[3];
	}
	result = bpf_fib_lookup(ctx, &route, sizeof(route), 0);
	if (result == BPF_FIB_LKUP_RET_FRAG_NEEDED)
		return XLB_DROP_TOO_BIG;
	if (result == BPF_FIB_LKUP_RET_FWD_DISABLED)
		return XLB_NOT_OURS; /* as IPVS: this host forwards nothing */
	device = route.ifindex;
	way = bpf_map_lookup_elem(&ways, &device);
	if (result != BPF_FIB_LKUP_RET_SUCCESS || !way)
		return XLB_DROP_NO_WAY;
	__builtin_memcpy(ret->dmac, route.dmac, sizeof(ret->dmac));
	__builtin_memcpy(ret->smac, route.smac, sizeof(ret->smac));
	__builtin_memcpy(ret->tpid, way->tpid, sizeof(ret->tpid));
	__builtin_memcpy(ret->tci, way->tci, sizeof(ret->tci));
	ret->ifindex = way->ifindex;
	ret->exit = way->exit;
	return XLB_CONTINUE;
}

#endif
