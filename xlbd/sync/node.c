// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * node.c - one director in the protocol: what comes in, what the clock brings.
 *
 * Everything is done in two calls: node_receive() for a datagram, node_tick() every 5 ms. Neither waits, and both take bounded time. The
 * caller gives the time, sends the bytes and draws the random numbers, so the protocol runs as it is in a simulator
 * (tests/unit/test_sync_simulator.c), where a seed decides what gets lost.
 *
 * Who answers for a service is decided here: ourselves while we are active for it; else the peer that says it is, the one with the highest
 * term if several do; a peer that is silent goes on answering until somebody else says so, since that is what a standby is
 * for. A datagram is looked at in the order of cost: header, sender, sequence, seal; nothing changes before the seal was good.
 *
 * The parts: stream.c sends, telling.c says what, hearts.c trusts, peer.c takes, fetch.c compares. Does not: read files, keep
 * sockets, log, look at a clock.
 */
#include <errno.h>
#include <string.h>

#include "xlbd/sync/node_inside.h"

#define GAP_MS          2  /* a hole of this age is no reordering */
#define MISSING_MS      15 /* between two requests */
#define MISSING_TRIES   60
#define DERIVATIONS     8 /* a tick */
#define ACTIVE_SPLIT_MS 250

/* ---- open and close --------------------------------------------------------------------------- */

int node_open(const struct node_setup *setup, struct replica *replica, struct sync_node **ret)
{
	_cleanup_(node_closep) struct sync_node *node = calloc(1, sizeof(*node));
	struct stream_setup stream;
	const struct seal_key *lowest;
	int r;

	if (!node)
		return -ENOMEM;
	if (!setup->id || setup->id > 255 || !setup->keys.count)
		return -EINVAL;
	node->setup = *setup;
	node->replica = replica;
	while (!node->epoch)
		setup->random(setup->context, &node->epoch, sizeof(node->epoch));
	stream = (struct stream_setup){.cluster = setup->cluster,
	                               .node = setup->id,
	                               .epoch = node->epoch,
	                               .message_max = setup->message_max,
	                               .send = setup->send,
	                               .context = setup->context};
	r = stream_open(&stream, &node->stream);
	if (r < 0)
		return r;
	lowest = &setup->keys.key[0];
	for (size_t i = 1; i < setup->keys.count; i++)
		if (setup->keys.key[i].id < lowest->id)
			lowest = &setup->keys.key[i];
	node->key_id = lowest->id;
	stream_set_key(node->stream, lowest);
	stream_set_term(node->stream, 255u - setup->id);
	*ret = take_ptr(node);
	return 0;
}

struct sync_node *node_close(struct sync_node *node)
{
	if (!node)
		return NULL;
	for (size_t i = 0; i < node->peer_count; i++)
		peer_free(node->peer[i]);
	stream_close(node->stream);
	keyring_forget(&node->setup.keys);
	free(node);
	return NULL;
}

/* ---- who answers for what --------------------------------------------------------------------- */

/* Of two that say to be active: the one that speaks, then the one that began later. */
static bool is_better(const struct sync_node *node, const struct peer *peer,
                      const struct peer *than)
{
	bool there = peer_is_there(peer, node->now.ms);

	if (!than || there != peer_is_there(than, node->now.ms))
		return !than || there;
	return (int32_t)(peer->term - than->term) > 0;
}

void node_refresh_authority(struct sync_node *node, uint16_t service)
{
	const struct peer *best = NULL;

	for (size_t i = 0; i < node->peer_count; i++) {
		const struct peer *peer = node->peer[i];

		if (node->claims[service] >> peer->owner & 1 && is_better(node, peer, best))
			best = peer;
	}
	replica_set_authority(node->replica, service,
	                      node->active[service] ? REPLICA_SELF
	                      : best                ? best->owner
	                                            : REPLICA_NOBODY);
}

