/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node.h - one director in the protocol: what comes in, what the clock brings. Pure: time, transport and chance are the caller's.
 */
#ifndef XLBD_SYNC_NODE_H
#define XLBD_SYNC_NODE_H

#include "xlbd/dataplane/replica.h"
#include "xlbd/sync/peer.h"
#include "xlbd/sync/stream.h"

#define NODE_TICK_MS 5

struct sync_node; /* opaque */

struct node_setup {
	uint16_t cluster, id; /* id: 1 .. 255 */
	size_t message_max;
	struct keyring keys;
	unsigned tick_us; /* of the table's clock */
	void *context;
	void (*send)(void *context, const uint8_t *message, size_t length);
	void (*random)(void *context, void *to, size_t size);
	/* names and ids of services and real servers of this director */
	bool (*name)(void *context, bool real, uint16_t id, struct xlb_name *ret);
	uint16_t (*id_of)(void *context, const struct xlb_name *name);
};

struct node_time {
	int64_t ms;
	uint64_t tick;
};

/* The replica may be changed later (another table): node_set_replica(). */
int node_open(const struct node_setup *setup, struct replica *replica, struct sync_node **ret);
struct sync_node *node_close(struct sync_node *node); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct sync_node, node_close)
void node_set_replica(struct sync_node *node, struct replica *replica);

/* A datagram; it is decrypted in place. */
void node_receive(struct sync_node *node, uint8_t *message, size_t length, struct node_time now);
/* Every NODE_TICK_MS. */
void node_tick(struct sync_node *node, struct node_time now);
/* We forward for this service now, or no more. */
void node_set_active(struct sync_node *node, uint16_t service, bool active);
/* Ids may have other owners, names other ids: look again. To be called after each sweep. */
void node_forget_names(struct sync_node *node);
void node_set_configuration(struct sync_node *node, uint32_t digest);
void node_set_connections(struct sync_node *node, uint32_t count);
void node_set_keys(struct sync_node *node, const struct keyring *keys);
/* Compares with every peer as if we had just come. */
void node_resync(struct sync_node *node);

/* For those who show it and for the gate. */
enum node_state {
	NODE_ALONE,   /* no peer is heard */
	NODE_JOINING, /* a peer that is active has what we do not have yet */
	NODE_EQUAL,
};
struct node_status {
	enum node_state state;
	uint16_t id;
	uint64_t epoch;
	uint32_t term;
	size_t peers, active, split; /* services: ours; ours and a peer's */
	uint8_t key;
	uint64_t sequence, messages, bytes, records, repeated, digest;
	uint64_t strangers, same_id,
		versions; /* datagrams refused: of nobody; of our own id; of another version */
	uint32_t configuration;
};
void node_status(const struct sync_node *node, int64_t now_ms, struct node_status *ret);
const struct peer *node_peer(const struct sync_node *node, size_t index); /* NULL after the last */

#endif
