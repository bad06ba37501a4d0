// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pass.bpf.c - does nothing, on purpose: a veth takes frames from XDP only if the other end has a program.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
