// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * telling.c - what a node says of its own accord or on request: connections, names, digests, whole buckets.
 *
 * Connections come from passes over the replica (xlbd/dataplane/replica.c), which stop when the budget of messages of this tick is
 * used and go on at the same place in the next: what was not said stays different from its shadow, so nothing is queued and
 * nothing can be lost in a queue. Before a record goes out, the names that its numbers stand for have been said.
 *
 * A peer that wants names, digests or buckets gets them in the stream, so every other peer hears them too and need not ask. However
 * often somebody asks, names and digests are said ten times a second at most, and one circle over the table serves all
 * who ask for buckets; it has a budget of its own, behind that of what is new.
 */
#include <arpa/inet.h>
#include <string.h>

#include "xlbd/sync/node_inside.h"

#define NEW_MESSAGES  64    /* a tick */
#define TOLD_MESSAGES 64    /* of whole buckets, a tick */
#define SCAN_BUCKETS  65536 /* a tick: about a millisecond */
#define HALF_OPEN     256   /* a tick: what a flood of SYNs may take of the budget */
#define PAUSE_MS      100

_Static_assert((int)REPLICA_IS == (int)WIRE_IS && (int)REPLICA_GONE == (int)WIRE_GONE &&
                       (int)REPLICA_OFFERED == (int)WIRE_OFFERED,
               "one numbering");
_Static_assert(REPLICA_BUCKETS == WIRE_BUCKETS, "the digests'");

/* ---- names ------------------------------------------------------------------------------------ */

/* What NAMES would say of this id; false: it has no name. */
static bool make_name(struct sync_node *node, bool real, uint16_t id, struct wire_name *ret)
{
	struct xlb_name name;

	if (!node->setup.name(node->setup.context, real, id, &name))
		return false;
	*ret = (struct wire_name){
		.is_real = real,
		.number = id,
		.protocol = name.service.protocol,
		.addr = real ? name.real : name.service.addr,
		.port = ntohs(real ? name.real_port : name.service.port),
	};
	if (real) {
		struct xlb_name service = {.service = name.service};

		ret->service = node->setup.id_of(node->setup.context, &service);
		return ret->service != 0;
	}
	ret->flags = node->active[id] ? WIRE_NAME_ACTIVE : 0;
	return true;
}

static uint64_t hash_bytes(const struct wire_name *name)
{
	uint8_t bytes[WIRE_NAME + 4] = {};
	uint64_t hash = 0;

	wire_put_name(name, bytes);
	for (size_t i = 0; i < sizeof(bytes); i += 8)
		hash = replica_mix(hash, wire_get64(bytes + i));
	return hash ? hash : 1;
}

void telling_announce(struct sync_node *node, bool real, uint16_t id, bool again)
{
	uint64_t *announced = &node->announced[real][id % XLB_IDS], hash;
	struct wire_name name;

	if (!make_name(node, real, id, &name)) {
		node->announced_count -= *announced != 0;
		*announced = 0;
		return;
	}
	hash = hash_bytes(&name);
	if (*announced == hash && !again)
		return;
	node->announced_count += *announced == 0;
	*announced = hash;
	if (id >= node->announced_end[real])
		node->announced_end[real] = (uint16_t)(id + 1);
	(void)stream_put_name(node->stream, &name);
}

static void announce_known(struct sync_node *node, bool again)
{
	for (int real = 0; real < 2; real++)
		for (uint16_t id = 1; id < node->announced_end[real]; id++)
			if (node->announced[real][id])
				telling_announce(node, real, id, again);
}

void telling_check_names(struct sync_node *node)
{
	announce_known(node, false);
}

/* ---- connections ------------------------------------------------------------------------------ */

static uint16_t idle_seconds(const struct sync_node *node, uint32_t ticks)
{
	uint64_t seconds = (uint64_t)ticks * node->setup.tick_us / 1000000;

	return seconds < WIRE_IDLE_MAX ? (uint16_t)seconds : WIRE_IDLE_MAX;
}

