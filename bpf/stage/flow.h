/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow.h - a connection that the table knows: its real server, its state moved on.
 *
 * The states are IPVS's (lib/tcp_state.h): of a real server behind NAT this is the client's half, the other is reply.h's; of others the
 * client's side is all that a director sees. A connection over its timeout is freed here and counts as unknown, so a late sweep
 * changes nothing that a client could see.
 */
#ifndef XLB_STAGE_FLOW_H
#define XLB_STAGE_FLOW_H

#include "connections.h"
#include "lib/tcp_state.h"
#include "maps.h"
#include "packet.h"

static __always_inline __u64 flow_key_narrow(const struct packet *packet)
{
	return table_narrow_key(packet->client.word[3], packet->client_port, packet->service);
}

static __always_inline struct wide_key flow_key_wide(const struct packet *packet)
{
	return table_wide_key(&packet->client, packet->client_port, packet->service, 0);
}

static __always_inline bool flow_lookup(const struct packet *packet, __u64 seed,
                                        struct connection *hit)
{
	struct wide_key wide;

	if (!packet->ipv6)
		return connection_find_narrow(flow_key_narrow(packet), seed, hit);
	wide = flow_key_wide(packet);
	return connection_find_wide(&wide, seed, hit);
}

static __always_inline bool flow_expired(const struct xlb_control *state, __u64 word, __u32 now)
{
	return TABLE_EXPIRED(word, now, state->timeout[TABLE_PHASE(word) & (XLB_PHASES - 1)]);
}

/* The word after this packet: phase moved on, time set when a tick has passed. */
static __always_inline __u64 flow_advance(__u64 word, const struct packet *packet, __u32 now)
{
	if (PACKET_IS_TCP(packet) && packet->kind != PACKET_ERROR)
		word = TABLE_WITH_PHASE(
			word, tcp_next_phase(TABLE_PHASE(word), packet->tcp_flags, packet->side));
	return TABLE_OLDER(word, now) ? TABLE_WITH_TIME(word, now) : word;
}

/* Does this packet begin another connection on a finished one's ports? (conn_reuse_mode 1) */
static __always_inline bool flow_is_reopened(__u64 word, const struct packet *packet)
{
	__u32 phase = TABLE_PHASE(word);

	return PACKET_IS_TCP(packet) && packet->kind != PACKET_ERROR &&
	       (packet->tcp_flags & (TCP_SYN | TCP_RST)) == TCP_SYN &&
	       (phase == XLB_PHASE_CLOSE || phase == XLB_PHASE_TIME_WAIT);
}

/* What a removed real server means for a packet of its connection. */
static __always_inline enum xlb_verdict flow_real_gone(const struct xlb_control *state)
{
	/* expire_nodest_conn: as if the connection were unknown */
	return state->flags & XLB_CONTROL_EXPIRE_NODEST ? XLB_CONTINUE : XLB_DROP_REAL_GONE;
}

/*
 * Moves the word on. Another CPU may do so at the same time: read and decide again, three times; then a time stamp may get lost.
 * False: the word is not the connection's any more.
 */
static __always_inline bool flow_touch(const struct packet *packet, __u32 now,
                                       struct connection *hit)
{
	__u32 id = TABLE_REAL(hit->state);

	for (int i = 0; i < 3; i++) {
		__u64 word = flow_advance(hit->state, packet, now);

		if (word == hit->state || connection_update(hit, word))
			return true;
		if (!TABLE_LIVE(hit->state) || TABLE_REAL(hit->state) != id)
			return false;
	}
	return true;
}

/* The same for a connection that has just moved to the larger table: what this packet says must not get lost. */
__noinline int flow_touch_moved(const struct xlb_control *state, const struct packet *packet,
                                __u32 now)
{
	struct connection hit = {};

	if (!state || !packet)
		return false;
	return flow_lookup(packet, state->seed, &hit) && TABLE_REAL(hit.state) == packet->real &&
	       flow_touch(packet, now, &hit);
}

/*
 * Fills packet->real for a known connection; 0 left: unknown, *hit->word NULL; a finished connection that a SYN opens again
 * leaves packet->real 0 and *hit set, so that the caller updates that slot instead of claiming another.
 */
static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict flow_find(
	const struct xlb_control *state, struct packet *packet, __u32 now, struct connection *hit)
{
	struct xlb_real *real;
	__u32 id;

	if (!flow_lookup(packet, state->seed, hit))
		goto unknown;
	if (flow_expired(state, hit->state, now)) {
		connection_free(hit, now);
		goto unknown;
	}
	id = TABLE_REAL(hit->state);
	real = bpf_map_lookup_elem(&reals, &id);
	if (!real)
		goto unknown;
	if (packet->service_flags & XLB_SERVICE_GONE)
		return XLB_DROP_SERVICE_GONE;
	if (real->flags & XLB_REAL_GONE) {
		enum xlb_verdict verdict = flow_real_gone(state);

		if (verdict == XLB_CONTINUE)
			connection_free(hit, now);
		hit->word = 0;
		return verdict;
	}
	if (flow_is_reopened(hit->state, packet))
		return XLB_CONTINUE;
	packet->side = real->flags & XLB_REAL_NAT ? TCP_CLIENT : TCP_CLIENT_ONLY;
	packet->real = id;
	if (!flow_touch(packet, now, hit) && TABLE_GROWS)
		flow_touch_moved(state, packet, now);
	return XLB_CONTINUE;
unknown:
	hit->word = 0;
	return XLB_CONTINUE;
}

#endif