/* What it said while it was active too must not count for newer than what we say from now on. */
static void rival_gone(struct sync_node *node, uint16_t service)
{
	if (node->active[service] && (int32_t)(node->term_heard - stream_term(node->stream)) > 0)
		node->term_wanted = true;
}

void node_claim(struct sync_node *node, uint16_t service, uint8_t owner, bool claims)
{
	uint16_t bit = (uint16_t)(1u << owner), before;

	if (!service || service >= XLB_IDS)
		return;
	if (service >= node->id_end)
		node->id_end = (uint16_t)(service + 1);
	before = node->claims[service];
	node->claims[service] = claims ? before | bit : before & (uint16_t)~bit;
	if (node->claims[service] == before)
		return;
	if (!claims)
		rival_gone(node, service);
	node_refresh_authority(node, service);
}

static void refresh_all(struct sync_node *node)
{
	node->authority_dirty = false;
	for (uint16_t id = 1; id < node->id_end; id++)
		node_refresh_authority(node, id);
}

void node_set_replica(struct sync_node *node, struct replica *replica)
{
	for (uint16_t id = 1; id < XLB_IDS; id++)
		replica_set_authority(replica, id, replica_authority(node->replica, id));
	node->replica = replica;
	node->scan = (struct replica_cursor){};
	node->telling.running = false;
	for (size_t i = 0; i < node->peer_count; i++)
		if (node->peer[i]->fetch.state == FETCH_PURGE)
			node->peer[i]->fetch.state = FETCH_REST;
}

void node_set_active(struct sync_node *node, uint16_t service, bool active)
{
	if (!service || service >= XLB_IDS || node->active[service] == active)
		return;
	if (service >= node->id_end)
		node->id_end = (uint16_t)(service + 1);
	if (!active)
		telling_last_words(node);
	node->active[service] = active;
	node->active_count += active ? 1 : -1;
	if (active)
		node->term_wanted = true;
	else
		node_resync(node); /* who is active now may not have all that we had */
	node_refresh_authority(node, service);
	telling_announce(node, false, service, false);
}

void node_forget_names(struct sync_node *node)
{
	node->names_generation++;
	replica_forget_names(node->replica);
	telling_check_names(node);
	memset(node->claims, 0, sizeof(node->claims));
	for (size_t i = 0; i < node->peer_count; i++)
		peer_claim_all(node, node->peer[i]);
	refresh_all(node);
}

void node_set_configuration(struct sync_node *node, uint32_t digest)
{
	node->configuration = digest;
}

void node_set_connections(struct sync_node *node, uint32_t count)
{
	node->connections = count;
}

void node_set_keys(struct sync_node *node, const struct keyring *keys)
{
	node->setup.keys = *keys;
	for (size_t i = 0; i < node->peer_count; i++)
		memset(node->peer[i]->session, 0, sizeof(node->peer[i]->session));
	node->key_id = 255; /* whatever it was, derive it anew */
	hearts_choose_key(node);
}

void node_resync(struct sync_node *node)
{
	for (size_t i = 0; i < node->peer_count; i++) {
		struct fetch *fetch = &node->peer[i]->fetch;

		fetch->urgent = true;
		fetch->equal = false;
		fetch->rounds = 0;
		fetch->rest_until = 0;
	}
}

static void take_term(struct sync_node *node)
{
	uint32_t above = stream_term(node->stream);

	if ((int32_t)(node->term_heard - above) > 0)
		above = node->term_heard;
	node->term_wanted = false;
	stream_set_term(node->stream, ((above >> 8) + 1) << 8 | (255u - node->setup.id));
}

/* ---- in --------------------------------------------------------------------------------------- */

static struct peer *find_peer(struct sync_node *node, uint16_t id)
{
	for (size_t i = 0; i < node->peer_count; i++)
		if (node->peer[i]->id == id)
			return node->peer[i];
	return NULL;
}

static struct peer *add_peer(struct sync_node *node, uint16_t id)
{
	struct peer *peer;