bool telling_put(void *context, const struct replica_flow *told,
                 struct replica_version *ret_version)
{
	struct sync_node *node = context;
	const struct flow *flow = &told->flow;
	const struct wire_flow record = {.client = flow->client,
	                                 .client_port = flow->client_port,
	                                 .virtual_port = flow->virtual_port,
	                                 .service = flow->service,
	                                 .real = flow->real,
	                                 .local_port = told->local_port,
	                                 .idle = idle_seconds(node, flow->idle),
	                                 .phase = flow->phase,
	                                 .kind = told->kind};

	if (stream_messages(node->stream) >= node->budget)
		return false;
	if (!node->announced[false][flow->service % XLB_IDS])
		telling_announce(node, false, flow->service, false);
	if (!node->announced[true][flow->real % XLB_IDS])
		telling_announce(node, true, flow->real, false);
	ret_version->sequence = (uint32_t)stream_put_flow(node->stream, &record, told->wide);
	ret_version->term = stream_term(node->stream);
	return true;
}

/* ---- on request ------------------------------------------------------------------------------- */

void telling_take_want(struct sync_node *node, const uint8_t *body, size_t length)
{
	struct wire_want_message want;
	int64_t now = node->now.ms;

	if (wire_get_want(body, length, &want) < 0 || want.node != node->setup.id ||
	    want.epoch != node->epoch)
		return;
	if (want.term && node->active_count && (int32_t)(want.term - stream_term(node->stream)) > 0)
		node->term_wanted = true;
	if (want.what & WIRE_WANT_NAMES && now - node->names_told >= PAUSE_MS) {
		node->names_told = now;
		announce_known(node, true);
	}
	if (want.what & WIRE_WANT_DIGESTS && now - node->digests_told >= PAUSE_MS) {
		node->digests_told = now;
		stream_put_digests(node->stream, replica_digests(node->replica, REPLICA_SELF));
	}
	if (!(want.what & WIRE_WANT_BUCKETS))
		return;
	for (size_t i = 0; i < WIRE_MAP; i++)
		node->telling.next[i] |= want.map[i];
	node->telling.more = true;
}

static void tell_buckets(struct sync_node *node, const struct replica_pass *pass)
{
	struct telling *telling = &node->telling;

	if (!telling->running && telling->more) {
		stream_flush(node->stream);
		telling->running = true;
		telling->more = false;
		memcpy(telling->map, telling->next, WIRE_MAP);
		memset(telling->next, 0, WIRE_MAP);
		telling->begin = stream_highest(node->stream) + 1;
		telling->cursor = (struct replica_cursor){};
	}
	if (!telling->running)
		return;
	node->budget = stream_messages(node->stream) + TOLD_MESSAGES;
	if (!replica_tell_all(node->replica, &telling->cursor, SCAN_BUCKETS, telling->map, pass))
		return;
	telling->running = false;
	stream_put_all(node->stream, telling->begin, telling->map);
}

void telling_last_words(struct sync_node *node)
{
	const struct replica_pass pass = {
		.now = node->now.tick, .tell = telling_put, .context = node};
	struct replica_cursor cursor = {};

	node->budget = UINT64_MAX;
	(void)replica_scan(node->replica, &cursor, SIZE_MAX, ~0u, &pass);
	stream_flush(node->stream);
}

void telling_tick(struct sync_node *node)
{
	const struct replica_pass pass = {
		.now = node->now.tick, .tell = telling_put, .context = node};

	node->budget = stream_messages(node->stream) + NEW_MESSAGES;
	(void)replica_scan(node->replica, &node->scan, SCAN_BUCKETS, HALF_OPEN, &pass);
	tell_buckets(node, &pass);
	node->budget = stream_messages(node->stream) + TOLD_MESSAGES; /* for offers */
}
