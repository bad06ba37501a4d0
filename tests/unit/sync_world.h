/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sync_world.h - directors on plain memory and a network between them, for tests of xlbd/sync: time, loss and chance come from a seed.
 */
#ifndef TESTS_UNIT_SYNC_WORLD_H
#define TESTS_UNIT_SYNC_WORLD_H

#include "xlbd/dataplane/replica.h"
#include "xlbd/sync/node.h"

#define WORLD_NODES    4
#define WORLD_SERVICES 3    /* 1, 2: IPv4; 3: IPv6. Each director has other ids for them */
#define WORLD_REALS    4    /* of a service */
#define WORLD_KEEP     4096 /* datagrams in flight */

struct world;

struct world_director {
	struct world *world;
	unsigned number; /* its id is number + 1 */
	bool runs;
	struct xlb_control control;
	struct flows_table table[2];
	struct flows *flows;
	struct replica *replica;
	struct sync_node *node;
	uint16_t shift; /* of its ids */
	int64_t clock;  /* of its clock, ms: what it is ahead of the world's */
	int64_t next;   /* ms: its next tick */
	bool active[WORLD_SERVICES];
	uint64_t epoch;
};

struct world_datagram {
	int64_t at;
	unsigned from, to;
	uint16_t length;
	uint8_t bytes[1500];
};

struct world_faults {
	unsigned loss, duplicates, delay; /* per thousand; ms at most */
	bool cut[WORLD_NODES][WORLD_NODES];
};

struct world {
	uint64_t chance; /* state of the generator */
	int64_t now;     /* ms */
	unsigned count;
	struct world_director director[WORLD_NODES];
	struct world_faults faults;
	struct world_datagram *datagram; /* in flight */
	size_t flying;
	struct keyring keys;
	uint64_t sent, dropped;
	/* sees every datagram that is sent; NULL: nobody */
	void (*tap)(void *context, const uint8_t *bytes, size_t length, unsigned from);
	void *context;
};

void world_open(struct world *world, unsigned count, uint64_t seed);
void world_close(struct world *world);
uint64_t world_random(struct world *world); /* the next number of the seed */
static inline unsigned world_below(struct world *world, unsigned end)
{
	return (unsigned)(world_random(world) >> 33) % end;
}

/* Runs everything up to this time. */
void world_run(struct world *world, int64_t until);
/* The daemon alone, or the whole machine: an empty table. */
void world_start(struct world *world, unsigned number);
void world_stop(struct world *world, unsigned number, bool table_too);
void world_set_active(struct world *world, unsigned number, unsigned service, bool active);
void world_deliver(struct world *world, unsigned to, const uint8_t *bytes, size_t length);

/* What packets do. `version` goes into the local port (IPv4 and IPv6): later packets of a connection have higher ones. */
struct world_connection {
	unsigned service, client; /* service: 0 .. */
	unsigned real;            /* 0 .. */
	uint8_t phase;
	uint16_t version;
};
bool world_put(struct world *world, unsigned number, const struct world_connection *connection);
bool world_get(struct world *world, unsigned number, unsigned service, unsigned client,
               struct world_connection *ret);
size_t world_live(struct world *world, unsigned number); /* connections in its table */

#endif
