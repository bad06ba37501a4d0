/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipvs_table.h - finds, adds and removes services and real servers. Every function here runs under the table's lock.
 *
 * Under a BPF spin lock nothing may be called (6.1: not even another function of the program), so all of it is inline and works
 * inside the one map value that was looked up before; lists are slot numbers. Interrupts are off meanwhile, so the holder
 * is never preempted and nobody waits longer than one walk: a hash chain, or the real servers of one service.
 * Order is IPVS's: a new real server goes to the head of its service's list, an edited one stays where it is, and
 * one that was removed and comes back is new.
 */
#ifndef IPVS_TABLE_H
#define IPVS_TABLE_H

#include <linux/bpf.h>
#include <linux/errno.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "ipvs_api.h"

/* A slot number from memory, in its range: one `and` that compiler and verifier both see. */
#define SERVICE_AT(table, slot) (&(table)->service[(slot) & (IPVS_API_SERVICES - 1)])
#define REAL_AT(table, slot)    (&(table)->real[(slot) & (IPVS_API_REALS - 1)])

/* A service or real server as a command describes it. */
struct ipvs_wish {
	struct ipvs_api_key key;
	char scheduler[16];
	__u32 flags;
	__u32 timeout;
	__be32 netmask;
	__be32 real_addr;
	__be16 real_port;
	__u16 pad;
	__u32 real_flags;
	__s32 weight;
	__u32 upper, lower;
};

static __always_inline __u64 key_word(const struct ipvs_api_key *key)
{
	__u64 word;

	__builtin_memcpy(&word, key, sizeof(word));
	return word;
}

static __always_inline __u32 bucket_of(const struct ipvs_api_key *key)
{
	__u32 x = key->addr ^ ((__u32)key->port << 16 | key->protocol) * 0x85ebca6bu;

	return x * 0x9e3779b1u >> 20 & (IPVS_API_BUCKETS - 1);
}

/* Slot of the service, 0: not there. *ret_full: its bucket takes no more. */
static __always_inline __u32 service_find(const struct ipvs_api_table *table,
                                          const struct ipvs_api_key *key, bool *ret_full)
{
	__u32 slot = table->bucket[bucket_of(key)];
	__u64 wanted = key_word(key);

	*ret_full = false;
	for (int i = 0; i < IPVS_API_CHAIN; i++) {
		if (!slot)
			return 0;
		if (key_word(&SERVICE_AT(table, slot)->key) == wanted)
			return slot;
		slot = SERVICE_AT(table, slot)->chain;
	}
	*ret_full = true;
	return 0;
}

static __always_inline void service_describe(struct ipvs_api_service *service,
                                             const struct ipvs_wish *wish)
{
	__builtin_memcpy(service->scheduler, wish->scheduler, sizeof(service->scheduler));
	service->flags = wish->flags;
	service->timeout = wish->timeout;
	service->netmask = wish->netmask;
}

static __always_inline int service_add(struct ipvs_api_table *table, const struct ipvs_wish *wish)
{
	__u32 bucket = bucket_of(&wish->key);
	struct ipvs_api_service *service;
	__u32 slot = table->service_free;

	if (slot) {
		table->service_free = SERVICE_AT(table, slot)->chain;
	} else {
		if (table->service_used >= IPVS_API_SERVICES - 1)
			return -ENOMEM;
		slot = ++table->service_used;
	}
	service = SERVICE_AT(table, slot);
	service->key = wish->key;
	service_describe(service, wish);
	service->newest = service->oldest = service->real_count = 0;
	service->zeroed = 0;
	service->sequence = ++table->sequence;
	service->chain = table->bucket[bucket];
	table->bucket[bucket] = slot;
	service->after = 0;
	service->before = table->last;
	if (table->last)
		SERVICE_AT(table, table->last)->after = slot;
	else
		table->first = slot;
	table->last = slot;
	table->service_count++;
	return 0;
}

