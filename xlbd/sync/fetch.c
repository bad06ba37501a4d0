// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fetch.c - does what we have of a peer equal what it has, and if not: which buckets, and get them.
 *
 * A heartbeat tells the sum of the peer's digests at its highest sequence. If we have received exactly that much, our own sum for this
 * peer is comparable. When they differ we want its digests, which come in the stream, each message comparable at its own
 * sequence; then the buckets that differ; then, when it has said all of them, what it did not name goes (replica_purge).
 *
 * After a join, a loss beyond repair or an outage one comparison counts (urgent). Otherwise differences must last: connections
 * that end by themselves end here and there at slightly different times, and a bucket is asked for only if it differed in two
 * comparisons a second apart. What does not become equal after some rounds (another configuration) is tried ever more
 * seldom. Nothing here stops the stream; nothing is asked for more than some times a second.
 */
#include <string.h>

#include "xlbd/sync/node_inside.h"

#define PATIENCE_MS   2000 /* unequal for so long, without a reason to hurry */
#define ANSWER_MS     250  /* until digests are asked for again */
#define PROGRESS_MS   1000 /* without a record of the buckets that were asked for */
#define TRIES         40
#define HURRIED       4 /* rounds after a join; then patience */
#define REST_MAX_MS   60000
#define PURGE_BUCKETS 65536

static bool comparable(const struct peer *peer, uint64_t sequence)
{
	const struct window *window = &peer->window[WIRE_STREAM];

	return window_is_whole(window) && window->highest == sequence && !peer->parked_count;
}

static bool is_empty(const uint8_t map[WIRE_MAP])
{
	static const uint8_t none[WIRE_MAP];

	return memcmp(map, none, WIRE_MAP) == 0;
}

static void rest(struct sync_node *node, struct fetch *fetch, int64_t ms)
{
	fetch->state = FETCH_REST;
	fetch->tries = 0;
	fetch->rest_until = node->now.ms + ms;
}

static void want_digests(struct sync_node *node, struct peer *peer)
{
	struct fetch *fetch = &peer->fetch;

	if (fetch->state != FETCH_DIGESTS) {
		fetch->state = FETCH_DIGESTS;
		fetch->tries = 0;
		memset(fetch->compared, 0, WIRE_MAP);
		memset(fetch->differs, 0, WIRE_MAP);
	}
	fetch->asked = node->now.ms;
	node_want(node, peer, WIRE_WANT_DIGESTS, NULL);
}

static void want_buckets(struct sync_node *node, struct peer *peer, const uint8_t map[WIRE_MAP])
{
	struct fetch *fetch = &peer->fetch;

	fetch->state = FETCH_BUCKETS;
	fetch->tries = 0;
	fetch->asked = node->now.ms;
	fetch->applied_then = peer->count.records;
	node_want(node, peer, WIRE_WANT_BUCKETS, map);
}

/* The longer in vain, the longer the rest. */
static int64_t rest_after(const struct fetch *fetch)
{
	int64_t ms = 500;

	for (unsigned i = HURRIED; i < fetch->rounds && ms < REST_MAX_MS; i++)
		ms *= 2;
	return fetch->rounds < HURRIED ? 0 : ms;
}

static void found_equal(struct sync_node *node, struct peer *peer)
{
	struct fetch *fetch = &peer->fetch;

	fetch->equal = true;
	fetch->equal_at = node->now.ms;
	fetch->urgent = false;
	fetch->unequal_since = 0;
	fetch->rounds = 0;
	memset(fetch->before, 0, WIRE_MAP);
	if (fetch->state != FETCH_PURGE)
		fetch->state = FETCH_REST;
}

void fetch_heart(struct sync_node *node, struct peer *peer)
{
	struct fetch *fetch = &peer->fetch;

	/* what was named before we were there */
	if ((peer->names < peer->heart.names || peer->parked_count) &&
	    node->now.ms - peer->names_asked >= ANSWER_MS) {
		peer->names_asked = node->now.ms;
		node_want(node, peer, WIRE_WANT_NAMES, NULL);
	}
	if (!comparable(peer, peer->heart.highest))
		return;
	if (peer->heart.sum == replica_digest_sum(node->replica, peer->owner)) {
		found_equal(node, peer);
		return;
	}
	if (!fetch->unequal_since)
		fetch->unequal_since = node->now.ms;
	if (fetch->urgent || node->now.ms - fetch->unequal_since >= PATIENCE_MS)
		fetch->equal = false;
	if (fetch->state == FETCH_REST && !fetch->equal && node->now.ms >= fetch->rest_until)
		want_digests(node, peer);
}

