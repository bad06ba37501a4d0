// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lru.bpf.c - the same data plane with its connections in BPF_MAP_TYPE_LRU_HASH, to be compared with; never installed.
 *
 * Everything but connections.h is the product's source, included as it is.
 */
#define XLB_CONNECTIONS_H
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "settings.h"
#include "table.h"

struct connection {
	volatile __u64 *word;
	__u64 state;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2097152);
	__type(key, __u64);
	__type(value, __u64);
} lru_narrow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2097152);
	__type(key, struct wide_key);
	__type(value, __u64);
} lru_wide SEC(".maps");

static __always_inline bool connection_take(__u64 *word, struct connection *hit)
{
	if (!word)
		return false;
	hit->word = word;
	hit->state = *word;
	return TABLE_LIVE(hit->state);
}

static __always_inline bool connection_find_narrow(__u64 key, __u64 seed, struct connection *hit)
{
	(void)seed;
	return connection_take(bpf_map_lookup_elem(&lru_narrow, &key), hit);
}

static __always_inline bool connection_find_wide(const struct wide_key *key, __u64 seed,
                                                 struct connection *hit)
{
	(void)seed;
	return connection_take(bpf_map_lookup_elem(&lru_wide, key), hit);
}

static __always_inline bool connection_update(struct connection *hit, __u64 state)
{
	return table_update(hit->word, &hit->state, state);
}

static __always_inline bool connection_free(struct connection *hit, __u32 now)
{
	return table_free(hit->word, &hit->state, now);
}

static __always_inline int connection_insert_narrow(__u64 key, const struct xlb_control *control,
                                                    __u64 fresh, __u32 now, __u64 *ret_state)
{
	(void)control;
	*ret_state = TABLE_WITH_TIME(fresh, now);
	return bpf_map_update_elem(&lru_narrow, &key, ret_state, BPF_ANY) ? TABLE_REFUSED
	                                                                  : TABLE_INSERTED;
}

static __always_inline int connection_insert_wide(struct wide_key key,
                                                  const struct xlb_control *control, __u64 fresh,
                                                  __u32 now, __u64 *ret_state)
{
	(void)control;
	*ret_state = TABLE_WITH_TIME(fresh, now);
	return bpf_map_update_elem(&lru_wide, &key, ret_state, BPF_ANY) ? TABLE_REFUSED
	                                                                : TABLE_INSERTED;
}

#include "../../bpf/xlb.bpf.c"