	if (node->peer_count == WIRE_PEERS_MAX)
		return NULL;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->id = id;
	peer->owner = (uint8_t)(node->peer_count + 1);
	while (!peer->challenge)
		node->setup.random(node->setup.context, &peer->challenge, sizeof(peer->challenge));
	node->peer[node->peer_count++] = peer;
	return peer;
}

static void take_missing(struct sync_node *node, struct peer *from, const uint8_t *body,
                         size_t length)
{
	uint8_t lost[WIRE_RANGES_MAX * 16];
	struct wire_missing missing;
	struct wire_range range;
	size_t used = 0;

	if (wire_get_missing(body, length, &missing) < 0) {
		from->count.malformed++;
		return;
	}
	if (missing.node != node->setup.id) {
		struct peer *other = find_peer(node, missing.node);

		/* somebody else asks for what we may miss too: it will come */
		if (other && other->epoch == missing.epoch)
			other->next_missing = node->now.ms + MISSING_MS;
		return;
	}
	if (missing.epoch != node->epoch)
		return;
	for (size_t i = 0; i < missing.count; i++) {
		stream_repeat(node->stream, &missing.range[i], node->now.ms, &range);
		if (range.first)
			used += wire_put_range(&range, lost + used);
	}
	if (used)
		stream_aside(node->stream, WIRE_LOST, lost, used);
}

static void take_lost(struct peer *peer, const uint8_t *body, size_t length)
{
	struct window *window = &peer->window[WIRE_STREAM];
	struct wire_range range;

	for (; length >= 16; body += 16, length -= 16) {
		if (wire_get_range(body, &range) < 0) {
			peer->count.malformed++;
			continue;
		}
		if (range.first <= window->received)
			range.first = window->received + 1;
		for (uint64_t i = range.first; i <= range.last && i <= window->highest; i++) {
			if (!window_is_new(window, i))
				continue;
			(void)window_take(window, i);
			peer->count.lost++;
		}
		peer->given_up_at = window->highest;
		peer->fetch.urgent = true;
	}
}

static void take_stream(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                        const uint8_t *body, size_t length)
{
	switch (header->type) {
	case WIRE_FLOWS4:
	case WIRE_FLOWS6:
	case WIRE_LONG_FLOWS6:
		peer_take_flows(node, peer, header, body, length);
		break;
	case WIRE_NAMES:
		peer_take_names(node, peer, header, body, length);
		break;
	case WIRE_DIGESTS:
		fetch_digests(node, peer, header, body, length);
		break;
	case WIRE_ALL:
		fetch_all(peer, header, body, length);
		break;
	default: /* of a later version: it counts as received */
		break;
	}
}

static void take_aside(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                       const uint8_t *body, size_t length)
{
	switch (header->type) {
	case WIRE_HEARTBEAT:
		hearts_take(node, peer, header, body, length);
		break;
	case WIRE_MISSING:
		take_missing(node, peer, body, length);
		break;
	case WIRE_WANT:
		telling_take_want(node, body, length);
		break;
	case WIRE_LOST:
		take_lost(peer, body, length);
		break;
	default:
		break;
	}
}

/* A message of the epoch that we trust. */
static void take_trusted(struct sync_node *node, struct peer *peer,
                         const struct wire_header *header, uint8_t *message, size_t length)
{
	struct window *window = &peer->window[header->channel];
	const uint8_t *key;
	int size;

	if (!window_is_new(window, header->sequence)) {
		peer->count.duplicates++;
		return;
	}
	key = peer_session_key(peer, &node->setup.keys, header->epoch, header->key);
	size = key ? seal_open(key, message, length) : -EBADMSG;
	if (size < 0) {
		peer->count.forged++;
		return;
	}
	if (header->channel == WIRE_STREAM && header->sequence < window->highest)
		peer->count.repaired++;
	if (window_take(window, header->sequence) && header->channel == WIRE_STREAM) {
		peer->count.given_up++;
		peer->given_up_at = window->highest;
		peer->fetch.urgent = true;
	}
	peer->count.messages++;
	if ((int32_t)(header->term - node->term_heard) > 0)
		node->term_heard = header->term; /* its heartbeat may never come */
	if (header->channel == WIRE_STREAM)
		take_stream(node, peer, header, message + WIRE_HEADER, (size_t)size - WIRE_HEADER);
	else
		take_aside(node, peer, header, message + WIRE_HEADER, (size_t)size - WIRE_HEADER);
	if (window_is_whole(&peer->window[WIRE_STREAM]))
		peer->gap_since = 0;
	else if (!peer->gap_since)
		peer->gap_since = node->now.ms;
}

