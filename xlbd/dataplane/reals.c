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
#include "xlbd/log.h"

#define TOPIC     "reals"
#define BYTES     (XLB_IDS * sizeof(struct xlb_real))
#define WORD      sizeof(uint64_t)                   /* written in one store */
#define LINK_PART (offsetof(struct xlb_real, flags)) /* dmac .. exit */

struct reals {
	struct dataplane *dataplane;
	struct interfaces *interfaces;
	struct xlb_real *entry; /* mapped, by id */
};

int reals_open(struct dataplane *dataplane, struct interfaces *interfaces, struct reals **ret)
{
	struct reals *reals = calloc(1, sizeof(*reals));
	void *mapped;

	if (!reals)
		return -ENOMEM;
	mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
	              dataplane_map(dataplane, MAP_REALS), 0);
	if (mapped == MAP_FAILED) {
		free(reals);
		return -errno;
	}
	*reals = (struct reals){.dataplane = dataplane, .interfaces = interfaces, .entry = mapped};
	*ret = reals;
	return 0;
}

struct reals *reals_close(struct reals *reals)
{
	if (reals)
		munmap(reals->entry, BYTES);
	free(reals);
	return NULL;
}

const struct xlb_real *reals_get(const struct reals *reals, uint16_t id)
{
	return &reals->entry[id];
}

void reals_set_hop(struct reals *reals, struct xlb_real *real, const struct next_hop *hop)
{
	int exit;

	real->flags &= (uint16_t)~XLB_REAL_RESOLVED;
	if (!hop || hop->state != NEXT_HOP_RESOLVED)
		return;
	exit = interfaces_exit(reals->interfaces, hop->path.ifindex);
	if (exit < 0) {
		log_errno(exit, TOPIC, "device %u cannot send what XDP redirects to it",
		          hop->path.ifindex);
		return;
	}
	memcpy(real->dmac, hop->dmac, sizeof(real->dmac));
	memcpy(real->smac, hop->smac, sizeof(real->smac));
	for (int i = 0; i < XLB_TAGS; i++) {
		real->tpid[i] = hop->path.tpid[i];
		real->tci[i] = htons(hop->path.vid[i]);
	}
	real->ifindex = hop->path.ifindex;
	real->exit = (uint16_t)exit;
	real->mtu = hop->mtu;
	real->flags |= XLB_REAL_RESOLVED;
}

/* Is the entry in use, and does more of it change than one store can? */
static bool must_withdraw(const struct xlb_real *slot, const struct xlb_real *wanted)
{
	bool same_rest =
		!memcmp((const char *)slot + WORD, (const char *)wanted + WORD, LINK_PART - WORD) &&
		slot->mtu == wanted->mtu;

	return slot->flags & XLB_REAL_RESOLVED &&
	       (!same_rest || !(wanted->flags & XLB_REAL_RESOLVED));
}

bool reals_withdraw(struct reals *reals, uint16_t id, const struct xlb_real *wanted)
{
	struct xlb_real *slot = &reals->entry[id];

	if (!must_withdraw(slot, wanted))
		return false;
	__atomic_and_fetch(&slot->flags, (uint16_t)~XLB_REAL_RESOLVED, __ATOMIC_SEQ_CST);
	return true;
}

int reals_write(struct reals *reals, uint16_t id, const struct xlb_real *wanted)
{
	struct xlb_real *slot = &reals->entry[id];
	uint64_t first;
	int r;

	if (reals_withdraw(reals, id, wanted)) {
		r = dataplane_synchronize(reals->dataplane);
		if (r < 0)
			return r;
	}
	memcpy(&first, wanted, sizeof(first));
	__atomic_store_n((uint64_t *)slot, first, __ATOMIC_SEQ_CST);
	if (memcmp((char *)slot + WORD, (const char *)wanted + WORD, LINK_PART - WORD))
		memcpy((char *)slot + WORD, (const char *)wanted + WORD, LINK_PART - WORD);
	slot->mtu = wanted->mtu;
	slot->service = wanted->service;
	slot->port = wanted->port;
	slot->forwarding = wanted->forwarding;
	slot->addr = wanted->addr;
	__atomic_store_n(&slot->flags, wanted->flags, __ATOMIC_SEQ_CST);
	return 0;
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
}
