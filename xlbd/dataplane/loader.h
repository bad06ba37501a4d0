/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loader.h - the data plane in the kernel: open, set, load, pin. The only module that sees the skeleton.
 */
#ifndef XLBD_DATAPLANE_LOADER_H
#define XLBD_DATAPLANE_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"
#include "xlbd/dataplane/flows.h"

struct dataplane; /* opaque */

struct dataplane_options {
	const char *pin_folder; /* NULL: nothing is pinned (tests, bench) */
	uint64_t connections_ipv4, connections_ipv6;
	unsigned silence_ms;
};

/*
 * Loads the program over the pinned maps, or makes and pins them. Holds a lock on the pin folder: -EBUSY: another
 * daemon has it. -EPROTO: pinned maps of another layout. Logs, libbpf's lines included.
 */
int dataplane_open(const struct dataplane_options *options, struct dataplane **ret);
/* Leaves maps and links pinned: packets go on. */
struct dataplane *dataplane_close(struct dataplane *dataplane);
DEFINE_CLEANUP(struct dataplane, dataplane_close)

/* The tick now (64 bit), and the heart beats: packets see that the daemon is alive. */
uint64_t dataplane_now(struct dataplane *dataplane);
int dataplane_heartbeat(struct dataplane *dataplane);
/* Beats only if the heart (of the daemon before) has not fallen silent: while the daemon starts. True: it did. */
bool dataplane_keep_heart(struct dataplane *dataplane);
unsigned dataplane_tick_ms(const struct dataplane *dataplane);      /* 256 at HZ=250 and HZ=1000 */
struct xlb_control *dataplane_control(struct dataplane *dataplane); /* mapped */

enum dataplane_map { /* descriptors for who works on a map; owned by the data plane */
	             MAP_SERVICES,
	             MAP_SERVICE_OVERFLOW,
	             MAP_REALS,
	             MAP_TUNNELS,
	             MAP_SERVICE_KEYS,
	             MAP_WAYS,
	             MAP_RINGS,
	             MAP_CURSORS,
	             MAP_INTERFACES,
	             MAP_LOCALS,
	             MAP_EXITS,
	             MAP_NAMES,
	             MAP_VERDICT_COUNTERS,
	             MAP_REAL_COUNTERS,
	             MAP_SERVICE_COUNTERS,
	             MAP_FRAGMENTS,
	             MAP_COUNT
};
int dataplane_map(const struct dataplane *dataplane, enum dataplane_map map);
void dataplane_tables(const struct dataplane *dataplane, struct flows_table *ret_ipv4,
                      struct flows_table *ret_ipv6);
/* Those that they grow out of; bits 0: there is none. */
void dataplane_old_tables(const struct dataplane *dataplane, struct flows_table *ret_ipv4,
                          struct flows_table *ret_ipv6);
/*
 * Loads the program anew over the tables that are pinned now, for resize.c; the former one stays on devices until links_replace().
 * with_old false: it does not know the old tables. On failure everything is as it was. -EOPNOTSUPP: nothing is pinned. Logs.
 */
int dataplane_reload(struct dataplane *dataplane, bool with_old);
/* Waits until every program that runs now has ended. */
int dataplane_synchronize(struct dataplane *dataplane);

int dataplane_ingress_fd(
	const struct dataplane *dataplane); /* the program, for links.h and BPF_PROG_TEST_RUN */
const char *dataplane_pin_folder(const struct dataplane *dataplane); /* NULL: nothing is pinned */

#endif
