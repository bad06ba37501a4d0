// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sync_world.c - directors on plain memory and a network between them.
 *
 * Each director has the daemon's own connection table (a memfd in the place of the BPF map), replica and protocol node. Nothing is
 * mocked but what is outside of them: the clock, which runs as fast as it can and differs between directors; the network, which loses,
 * repeats, delays and cuts as the test says; random numbers, which come from one seed, so that a run can be had again. Ids differ
 * between directors, so a record that was taken by number and not by name goes to the wrong real server at once.
 *
 * For test_sync_simulator.c, test_node.c and test_replica.c. world_put() does to a table what packets do.
 */
#define _GNU_SOURCE /* memfd_create */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/sync_world.h"
#include "xlbd/dataplane/flows_inside.h"

#define TICK_MS  250
#define FIRST_AT 1000000
#define MESSAGE  1472
#define must(is)                                                                         \
	do {                                                                             \
		if (!(is)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #is); \
			abort();                                                         \
		}                                                                        \
	} while (0)

/* splitmix64 */
uint64_t world_random(struct world *world)
{
	uint64_t value = world->chance += 0x9e3779b97f4a7c15ull;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

/* ---- names ------------------------------------------------------------------------------------ */

static struct xlb_name name_of_service(unsigned service)
{
	struct xlb_name name = {};

	name.service.addr.word[2] = htonl(0xffff);
	name.service.addr.word[3] = htonl(0xc0000201 + service);
	if (service == 2) {
		name.service.addr.word[0] = htonl(0x20010db8);
		name.service.addr.word[2] = 0;
	}
	name.service.port = htons(80);
	name.service.protocol = 6;
	return name;
}

static struct xlb_name name_of_real(unsigned service, unsigned real)
{
	struct xlb_name name = name_of_service(service);

	name.is_real = 1;
	name.real.word[2] = htonl(0xffff);
	name.real.word[3] = htonl(0x0a000001 + real);
	name.real_port = htons(80);
	return name;
}

/* A director's id of a service (0 ..) and of a real server; and back, -1: none of ours. */
static uint16_t service_id(const struct world_director *director, unsigned service)
{
	return (uint16_t)(1 + (service + director->shift) % WORLD_SERVICES);
}

static uint16_t real_id(const struct world_director *director, unsigned service, unsigned real)
{
	const unsigned all = WORLD_SERVICES * WORLD_REALS;

	return (uint16_t)(1 + (service * WORLD_REALS + real + 5u * director->shift) % all);
}

static bool name_of(void *context, bool real, uint16_t id, struct xlb_name *ret)
{
	const struct world_director *director = context;

	for (unsigned service = 0; service < WORLD_SERVICES; service++) {
		if (!real && service_id(director, service) == id) {
			*ret = name_of_service(service);
			return true;
		}
		for (unsigned i = 0; real && i < WORLD_REALS; i++)
			if (real_id(director, service, i) == id) {
				*ret = name_of_real(service, i);
				return true;
			}
	}
	return false;
}

static uint16_t id_of(void *context, const struct xlb_name *name)
{
	const unsigned all = name->is_real ? WORLD_SERVICES * WORLD_REALS : WORLD_SERVICES;
	struct xlb_name found;

	for (uint16_t id = 1; id <= all; id++)
		if (name_of(context, name->is_real, id, &found) &&
		    memcmp(&found, name, sizeof(found)) == 0)
			return id;
	return 0;
}

static uint64_t hash_of(void *context, bool real, uint16_t id)
{
	struct xlb_name name;

	return name_of(context, real, id, &name) ? replica_hash_name(&name) : 0;
}

/* ---- the network ------------------------------------------------------------------------------ */

static bool happens(struct world *world, unsigned per_thousand)
{
	return per_thousand && world_below(world, 1000) < per_thousand;
}

static void fly(struct world *world, unsigned from, unsigned to, const uint8_t *bytes,
                size_t length)
{
	struct world_datagram *datagram;

	if (world->flying == WORLD_KEEP) {
		world->dropped++;
		return;
	}
	datagram = &world->datagram[world->flying++];
	datagram->at = world->now + 1;
	if (world->faults.delay)
		datagram->at += world_below(world, world->faults.delay + 1);
	datagram->from = from;
	datagram->to = to;
	datagram->length = (uint16_t)length;
	memcpy(datagram->bytes, bytes, length);
}

static void send_message(void *context, const uint8_t *bytes, size_t length)
{
	struct world_director *director = context;
	struct world *world = director->world;

	must(length <= MESSAGE);
	world->sent++;
	if (world->tap)
		world->tap(world->context, bytes, length, director->number);
	for (unsigned to = 0; to < world->count; to++) {
		if (to == director->number || world->faults.cut[director->number][to] ||
		    happens(world, world->faults.loss))
			continue;
		fly(world, director->number, to, bytes, length);
		if (happens(world, world->faults.duplicates))
			fly(world, director->number, to, bytes, length);
	}
}

static struct node_time now_of(const struct world_director *director)
{
	int64_t ms = director->world->now + director->clock;

	return (struct node_time){ms, (uint64_t)ms / TICK_MS};
}

void world_deliver(struct world *world, unsigned to, const uint8_t *bytes, size_t length)
{
	struct world_director *director = &world->director[to];
	uint8_t copy[MESSAGE + 64];

	if (!director->runs || length > sizeof(copy))
		return;
	memcpy(copy, bytes, length);
	node_receive(director->node, copy, length, now_of(director));
}

/* ---- directors -------------------------------------------------------------------------------- */

static void draw(void *context, void *to, size_t size)
{
	struct world_director *director = context;
	uint8_t *bytes = to;

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(world_random(director->world) >> 24);
}

static void make_tables(struct world_director *director)
{
	for (int wide = 0; wide < 2; wide++) {
		struct flows_table *table = &director->table[wide];
		size_t bucket = wide ? sizeof(struct wide_bucket) : sizeof(struct narrow_bucket);
		size_t count = ((size_t)1 << table->bits) + ((size_t)1 << table->stash_bits);

		table->fd = memfd_create("table", MFD_CLOEXEC);
		must(table->fd >= 0 && ftruncate(table->fd, (off_t)(count * bucket)) == 0);
	}
}

void world_start(struct world *world, unsigned number)
{
	struct world_director *director = &world->director[number];
	struct node_setup setup = {.cluster = 7,
	                           .id = (uint16_t)(number + 1),
	                           .message_max = MESSAGE,
	                           .keys = world->keys,
	                           .tick_us = TICK_MS * 1000,
	                           .context = director,
	                           .send = send_message,
	                           .random = draw,
	                           .name = name_of,
	                           .id_of = id_of};
	struct replica_pass pass = {.now = now_of(director).tick};
	struct replica_cursor cursor = {};

	must(!director->runs);
	if (director->table[0].fd < 0)
		make_tables(director);
	must(flows_open(&director->table[0], &director->table[1], &director->control,
	                &director->flows) == 0);
	must(replica_open(director->flows, setup.tick_us, hash_of, director, &director->replica) ==
	     0);
	must(node_open(&setup, director->replica, &director->node) == 0);
	director->runs = true;
	director->next = world->now;
	for (unsigned i = 0; i < WORLD_SERVICES; i++)
		node_set_active(director->node, service_id(director, i), director->active[i]);
	(void)replica_scan(director->replica, &cursor, SIZE_MAX, ~0u, &pass);
}

void world_stop(struct world *world, unsigned number, bool table_too)
{
	struct world_director *director = &world->director[number];

	if (director->runs) {
		node_close(director->node);
		replica_close(director->replica);
		flows_close(director->flows);
	}
	director->runs = false;
	if (!table_too)
		return;
	memset(director->active, 0, sizeof(director->active));
	for (int i = 0; i < 2; i++)
		close_fd(&director->table[i].fd);
}

void world_set_active(struct world *world, unsigned number, unsigned service, bool active)
{
	struct world_director *director = &world->director[number];

	director->active[service] = active;
	if (director->runs)
		node_set_active(director->node, service_id(director, service), active);
}

void world_open(struct world *world, unsigned count, uint64_t seed)
{
	char text[] = "3 0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0\n";
	char sentence[SEAL_SENTENCE];

	*world = (struct world){.count = count, .chance = seed * 0x9e3779b97f4a7c15ull + 1};
	world->now = FIRST_AT;
	world->datagram = calloc(WORLD_KEEP, sizeof(*world->datagram));
	must(world->datagram);
	must(keyring_parse(text, 7, &world->keys, sentence) == 0);
	for (unsigned i = 0; i < count; i++) {
		struct world_director *director = &world->director[i];

		*director = (struct world_director){.world = world,
		                                    .number = i,
		                                    .shift = (uint16_t)i,
		                                    .clock = (int64_t)world_below(world, 100000)};
		director->control.seed = world_random(world);
		for (int phase = 0; phase < XLB_PHASES; phase++)
			director->control.timeout[phase] = 4000;
		for (int wide = 0; wide < 2; wide++)
			director->table[wide] = (struct flows_table){
				.fd = -1, .bits = 5 + (i + (unsigned)seed) % 3, .stash_bits = 2};
	}
}

void world_close(struct world *world)
{
	for (unsigned i = 0; i < world->count; i++)
		world_stop(world, i, true);
	free(world->datagram);
}

/* ---- time ------------------------------------------------------------------------------------- */

static void deliver_due(struct world *world)
{
	size_t kept = 0;

	for (size_t i = 0; i < world->flying; i++) {
		struct world_datagram *datagram = &world->datagram[i];

		if (datagram->at > world->now)
			continue;
		datagram->at = 0;
		world_deliver(world, datagram->to, datagram->bytes, datagram->length);
	}
	for (size_t i = 0; i < world->flying; i++) {
		if (!world->datagram[i].at)
			continue;
		if (i != kept)
			world->datagram[kept] = world->datagram[i];
		kept++;
	}
	world->flying = kept;
}

void world_run(struct world *world, int64_t until)
{
	for (; world->now < until; world->now++) {
		deliver_due(world);
		for (unsigned i = 0; i < world->count; i++) {
			struct world_director *director = &world->director[i];

			if (!director->runs || world->now < director->next)
				continue;
			director->next = world->now + NODE_TICK_MS;
			node_tick(director->node, now_of(director));
			if (world->now % 1000 < NODE_TICK_MS)
				node_forget_names(director->node);
		}
	}
}

/* ---- packets ---------------------------------------------------------------------------------- */

static struct flow flow_of(const struct world_director *director, unsigned service, unsigned client)
{
	struct flow flow = {.client_port = (uint16_t)(1024 + client),
	                    .service = service_id(director, service),
	                    .phase = XLB_PHASE_ESTABLISHED,
	                    .real = 1};

	flow.client.word[2] = htonl(0xffff);
	flow.client.word[3] = htonl(0xc6336400 + client);
	if (service == 2) {
		flow.client.word[0] = htonl(0x20010db8);
		flow.client.word[2] = 0;
	}
	return flow;
}

static bool find(const struct world_director *director, const struct flow *flow, bool wide,
                 volatile __u64 **ret_word, __u64 *ret_state)
{
	struct wide_key key = key_of(flow, wide);

	return wide ? look(TABLE_WIDE, director->flows, key.word, ret_word, ret_state)
	            : look(TABLE_NARROW, director->flows, key.word, ret_word, ret_state);
}

bool world_put(struct world *world, unsigned number, const struct world_connection *connection)
{
	struct world_director *director = &world->director[number];
	uint64_t now = now_of(director).tick;
	struct flow flow = flow_of(director, connection->service, connection->client);
	bool wide = connection->service == 2;
	volatile __u64 *word;
	__u64 state;

	flow.real = real_id(director, connection->service, connection->real);
	if (!find(director, &flow, wide, &word, &state)) {
		if (flows_insert(director->flows, now, &flow, wide) < 0 ||
		    !find(director, &flow, wide, &word, &state))
			return false;
	}
	return table_update(word, &state,
	                    TABLE_STATE(connection->phase,
	                                TABLE_OLDER(state, now) ? now : TABLE_TIME(state),
	                                connection->version, flow.real));
}

bool world_get(struct world *world, unsigned number, unsigned service, unsigned client,
               struct world_connection *ret)
{
	struct world_director *director = &world->director[number];
	struct flow flow = flow_of(director, service, client);
	struct world_connection found = {.service = service, .client = client, .real = 99};
	volatile __u64 *word;
	__u64 state;

	if (!director->runs || !find(director, &flow, service == 2, &word, &state))
		return false;
	for (unsigned i = 0; i < WORLD_REALS; i++)
		if (real_id(director, service, i) == TABLE_REAL(state))
			found.real = i;
	found.phase = (uint8_t)TABLE_PHASE(state);
	found.version = TABLE_PORT(state);
	*ret = found;
	return true;
}

static bool count_one(void *context, const struct flow *flow)
{
	(void)flow;
	++*(size_t *)context;
	return true;
}

size_t world_live(struct world *world, unsigned number)
{
	struct world_director *director = &world->director[number];
	size_t count = 0;

	if (director->runs)
		flows_walk(director->flows, now_of(director).tick, count_one, &count);
	return count;
}