/* Takes the service out of its bucket, out of the list, and frees its slot and its real servers' slots. */
static __always_inline void service_remove(struct ipvs_api_table *table, __u32 slot)
{
	struct ipvs_api_service *service = SERVICE_AT(table, slot);
	__u32 bucket = bucket_of(&service->key);
	__u32 previous = table->bucket[bucket];

	if (previous == slot) {
		table->bucket[bucket] = service->chain;
	} else {
		for (int i = 0; i < IPVS_API_CHAIN && previous; i++) {
			__u32 next = SERVICE_AT(table, previous)->chain;

			if (next == slot) {
				SERVICE_AT(table, previous)->chain = service->chain;
				break;
			}
			previous = next;
		}
	}
	if (service->before)
		SERVICE_AT(table, service->before)->after = service->after;
	else
		table->first = service->after;
	if (service->after)
		SERVICE_AT(table, service->after)->before = service->before;
	else
		table->last = service->before;
	if (service->newest) {
		REAL_AT(table, service->oldest)->next = table->real_free;
		table->real_free = service->newest;
		table->real_count -= service->real_count;
	}
	service->sequence = 0;
	service->chain = table->service_free;
	table->service_free = slot;
	table->service_count--;
}

/*
 * Slot of the real server, 0: not there. *ret_newer: the one before it in the list, 0: it is the newest.
 * What is looked for stands in slot 0 meanwhile, so every list has it in the end, and a step of the walk is one branch: the
 * verifier takes 8,192 of them in a row.
 */
static __always_inline __u32 real_find(struct ipvs_api_table *table,
                                       const struct ipvs_api_service *service,
                                       const struct ipvs_wish *wish, __u32 *ret_newer)
{
	__u32 slot = service->newest, newer = 0;

	table->real[0].addr = wish->real_addr;
	table->real[0].port = wish->real_port;
	for (int i = 0; i <= IPVS_API_REALS_OF_SERVICE; i++) {
		const struct ipvs_api_real *real = REAL_AT(table, slot);

		if (!((real->addr ^ wish->real_addr) | (real->port ^ wish->real_port)))
			break;
		newer = slot;
		slot = real->next;
	}
	*ret_newer = newer;
	return slot;
}

static __always_inline void real_describe(struct ipvs_api_real *real, const struct ipvs_wish *wish)
{
	real->flags = wish->real_flags;
	real->weight = wish->weight;
	real->upper = wish->upper;
	real->lower = wish->lower;
}

static __always_inline int real_add(struct ipvs_api_table *table, struct ipvs_api_service *service,
                                    const struct ipvs_wish *wish)
{
	__u32 slot = table->real_free;
	struct ipvs_api_real *real;

	if (service->real_count >= IPVS_API_REALS_OF_SERVICE)
		return -ENOMEM;
	if (slot) {
		table->real_free = REAL_AT(table, slot)->next;
	} else {
		if (table->real_used >= IPVS_API_REALS - 1)
			return -ENOMEM;
		slot = ++table->real_used;
	}
	real = REAL_AT(table, slot);
	real->addr = wish->real_addr;
	real->port = wish->real_port;
	real_describe(real, wish);
	real->sequence = ++table->sequence;
	real->next = service->newest;
	service->newest = slot;
	if (!service->oldest)
		service->oldest = slot;
	service->real_count++;
	table->real_count++;
	return 0;
}

static __always_inline void real_remove(struct ipvs_api_table *table,
                                        struct ipvs_api_service *service, __u32 slot, __u32 newer)
{
	struct ipvs_api_real *real = REAL_AT(table, slot);

	if (newer)
		REAL_AT(table, newer)->next = real->next;
	else
		service->newest = real->next;
	if (service->oldest == slot)
		service->oldest = newer;
	service->real_count--;
	table->real_count--;
	real->sequence = 0;
	real->next = table->real_free;
	table->real_free = slot;
}

static __always_inline void table_flush(struct ipvs_api_table *table)
{
	volatile __u16 *bucket = table->bucket; /* volatile: no memset, which would be a call */

	for (int i = 0; i < IPVS_API_BUCKETS; i++)
		bucket[i] = 0;
	table->first = table->last = 0;
	table->service_count = table->real_count = 0;
	table->service_free = table->real_free = 0;
	table->service_used = table->real_used = 0;
}

#endif
