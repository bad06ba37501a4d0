/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * choose.h - which real server takes a new connection.
 *
 * The choice is IPVS's: mh, sh, dh by the kernel's own hashes on the kernel's own tables, rr and wrr by one cursor on a
 * whole cycle of the kernel's walk (xlbd/model/ring.c builds them).
 */
#ifndef XLB_STAGE_CHOOSE_H
#define XLB_STAGE_CHOOSE_H

#include "lib/endian.h"
#include "lib/hash.h"
#include "maps.h"
#include "packet.h"

/* What is in one place of a ring; 0: nobody. */
static __always_inline __u32 ring_at(void *ring, __u32 place)
{
	__u32 index = 1 + place / XLB_RING_WORDS;
	union xlb_ring_element *element = bpf_map_lookup_elem(ring, &index);

	return element ? element->real[place % XLB_RING_WORDS] : 0;
}

static __always_inline bool real_is_usable(__u32 id)
{
	struct xlb_real *real = id ? bpf_map_lookup_elem(&reals, &id) : 0;

	return real && real->flags & XLB_REAL_USABLE;
}

/* State of a search for a usable real server, for bpf_loop(). */
struct choose_search {
	__u32 service, length, folded, first, real;
	__u16 port;
	__u8 scheduler, pad;
};

/* sh-fallback and mh-fallback: offset by offset from the first place, each hashed anew, until one is usable. */
static long choose_next(__u32 offset, void *context)
{
	struct choose_search *search = context;
	void *ring = bpf_map_lookup_elem(&rings, &search->service);
	__u32 place, shifted = (offset + search->first) % search->length;

	if (!ring)
		return 1;
	place = search->scheduler == XLB_SCHED_MH
	                ? hash_mh(search->folded, search->port, shifted) % search->length
	                : hash_sh(search->folded, search->port, shifted) & (search->length - 1);
	search->real = ring_at(ring, place);
	if (!search->real) /* an empty place ends the search, as in ip_vs_mh_get_fallback() */
		return 1;
	if (real_is_usable(search->real))
		return 1;
	search->real = 0;
	return 0;
}

static __always_inline __u32 choose_by_cursor(__u32 service, void *ring, __u32 length)
{
	__u64 *cursor = bpf_map_lookup_elem(&cursors, &service);

	return cursor ? ring_at(ring, __sync_fetch_and_add(cursor, 1) % length) : 0;
}

static __always_inline __u32 choose_by_hash(const struct packet *packet, void *ring, __u32 length)
{
	struct choose_search search = {
		.service = packet->service, .length = length, .scheduler = packet->scheduler};
	__u32 place, real;

	if (packet->scheduler == XLB_SCHED_DH)
		return ring_at(ring, hash_dh(hash_fold(&packet->to.addr)) & (length - 1));
	search.folded = hash_fold(&packet->client);
	if (packet->service_flags & XLB_SERVICE_PORT)
		search.port = xlb_ntohs(packet->client_port);
	if (packet->scheduler == XLB_SCHED_MH)
		place = hash_mh(search.folded, search.port, 0) % length;
	else
		place = hash_sh(search.folded, search.port, 0) & (length - 1);
	real = ring_at(ring, place);
	if (real_is_usable(real) || !(packet->service_flags & XLB_SERVICE_FALLBACK) || !real)
		return real;
	/* ip_vs_{sh,mh}_get_fallback(): the offsets are counted from the place that was unusable */
	search.first = place;
	bpf_loop(length, choose_next, &search, 0);
	return search.real;
}

/* The real server that takes this connection; 0: there is none. Global: the verifier looks at it once, its stack is its own. */
__noinline int real_choose(const struct packet *packet)
{
	__u32 service, zero = 0, length, real;
	union xlb_ring_element *header;
	void *ring;

	if (!packet)
		return 0;
	service = packet->service;
	ring = bpf_map_lookup_elem(&rings, &service);
	if (!ring)
		return 0;
	header = bpf_map_lookup_elem(ring, &zero);
	if (!header || !header->header.length)
		return 0;
	length = header->header.length;
	real = packet->scheduler == XLB_SCHED_RR ? choose_by_cursor(service, ring, length)
	                                         : choose_by_hash(packet, ring, length);
	return real_is_usable(real) ? real : 0;
}
#endif
