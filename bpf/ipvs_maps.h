/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipvs_maps.h - the three maps of the IPVS interface (what is in them: ipvs_api.h) and whose they are.
 */
#ifndef IPVS_MAPS_H
#define IPVS_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "ipvs_api.h"

const volatile __u64 netns_cookie = 0; /* whose table this is */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ipvs_api_table);
} ipvs_table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ipvs_api_control);
} ipvs_control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IPVS_API_SERVICES + IPVS_API_REALS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ipvs_api_stats_record);
} ipvs_stats SEC(".maps");

static __always_inline struct ipvs_api_table *the_table(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ipvs_table, &zero);
}

static __always_inline struct ipvs_api_control *the_control(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ipvs_control, &zero);
}

#define COUNT(counter) __sync_fetch_and_add(&(counter), 1)

#endif
