/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipvs_set.h - the commands that change something: a command becomes a wish, and is done under the lock.
 *
 * The wish itself is judged only once the service was looked for, so that EEXIST and ESRCH come first, as in IPVS. control->generation is odd while the table changes and goes on by two if it did.
 * Functions that the verifier is to look at once, by themselves, are neither inline nor static: all paths of one times all paths of the next
 * would be more than it takes. Constants are not static either: clang 14 puts small static ones into mergeable sections and describes them wrongly, and the
 * kernel refuses the BTF.
 */
#ifndef IPVS_SET_H
#define IPVS_SET_H

#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/ip_vs.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "ipvs_api.h"
#include "ipvs_caller.h"
#include "ipvs_maps.h"
#include "ipvs_table.h"

/* What the commands about real servers carry. */
struct ipvs_words {
	struct ip_vs_service_user service;
	struct ip_vs_dest_user real;
};

#define SERVICE_LENGTH sizeof(struct ip_vs_service_user)
#define REAL_LENGTH    sizeof(struct ipvs_words)

/* What a command carries, to the byte. */
/* clang-format off */
#define SET_COMMANDS(row)                                      \
	row(ADD,         SERVICE_LENGTH)                       \
	row(EDIT,        SERVICE_LENGTH)                       \
	row(DEL,         SERVICE_LENGTH)                       \
	row(FLUSH,       0)                                    \
	row(ADDDEST,     REAL_LENGTH)                          \
	row(EDITDEST,    REAL_LENGTH)                          \
	row(DELDEST,     REAL_LENGTH)                          \
	row(TIMEOUT,     sizeof(struct ip_vs_timeout_user))    \
	row(STARTDAEMON, sizeof(struct ip_vs_daemon_user))     \
	row(STOPDAEMON,  sizeof(struct ip_vs_daemon_user))     \
	row(ZERO,        SERVICE_LENGTH)
/* clang-format on */

#define SET_LENGTH_ROW(command, length) \
	case IP_VS_SO_SET_##command:    \
		return length;

static __always_inline int set_length(__u32 command)
{
	switch (command) {
		SET_COMMANDS(SET_LENGTH_ROW)
	}
	return -EINVAL; /* as the length of nothing */
}

#define SCHEDULER_ROW(name) {name},
const char schedulers[][16] = {IPVS_API_SCHEDULERS(SCHEDULER_ROW)};
#define FLAG_ROW(flag) | flag
#define KNOWN_FLAGS    (0 IPVS_API_FLAGS(FLAG_ROW))

/*
 * Copies the name up to its NUL and zeroes the rest; -EINVAL: no NUL. Without branches, of which the verifier would walk all
 * combinations; the barrier keeps clang from finding some.
 */
static __always_inline int name_copy(char to[16], const char *from)
{
	__u32 inside = ~0u; /* the name: 0 behind its end */

	for (int i = 0; i < 16; i++) {
		__u32 letter = (__u8)from[i];

		inside &= (__u32)((__s32)-letter >> 31); /* all ones unless it is 0 */
		barrier_var(inside);
		to[i] = letter & inside;
	}
	return inside ? -EINVAL : 0;
}

static __always_inline bool names_equal(const char *a, const char *b)
{
	__u64 x[2], y[2];

	__builtin_memcpy(x, a, sizeof(x));
	__builtin_memcpy(y, b, sizeof(y));
	return !((x[0] ^ y[0]) | (x[1] ^ y[1]));
}

/* What IPVS would say to the service's options if the data plane's abilities were its modules. */
static __always_inline int service_judge(const struct ipvs_wish *wish)
{
	int r = -ENOENT;

	for (unsigned int i = 0; i < sizeof(schedulers) / sizeof(schedulers[0]); i++)
		if (names_equal(wish->scheduler, schedulers[i]))
			r = 0;
	if (r)
		return r;
	if (wish->flags & ~KNOWN_FLAGS)
		return -EINVAL;
	return wish->key.protocol == IPPROTO_SCTP ? -EPROTONOSUPPORT : 0;
}

