/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replica.h - the connection table as directors share it: what changed since it was last told, and what others tell.
 *
 * A parallel array has a shadow for each slot: the connection that it held when it was last sent or received, who answers for it,
 * and the version {term, sequence} of its last writer. Packets know nothing of it. Who answers for a connection is the director
 * that is active for its service: ourselves (0), a peer (its number) or nobody.
 *
 * No I/O, no clock, no log: the protocol's simulator runs on this code.
 */
#ifndef XLBD_DATAPLANE_REPLICA_H
#define XLBD_DATAPLANE_REPLICA_H

#include "xlbd/dataplane/flows.h"

#define REPLICA_BUCKETS 4096
#define REPLICA_MAP     (REPLICA_BUCKETS / 8) /* bytes of a set of buckets */
#define REPLICA_OWNERS  16

enum replica_owner { REPLICA_SELF = 0, REPLICA_NOBODY = 255 };
enum replica_kind { REPLICA_IS, REPLICA_GONE, REPLICA_OFFERED };

struct replica; /* opaque */

struct replica_version { /* later terms win, then later sequences; a term belongs to one writer */
	uint32_t term, sequence;
};

struct replica_flow {
	struct flow flow;
	uint16_t local_port;
	bool wide; /* which table */
	uint8_t kind;
};

/*
 * Takes a connection to be told; *ret_version: of the message that carries it. False: no room now, the pass stops here and
 * goes on here the next time.
 */
typedef bool (*replica_tell)(void *context, const struct replica_flow *flow,
                             struct replica_version *ret_version);

struct replica_pass {
	uint64_t now; /* tick */
	replica_tell
		tell; /* NULL: take everything for told, as after a start on tables that were there */
	void *context;
};

struct replica_cursor {
	size_t bucket; /* of the narrow table, then of the wide one */
};

/* Hash of the name of a service or real server, the same on each director; 0: the id is nobody's. */
typedef uint64_t (*replica_name)(void *context, bool real, uint16_t id);

/* Borrows flows. tick_us: of one tick. -ENOMEM. */
int replica_open(struct flows *flows, unsigned tick_us, replica_name name, void *context,
                 struct replica **ret);
struct replica *replica_close(struct replica *replica); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct replica, replica_close)

size_t replica_buckets(
	const struct replica *replica); /* of both tables: a whole circle of a cursor */
/* Ids may have changed their owners: names are asked for again. */
void replica_forget_names(struct replica *replica);
void replica_set_authority(struct replica *replica, uint16_t service, uint8_t owner);
/* off: of this service nothing is told and nothing is taken. open_only: half-open connections are not told. */
void replica_set_policy(struct replica *replica, uint16_t service, bool off, bool open_only);
uint8_t replica_authority(const struct replica *replica, uint16_t service);

/*
 * Looks at the next buckets for what is not as it was told: tells it, if we answer for it. `skip`: how many half-open connections
 * may be told in this call. True: the cursor came round.
 */
bool replica_scan(struct replica *replica, struct replica_cursor *cursor, size_t buckets,
                  unsigned half_open, const struct replica_pass *pass);
/* Tells every connection of these digest buckets that we answer for. */
bool replica_tell_all(struct replica *replica, struct replica_cursor *cursor, size_t buckets,
                      const uint8_t map[REPLICA_MAP], const struct replica_pass *pass);
/*
 * Takes away what `owner` answers for in these buckets and has written before `since`: it has told them whole, and these were not
 * among them. What we answered for before it did is offered to it first, in three of these passes.
 */
bool replica_purge(struct replica *replica, struct replica_cursor *cursor, size_t buckets,
                   const uint8_t map[REPLICA_MAP], uint8_t owner, struct replica_version since,
                   const struct replica_pass *pass);

enum replica_result {
	REPLICA_APPLIED,
	REPLICA_SAME_OR_OLD, /* what is here is newer, or ours */
	REPLICA_NO_ROOM,
	REPLICA_UNKNOWN, /* not a connection of a service or real server that is known here */
	REPLICA_RESULTS
};
/* What the peer `owner` tells; ids in `flow` are ours. */
enum replica_result replica_apply(struct replica *replica, uint64_t now,
                                  const struct replica_flow *flow, uint8_t owner,
                                  struct replica_version version);

/* replica_apply() of this is near: its lines are fetched. Changes nothing. */
void replica_expect(const struct replica *replica, const struct replica_flow *flow);

/* A peer has gone, or begins anew: what it answered for has no owner any more. */
void replica_disown(struct replica *replica, uint8_t owner);

/* Sums of the hashes of the open connections that `owner` answers for; kept up to date, costs nothing to ask. */
const uint64_t *replica_digests(const struct replica *replica, uint8_t owner);
uint64_t replica_digest_sum(const struct replica *replica, uint8_t owner);

/* The next step of a hash over words; start with 0. */
static inline uint64_t replica_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull;
	return hash ^ hash >> 32;
}

/* Of a name, as it is on the wire. */
uint64_t replica_hash_name(const struct xlb_name *name);

#endif
