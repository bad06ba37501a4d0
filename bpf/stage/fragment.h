/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fragment.h - later fragments follow their first one, which has the ports.
 *
 * A fragment that overtakes its first one passes: the kernel cannot make a packet of it without the first,
 * so it answers nothing.
 */
#ifndef XLB_STAGE_FRAGMENT_H
#define XLB_STAGE_FRAGMENT_H

#include "lib/tcp_state.h"
#include "maps.h"
#include "packet.h"

static __always_inline void fragment_key_make(const struct packet *packet, struct fragment_key *key)
{
	key->source = packet->client;
	key->dest = packet->to.addr;
	key->id = packet->fragment_id;
	key->protocol = packet->to.protocol;
}

/* Global functions both: few packets come here, and the key need not lie on everybody's stack. */
__noinline int fragment_remember(const struct packet *packet)
{
	struct fragment fragment = {};
	struct fragment_key key = {};

	if (!packet)
		return XLB_CONTINUE;
	fragment.real = packet->real;
	fragment.service = packet->service;
	fragment.side = packet->side;
	fragment_key_make(packet, &key);
	if (packet->side == TCP_SERVER) { /* turned: on the wire they stand the other way round */
		key.source = packet->to.addr;
		key.dest = packet->client;
	}
	bpf_map_update_elem(&fragments, &key, &fragment, BPF_ANY);
	return XLB_CONTINUE;
}

__noinline int fragment_find(struct packet *packet)
{
	struct fragment_key key = {};
	struct fragment *fragment;

	if (!packet)
		return XLB_FRAGMENT;
	fragment_key_make(packet, &key);
	fragment = bpf_map_lookup_elem(&fragments, &key);
	if (!fragment)
		return XLB_FRAGMENT;
	packet->real = fragment->real;
	packet->service = fragment->service;
	packet->side = fragment->side;
	if (packet->side == TCP_SERVER)
		packet_turn(packet);
	return XLB_CONTINUE;
}

#endif
