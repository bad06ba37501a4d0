/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps.h - every map but the connection table's (connections.h): who writes it, who reads it, what a miss means.
 *
 * Written by the daemon only, through xlbd/dataplane/, unless a line says otherwise. All are pinned.
 */
#ifndef XLB_MAPS_H
#define XLB_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "xlb_shared.h"

/* Heart beat, which half of the service table counts, timeouts. Read by every packet, mapped by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xlb_control);
} control SEC(".maps");

/* The service table, twice; both slots of the line wrong: not for us. Mapped by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2 * XLB_SERVICE_LINES);
	__type(key, __u32);
	__type(value, struct xlb_service_line);
} services SEC(".maps");

/* Services that found their line taken; asked only while XLB_CONTROL_OVERFLOW is set. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, XLB_SERVICE_OVERFLOW);
	__type(key, struct xlb_service_key);
	__type(value, struct xlb_service);
} service_overflow SEC(".maps");

/* Real servers by id. Mapped by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, XLB_IDS);
	__type(key, __u32);
	__type(value, struct xlb_real);
} reals SEC(".maps");

/* What goes around packets to real servers behind tunnels, by the real server's id. Mapped by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, XLB_IDS);
	__type(key, __u32);
	__type(value, struct xlb_tunnel);
} tunnels SEC(".maps");

/* What virtual server an id is, for answers of NAT real servers. Mapped by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, XLB_IDS);
	__type(key, __u32);
	__type(value, struct xlb_service_key);
} service_keys SEC(".maps");

/* Where routes lead, by device; a miss: nothing of ours leaves there. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, XLB_EXITS);
	__type(key, __u32);
	__type(value, struct xlb_way);
} ways SEC(".maps");

/* The ring of each service, by id, replaced whole; no inner map: no real server. */
struct ring_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP); /* rings differ in length */
	__uint(max_entries, 1);
	__uint(key_size,
	       sizeof(__u32)); /* by size: clang leaves the union out of an inner map's BTF */
	__uint(value_size, sizeof(union xlb_ring_element));
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, XLB_IDS);
	__type(key, __u32);
	__array(values, struct ring_map);
} rings SEC(".maps");

/* Where rr and wrr are on their ring, by service. Written by packets. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, XLB_IDS);
	__type(key, __u32);
	__type(value, __u64);
} cursors SEC(".maps");

/* Frames of which device and tags may be ours, and to which MACs; an empty slot: none. Mapped by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, XLB_INTERFACES);
	__type(key, __u32);
	__type(value, struct xlb_interface);
} interfaces SEC(".maps");

/* This host's own addresses: no packet from outside comes from one. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct xlb_addr);
	__type(value, __u32);
} locals SEC(".maps");

/* Devices that packets leave by, when it is not the one they came from. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, XLB_EXITS);
	__type(key, __u32);
	__type(value, __u32);
} exits SEC(".maps");

/* First fragment -> real server. Written by packets; a miss: the first fragment went elsewhere, or comes later. */
struct fragment_key {
	struct xlb_addr source, dest;
	__be32 id;
	__u32 protocol;
};
struct fragment {
	__u32 real;
	__u16 service;
	__u16 side; /* whose packet it is */
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct fragment_key);
	__type(value, struct fragment);
} fragments SEC(".maps");

/* What is left of the ICMP errors that we may send: [0] time exceeded, [1] too big. Written by packets of one CPU each. */
struct refuse_bucket {
	__u64 since; /* nanoseconds since boot: filled up to here */
	__u64 tokens;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct refuse_bucket);
} refusals SEC(".maps");

/* Ids by name, for the next daemon. No packet reads it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 2 * XLB_IDS);
	__type(key, struct xlb_name);
	__type(value, struct xlb_id);
} names SEC(".maps");

/* Counters, written by packets of one CPU each. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XLB_VERDICT_COUNT);
	__type(key, __u32);
	__type(value, struct xlb_verdict_counters);
} verdict_counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XLB_IDS);
	__type(key, __u32);
	__type(value, struct xlb_real_counters);
} real_counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XLB_IDS);
	__type(key, __u32);
	__type(value, struct xlb_service_counters);
} service_counters SEC(".maps");

#endif
