/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_inside.h - a node as its own files see it: node.c, hearts.c, peer.c, fetch.c, telling.c. For nobody else.
 */
#ifndef XLBD_SYNC_NODE_INSIDE_H
#define XLBD_SYNC_NODE_INSIDE_H

#include "xlbd/sync/node.h"

#define NODE_HEART_MS 50

struct telling { /* every connection of some buckets, on request */
	bool running;
	uint8_t map[WIRE_MAP], next[WIRE_MAP];
	bool more; /* `next` holds something */
	uint64_t begin;
	struct replica_cursor cursor;
};

struct sync_node {
	struct node_setup setup;
	struct replica *replica;
	struct stream *stream;
	struct node_time now;
	uint64_t epoch;
	uint32_t term_heard, configuration, connections;
	bool term_wanted;     /* another one, above all that was heard */
	bool authority_dirty; /* who answers for which service may have changed */
	uint8_t key_id;
	struct peer *peer[WIRE_PEERS_MAX];
	size_t peer_count;
	bool active[XLB_IDS]; /* services, by our id */
	uint16_t id_end;      /* above all services of which `active` and `claims` say something */
	uint16_t claims[XLB_IDS]; /* which peers (bit: owner) are active for it, by our id */
	size_t active_count, split;
	uint64_t announced[2][XLB_IDS]; /* hash of what NAMES said of our id; 0: nothing */
	uint16_t announced_end[2];      /* above the highest id that was said */
	uint32_t announced_count;
	uint32_t names_generation;
	struct replica_cursor scan;
	struct telling telling;
	uint64_t budget; /* messages: no more records when the stream has sent so many */
	int64_t next_heart, last_heart, names_told, digests_told;
	unsigned
		derivations; /* of keys for senders and epochs that may be nobody's, in this tick */
	uint64_t strangers, same_id, versions;
};

/* ---- node.c ---- */
void node_refresh_authority(struct sync_node *node, uint16_t service);
void node_claim(struct sync_node *node, uint16_t service, uint8_t owner, bool claims);
void node_want(struct sync_node *node, const struct peer *peer, uint16_t what,
               const uint8_t map[WIRE_MAP]);

/* ---- hearts.c ---- */
void hearts_send(struct sync_node *node);
/* Of a peer, in its trusted epoch or another one. */
void hearts_take(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                 const uint8_t *body, size_t length);
void hearts_choose_key(struct sync_node *node);

/* ---- telling.c ---- */
/* replica_tell of a node. */
bool telling_put(void *context, const struct replica_flow *flow,
                 struct replica_version *ret_version);
void telling_announce(struct sync_node *node, bool real, uint16_t id, bool again);
void telling_check_names(struct sync_node *node); /* says again what has changed */
void telling_take_want(struct sync_node *node, const uint8_t *body, size_t length);
/* Everything that has changed, at once: we are about to stop answering for something. */
void telling_last_words(struct sync_node *node);
void telling_tick(struct sync_node *node);

#endif
