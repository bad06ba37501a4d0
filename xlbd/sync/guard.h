/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard.h - our own kernel must not reset connections between the moment when keepalived adds a virtual address and the moment when
 * packets to it are ours.
 */
#ifndef XLBD_SYNC_GUARD_H
#define XLBD_SYNC_GUARD_H

#include "xlb_shared.h"
#include "xlbd/cleanup.h"

#define GUARD_MAX   512 /* services */
#define GUARD_TABLE "xlbd_guard"

struct guard; /* opaque */

/* -EOPNOTSUPP or what netlink says: no nf_tables; one goes without then. */
int guard_open(struct guard **ret);
/* Takes the rules away; so does the kernel when the process ends, however it ends. */
struct guard *guard_close(struct guard *guard);
DEFINE_CLEANUP(struct guard, guard_close)

/* From now on no TCP reset leaves this host from these, and from no others. Does nothing if they are the same as before. */
int guard_set(struct guard *guard, const struct xlb_service_key *keys, size_t count);

#endif
