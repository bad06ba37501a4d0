/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipvs_get.h - the answers: entries are copied under the lock, their statistics added after it.
 *
 * Statistics lie in a map of their own, at the slot of what they count, and under a spin lock nothing can be looked up. So an entry
 * carries its slot and age in its own statistics fields from the first step to the second; the buffer is the
 * kernel's and nobody else sees it in between.
 */
#ifndef IPVS_GET_H
#define IPVS_GET_H

#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/ip_vs.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "ipvs_api.h"
#include "ipvs_caller.h"
#include "ipvs_maps.h"
#include "ipvs_table.h"

#define SERVICES_IN_PAGE \
	((IPVS_API_PAGE - sizeof(struct ip_vs_get_services)) / sizeof(struct ip_vs_service_entry))
#define REALS_IN_PAGE \
	((IPVS_API_PAGE - sizeof(struct ip_vs_get_dests)) / sizeof(struct ip_vs_dest_entry))

/* What an answer needs at least. */
/* clang-format off */
#define GET_COMMANDS(row)                                    \
	row(VERSION,  64)                                    \
	row(INFO,     sizeof(struct ip_vs_getinfo))          \
	row(SERVICES, sizeof(struct ip_vs_get_services))     \
	row(SERVICE,  sizeof(struct ip_vs_service_entry))    \
	row(DESTS,    sizeof(struct ip_vs_get_dests))        \
	row(TIMEOUT,  sizeof(struct ip_vs_timeout_user))     \
	row(DAEMON,   2 * sizeof(struct ip_vs_daemon_user))
/* clang-format on */

#define GET_LENGTH_ROW(command, length) \
	case IP_VS_SO_GET_##command:    \
		return length;

static __always_inline int get_length(__u32 command)
{
	switch (command) {
		GET_COMMANDS(GET_LENGTH_ROW)
	}
	return 0x7fffffff; /* no such command: never long enough */
}

const char version[] = "IP Virtual Server version 1.2.1 (size=4096)";

/* Where an entry leaves its slot and its age between the two. */
static __always_inline void stats_remember(struct ip_vs_stats_user *stats, __u32 slot,
                                           __u64 sequence, __u64 zeroed)
{
	stats->conns = slot;
	stats->inbytes = sequence;
	stats->outbytes = zeroed;
}

/* The statistics of the remembered slot; false: nobody has written any, the entry's are zero. */
static __always_inline bool stats_show(struct ip_vs_stats_user *stats, __u32 first,
                                       __u32 *ret_active, __u32 *ret_inactive)
{
	__u32 index = first + stats->conns;
	__u64 sequence = stats->inbytes, zeroed = stats->outbytes;
	const struct ipvs_api_stats_record *record = bpf_map_lookup_elem(&ipvs_stats, &index);

	stats->conns = 0;
	stats->inbytes = stats->outbytes = 0;
	if (!record || record->sequence != sequence)
		return false;
	*ret_active = record->active;
	*ret_inactive = record->inactive;
	if (record->zeroed != zeroed)
		return true;
	stats->conns = record->connections - record->base_connections;
	stats->inpkts = record->packets - record->base_packets;
	stats->inbytes = record->bytes - record->base_bytes;
	stats->cps = record->connection_rate;
	stats->inpps = record->packet_rate;
	stats->inbps = record->byte_rate;
	return true;
}

static __always_inline void service_copy(const struct ipvs_api_table *table, __u32 slot,
                                         struct ip_vs_service_entry *entry)
{
	const struct ipvs_api_service *service = SERVICE_AT(table, slot);

	entry->protocol = service->key.protocol;
	entry->addr = service->key.addr;
	entry->port = service->key.port;
	entry->fwmark = 0;
	__builtin_memcpy(entry->sched_name, service->scheduler, sizeof(entry->sched_name));
	entry->flags = service->flags;
	entry->timeout = service->timeout;
	entry->netmask = service->netmask;
	entry->num_dests = service->real_count;
	stats_remember(&entry->stats, slot, service->sequence, ipvs_api_zeroed(table, service));
}

/* Under the lock: the entries that fit and were asked for; how many is left in the answer. */
static __always_inline void services_copy(const struct ipvs_api_table *table,
                                          struct ip_vs_get_services *answer, void *end,
                                          __u32 wanted)
{
	__u32 slot = table->first;

	answer->num_services = 0;
	for (__u32 i = 0; i < SERVICES_IN_PAGE; i++) {
		struct ip_vs_service_entry *entry = &answer->entrytable[i];

		if (!slot || i >= wanted || (void *)(entry + 1) > end)
			break;
		service_copy(table, slot, entry);
		slot = SERVICE_AT(table, slot)->after;
		answer->num_services = i + 1;
	}
}

/* Under the lock, as above. */
static __always_inline void reals_copy(const struct ipvs_api_table *table,
                                       const struct ipvs_api_service *service,
                                       struct ip_vs_get_dests *answer, void *end, __u32 wanted)
{
	__u32 slot = service->newest;