/*
 * A message of a sender or an epoch that we do not trust (yet): only its heartbeats are looked at, and only some a tick, since each
 * costs the derivation of a key.
 */
static void take_untrusted(struct sync_node *node, const struct wire_header *header,
                           uint8_t *message, size_t length)
{
	const struct seal_key *key = keyring_find(&node->setup.keys, header->key);
	struct peer *peer = find_peer(node, header->sender);
	uint8_t derived[SEAL_KEY];
	int size;

	if (!key || header->channel != WIRE_ASIDE || header->type != WIRE_HEARTBEAT ||
	    !node->derivations) {
		node->strangers += !peer;
		if (peer)
			peer->count.untrusted++;
		return;
	}
	node->derivations--;
	seal_derive(key, header->sender, header->epoch, derived);
	size = seal_open(derived, message, length);
	if (size < 0) {
		node->strangers += !peer;
		if (peer)
			peer->count.forged++;
		return;
	}
	if (header->sender == node->setup.id) {
		node->same_id++;
		return;
	}
	if (!peer)
		peer = add_peer(node, header->sender);
	if (peer)
		hearts_take(node, peer, header, message + WIRE_HEADER, (size_t)size - WIRE_HEADER);
}

void node_receive(struct sync_node *node, uint8_t *message, size_t length, struct node_time now)
{
	struct wire_header header;
	struct peer *peer;
	int r = wire_get_header(message, length, &header);

	node->now = now;
	if (r == -EPROTONOSUPPORT)
		node->versions++;
	else if (r < 0 || header.cluster != node->setup.cluster || !header.sender ||
	         header.sender > 255)
		node->strangers++;
	if (r < 0 || header.cluster != node->setup.cluster || !header.sender || header.sender > 255)
		return;
	if (header.sender == node->setup.id && header.epoch == node->epoch)
		return; /* our own, come back */
	peer = find_peer(node, header.sender);
	if (peer && peer->epoch && peer->epoch == header.epoch)
		take_trusted(node, peer, &header, message, length);
	else
		take_untrusted(node, &header, message, length);
}

/* ---- the clock -------------------------------------------------------------------------------- */

void node_want(struct sync_node *node, const struct peer *peer, uint16_t what,
               const uint8_t map[WIRE_MAP])
{
	struct wire_want_message want = {.node = peer->id, .what = what, .epoch = peer->epoch};
	uint8_t body[16 + WIRE_MAP];

	/* what we have is from a higher term and does not give way: two were active, and the other one is no more */
	if (peer->fetch.rounds)
		want.term = node->term_heard;
	if (map)
		memcpy(want.map, map, WIRE_MAP);
	stream_aside(node->stream, WIRE_WANT, body, wire_put_want(&want, body));
}

