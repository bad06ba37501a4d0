// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reals.c - the entries of real servers.
 *
 * Packets read an entry while the daemon writes it, so there are three ways to write (xlb_shared.h): flags go in one store; so
 * does a new destination MAC, which is what changes when a real server's network card is replaced; anything else of
 * the link-layer part is written only while the entry is not marked resolved and nobody reads it any more.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "xlbd/dataplane/reals.h"
#include "xlbd/dataplane/tunnels.h"
#include "xlbd/log.h"

#define TOPIC     "reals"
#define WORD      sizeof(uint64_t)                   /* written in one store */
#define LINK_PART (offsetof(struct xlb_real, flags)) /* dmac .. exit */

struct reals {
	struct dataplane *dataplane;
	struct interfaces *interfaces;
	/* mapped, by id */
	struct xlb_real *entry;
	struct xlb_tunnel *tunnel;
};

/* An array of the data plane, of XLB_IDS elements of this size; NULL with errno. */
static void *map_array(struct dataplane *dataplane, enum dataplane_map map, size_t element)
{
	void *mapped = mmap(NULL, XLB_IDS * element, PROT_READ | PROT_WRITE, MAP_SHARED,
	                    dataplane_map(dataplane, map), 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

int reals_open(struct dataplane *dataplane, struct interfaces *interfaces, struct reals **ret)
{
	_cleanup_(reals_closep) struct reals *reals = calloc(1, sizeof(*reals));

	if (!reals)
		return -ENOMEM;
	reals->dataplane = dataplane;
	reals->interfaces = interfaces;
	reals->entry = map_array(dataplane, MAP_REALS, sizeof(struct xlb_real));
	if (!reals->entry)
		return -errno;
	reals->tunnel = map_array(dataplane, MAP_TUNNELS, sizeof(struct xlb_tunnel));
	if (!reals->tunnel)
		return -errno;
	*ret = take_ptr(reals);
	return 0;
}

struct reals *reals_close(struct reals *reals)
{
	if (!reals)
		return NULL;
	if (reals->entry)
		munmap(reals->entry, XLB_IDS * sizeof(struct xlb_real));
	if (reals->tunnel)
		munmap(reals->tunnel, XLB_IDS * sizeof(struct xlb_tunnel));
	free(reals);
	return NULL;
}

struct real_entry reals_get(const struct reals *reals, uint16_t id)
{
	return (struct real_entry){reals->entry[id], reals->tunnel[id]};
}

static void set_link(struct xlb_real *real, const struct next_hop *hop, uint16_t exit)
{
	memcpy(real->dmac, hop->dmac, sizeof(real->dmac));
	memcpy(real->smac, hop->smac, sizeof(real->smac));
	for (int i = 0; i < XLB_TAGS; i++) {
		real->tpid[i] = hop->path.tpid[i];
		real->tci[i] = htons(hop->path.vid[i]);
	}
	real->ifindex = hop->path.ifindex;
	real->exit = exit;
	real->mtu = hop->mtu;
}

/* The route's source address goes around the packet, and what goes around takes room. False: it cannot be done; the judge says why. */
static bool set_tunnel(struct real_entry *entry, const struct next_hop *hop)
{
	if (!tunnel_set_source(&entry->tunnel, &hop->source) ||
	    !tunnel_fits(&entry->tunnel, hop->mtu))
		return false;
	entry->real.mtu -= entry->tunnel.length;
	return true;
}

void reals_set_hop(struct reals *reals, struct real_entry *entry, const struct next_hop *hop)
{
	int exit;

	entry->real.flags &= (uint16_t)~XLB_REAL_RESOLVED;
	if (!hop || hop->state != NEXT_HOP_RESOLVED)
		return;
	exit = interfaces_exit(reals->interfaces, hop->path.ifindex);
	if (exit < 0) {
		log_errno(exit, TOPIC, "device %u cannot send what XDP redirects to it",
		          hop->path.ifindex);
		return;
	}
	set_link(&entry->real, hop, (uint16_t)exit);
	if (entry->real.flags & XLB_REAL_TUNNEL && !set_tunnel(entry, hop))
		return;
	entry->real.flags |= XLB_REAL_RESOLVED;
}

/* Is the entry in use, and does more of it change than one store can? */
static bool must_withdraw(const struct reals *reals, uint16_t id, const struct real_entry *wanted)
{
	const struct xlb_real *slot = &reals->entry[id], *real = &wanted->real;
	bool same_rest =
		!memcmp((const char *)slot + WORD, (const char *)real + WORD, LINK_PART - WORD) &&
		slot->mtu == real->mtu &&
		!memcmp(&reals->tunnel[id], &wanted->tunnel, sizeof(wanted->tunnel)) &&
		slot->sum_l4 == real->sum_l4 &&
		!((slot->flags ^ real->flags) & (XLB_REAL_TUNNEL | XLB_REAL_NAT));

	return slot->flags & XLB_REAL_RESOLVED &&
	       (!same_rest || !(real->flags & XLB_REAL_RESOLVED));
}

bool reals_withdraw(struct reals *reals, uint16_t id, const struct real_entry *wanted)
{
	if (!must_withdraw(reals, id, wanted))
		return false;
	__atomic_and_fetch(&reals->entry[id].flags, (uint16_t)~XLB_REAL_RESOLVED, __ATOMIC_SEQ_CST);
	return true;
}

int reals_write(struct reals *reals, uint16_t id, const struct real_entry *wanted)
{
	struct xlb_real *slot = &reals->entry[id];
	const struct xlb_real *real = &wanted->real;
	uint64_t first;
	int r;

	if (reals_withdraw(reals, id, wanted)) {
		r = dataplane_synchronize(reals->dataplane);
		if (r < 0)
			return r;
	}
	memcpy(&first, real, sizeof(first));
	__atomic_store_n((uint64_t *)slot, first, __ATOMIC_SEQ_CST);
	if (memcmp((char *)slot + WORD, (const char *)real + WORD, LINK_PART - WORD))
		memcpy((char *)slot + WORD, (const char *)real + WORD, LINK_PART - WORD);
	slot->mtu = real->mtu;
	slot->service = real->service;
	slot->port = real->port;
	slot->forwarding = real->forwarding;
	slot->sum_l3 = real->sum_l3;
	slot->sum_l4 = real->sum_l4;
	slot->addr = real->addr;
	if (memcmp(&reals->tunnel[id], &wanted->tunnel, sizeof(wanted->tunnel)))
		reals->tunnel[id] = wanted->tunnel;
	__atomic_store_n(&slot->flags, real->flags, __ATOMIC_SEQ_CST);
	return 0;
}

void reals_set_next(struct reals *reals, uint16_t id, uint16_t next)
{
	__atomic_store_n(&reals->entry[id].next, next, __ATOMIC_SEQ_CST);
}

void reals_mark_gone(struct reals *reals, uint16_t id)
{
	uint16_t *flags = &reals->entry[id].flags;

	__atomic_or_fetch(flags, XLB_REAL_GONE, __ATOMIC_SEQ_CST);
	__atomic_and_fetch(flags, (uint16_t)~XLB_REAL_USABLE, __ATOMIC_SEQ_CST);
}

void reals_clear(struct reals *reals, uint16_t id)
{
	memset(&reals->entry[id], 0, sizeof(reals->entry[id]));
	memset(&reals->tunnel[id], 0, sizeof(reals->tunnel[id]));
}
