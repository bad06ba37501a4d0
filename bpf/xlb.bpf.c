// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xlb.bpf.c - the data plane's entry, and the order of its stages; nothing else.
 *
 * A frame becomes a struct packet (stage/read.h), finds its virtual server (service.h), its connection (flow.h) or a
 * real server for a new one (begin.h, choose.h), and leaves (forward.h), or its sender is told why not (refuse.h); or it is an answer
 * of a NAT real server (reply.h). Each stage returns XLB_CONTINUE or the verdict that
 * ends the way; every verdict is counted under its name (count.h).
 *
 * The program decides alone: no packet waits for the daemon. It attaches to every device that packets of virtual servers
 * may come in by, native where the driver can, and handles frames in several buffers (xdp.frags).
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "settings.h"

#include "connections.h"
#include "maps.h"
#include "packet.h"
#include "stage/begin.h"
#include "stage/count.h"
#include "stage/flow.h"
#include "stage/forward.h"
#include "stage/fragment.h"
#include "stage/read.h"
#include "stage/reply.h"
#include "stage/service.h"

/* A packet with ports: which virtual server, which connection, which real server. */
static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict packet_direct(
	struct xdp_md *ctx, const struct xlb_control *state, struct packet *packet)
{
	struct connection hit = {};
	__u64 now = bpf_jiffies64() >> tick_shift;
	enum xlb_verdict verdict;

	verdict = service_find(ctx, state, packet);
	if (verdict == XLB_NOT_OURS && state->flags & XLB_CONTROL_NAT)
		verdict = reply_direct(ctx, state, packet, now & (TABLE_TICKS - 1));
	else if (verdict == XLB_CONTINUE)
		verdict = flow_find(state, packet, now & (TABLE_TICKS - 1), &hit);
	if (verdict == XLB_CONTINUE && !packet->real)
		verdict = hit.word ? connection_reopen(state, packet, now, &hit)
		                   : connection_begin(state, packet, now);
	if (verdict == XLB_CONTINUE && packet->kind == PACKET_FIRST)
		verdict = fragment_remember(packet);
	return verdict;
}

SEC("xdp.frags")
int xlb_ingress(struct xdp_md *ctx)
{
	struct packet packet = {};
	struct xlb_control *state;
	enum xlb_verdict verdict = packet_read(ctx, &packet);

	/* a key of 0 that lies on the stack anyway: nobody has a real server yet */
	state = bpf_map_lookup_elem(&control, &packet.real);
	if (!state)
		return XDP_PASS;
	if (verdict == XLB_CONTINUE)
		verdict = packet.kind == PACKET_FOLLOWER ? fragment_find(&packet)
		                                         : packet_direct(ctx, state, &packet);
	if (verdict == XLB_CONTINUE)
		verdict = packet.side == TCP_SERVER ? reply_send(ctx, &packet)
		                                    : packet_forward(ctx, &packet);
	return verdict_count(&packet, verdict);
}

/* The daemon asks what tick it is, and lets its heart beat: one system call, no packet. */
__u64 clock_answer;

SEC("syscall")
int xlb_clock(void *ctx)
{
	(void)ctx;
	clock_answer = bpf_jiffies64() >> tick_shift;
	return 0;
}

SEC("syscall")
int xlb_heartbeat(void *ctx)
{
	__u32 zero = 0;
	struct xlb_control *state = bpf_map_lookup_elem(&control, &zero);

	(void)ctx;
	if (state)
		state->heartbeat = bpf_jiffies64() >> tick_shift;
	return 0;
}

char _license[] SEC("license") = "GPL";
