/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sources.h - where answers of NAT real servers come from, in the service table.
 */
#ifndef XLBD_DATAPLANE_SOURCES_H
#define XLBD_DATAPLANE_SOURCES_H

#include "xlbd/cleanup.h"
#include "xlbd/dataplane/ids.h"
#include "xlbd/dataplane/reals.h"
#include "xlbd/dataplane/service_table.h"

struct sources; /* opaque: what stands in the table */

int sources_open(struct sources **ret);
struct sources *sources_close(struct sources *sources); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct sources, sources_close)

/*
 * One entry of the table for each address, port and protocol of NAT real servers, and the lists of them (struct xlb_real: next): for
 * every real server that has an id, except those that `leaves` says of (NULL: none). The table is dirty afterwards
 * if entries came or went. Returns how many entries there are; -ENOMEM: everything is as it was.
 */
int sources_set(struct sources *sources, struct ids *ids, struct reals *reals,
                struct service_table *table,
                bool (*leaves)(void *context, const struct xlb_name *name, const struct xlb_id *id),
                void *context);

#endif
