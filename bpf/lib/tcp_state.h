/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp_state.h - IPVS's TCP states for a director that sees only what the client sends.
 *
 * One event a segment, by priority RST, SYN, FIN, ACK; a segment with none of them closes (ip_vs_proto_tcp.c,
 * tcp_state_idx). Rows: event; columns: the phases that such a connection can be in.
 */
#ifndef XLB_LIB_TCP_STATE_H
#define XLB_LIB_TCP_STATE_H

#include "lib/cursor.h"
#include "lib/l4.h"
#include "xlb_shared.h"

/* Four bits a phase, in a word an event: constants, so that the table costs no load. */
#define TCP_ROW(free, syn, established, fin_wait, close, time_wait)                            \
	((__u64)(free) | (__u64)(syn) << 4 * XLB_PHASE_SYN |                                   \
	 (__u64)(established) << 4 * XLB_PHASE_ESTABLISHED |                                   \
	 (__u64)(fin_wait) << 4 * XLB_PHASE_FIN_WAIT | (__u64)(close) << 4 * XLB_PHASE_CLOSE | \
	 (__u64)(time_wait) << 4 * XLB_PHASE_TIME_WAIT)

#define SR XLB_PHASE_SYN
#define ES XLB_PHASE_ESTABLISHED
#define FW XLB_PHASE_FIN_WAIT
#define CL XLB_PHASE_CLOSE
#define TW XLB_PHASE_TIME_WAIT
/*				      none SR  ES  FW  CL  TW */
static const __u64 tcp_row_syn = TCP_ROW(SR, SR, ES, SR, SR, SR);
static const __u64 tcp_row_fin = TCP_ROW(CL, TW, FW, FW, CL, TW);
static const __u64 tcp_row_ack = TCP_ROW(ES, ES, ES, FW, CL, TW);
static const __u64 tcp_row_rst = TCP_ROW(CL, SR, CL, CL, CL, CL);
#undef SR
#undef ES
#undef FW
#undef CL
#undef TW

/* phase: XLB_PHASE_FREE for a connection that begins with this segment. */
static __always_inline __u32 tcp_next_phase(__u32 phase, __u8 flags)
{
	__u64 row;

	if (flags & TCP_RST)
		row = tcp_row_rst;
	else if (flags & TCP_SYN)
		row = tcp_row_syn;
	else if (flags & TCP_FIN)
		row = tcp_row_fin;
	else if (flags & TCP_ACK)
		row = tcp_row_ack;
	else
		return XLB_PHASE_CLOSE;
	return row >> 4 * (phase & 15) & 15;
}

#endif
