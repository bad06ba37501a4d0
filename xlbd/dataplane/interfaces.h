/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interfaces.h - which frames are ours, where packets may leave, whose addresses are our own.
 */
#ifndef XLBD_DATAPLANE_INTERFACES_H
#define XLBD_DATAPLANE_INTERFACES_H

#include "xlbd/cleanup.h"
#include "xlbd/dataplane/loader.h"
#include "xlbd/network.h"

struct interfaces; /* opaque */

int interfaces_open(struct dataplane *dataplane, struct interfaces **ret);
struct interfaces *interfaces_close(struct interfaces *interfaces); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct interfaces, interfaces_close)

/*
 * The interface table for the devices that carry the program: each {device, tags} with its MACs, those of VMACs included.
 * -EADDRINUSE: two of them meet in one slot (logged); the rest is written.
 */
int interfaces_set(struct interfaces *interfaces, const struct network *network,
                   const uint32_t *attached, size_t count);
/* The slot of the devmap for a device, taken now if it has none. -ENOSPC, -EOPNOTSUPP: the device cannot send XDP frames. */
int interfaces_exit(struct interfaces *interfaces, uint32_t ifindex);
/* Replaces the set of this host's own addresses. */
int interfaces_set_locals(struct interfaces *interfaces, const struct xlb_addr *addrs,
                          size_t count);

#endif
