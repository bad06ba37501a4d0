// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * place.c - which place of a ring a new connection gets.
 *
 * The data plane chooses for packets; this is the same choice for people who ask (`xlbctl explain`), on a ring as ring.c builds
 * it, with the same hashes (bpf/lib/hash.h).
 */
#include "xlbd/model/place.h"
#include "lib/hash.h"

#define FLAG_FALLBACK 0x8 /* IP_VS_SVC_F_SCHED1: sh-fallback, mh-fallback */
#define FLAG_PORT     0x10

/* Place in the ring for this offset. */
static size_t hashed_place(enum xlb_scheduler scheduler, const struct ring *ring, uint32_t folded,
                           uint16_t port, uint32_t offset)
{
	return scheduler == XLB_SCHED_MH ? hash_mh(folded, port, offset) % ring->length
	                                 : hash_sh(folded, port, offset) & (ring->length - 1);
}

static bool place_is_usable(const struct service *service, const struct ring *ring, size_t place)
{
	return ring->place[place] && service->reals[ring->place[place] - 1].weight > 0;
}

/* mh and sh: the client's place, or with the fallback flag the first usable one after it. */
static size_t place_of_client(const struct service *service, const struct ring *ring,
                              const struct xlb_addr *client, uint16_t client_port)
{
	enum xlb_scheduler scheduler = ring_scheduler(service->scheduler);
	uint16_t port = service->flags & FLAG_PORT ? client_port : 0;
	uint32_t folded = hash_fold(client);
	size_t first = hashed_place(scheduler, ring, folded, port, 0), place = first;

	if (!(service->flags & FLAG_FALLBACK))
		return first;
	for (size_t offset = 0;
	     offset < ring->length && ring->place[place] && !place_is_usable(service, ring, place);
	     offset++)
		place = hashed_place(scheduler, ring, folded, port,
		                     (uint32_t)((offset + first) % ring->length));
	return place;
}

const struct real_server *place_choose(const struct service *service, const struct ring *ring,
                                       const struct xlb_addr *client, uint16_t client_port,
                                       uint64_t cursor, size_t *ret_place)
{
	size_t place;

	if (!ring->length)
		return NULL;
	switch (ring_scheduler(service->scheduler)) {
	case XLB_SCHED_MH:
	case XLB_SCHED_SH:
		place = place_of_client(service, ring, client, client_port);
		break;
	case XLB_SCHED_DH:
		place = hash_dh(hash_fold(&service->key.addr)) & (ring->length - 1);
		break;
	default:
		place = cursor % ring->length;
	}
	if (!place_is_usable(service, ring, place))
		return NULL;
	*ret_place = place;
	return &service->reals[ring->place[place] - 1];
}
