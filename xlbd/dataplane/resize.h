/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resize.h - another size of the connection table, while packets use it: which step is next, and when.
 */
#ifndef XLBD_DATAPLANE_RESIZE_H
#define XLBD_DATAPLANE_RESIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "xlbd/cleanup.h"
#include "xlbd/dataplane/flows.h"
#include "xlbd/dataplane/loader.h"

struct resize; /* opaque */

/* Borrows the data plane. Goes on with what a daemon left that died in the middle. */
int resize_open(struct dataplane *dataplane, struct resize **ret);
struct resize *resize_close(
	struct resize *resize); /* NULL is fine; returns NULL; what is under way stays so */
DEFINE_CLEANUP(struct resize, resize_close)

/* Maps the tables of the data plane, those that they grow out of included. */
int resize_open_flows(struct dataplane *dataplane, struct flows **ret);

/* So many connections are to fit. Carried out by resize_step(); what is refused is said once, and the size stays. */
void resize_want(struct resize *resize, uint64_t ipv4, uint64_t ipv6);

/*
 * One step. *flows is replaced when the tables are. Returns after how many ms the next is due; 0: all is done. A step that moves
 * takes 8 ms; the one that loads a program as long as the verifier does, the one that maps tables as long as reading them once.
 */
unsigned resize_step(struct resize *resize, struct flows **flows, uint64_t now);

struct resize_progress {
	const char *stage;             /* "spread", "move", "forget": resize.c */
	uint64_t slots_from, slots_to; /* of both tables together */
	uint64_t moved, left; /* connections; left: in the last whole walk, for want of a slot */
	unsigned percent;     /* of this walk */
};
/* False: nothing is under way. */
bool resize_progress(const struct resize *resize, struct resize_progress *ret);

#endif
