/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp_state.h - IPVS's TCP states, for the three ways in which a director sees a connection.
 *
 * Direct routing and tunnels: it sees only what the client sends (IPVS's table INPUT-ONLY). NAT: it sees both sides (INPUT and
 * OUTPUT). One event a segment, by priority RST, SYN, FIN, ACK; a segment with none of them closes (ip_vs_proto_tcp.c,
 * tcp_state_idx). Rows: event; columns: the phases that a connection can be in.
 */
#ifndef XLB_LIB_TCP_STATE_H
#define XLB_LIB_TCP_STATE_H

#include "lib/cursor.h"
#include "lib/l4.h"
#include "xlb_shared.h"

enum tcp_side {
	TCP_CLIENT_ONLY, /* the client's segment, and nobody sees the server's */
	TCP_CLIENT,
	TCP_SERVER,
};

/* Four bits a phase, in a word an event: constants, so that the table costs no load. */
#define TCP_ROW(free, syn, established, fin_wait, close, time_wait, close_wait, syn_sent)      \
	((__u64)(free) | (__u64)(syn) << 4 * XLB_PHASE_SYN |                                   \
	 (__u64)(established) << 4 * XLB_PHASE_ESTABLISHED |                                   \
	 (__u64)(fin_wait) << 4 * XLB_PHASE_FIN_WAIT | (__u64)(close) << 4 * XLB_PHASE_CLOSE | \
	 (__u64)(time_wait) << 4 * XLB_PHASE_TIME_WAIT |                                       \
	 (__u64)(close_wait) << 4 * XLB_PHASE_CLOSE_WAIT |                                     \
	 (__u64)(syn_sent) << 4 * XLB_PHASE_SYN_SENT)

#define SR XLB_PHASE_SYN
#define ES XLB_PHASE_ESTABLISHED
#define FW XLB_PHASE_FIN_WAIT
#define CL XLB_PHASE_CLOSE
#define TW XLB_PHASE_TIME_WAIT
#define CW XLB_PHASE_CLOSE_WAIT
#define SS XLB_PHASE_SYN_SENT
/*						none SR  ES  FW  CL  TW  CW  SS */
static const __u64 tcp_client_syn = TCP_ROW(SR, SR, ES, SR, SR, SR, SR, ES);
static const __u64 tcp_client_fin = TCP_ROW(CL, TW, CW, FW, CL, TW, CW, SS);
static const __u64 tcp_only_fin = TCP_ROW(CL, TW, FW, FW, CL, TW, CW, SS);
static const __u64 tcp_client_ack = TCP_ROW(ES, ES, ES, FW, CL, TW, CW, SS);
static const __u64 tcp_client_rst = TCP_ROW(CL, SR, CL, CL, CL, CL, CL, CL);
static const __u64 tcp_server_syn = TCP_ROW(SS, SR, ES, SS, SS, SS, SS, SS);
static const __u64 tcp_server_fin = TCP_ROW(TW, TW, FW, FW, CL, TW, TW, SS);
static const __u64 tcp_server_ack = TCP_ROW(ES, ES, ES, FW, CL, TW, CW, ES);
static const __u64 tcp_server_rst = TCP_ROW(CL, CL, CL, CL, CL, TW, CL, SS);
#undef SR
#undef ES
#undef FW
#undef CL
#undef TW
#undef CW
#undef SS

/* phase: XLB_PHASE_FREE for a connection that begins with this segment. */
static __always_inline __u32 tcp_next_phase(__u32 phase, __u8 flags, enum tcp_side side)
{
	__u64 row;

	if (flags & TCP_RST)
		row = side == TCP_SERVER ? tcp_server_rst : tcp_client_rst;
	else if (flags & TCP_SYN)
		row = side == TCP_SERVER ? tcp_server_syn : tcp_client_syn;
	else if (flags & TCP_FIN)
		row = side == TCP_SERVER   ? tcp_server_fin
		      : side == TCP_CLIENT ? tcp_client_fin
		                           : tcp_only_fin;
	else if (flags & TCP_ACK)
		row = side == TCP_SERVER ? tcp_server_ack : tcp_client_ack;
	else
		return XLB_PHASE_CLOSE;
	return row >> 4 * (phase & 15) & 15;
}

#endif
