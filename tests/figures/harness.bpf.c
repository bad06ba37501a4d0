// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * harness.bpf.c - feeds a program under test: rebuilds the packet, picks the flow, tail-calls.
 *
 * BPF_PROG_TEST_RUN's repeat does not restore the packet between runs, and one packet is one flow. So this program
 * writes the frame anew each time, with the address and port of the next flow (fixed, in sequence, or random), and
 * calls what is to be measured. What it costs itself is measured with `nothing` as the target and subtracted.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "harness.h"

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

struct harness harness;
__u64 sunk; /* frames that met sink() */

static __always_inline __u32 next_flow(void)
{
	if (harness.mode == HARNESS_FIXED)
		return harness.first;
	if (harness.mode == HARNESS_RANDOM) {
		__u64 x = harness.state;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		harness.state = x;
		return harness.first + (__u32)(((x >> 32) * harness.flows) >> 32);
	}
	return harness.first + harness.next++;
}

/* The frame of the next flow; false: no room for it. */
static __always_inline bool write_frame(struct xdp_md *ctx)
{
	__u64 *to = (void *)(long)ctx->data, *from = harness.frame;
	__u8 *byte = (void *)to;
	__u32 flow = next_flow();

	if ((void *)(to + HARNESS_WORDS) > (void *)(long)ctx->data_end)
		return false;
	for (int i = 0; i < HARNESS_WORDS; i++)
		to[i] = from[i];
	/* 21 bits in the address' lower half and the port, all distinct */
	if (harness.ipv6) {
		*(__u32 *)(byte + 34) = __builtin_bswap32(flow & 0xffffff);
		*(__u16 *)(byte + 54) = __builtin_bswap16((__u16)(flow * 40503u));
	} else {
		__u32 source = 0x0b000000 | (flow & 0xffffff), sum;

		sum = harness.sum + (source >> 16) + (source & 0xffff);
		sum = (sum & 0xffff) + (sum >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		*(__u16 *)(byte + 24) = __builtin_bswap16((__u16)~sum);
		*(__u32 *)(byte + 26) = __builtin_bswap32(source);
		*(__u16 *)(byte + 34) = __builtin_bswap16((__u16)(flow * 40503u));
	}
	return true;
}

/* A frame that grew last time gets its old length again. */
static __always_inline void shrink(struct xdp_md *ctx)
{
	if (harness.grown && ctx->data_end - ctx->data > HARNESS_WORDS * 8)
		bpf_xdp_adjust_head(ctx, harness.grown);
}

SEC("xdp.frags")
int feed(struct xdp_md *ctx)
{
	shrink(ctx);
	if (write_frame(ctx))
		bpf_tail_call(ctx, &target, 0);
	return XDP_ABORTED;
}

/* For live frames: out by a device. */
SEC("xdp")
int generate(struct xdp_md *ctx)
{
	return write_frame(ctx) ? bpf_redirect(harness.device, 0) : XDP_ABORTED;
}

/* The end of the way. */
SEC("xdp")
int sink(struct xdp_md *ctx)
{
	(void)ctx;
	__sync_fetch_and_add(&sunk, 1);
	return XDP_DROP;
}

SEC("xdp.frags")
int nothing(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_TX;
}

/* What a frame costs that grows and shrinks: one of the two is the harness's. */
SEC("xdp.frags")
int grow(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, -(int)harness.grown) ? XDP_ABORTED : XDP_TX;
}

char _license[] SEC("license") = "GPL";
