// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * unwrap.bpf.c - a real server's end of a tunnel, for kernels without the module: takes ipip, GRE and GUE (port 6080) off.
 *
 * Written from the RFCs and not from the director's code. Everything else passes as it is.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define GUE_PORT 6080

/* Bytes between the outer header and the packet inside, and what that is; 0: no tunnel. */
static __always_inline int look_inside(void *l4, void *end, __u8 protocol, __u16 *ret_type)
{
	struct udphdr *udp = l4;
	__be16 *gre = l4;
	__u8 *gue = (void *)(udp + 1);

	*ret_type = 0;
	if (protocol == IPPROTO_IPIP)
		*ret_type = ETH_P_IP;
	if (protocol == IPPROTO_IPV6)
		*ret_type = ETH_P_IPV6;
	if (protocol == IPPROTO_GRE && (void *)(gre + 2) <= end && gre[0] == 0) {
		*ret_type = bpf_ntohs(gre[1]);
		return 4;
	}
	if (protocol == IPPROTO_UDP && (void *)(gue + 4) <= end &&
	    udp->dest == bpf_htons(GUE_PORT) && gue[0] == 0) {
		*ret_type = gue[1] == IPPROTO_IPIP ? ETH_P_IP : ETH_P_IPV6;
		return sizeof(*udp) + 4;
	}
	return 0;
}

SEC("xdp")
int unwrap(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data, saved;
	struct ipv6hdr *six = (void *)(eth + 1);
	struct iphdr *ip = (void *)(eth + 1);
	int outer, between;
	__u16 type = 0;

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP) && ip->ihl == 5) {
		outer = sizeof(*ip);
		between = look_inside(ip + 1, end, ip->protocol, &type);
	} else if (eth->h_proto == bpf_htons(ETH_P_IPV6) && (void *)(six + 1) <= end) {
		outer = sizeof(*six);
		between = look_inside(six + 1, end, six->nexthdr, &type);
	} else {
		return XDP_PASS;
	}
	if (!type)
		return XDP_PASS;
	saved = *eth;
	saved.h_proto = bpf_htons(type);
	if (bpf_xdp_adjust_head(ctx, outer + between))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	if (data + sizeof(saved) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	*(struct ethhdr *)data = saved;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