static __always_inline int real_judge(const struct ipvs_wish *wish)
{
	if (wish->weight < 0 || wish->lower > wish->upper)
		return -ERANGE;
	return wish->upper > 0x7fffffff ? -EINVAL : 0;
}

/* Neither this network, nor several, nor all. */
static __always_inline bool is_unicast(__be32 addr)
{
	__u32 host = bpf_ntohl(addr);

	return host && host >> 28 != 14 && host != 0xffffffff;
}

static __always_inline void wish_service(const struct ip_vs_service_user *user,
                                         struct ipvs_wish *wish)
{
	wish->key.addr = user->addr;
	wish->key.port = user->port;
	wish->key.protocol = user->protocol;
	wish->flags = user->flags | IP_VS_SVC_F_HASHED;
	wish->timeout = user->timeout;
	wish->netmask = user->netmask;
}

static __always_inline void wish_real(const struct ip_vs_dest_user *user, struct ipvs_wish *wish)
{
	wish->real_addr = user->addr;
	wish->real_port = user->port;
	wish->real_flags = (user->conn_flags & IP_VS_CONN_F_DEST_MASK) | IP_VS_CONN_F_INACTIVE;
	if ((user->conn_flags & IP_VS_CONN_F_FWD_MASK) != IP_VS_CONN_F_MASQ)
		wish->real_flags |= IP_VS_CONN_F_NOOUTPUT;
	wish->weight = user->weight;
	wish->upper = user->u_threshold;
	wish->lower = user->l_threshold;
}

static __always_inline void change_begin(struct ipvs_api_table *table,
                                         struct ipvs_api_control *control)
{
	bpf_spin_lock(&table->lock);
	__sync_fetch_and_add(&control->generation, 1);
}

static __always_inline void change_end(struct ipvs_api_table *table,
                                       struct ipvs_api_control *control, int error)
{
	__sync_fetch_and_add(&control->generation, error ? -1 : 1);
	bpf_spin_unlock(&table->lock);
}

__noinline int set_flush(struct bpf_sockopt *ctx)
{
	struct ipvs_api_control *control = the_control();
	struct ipvs_api_table *table = the_table();

	if (!control || !table || !ctx->sk)
		return -EFAULT;
	change_begin(table, control);
	table_flush(table);
	change_end(table, control, 0);
	return 0;
}

/* Under the lock. */
static __always_inline int service_command(struct ipvs_api_table *table, int command,
                                           const struct ipvs_wish *wish)
{
	struct ipvs_api_service *service;
	bool full;
	__u32 slot;
	int r = 0;

	if (command == IP_VS_SO_SET_ZERO && !wish->key.addr && !wish->key.port) {
		table->zeroed = ++table->sequence;
		return 0;
	}
	slot = service_find(table, &wish->key, &full);
	if (command == IP_VS_SO_SET_ADD) {
		if (slot)
			return -EEXIST;
		r = service_judge(wish);
		if (r)
			return r;
		return full ? -ENOMEM : service_add(table, wish);
	}
	if (!slot)
		return -ESRCH;
	service = SERVICE_AT(table, slot);
	if (command == IP_VS_SO_SET_EDIT) {
		r = service_judge(wish);
		if (!r)
			service_describe(service, wish);
	} else if (command == IP_VS_SO_SET_DEL) {
		service_remove(table, slot);
	} else {
		service->zeroed = ++table->sequence; /* ZERO */
	}
	return r;
}

__noinline int set_service(struct bpf_sockopt *ctx)
{
	struct ipvs_api_control *control = the_control();
	struct ipvs_api_table *table = the_table();
	const struct ip_vs_service_user *user = ctx->optval;
	int command = ctx->optname;
	struct ipvs_wish wish = {};
	bool is_zero_all, describes;
	int r;

	if (!control || !table || (void *)(user + 1) > ctx->optval_end)
		return -EFAULT;
	describes = command == IP_VS_SO_SET_ADD || command == IP_VS_SO_SET_EDIT;
	is_zero_all = command == IP_VS_SO_SET_ZERO && !user->fwmark && !user->addr && !user->port;
	if (name_copy(wish.scheduler, user->sched_name) && describes)
		return -EINVAL;
	if (user->protocol != IPPROTO_TCP && user->protocol != IPPROTO_UDP &&
	    user->protocol != IPPROTO_SCTP && !is_zero_all)
		return -EFAULT;
	if (user->fwmark)
		return command == IP_VS_SO_SET_ADD ? -EINVAL : -ESRCH;
	wish_service(user, &wish);
	change_begin(table, control);
	r = service_command(table, command, &wish);
	change_end(table, control, r);
	return r;
}

