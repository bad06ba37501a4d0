// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tunnels.c - the template of what goes around packets to a real server behind a tunnel.
 *
 * Everything of the outer headers that does not depend on the packet is written here, once, in the order of the wire; the data
 * plane (bpf/stage/tunnel.h) copies it and puts the rest in. So there is one routine per packet, whatever the kind of
 * tunnel and the families. apply.c makes a template when a real server comes, reals.c gives it the source address
 * that the route to the real server prefers, as the kernel would choose it.
 *
 * Which tunnels are offered at all is the judge's business.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "xlbd/dataplane/tunnels.h"
#include "xlbd/model/addr.h"

#define GRE_BYTES 4
#define GUE_BYTES 12   /* its UDP header included */
#define LEAST     576u /* must fit into a tunnel: what every host takes in one piece (RFC 791) */

static const uint16_t ether_type[] = {0x0800, 0x86dd}; /* of the inner packet, by family */

static uint8_t inner_protocol(bool ipv6)
{
	return ipv6 ? IPPROTO_IPV6 : IPPROTO_IPIP;
}

static uint8_t outer_protocol(const struct xlb_tunnel *tunnel, bool inner_ipv6)
{
	switch (tunnel->kind) {
	case XLB_TUNNEL_GUE:
		return IPPROTO_UDP;
	case XLB_TUNNEL_GRE:
		return IPPROTO_GRE;
	default:
		return inner_protocol(inner_ipv6);
	}
}

/* The IPv4 header's sum of 16-bit words, without what packets put in. */
static uint32_t sum_ipv4(const struct xlb_tunnel *tunnel)
{
	uint32_t sum = 0;

	for (int i = 0; i < 5; i++)
		sum += (ntohl(tunnel->ip[i]) >> 16) + (ntohl(tunnel->ip[i]) & 0xffff);
	return sum;
}

static void set_address(struct xlb_tunnel *tunnel, const struct xlb_addr *addr, bool source)
{
	if (tunnel->ipv6)
		memcpy(&tunnel->ip[source ? 2 : 6], addr, sizeof(*addr));
	else
		tunnel->ip[source ? 3 : 4] = addr_ipv4(addr);
}

struct xlb_tunnel tunnel_make(const struct real_server *real, bool inner_ipv6)
{
	struct xlb_tunnel tunnel = {.kind = real->tunnel_type, .ipv6 = !addr_is_ipv4(&real->addr)};
	uint8_t protocol = outer_protocol(&tunnel, inner_ipv6);

	tunnel.length = tunnel.ipv6 ? 40 : 20;
	if (tunnel.kind == XLB_TUNNEL_GRE) {
		tunnel.length += GRE_BYTES;
		tunnel.shim[0] = htonl(ether_type[inner_ipv6]);
	} else if (tunnel.kind == XLB_TUNNEL_GUE) {
		tunnel.length += GUE_BYTES;
		tunnel.shim[0] = htonl(real->tunnel_port);
		tunnel.shim[2] = htonl((uint32_t)inner_protocol(inner_ipv6) << 16);
	}
	tunnel.ip[0] = htonl(tunnel.ipv6 ? 0x60000000 : 0x45000000);
	if (tunnel.ipv6)
		tunnel.ip[1] = htonl((uint32_t)protocol << 8);
	else
		tunnel.ip[2] = htonl((uint32_t)protocol << 16);
	set_address(&tunnel, &real->addr, false);
	return tunnel;
}

bool tunnel_set_source(struct xlb_tunnel *tunnel, const struct xlb_addr *source)
{
	if (addr_is_zero(source) || addr_is_ipv4(source) == (bool)tunnel->ipv6)
		return false;
	set_address(tunnel, source, true);
	if (!tunnel->ipv6)
		tunnel->sum = sum_ipv4(tunnel);
	return true;
}

const char *tunnel_problem(const struct real_server *real, const struct xlb_addr *source,
                           uint32_t mtu)
{
	struct xlb_tunnel tunnel = tunnel_make(real, false);

	if (!tunnel_set_source(&tunnel, source))
		return "the route to it has no source address for the tunnel";
	if (!tunnel_fits(&tunnel, mtu))
		return "the MTU of the route to it leaves no room in the tunnel";
	return NULL;
}

bool tunnel_fits(const struct xlb_tunnel *tunnel, uint32_t mtu)
{
	return mtu >= tunnel->length + LEAST;
}
