// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hearts.c - heartbeats: that a node lives, what it has sent and received, and whom it may be trusted to be.
 *
 * A message is authentic if its seal is good, but it may be a recording. So the messages of an epoch count only after a heartbeat of
 * that epoch that answers our challenge for this peer, which names our own epoch beside it; each challenge is used up by the
 * epoch that it admits. Two nodes that never met trust each other after two heartbeats of each side, and a heartbeat that has
 * something to answer is sent at once.
 *
 * A heartbeat also carries the highest sequence of the stream (so the loss of the last message shows), the sum of the digests at that
 * sequence (fetch.c compares it), the highest term heard, and the keys that the node has: the key that all peers have with
 * the highest id is the one to send with, which is how a new key comes into use without a message lost.
 *
 * Called by node.c.
 */
#include <string.h>

#include "xlbd/sync/node_inside.h"

/* ---- out -------------------------------------------------------------------------------------- */

static size_t put_peer(const struct sync_node *node, const struct peer *peer, uint8_t *to)
{
	const struct window *window = &peer->window[WIRE_STREAM];
	const struct wire_heart_peer entry = {
		.id = peer->id,
		.flags = peer->epoch ? WIRE_PEER_TRUSTED : 0,
		.clock = peer->heart.clock,
		.since = (uint32_t)(node->now.ms - peer->heard_at),
		.gaps = (uint32_t)(window->highest - window->received),
		.epoch = peer->last_epoch,
		.challenge = peer->challenge,
		.answer = peer->answer,
		.received = window->received,
	};

	return wire_put_heart_peer(&entry, to);
}

void hearts_send(struct sync_node *node)
{
	uint8_t body[WIRE_HEART + WIRE_PEERS_MAX * WIRE_HEART_PEER];
	struct node_status status;
	struct wire_heart heart;
	size_t used;

	stream_flush(node->stream); /* the digests' sum is that of what was sent */
	node_status(node, node->now.ms, &status);
	heart = (struct wire_heart){
		.highest = stream_highest(node->stream),
		.sum = replica_digest_sum(node->replica, REPLICA_SELF),
		.term_heard = node->term_heard,
		.configuration = node->configuration,
		.clock = (uint32_t)node->now.ms,
		.version_min = WIRE_VERSION,
		.version_max = WIRE_VERSION,
		.flags = status.state == NODE_JOINING ? 0 : WIRE_HEART_HOLDS,
		.keys = keyring_ids(&node->setup.keys),
		.connections = node->connections,
		.names = node->announced_count,
		.peers = (uint16_t)node->peer_count,
	};
	used = wire_put_heart(&heart, body);
	for (size_t i = 0; i < node->peer_count; i++)
		used += put_peer(node, node->peer[i], body + used);
	stream_aside(node->stream, WIRE_HEARTBEAT, body, used);
	node->last_heart = node->now.ms;
	node->next_heart = node->now.ms + NODE_HEART_MS;
}

void hearts_choose_key(struct sync_node *node)
{
	uint16_t common = keyring_ids(&node->setup.keys);
	const struct seal_key *key = NULL;

	for (size_t i = 0; i < node->peer_count; i++)
		if (node->peer[i]->heard &&
		    node->now.ms - node->peer[i]->heard_at < 20 * PEER_SILENT &&
		    common & node->peer[i]->heart.keys)
			common &= node->peer[i]->heart.keys;
	for (size_t i = 0; i < node->setup.keys.count; i++) {
		const struct seal_key *one = &node->setup.keys.key[i];

		if (common >> one->id & 1 && (!key || one->id > key->id))
			key = one;
	}
	if (!key || key->id == node->key_id)
		return;
	node->key_id = key->id;
	stream_set_key(node->stream, key);
}

/* ---- in --------------------------------------------------------------------------------------- */

static void answer_soon(struct sync_node *node)
{
	int64_t soonest = node->last_heart + NODE_TICK_MS;

	if (node->next_heart > soonest)
		node->next_heart = soonest;
}

/* The epoch of this heartbeat is the peer's: it has answered our challenge. */
static void trust(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                  const struct wire_heart *heart)
{
	for (uint16_t id = 1; id < node->id_end; id++)
		node_claim(node, id, peer->owner, false);
	peer_reset(peer);
	peer->epoch = header->epoch;
	peer->start = heart->highest;
	window_start(&peer->window[WIRE_STREAM], heart->highest);
	window_start(&peer->window[WIRE_ASIDE], header->sequence);
	peer->fetch.urgent = true;
	node->setup.random(node->setup.context, &peer->challenge, sizeof(peer->challenge));
	answer_soon(node);
}

static void take_our_entry(struct sync_node *node, struct peer *peer,
                           const struct wire_header *header, const struct wire_heart *heart,
                           const struct wire_heart_peer *entry)
{
	if (entry->epoch != node->epoch)
		return;
	if (entry->challenge && peer->answer != entry->challenge) {
		peer->answer = entry->challenge;
		answer_soon(node);
	}
	if (header->epoch != peer->epoch && entry->answer == peer->challenge)
		trust(node, peer, header, heart);
	if (header->epoch != peer->epoch)
		return;
	peer->round_trip = (uint32_t)node->now.ms - entry->clock - entry->since;
	peer->reported = entry->received;
}

static void hear_term(struct sync_node *node, struct peer *peer, uint32_t term)
{
	if (!node->term_heard || (int32_t)(term - node->term_heard) > 0)
		node->term_heard = term;
	/* who starts anew, active, must be above what it said before */
	if (!peer->heard && node->active_count &&
	    (int32_t)(node->term_heard - stream_term(node->stream)) >= 0)
		node->term_wanted = true;
}

void hearts_take(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                 const uint8_t *body, size_t length)
{
	struct wire_heart_peer entry;
	struct wire_heart heart;

	if (wire_get_heart(body, length, &heart) < 0) {
		peer->count.malformed++;
		return;
	}
	hear_term(node, peer, heart.term_heard);
	hear_term(node, peer, header->term);
	if (header->epoch != peer->epoch && peer->last_epoch != header->epoch)
		answer_soon(node);
	peer->last_epoch = header->epoch;
	if (!peer->heard)
		peer->first_heard = node->now.ms;
	peer->heard = true;
	for (size_t i = 0; i < heart.peers; i++) {
		wire_get_heart_peer(body + WIRE_HEART + i * WIRE_HEART_PEER, &entry);
		if (entry.id == node->setup.id)
			take_our_entry(node, peer, header, &heart, &entry);
	}
	peer->heart = heart;
	if (header->epoch != peer->epoch)
		return;
	if (node->now.ms - peer->heard_at > PEER_SILENT) {
		peer->fetch.urgent = true; /* who knows what we missed */
		peer->fetch.rounds = 0;
	}
	peer->heard_at = node->now.ms;
	if (peer->term != header->term) {
		peer->term = header->term;
		node->authority_dirty = true;
	}
	if (window_know(&peer->window[WIRE_STREAM], heart.highest)) {
		peer->count.given_up++;
		peer->given_up_at = heart.highest;
		peer->fetch.urgent = true;
	}
	fetch_heart(node, peer);
}
