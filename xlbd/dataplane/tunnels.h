/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tunnels.h - the template of what goes around packets to a real server behind a tunnel. Pure.
 */
#ifndef XLBD_DATAPLANE_TUNNELS_H
#define XLBD_DATAPLANE_TUNNELS_H

#include <stdbool.h>

#include "xlbd/model/service.h"

/*
 * For packets of a family (inner_ipv6) to `real`, whose method is TUN; the source address is not known yet: tunnel_set_source().
 * As the kernel writes it: RFC 2003, 2473 (ipip), 2784 (GRE), draft-ietf-intarea-gue variant 0 (GUE), no checksums but IPv4's own.
 */
struct xlb_tunnel tunnel_make(const struct real_server *real, bool inner_ipv6);
/* Sentence why no packet can go through: the route's source address and MTU do not do; NULL: they do. */
const char *tunnel_problem(const struct real_server *real, const struct xlb_addr *source,
                           uint32_t mtu);
/* The outer source address; false: not of the outer family, or no address at all. */
bool tunnel_set_source(struct xlb_tunnel *tunnel, const struct xlb_addr *source);
/* Whether a route of this MTU has room for the tunnel and something in it. */
bool tunnel_fits(const struct xlb_tunnel *tunnel, uint32_t mtu);

#endif