	answer->num_dests = 0;
	for (__u32 i = 0; i < REALS_IN_PAGE; i++) {
		struct ip_vs_dest_entry *entry = &answer->entrytable[i];
		const struct ipvs_api_real *real = REAL_AT(table, slot);

		if (!slot || i >= wanted || (void *)(entry + 1) > end)
			break;
		entry->addr = real->addr;
		entry->port = real->port;
		entry->conn_flags = real->flags;
		entry->weight = real->weight;
		entry->u_threshold = real->upper;
		entry->l_threshold = real->lower;
		stats_remember(&entry->stats, slot, real->sequence,
		               ipvs_api_zeroed(table, service));
		slot = real->next;
		answer->num_dests = i + 1;
	}
}

/*
 * A count from where it was stored. To the verifier it is any number then: one that it knows would make it follow the loop
 * over the statistics once for every length that the list can have.
 */
static __always_inline __u32 reread(const __u32 *count)
{
	return *(const volatile __u32 *)count;
}

/*
 * So many bytes go to the caller and not one more: IPVS writes no more either, and libipvs asks for DAEMON with a length
 * beyond its buffer. IPVS leaves the caller's length as it is; here it becomes what was written.
 */
static __always_inline int answered(struct bpf_sockopt *ctx, __u32 length)
{
	ctx->optlen = length;
	return 0;
}

__noinline int services_list(struct bpf_sockopt *ctx)
{
	struct ipvs_api_control *control = the_control();
	struct ipvs_api_table *table = the_table();
	struct ip_vs_get_services *answer = ctx->optval;
	void *end = ctx->optval_end;
	__u32 count, there, wanted = 0;

	if (!control || !table || (void *)(answer + 1) > end)
		return -EFAULT;
	if (!caller_request(ctx, &wanted, sizeof(wanted))) {
		COUNT(control->unanswerable);
		return -EFAULT;
	}
	if ((__u64)ctx->optlen !=
	    sizeof(*answer) + (__u64)wanted * sizeof(struct ip_vs_service_entry))
		return -EINVAL;
	bpf_spin_lock(&table->lock);
	services_copy(table, answer, end, wanted);
	there = table->service_count;
	bpf_spin_unlock(&table->lock);
	count = reread(&answer->num_services);
	if (count < wanted && count < there)
		COUNT(control->truncated);
	return 0;
}

/* A function of its own: see reread(); what the verifier knows of the answer's length it forgets in between. */
__noinline int services_stats(struct bpf_sockopt *ctx)
{
	struct ip_vs_get_services *answer = ctx->optval;
	void *end = ctx->optval_end;
	__u32 count;

	if ((void *)(answer + 1) > end)
		return -EFAULT;
	count = reread(&answer->num_services);
	for (__u32 i = 0; i < SERVICES_IN_PAGE; i++) {
		struct ip_vs_service_entry *entry = &answer->entrytable[i];
		__u32 active, inactive;

		if (i >= count || (void *)(entry + 1) > end)
			break;
		(void)stats_show(&entry->stats, 0, &active, &inactive); /* zero if there are none */
	}
	return answered(ctx, sizeof(*answer) + count * sizeof(struct ip_vs_service_entry));
}

/* The key that SERVICE and DESTS begin with; false: no such service can be. */
static __always_inline bool key_of(const struct ip_vs_get_dests *request, struct ipvs_api_key *key)
{
	key->addr = request->addr;
	key->port = request->port;
	key->protocol = request->protocol;
	return !request->fwmark && request->protocol <= 255;
}

__noinline int get_service(struct bpf_sockopt *ctx)
{
	struct ipvs_api_control *control = the_control();
	struct ipvs_api_table *table = the_table();
	struct ip_vs_service_entry *answer = ctx->optval;
	struct ip_vs_get_dests request = {}; /* begins with the same fields */
	__u32 active, inactive, slot;
	bool full;
	struct ipvs_api_key key = {};

	if (!control || !table)
		return -EFAULT;
	if (!caller_request(ctx, &request, sizeof(request))) {
		COUNT(control->unanswerable);
		return -EFAULT;
	}
	if (!key_of(&request, &key))
		return -ESRCH;
	if ((void *)(answer + 1) > ctx->optval_end)
		return -EFAULT;
	bpf_spin_lock(&table->lock);
	slot = service_find(table, &key, &full);
	if (slot)
		service_copy(table, slot, answer);
	bpf_spin_unlock(&table->lock);
	if (!slot)
		return -ESRCH;
	(void)stats_show(&answer->stats, 0, &active, &inactive); /* zero if there are none */
	return answered(ctx, sizeof(*answer));
}