static void ask_again(struct sync_node *node, struct peer *peer)
{
	struct wire_missing missing = {.node = peer->id, .epoch = peer->epoch};
	struct window *window = &peer->window[WIRE_STREAM];
	uint8_t body[16 + 16 * WIRE_RANGES_MAX], chance;

	if (!peer->gap_since)
		peer->missing_tries = 0;
	if (!peer->gap_since || node->now.ms - peer->gap_since < GAP_MS ||
	    node->now.ms < peer->next_missing || !peer_is_there(peer, node->now.ms))
		return;
	if (++peer->missing_tries > MISSING_TRIES) {
		peer->count.given_up++;
		peer->given_up_at = window->highest;
		peer->fetch.urgent = true;
		window_start(window, window->highest);
		peer->gap_since = 0;
		return;
	}
	missing.count = (uint16_t)window_missing(window, missing.range, WIRE_RANGES_MAX);
	if (missing.count)
		stream_aside(node->stream, WIRE_MISSING, body, wire_put_missing(&missing, body));
	peer->count.gaps++;
	node->setup.random(node->setup.context, &chance, 1);
	peer->next_missing = node->now.ms + MISSING_MS + chance % 4;
}

/* Peers that have fallen silent, or speak again. */
static void watch_silence(struct sync_node *node)
{
	for (size_t i = 0; i < node->peer_count; i++) {
		struct peer *peer = node->peer[i];
		bool there = peer_is_there(peer, node->now.ms);

		if (there == peer->was_there)
			continue;
		peer->was_there = there;
		node->authority_dirty = true;
		for (uint16_t id = 1; !there && id < node->id_end; id++)
			if (node->claims[id] >> peer->owner & 1)
				rival_gone(node, id);
	}
}

static void count_split(struct sync_node *node)
{
	uint16_t there = 0;

	for (size_t i = 0; i < node->peer_count; i++)
		if (node->peer[i]->epoch &&
		    node->now.ms - node->peer[i]->heard_at < ACTIVE_SPLIT_MS)
			there |= (uint16_t)(1u << node->peer[i]->owner);
	node->split = 0;
	for (size_t id = 1; node->active_count && there && id < node->id_end; id++)
		node->split += node->active[id] && node->claims[id] & there;
}

void node_tick(struct sync_node *node, struct node_time now)
{
	node->now = now;
	node->derivations = DERIVATIONS;
	if (node->term_wanted)
		take_term(node);
	if (node->authority_dirty)
		refresh_all(node);
	hearts_choose_key(node);
	telling_tick(node);
	for (size_t i = 0; i < node->peer_count; i++)
		fetch_tick(node, node->peer[i]);
	stream_flush(node->stream);
	for (size_t i = 0; i < node->peer_count; i++)
		ask_again(node, node->peer[i]);
	if (now.ms >= node->next_heart) {
		watch_silence(node);
		count_split(node);
		hearts_send(node);
	}
}

/* ---- status ----------------------------------------------------------------------------------- */

static enum node_state state_of(const struct sync_node *node, int64_t now_ms)
{
	enum node_state state = NODE_ALONE;

	for (size_t i = 0; i < node->peer_count; i++) {
		const struct peer *peer = node->peer[i];

		if (!peer_is_there(peer, now_ms)) {
			/* it speaks, and we shall know it in a moment */
			if (peer->heard && !peer->epoch && now_ms - peer->first_heard < 2000)
				return NODE_JOINING;
			continue;
		}
		if (!peer->fetch.equal)
			return NODE_JOINING;
		state = NODE_EQUAL;
	}
	return state;
}

void node_status(const struct sync_node *node, int64_t now_ms, struct node_status *ret)
{
	*ret = (struct node_status){
		.state = state_of(node, now_ms),
		.id = node->setup.id,
		.epoch = node->epoch,
		.term = stream_term(node->stream),
		.peers = node->peer_count,
		.active = node->active_count,
		.split = node->split,
		.key = node->key_id,
		.sequence = stream_highest(node->stream),
		.messages = stream_messages(node->stream),
		.bytes = stream_bytes(node->stream),
		.records = stream_records(node->stream),
		.repeated = stream_repeated(node->stream),
		.digest = replica_digest_sum(node->replica, REPLICA_SELF),
		.strangers = node->strangers,
		.same_id = node->same_id,
		.versions = node->versions,
		.configuration = node->configuration,
	};
}

const struct peer *node_peer(const struct sync_node *node, size_t index)
{
	return index < node->peer_count ? node->peer[index] : NULL;
}
