/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source.h - source addresses that no client has: what the kernel calls martian, and this host's own.
 */
#ifndef XLB_STAGE_SOURCE_H
#define XLB_STAGE_SOURCE_H

#include "lib/addr.h"
#include "maps.h"
#include "packet.h"

/* Global: the address that Linux 6.1 wants on the stack as a key need not lie there for all that is called behind it. */
__noinline int source_is_martian(const struct packet *packet)
{
	struct xlb_addr client;

	if (!packet)
		return true;
	client = packet->client;
	return addr_is_martian_source(&client) || bpf_map_lookup_elem(&locals, &client);
}

#endif