__noinline int reals_list(struct bpf_sockopt *ctx)
{
	struct ipvs_api_control *control = the_control();
	struct ipvs_api_table *table = the_table();
	struct ip_vs_get_dests *answer = ctx->optval;
	void *end = ctx->optval_end;
	struct ip_vs_get_dests request = {};
	__u32 slot, count, there = 0;
	struct ipvs_api_key key = {};
	bool full;

	if (!control || !table || (void *)(answer + 1) > end)
		return -EFAULT;
	if (!caller_request(ctx, &request, sizeof(request))) {
		COUNT(control->unanswerable);
		return -EFAULT;
	}
	if ((__u64)ctx->optlen !=
	    sizeof(request) + (__u64)request.num_dests * sizeof(struct ip_vs_dest_entry))
		return -EINVAL;
	if (!key_of(&request, &key))
		return -ESRCH;
	answer->protocol = request.protocol;
	answer->addr = request.addr;
	answer->port = request.port;
	answer->fwmark = request.fwmark;
	answer->num_dests = 0;
	bpf_spin_lock(&table->lock);
	slot = service_find(table, &key, &full);
	if (slot) {
		reals_copy(table, SERVICE_AT(table, slot), answer, end, request.num_dests);
		there = SERVICE_AT(table, slot)->real_count;
	}
	bpf_spin_unlock(&table->lock);
	count = reread(&answer->num_dests);
	if (count < request.num_dests && count < there)
		COUNT(control->truncated);
	return slot ? 0 : -ESRCH;
}

/* As services_stats(). */
__noinline int reals_stats(struct bpf_sockopt *ctx)
{
	struct ip_vs_get_dests *answer = ctx->optval;
	void *end = ctx->optval_end;
	__u32 count;

	if ((void *)(answer + 1) > end)
		return -EFAULT;
	count = reread(&answer->num_dests);
	for (__u32 i = 0; i < REALS_IN_PAGE; i++) {
		struct ip_vs_dest_entry *entry = &answer->entrytable[i];
		__u32 active = 0, inactive = 0;

		if (i >= count || (void *)(entry + 1) > end)
			break;
		if (!stats_show(&entry->stats, IPVS_API_SERVICES, &active, &inactive))
			continue;
		entry->activeconns = active;
		entry->inactconns = inactive;
	}
	return answered(ctx, sizeof(*answer) + count * sizeof(struct ip_vs_dest_entry));
}

static __always_inline int get_info(struct bpf_sockopt *ctx)
{
	const struct ipvs_api_table *table = the_table();
	struct ip_vs_getinfo *answer = ctx->optval;

	if (!table || (void *)(answer + 1) > ctx->optval_end)
		return -EFAULT;
	answer->version = IP_VS_VERSION_CODE;
	answer->size = 4096; /* of a hash table that does not exist here: the kernel's default */
	answer->num_services = table->service_count;
	return answered(ctx, sizeof(*answer));
}

static __always_inline int get_version(struct bpf_sockopt *ctx)
{
	char *answer = ctx->optval;

	if ((void *)(answer + sizeof(version)) > ctx->optval_end)
		return -EFAULT;
	__builtin_memcpy(answer, version, sizeof(version));
	return answered(ctx, sizeof(version));
}

static __always_inline int get_timeouts(struct bpf_sockopt *ctx)
{
	const struct ipvs_api_control *control = the_control();
	struct ip_vs_timeout_user *answer = ctx->optval;

	if (!control || (void *)(answer + 1) > ctx->optval_end)
		return -EFAULT;
	answer->tcp_timeout = control->timeout_tcp;
	answer->tcp_fin_timeout = control->timeout_tcp_fin;
	answer->udp_timeout = control->timeout_udp;
	return answered(ctx, sizeof(*answer));
}

static __always_inline int get_daemons(struct bpf_sockopt *ctx)
{
	struct ip_vs_daemon_user *answer = ctx->optval;

	if ((void *)(answer + 2) > ctx->optval_end)
		return -EFAULT;
	__builtin_memset(answer, 0, 2 * sizeof(*answer)); /* neither master nor backup runs */
	return answered(ctx, 2 * sizeof(*answer));
}

static __always_inline int get_command(struct bpf_sockopt *ctx)
{
	int r;

	if (!caller_may_administer(ctx))
		return -EPERM;
	if (ctx->optlen < get_length(ctx->optname))
		return -EINVAL;
	switch (ctx->optname) {
	case IP_VS_SO_GET_VERSION:
		return get_version(ctx);
	case IP_VS_SO_GET_INFO:
		return get_info(ctx);
	case IP_VS_SO_GET_SERVICES:
		r = services_list(ctx);
		return r ? r : services_stats(ctx);
	case IP_VS_SO_GET_SERVICE:
		return get_service(ctx);
	case IP_VS_SO_GET_DESTS:
		r = reals_list(ctx);
		return r ? r : reals_stats(ctx);
	case IP_VS_SO_GET_TIMEOUT:
		return get_timeouts(ctx);
	case IP_VS_SO_GET_DAEMON:
		return get_daemons(ctx);
	}
	return -EINVAL;
}

#endif
