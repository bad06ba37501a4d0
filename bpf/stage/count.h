/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * count.h - every way out is counted under its name; here a verdict becomes an XDP action.
 */
#ifndef XLB_STAGE_COUNT_H
#define XLB_STAGE_COUNT_H

#include "maps.h"
#include "packet.h"

static __always_inline int verdict_count(const struct packet *packet, enum xlb_verdict verdict)
{
	__u32 number = verdict;
	struct xlb_verdict_counters *counters = bpf_map_lookup_elem(&verdict_counters, &number);

	if (counters) {
		counters->packets++;
		counters->bytes += packet->length;
	}
	/* the common cases by hand, the rest from the list */
	if (verdict == XLB_SENT)
		return XDP_TX;
	if (verdict == XLB_REDIRECTED)
		return (int)bpf_redirect_map(&exits, packet->exit, XDP_DROP);
	switch (verdict) {
#define XLB_ACTION_TX       XDP_TX
#define XLB_ACTION_REDIRECT XDP_DROP /* cannot get here */
#define XLB_ACTION_PASS     XDP_PASS
#define XLB_ACTION_DROP     XDP_DROP
#define V(number_, name, action, word, sentence) \
	case XLB_##name:                         \
		return XLB_ACTION_##action;
		XLB_VERDICTS(V)
#undef V
	default:
		return XDP_PASS;
	}
}

#endif