/* All buckets have been compared. */
static void decide(struct sync_node *node, struct peer *peer)
{
	struct fetch *fetch = &peer->fetch;
	uint8_t wanted[WIRE_MAP];

	for (size_t i = 0; i < WIRE_MAP; i++)
		wanted[i] = fetch->differs[i] & (fetch->urgent ? 0xff : fetch->before[i]);
	memcpy(fetch->before, fetch->differs, WIRE_MAP);
	if (is_empty(fetch->differs)) {
		found_equal(node, peer);
		return;
	}
	if (is_empty(wanted)) {
		rest(node, fetch, 1000);
		return;
	}
	want_buckets(node, peer, wanted);
}

void fetch_digests(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                   const uint8_t *body, size_t length)
{
	const uint64_t *ours = replica_digests(node->replica, peer->owner);
	struct fetch *fetch = &peer->fetch;
	size_t first, count;

	if (length < 8 || fetch->state != FETCH_DIGESTS)
		return;
	/* where messages overtake each other all the time, what is on its way makes some buckets differ: better these too than none */
	if (!comparable(peer, header->sequence) && !fetch->tries)
		return;
	first = wire_get16(body);
	count = (length - 8) / 8;
	if (first + count > WIRE_BUCKETS) {
		peer->count.malformed++;
		return;
	}
	for (size_t i = first; i < first + count; i++) {
		uint8_t bit = (uint8_t)(1u << i % 8);

		fetch->compared[i / 8] |= bit;
		fetch->differs[i / 8] &= (uint8_t)~bit;
		if (wire_get64(body + 8 + 8 * (i - first)) != ours[i])
			fetch->differs[i / 8] |= bit;
	}
	for (size_t i = 0; i < WIRE_MAP; i++)
		if (fetch->compared[i] != 0xff)
			return;
	decide(node, peer);
}

void fetch_all(struct peer *peer, const struct wire_header *header, const uint8_t *body,
               size_t length)
{
	struct fetch *fetch = &peer->fetch;
	uint64_t begin;

	if (length != 8 + WIRE_MAP) {
		peer->count.malformed++;
		return;
	}
	begin = wire_get64(body);
	/* only if we have heard everything since then */
	if (begin <= peer->start || begin <= peer->given_up_at || fetch->state == FETCH_PURGE)
		return;
	fetch->all_pending = true;
	fetch->all_sequence = header->sequence;
	fetch->all_since = (struct replica_version){header->term, (uint32_t)begin};
	memcpy(fetch->all_map, body + 8, WIRE_MAP);
}

static void purge(struct sync_node *node, struct peer *peer)
{
	const struct replica_pass pass = {
		.now = node->now.tick, .tell = telling_put, .context = node};
	struct fetch *fetch = &peer->fetch;

	if (!replica_purge(node->replica, &fetch->cursor, PURGE_BUCKETS, fetch->all_map,
	                   peer->owner, fetch->all_since, &pass))
		return;
	fetch->rounds++;
	rest(node, fetch, rest_after(fetch));
}

static void look_at_answer(struct sync_node *node, struct peer *peer)
{
	struct fetch *fetch = &peer->fetch;
	int64_t waited = node->now.ms - fetch->asked;

	if (fetch->state == FETCH_DIGESTS && waited > ANSWER_MS) {
		if (++fetch->tries > TRIES)
			rest(node, fetch, 1000);
		else
			want_digests(node, peer);
	}
	if (fetch->state != FETCH_BUCKETS)
		return;
	if (peer->count.records != fetch->applied_then) {
		fetch->applied_then = peer->count.records;
		if (waited < 10 * PROGRESS_MS)
			return;
	}
	if (waited > PROGRESS_MS)
		rest(node, fetch, 0);
}

void fetch_tick(struct sync_node *node, struct peer *peer)
{
	struct fetch *fetch = &peer->fetch;

	if (fetch->all_pending && fetch->state != FETCH_PURGE &&
	    peer->window[WIRE_STREAM].received >= fetch->all_sequence && !peer->parked_count) {
		fetch->all_pending = false;
		if (fetch->all_sequence > peer->given_up_at || !peer->given_up_at) {
			fetch->state = FETCH_PURGE;
			fetch->cursor = (struct replica_cursor){};
		}
	}
	if (fetch->state == FETCH_PURGE)
		purge(node, peer);
	else if (peer_is_there(peer, node->now.ms))
		look_at_answer(node, peer);
}
