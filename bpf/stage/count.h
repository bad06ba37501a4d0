/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * count.h - every way out is counted under its name; here a verdict becomes an XDP action.
 */
#ifndef XLB_STAGE_COUNT_H
#define XLB_STAGE_COUNT_H

#include "maps.h"
#include "packet.h"

#define XLB_ACTION_TX       XDP_TX
#define XLB_ACTION_REDIRECT XDP_REDIRECT
#define XLB_ACTION_PASS     XDP_PASS
#define XLB_ACTION_DROP     XDP_DROP
#define XLB_ACTION_ANSWER   XDP_TX
/* By number, 0 first: the numbers have no gaps. */
static const __u8 verdict_action[] = {XDP_PASS,
#define V(number, name, action, word, sentence) XLB_ACTION_##action,
                                      XLB_VERDICTS(V)
#undef V
};
_Static_assert(sizeof(verdict_action) == XLB_VERDICT_COUNT, "an action for each");

static __always_inline int verdict_count(const struct packet *packet, enum xlb_verdict verdict)
{
	__u32 number = verdict;
	struct xlb_verdict_counters *counters = bpf_map_lookup_elem(&verdict_counters, &number);

	if (!counters || number >= XLB_VERDICT_COUNT) /* the second for the verifier alone */
		return XDP_PASS;
	counters->packets++;
	counters->bytes += packet->length;
	if (verdict == XLB_REDIRECTED)
		return (int)bpf_redirect_map(&exits, packet->exit, XDP_DROP);
	return verdict_action[number];
}

#endif
