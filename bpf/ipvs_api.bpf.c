// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ipvs_api.bpf.c - answers IPVS's socket options on a kernel that has no IPVS.
 *
 * keepalived and ipvsadm ask generic netlink for IPVS first; where that is missing they fall back to the socket options of
 * <linux/ip_vs.h>. Linux lets a cgroup program answer options that the kernel does not know, so these two programs, attached to the
 * cgroup2 root by xlbd/ipvs/api.c, keep the table that the module would have kept. It lives in pinned maps (ipvs_api.h) and
 * outlives the daemon. They serve one network namespace, the one whose cookie was set before loading; sockets of
 * every other pass untouched, so a namespace without an xlbd finds what it would find anyway: no IPVS.
 *
 * Answers and errnos are those of net/netfilter/ipvs/ip_vs_ctl.c, in its order: EPERM, then the length, then the rest. What differs:
 *   - what the data plane cannot do is refused as if IPVS lacked it: IPVS_API_SCHEDULERS and IPVS_API_FLAGS, fwmark services (-EINVAL),
 *     SCTP (-EPROTONOSUPPORT); a real server is taken as it is: refusing one would leave half a service
 *   - a subnet's broadcast address passes for a real server (no routing table here); more than IPVS_API_* -ENOMEM
 *   - an answer longer than a page holds the entries that fit, and says how many
 *   - no sync daemon: STARTDAEMON is -EOPNOTSUPP; STOPDAEMON and DAEMON say that none runs, as IPVS would
 * An edited or zeroed table is seen by the daemon through control.generation. Every refusal is counted.
 */
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/ip_vs.h>
#include <linux/types.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "ipvs_api.h"
#include "ipvs_get.h"
#include "ipvs_maps.h"
#include "ipvs_set.h"

#ifndef AF_INET
#define AF_INET  2 /* <sys/socket.h> is not for this target */
#define AF_INET6 10
#define SOCK_RAW 3
#endif

char _license[] SEC("license") = "GPL";

/* ---- whose call it is ------------------------------------------------------------------------- */

static __always_inline bool is_for_us(struct bpf_sockopt *ctx)
{
	struct bpf_sock *socket = ctx->sk;

	if (ctx->level != IPPROTO_IP || !socket)
		return false;
	if (socket->family != AF_INET && (socket->family != AF_INET6 || socket->type == SOCK_RAW))
		return false;
	return bpf_get_netns_cookie(ctx) == netns_cookie;
}

/*
 * Not ours. A value longer than the page we see would make older kernels fail the call: with optlen 0 they go
 * on with the caller's own.
 */
static __always_inline int pass(struct bpf_sockopt *ctx)
{
	if (ctx->optlen > IPVS_API_PAGE)
		ctx->optlen = 0;
	return 1;
}

/* Counts what was refused; the call returns `error`. */
static __always_inline int refuse(int error)
{
	struct ipvs_api_control *control = the_control();

	if (control && error == -EPERM)
		COUNT(control->denied);
	else if (control)
		COUNT(control->refused);
	bpf_set_retval(error);
	return 0;
}

SEC("cgroup/setsockopt")
int ipvs_api_set(struct bpf_sockopt *ctx)
{
	int r;

	if (ctx->optname < IP_VS_BASE_CTL || ctx->optname > IP_VS_SO_SET_MAX || !is_for_us(ctx))
		return pass(ctx);
	if (ctx->optlen < 0)
		return 1; /* another program has done it already */
	r = set_command(ctx);
	if (r)
		return refuse(r);
	ctx->optlen = -1; /* done: not for the kernel */
	return 1;
}

SEC("cgroup/getsockopt")
int ipvs_api_get(struct bpf_sockopt *ctx)
{
	int r;

	if (ctx->optname < IP_VS_BASE_CTL || ctx->optname > IP_VS_SO_GET_MAX || !is_for_us(ctx))
		return pass(ctx);
	if (bpf_get_retval() != -ENOPROTOOPT)
		return pass(
			ctx); /* the kernel knows the option: IPVS was loaded after us and has the say */
	r = get_command(ctx);
	if (r)
		return refuse(r);
	bpf_set_retval(0);
	return 1;
}