/* Under the lock, as above. */
static __always_inline int real_command(struct ipvs_api_table *table, int command,
                                        const struct ipvs_wish *wish)
{
	struct ipvs_api_service *service;
	__u32 slot, newer;
	bool full;
	int r;

	slot = service_find(table, &wish->key, &full);
	if (!slot)
		return -ESRCH;
	service = SERVICE_AT(table, slot);
	slot = real_find(table, service, wish, &newer);
	r = real_judge(wish);
	if (r && command != IP_VS_SO_SET_DELDEST)
		return r;
	if (command == IP_VS_SO_SET_ADDDEST) {
		if (slot)
			return -EEXIST;
		return is_unicast(wish->real_addr) ? real_add(table, service, wish) : -EINVAL;
	}
	if (!slot)
		return -ENOENT;
	if (command == IP_VS_SO_SET_EDITDEST)
		real_describe(REAL_AT(table, slot), wish);
	else
		real_remove(table, service, slot, newer);
	return 0;
}

__noinline int set_real(struct bpf_sockopt *ctx)
{
	struct ipvs_api_control *control = the_control();
	struct ipvs_api_table *table = the_table();
	const struct ipvs_words *user = ctx->optval;
	int command = ctx->optname;
	struct ipvs_wish wish = {};
	int r;

	if (!control || !table || (void *)(user + 1) > ctx->optval_end)
		return -EFAULT;
	if (user->service.protocol != IPPROTO_TCP && user->service.protocol != IPPROTO_UDP &&
	    user->service.protocol != IPPROTO_SCTP)
		return -EFAULT;
	if (user->service.fwmark)
		return -ESRCH;
	wish_service(&user->service, &wish);
	wish_real(&user->real, &wish);
	change_begin(table, control);
	r = real_command(table, command, &wish);
	change_end(table, control, r);
	return r;
}

__noinline int set_timeouts(struct bpf_sockopt *ctx)
{
	struct ipvs_api_control *control = the_control();
	const struct ip_vs_timeout_user *user = ctx->optval;
	const __u32 most = 0x7fffffff / 1000; /* of a kernel with a tick of 1 ms */

	if (!control || (void *)(user + 1) > ctx->optval_end)
		return -EFAULT;
	if ((__u32)user->tcp_timeout > most || (__u32)user->tcp_fin_timeout > most ||
	    (__u32)user->udp_timeout > most)
		return -EINVAL;
	if (user->tcp_timeout)
		control->timeout_tcp = user->tcp_timeout;
	if (user->tcp_fin_timeout)
		control->timeout_tcp_fin = user->tcp_fin_timeout;
	if (user->udp_timeout)
		control->timeout_udp = user->udp_timeout;
	return 0;
}

static __always_inline int set_command(struct bpf_sockopt *ctx)
{
	if (!caller_may_administer(ctx))
		return -EPERM;
	if (ctx->optlen != set_length(ctx->optname))
		return -EINVAL;
	switch (ctx->optname) {
	case IP_VS_SO_SET_FLUSH:
		return set_flush(ctx);
	case IP_VS_SO_SET_TIMEOUT:
		return set_timeouts(ctx);
	case IP_VS_SO_SET_STARTDAEMON:
		return -EOPNOTSUPP;
	case IP_VS_SO_SET_STOPDAEMON:
		return -ESRCH;
	case IP_VS_SO_SET_ADDDEST:
	case IP_VS_SO_SET_EDITDEST:
	case IP_VS_SO_SET_DELDEST:
		return set_real(ctx);
	}
	return set_service(ctx);
}

#endif
