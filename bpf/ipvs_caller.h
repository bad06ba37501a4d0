/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipvs_caller.h - who makes this socket call, and with which argument: what a cgroup program is not told.
 *
 * The only file that reads the kernel's own structures: minimal definitions, relocated at load time (CO-RE).
 *
 * caller_may_administer() is ns_capable(): CAP_NET_ADMIN in the user namespace that owns the socket's network namespace, either held
 * there or by owning a namespace below one's own. A security module's say is not asked.
 *
 * caller_request() reads what the caller put into the answer's buffer. The kernel hands a getsockopt program a zeroed
 * buffer when it does not know the option, but the program runs inside the system call: its registers, at the
 * top of the task's stack, still hold the user's pointer. It costs nothing when nobody asks, where a tracepoint at
 * the entry of getsockopt would slow down every system call of the host. x86-64 only, 64-bit callers only: others get false.
 * False too when the page is not in memory; a caller has just written to it.
 */
#ifndef IPVS_CALLER_H
#define IPVS_CALLER_H

#include <asm/unistd.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/stddef.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define CALLER_NAMESPACES 34 /* user namespaces nest 32 deep below the first */

#define relocated __attribute__((preserve_access_index))

struct caller_id {
	__u32 val;
} relocated;

struct user_namespace {
	struct user_namespace *parent;
	int level;
	struct caller_id owner;
} relocated;

struct kernel_capabilities { /* one 64-bit word, before 6.3 two 32-bit ones: the low one comes first */
	__u64 bits;
};

struct cred {
	struct caller_id euid;
	struct kernel_capabilities cap_effective;
	struct user_namespace *user_ns;
} relocated;

struct task_struct {
	const struct cred *cred;
} relocated;

struct net {
	struct user_namespace *user_ns;
} relocated;

struct net_pointer {
	struct net *net;
} relocated;

struct sock_common {
	struct net_pointer skc_net;
} relocated;

struct sock {
	struct sock_common __sk_common;
} relocated;

struct pt_regs___x86_64 {
	unsigned long r10, dx, si, orig_ax;
} relocated;

/*
 * The verifier forbids arithmetic on a socket's pointer, and reading a field by its offset is that. Reading the pointer
 * itself, from where it lies on our stack, makes a plain number of it.
 */
static __always_inline const struct sock *kernel_sock(struct bpf_sock *socket)
{
	const struct sock *sock = NULL;

	bpf_probe_read_kernel(&sock, sizeof(sock), &socket);
	return sock;
}

/* Not inline, not static: the verifier looks at it once, by itself. */
__noinline int caller_may_administer(struct bpf_sockopt *ctx)
{
	const struct sock *sock = ctx->sk ? kernel_sock(ctx->sk) : NULL;
	const struct task_struct *task = (void *)bpf_get_current_task();
	const struct cred *cred = BPF_CORE_READ(task, cred);
	struct user_namespace *own = BPF_CORE_READ(cred, user_ns);
	struct user_namespace *asked = BPF_CORE_READ(sock, __sk_common.skc_net.net, user_ns);
	int level = BPF_CORE_READ(own, level);
	__u32 user = BPF_CORE_READ(cred, euid.val);

	for (int i = 0; i < CALLER_NAMESPACES; i++) {
		struct user_namespace *parent;

		if (asked == own) {
			struct kernel_capabilities effective = {};

			bpf_core_read(&effective, sizeof(effective), &cred->cap_effective);
			return effective.bits >> CAP_NET_ADMIN & 1;
		}
		if (BPF_CORE_READ(asked, level) <= level)
			return false;
		parent = BPF_CORE_READ(asked, parent);
		if (parent == own && BPF_CORE_READ(asked, owner.val) == user)
			return true;
		asked = parent;
	}
	return false;
}

static __always_inline bool caller_request(struct bpf_sockopt *ctx, void *request, __u32 size)
{
	const struct pt_regs___x86_64 *registers;

	if (!bpf_core_field_exists(struct pt_regs___x86_64, r10))
		return false;
	registers = (void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	if (BPF_CORE_READ(registers, orig_ax) != __NR_getsockopt ||
	    (__u32)BPF_CORE_READ(registers, si) != (__u32)ctx->level ||
	    (__u32)BPF_CORE_READ(registers, dx) != (__u32)ctx->optname)
		return false;
	return !bpf_probe_read_user(request, size, (void *)BPF_CORE_READ(registers, r10));
}

#undef relocated
#endif
