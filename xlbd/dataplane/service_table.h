/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service_table.h - the data plane's table of virtual servers: what it should hold, and how that becomes so at once.
 */
#ifndef XLBD_DATAPLANE_SERVICE_TABLE_H
#define XLBD_DATAPLANE_SERVICE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"
#include "xlbd/dataplane/loader.h"

struct service_table; /* opaque */

int service_table_open(struct dataplane *dataplane, struct service_table **ret);
struct service_table *service_table_close(
	struct service_table *table); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct service_table, service_table_close)

/* What should be there. Nothing changes for packets before the next publish. -ENOMEM. */
int service_table_put(struct service_table *table, const struct xlb_service *service);
void service_table_drop(struct service_table *table, const struct xlb_service_key *key);
const struct xlb_service *service_table_find(const struct service_table *table,
                                             const struct xlb_service_key *key);
bool service_table_is_dirty(const struct service_table *table);
/*
 * Writes the half that is not in force, waits until no packet reads the former content of it, and turns over: every packet
 * sees the old table or the new one. -ENOSPC: more services than the overflow map holds met in full lines.
 */
int service_table_publish(struct service_table *table);

#endif
