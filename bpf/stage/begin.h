/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * begin.h - a new connection: may it begin here? Then it gets a real server and a place in the table.
 *
 * What may not begin here passes: IPVS may know the connection, and if not it answers as it always did.
 */
#ifndef XLB_STAGE_BEGIN_H
#define XLB_STAGE_BEGIN_H

#include "connections.h"
#include "lib/tcp_state.h"
#include "maps.h"
#include "packet.h"
#include "stage/choose.h"
#include "stage/flow.h"
#include "stage/source.h"

/* Reasons why no connection begins with this packet. */
static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict choose_allowed(
	const struct xlb_control *state, const struct packet *packet, __u64 now)
{
	if (packet->kind == PACKET_ERROR)
		return XLB_ICMP_UNKNOWN;
	if (packet->service_flags & XLB_SERVICE_GONE)
		return XLB_NOT_OURS;
	if (PACKET_IS_TCP(packet) && (packet->tcp_flags & (TCP_SYN | TCP_RST)) != TCP_SYN)
		return XLB_NO_ENTRY;
	if (packet->service_flags & XLB_SERVICE_DRAIN || state->flags & XLB_CONTROL_BYPASS)
		return XLB_DRAINING;
	if (now - state->heartbeat > state->silence && now > state->heartbeat)
		return XLB_SILENT;
	if (source_is_martian(packet))
		return XLB_MARTIAN;
	return XLB_CONTINUE;
}

/* Puts the connection into the table; who comes second with the same key gets the first one's real server. */
static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict flow_claim(
	const struct xlb_control *state, struct packet *packet, __u32 now)
{
	__u32 phase = PACKET_IS_TCP(packet)
	                      ? tcp_next_phase(XLB_PHASE_FREE, packet->tcp_flags, TCP_CLIENT)
	                      : XLB_PHASE_DATAGRAM;
	__u64 fresh = TABLE_STATE(phase, now, 0, packet->real), found = 0;
	int result = packet->ipv6 ? connection_insert_wide(flow_key_wide(packet), state, fresh, now,
	                                                   &found)
	                          : connection_insert_narrow(flow_key_narrow(packet), state, fresh,
	                                                     now, &found);

	if (result == TABLE_REFUSED)
		return XLB_TABLE_FULL;
	if (result == TABLE_BUSY)
		return XLB_DROP_BUSY;
	if (result == TABLE_FOUND)
		packet->real = TABLE_REAL(found);
	return XLB_CONTINUE;
}

static __always_inline void service_count(const struct packet *packet, enum xlb_verdict verdict)
{
	__u32 id = packet->service;
	struct xlb_service_counters *counters = bpf_map_lookup_elem(&service_counters, &id);

	if (!counters)
		return;
	if (verdict == XLB_NO_REAL)
		counters->no_real++;
	else if (verdict == XLB_TABLE_FULL)
		counters->refused++;
}

static __always_inline void real_count_connection(__u32 id)
{
	struct xlb_real_counters *counters = bpf_map_lookup_elem(&real_counters, &id);

	if (counters)
		counters->connections++;
}

/* What is counted when a connection began with `chosen`, or did not. */
static __always_inline void begin_count(struct packet *packet, __u32 chosen,
                                        enum xlb_verdict verdict)
{
	if (verdict != XLB_CONTINUE) {
		packet->real = 0;
		service_count(packet, verdict);
	} else if (packet->real == chosen) {
		real_count_connection(chosen);
	}
}

/* Allowed, chosen, in the table. Global: what it needs of the stack is not everybody's. */
__noinline int connection_begin(const struct xlb_control *state, struct packet *packet, __u64 now)
{
	enum xlb_verdict verdict;
	__u32 chosen;

	if (!state || !packet)
		return XLB_DROP_BUSY;
	verdict = choose_allowed(state, packet, now);
	if (verdict != XLB_CONTINUE)
		return verdict;
	packet->real = chosen = real_choose(packet);
	verdict = chosen ? flow_claim(state, packet, now & (TABLE_TICKS - 1)) : XLB_NO_REAL;
	begin_count(packet, chosen, verdict);
	return verdict;
}

/* The same on a finished connection's ports: the slot stays, its word gets a new life. */
static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict connection_reopen(
	const struct xlb_control *state, struct packet *packet, __u64 now, struct connection *hit)
{
	enum xlb_verdict verdict = choose_allowed(state, packet, now);
	__u32 tick = now & (TABLE_TICKS - 1), chosen;
	__u64 fresh;

	if (verdict != XLB_CONTINUE)
		return verdict;
	packet->real = chosen = real_choose(packet);
	fresh = TABLE_STATE(XLB_PHASE_SYN,
	                    TABLE_OLDER(hit->state, tick) ? tick : TABLE_TIME(hit->state), 0,
	                    chosen);
	verdict = !chosen                         ? XLB_NO_REAL
	          : connection_update(hit, fresh) ? XLB_CONTINUE
	                                          : XLB_DROP_BUSY;
	begin_count(packet, chosen, verdict);
	return verdict;
}

#endif
