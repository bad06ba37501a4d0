/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ids.h - the life of ids: a name gets one, keeps it across restarts, and loses it only when no connection carries it.
 *
 * An id belongs to a name {address, port, protocol[, real server]}, kept in the pinned map `names`. What is removed keeps its
 * id, marked gone, and gets it back if it returns. The id has a new owner only after a whole sweep of the connection table,
 * begun after its owner was marked gone, found no entry with it; the longest unused ids go first.
 */
#ifndef XLBD_DATAPLANE_IDS_H
#define XLBD_DATAPLANE_IDS_H

#include <stdbool.h>
#include <stddef.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"

struct ids; /* opaque */

/* names_fd: the map; -1: kept in memory alone (tests). Takes over what is there. */
int ids_open(int names_fd, struct ids **ret);
struct ids *ids_close(struct ids *ids); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct ids, ids_close)

/* The name's id, given now if it had none; a gone one is revived. 0: all ids are in use or in quarantine. *ret_new (may be NULL): it had none. */
uint16_t ids_take(struct ids *ids, const struct xlb_name *name, bool *ret_new);
/* The value of a name; NULL: unknown. */
const struct xlb_id *ids_find(const struct ids *ids, const struct xlb_name *name);
/* The name of an id; NULL: nobody's. */
const struct xlb_name *ids_name(const struct ids *ids, bool real, uint16_t id);
/* Marks gone; connections keep the id. Call after no program can hand it out any more. */
void ids_mark_gone(struct ids *ids, const struct xlb_name *name);
void ids_set_weight(struct ids *ids, const struct xlb_name *name, int32_t last_weight);
/* Adds to what a service carries from former real servers. */
void ids_carry(struct ids *ids, const struct xlb_service_key *service, uint64_t packets,
               uint64_t bytes, uint64_t connections);
/* Gives the id of a gone name back. */
void ids_release(struct ids *ids, const struct xlb_name *name);
/* Calls see() for each name; see() may release or mark the name that it is given. */
void ids_each(struct ids *ids,
              void (*see)(void *context, const struct xlb_name *name, const struct xlb_id *id),
              void *context);

#endif
