// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_sync_simulator.c - xlbd-sync under everything that a network and its directors can do: [FIRST-SEED [COUNT]]; without,
 * the first 1,500 seeds, or as many as XLB_SEEDS says: tests/run says 10,000.
 *
 * Each seed is a history of some seconds: two to four directors, connections that open, close, move on and open again, and segments in which
 * messages get lost, come twice, late or not at all, daemons restart, machines lose their power and return empty, directors are cut
 * off from each other and both become active, or hand over as planned. All the time somebody replays what he recorded, also of
 * epochs long gone, and sends altered and truncated copies.
 *
 * What must hold, always: a connection is at a real server that it had in the version that the entry carries (a wrong one is seen
 * at once); no director that runs goes back to an older version while the same director is active; nothing forged and nothing of a
 * former epoch is taken. When the active director dies in a quiet network, its successor has every connection that is older
 * than 100 ms. And in the end, when the network is whole again, all tables are equal within ten seconds.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "table.h"
#include "tests/unit/sync_world.h"

#define SEEDS    1500
#define CLIENTS  24 /* of a service; the last third is for the other side of a split */
#define ORDINARY 16
#define QUIET_MS 100
#define RECORDS  256
#define CONVERGE 10000

struct truth { /* of one connection */
	uint16_t version;
	int64_t changed;
	bool open;
};

struct recording {
	uint16_t length;
	unsigned from;
	uint64_t epoch;
	uint8_t bytes[1500];
};

struct run {
	struct world world;
	uint64_t seed;
	unsigned owner[WORLD_SERVICES]; /* the active director */
	unsigned rival;                 /* active too while they are split; WORLD_NODES: nobody */
	struct truth truth[WORLD_SERVICES][CLIENTS];
	uint16_t floor[WORLD_NODES][WORLD_SERVICES][CLIENTS]; /* versions seen */
	struct recording recording[RECORDS];
	size_t recorded;
	int64_t quiet_since; /* the network has been whole since then */
	int64_t took;        /* ms until all were equal */
	bool failed;
	bool split; /* two directors that did not hear each other may both speak of a connection */
};

static bool fail(struct run *run, const char *what, unsigned director, unsigned service,
                 unsigned client)
{
	if (!run->failed)
		fprintf(stderr, "seed %llu, %lld ms: %s (director %u, service %u, client %u)\n",
		        (unsigned long long)run->seed, (long long)run->world.now, what, director,
		        service, client);
	run->failed = true;
	return false;
}

static unsigned real_of(unsigned service, unsigned client, uint16_t version)
{
	return (unsigned)(replica_mix(service * 1000 + client, version) % WORLD_REALS);
}

/* ---- what is always true ---------------------------------------------------------------------- */

static void check_entries(struct run *run)
{
	struct world_connection found, owners;

	for (unsigned d = 0; d < run->world.count; d++)
		for (unsigned s = 0; s < WORLD_SERVICES; s++)
			for (unsigned c = 0; c < CLIENTS; c++) {
				uint16_t *floor = &run->floor[d][s][c];

				if (!world_get(&run->world, d, s, c, &found))
					continue;
				if (found.real != real_of(s, c, found.version))
					fail(run, "a wrong real server", d, s, c);
				if (found.version > run->truth[s][c].version)
					fail(run, "a version that never was", d, s, c);
				if (found.version < *floor && !run->split)
					fail(run, "older over newer", d, s, c);
				/* what the active one does not have may be taken back */
				if (run->owner[s] < WORLD_NODES &&
				    world_get(&run->world, run->owner[s], s, c, &owners) &&
				    owners.version >= found.version)
					*floor = found.version;
			}
}

/* Another director is active: what it has is what counts from now on. */
static void forget_floors(struct run *run)
{
	memset(run->floor, 0, sizeof(run->floor));
}

/* ---- the attacker ----------------------------------------------------------------------------- */

static void record(void *context, const uint8_t *bytes, size_t length, unsigned from)
{
	struct run *run = context;
	struct recording *one = &run->recording[run->recorded++ % RECORDS];

	if (world_below(&run->world, 4))
		one = &run->recording[world_below(&run->world, RECORDS)]; /* keep old ones, too */
	one->length = (uint16_t)length;
	one->from = from;
	one->epoch = run->world.director[from].epoch;
	memcpy(one->bytes, bytes, length);
}

static uint64_t taken(const struct run *run, unsigned director)
{
	const struct sync_node *node = run->world.director[director].node;
	const struct peer *peer;
	uint64_t sum = 0;

	for (size_t i = 0; (peer = node_peer(node, i)); i++)
		sum += peer->count.messages + (peer->epoch != 0);
	return sum;
}

static bool trusts(const struct run *run, unsigned director, uint64_t epoch)
{
	const struct peer *peer;

	for (size_t i = 0; (peer = node_peer(run->world.director[director].node, i)); i++)
		if (peer->epoch == epoch)
			return true;
	return false;
}

static void attack(struct run *run)
{
	struct world *world = &run->world;
	const struct recording *one = &run->recording[world_below(world, RECORDS)];
	unsigned to = world_below(world, world->count), kind = world_below(world, 4);
	struct wire_header header;
	uint8_t copy[1500];
	uint64_t before;
	size_t length = one->length;

	if (!length || !world->director[to].runs ||
	    wire_get_header(one->bytes, length, &header) < 0)
		return;
	memcpy(copy, one->bytes, length);
	if (kind == 1)
		copy[world_below(world, (unsigned)length)] ^=
			(uint8_t)(1u << world_below(world, 8));
	else if (kind == 2)
		length = world_below(world, (unsigned)length);
	before = taken(run, to);
	/* a copy as it is may arrive in the place of one that got lost; of a former epoch it may not */
	world_deliver(world, to, copy, length);
	if ((kind == 1 || kind == 2) && taken(run, to) != before)
		fail(run, "took a forged message", to, 0, 0);
	if (!trusts(run, to, header.epoch) && taken(run, to) != before)
		fail(run, "took a message of an epoch that it does not trust", to, 0, 0);
}

/* ---- traffic ---------------------------------------------------------------------------------- */

static void change(struct run *run, unsigned service, unsigned client, unsigned director)
{
	struct truth *truth = &run->truth[service][client];
	struct world_connection next = {
		.service = service, .client = client, .phase = XLB_PHASE_ESTABLISHED};
	unsigned what = world_below(&run->world, 8);

	if (!run->world.director[director].runs)
		return;
	next.version = truth->version;
	if (!truth->open || what == 0)
		next.version++;
	else if (what == 1)
		next.phase = XLB_PHASE_CLOSE;
	else if (what > 4)
		return; /* a quiet moment */
	next.real = real_of(service, client, next.version);
	if (!world_put(&run->world, director, &next))
		return;
	if (next.version != truth->version || next.phase == XLB_PHASE_CLOSE)
		truth->changed = run->world.now;
	truth->version = next.version;
	truth->open = next.phase == XLB_PHASE_ESTABLISHED;
}

static void traffic(struct run *run)
{
	struct world *world = &run->world;
	unsigned service = world_below(world, WORLD_SERVICES);

	if (run->owner[service] < WORLD_NODES)
		change(run, service, world_below(world, ORDINARY), run->owner[service]);
	if (run->rival < WORLD_NODES && run->world.director[run->rival].active[service])
		change(run, service, ORDINARY + world_below(world, CLIENTS - ORDINARY), run->rival);
}

static void go_on(struct run *run, unsigned ms)
{
	struct world *world = &run->world;

	for (unsigned i = 0; i < ms; i += 5) {
		world_run(world, world->now + 5);
		for (int j = 0; j < 3; j++)
			traffic(run);
		if (!world_below(world, 4))
			attack(run);
		if (i % 100 == 0)
			check_entries(run);
	}
}

/* ---- events ----------------------------------------------------------------------------------- */

static void note_epochs(struct run *run)
{
	struct node_status status;

	for (unsigned d = 0; d < run->world.count; d++)
		if (run->world.director[d].runs) {
			node_status(run->world.director[d].node, 0, &status);
			run->world.director[d].epoch = status.epoch;
		}
}

static void start(struct run *run, unsigned director)
{
	world_start(&run->world, director);
	memset(run->floor[director], 0, sizeof(run->floor[director]));
	note_epochs(run);
}

static void hand_over(struct run *run, unsigned service, unsigned to)
{
	if (run->owner[service] < WORLD_NODES)
		world_set_active(&run->world, run->owner[service], service, false);
	run->owner[service] = to;
	world_set_active(&run->world, to, service, true);
	forget_floors(run);
}

static unsigned another(struct run *run, unsigned than)
{
	unsigned first = world_below(&run->world, run->world.count);

	for (unsigned i = 0; i < run->world.count; i++) {
		unsigned one = (first + i) % run->world.count;

		if (one != than && run->world.director[one].runs)
			return one;
	}
	return than;
}

static bool is_quiet(const struct run *run)
{
	return run->quiet_since && run->world.now - run->quiet_since > 2500;
}

/* The successor must have every connection of this service that is not young. */
static void check_successor(struct run *run, unsigned service, unsigned successor, int64_t died)
{
	struct world_connection found;

	for (unsigned c = 0; c < ORDINARY; c++) {
		const struct truth *truth = &run->truth[service][c];

		if (!truth->open || died - truth->changed < QUIET_MS)
			continue;
		if (!world_get(&run->world, successor, service, c, &found) ||
		    found.version != truth->version)
			fail(run, "the successor lacks a connection", successor, service, c);
	}
}

/* What the new owner has is the truth now. */
static void believe(struct run *run, unsigned service)
{
	struct world_connection found;

	for (unsigned c = 0; c < CLIENTS; c++) {
		struct truth *truth = &run->truth[service][c];
		bool there = world_get(&run->world, run->owner[service], service, c, &found);

		truth->open = there && found.phase == XLB_PHASE_ESTABLISHED;
	}
}

static void power_off(struct run *run, unsigned victim)
{
	struct world *world = &run->world;
	bool quiet = is_quiet(run);
	int64_t died = world->now;

	if (another(run, victim) == victim)
		return;
	world_stop(world, victim, true);
	for (unsigned s = 0; s < WORLD_SERVICES; s++)
		if (run->owner[s] == victim)
			run->owner[s] = WORLD_NODES;
	go_on(run, 50 + world_below(world, 150));
	for (unsigned s = 0; s < WORLD_SERVICES; s++) {
		if (run->owner[s] < WORLD_NODES)
			continue;
		hand_over(run, s, another(run, victim));
		if (quiet)
			check_successor(run, s, run->owner[s], died);
	}
	for (unsigned s = 0; s < WORLD_SERVICES; s++)
		believe(run, s);
	go_on(run, 50 + world_below(world, 250));
	start(run, victim);
}

static void restart(struct run *run, unsigned victim)
{
	world_stop(&run->world, victim, false);
	/* packets go on meanwhile, unknown to anybody */
	go_on(run, world_below(&run->world, 300));
	start(run, victim);
}

/* The active directors have what was opened at the other side. */
static bool is_merged(struct run *run)
{
	struct world_connection found;

	for (unsigned s = 0; s < WORLD_SERVICES; s++)
		for (unsigned c = ORDINARY; c < CLIENTS; c++)
			if (run->truth[s][c].open &&
			    !world_get(&run->world, run->owner[s], s, c, &found))
				return false;
	return true;
}

static void split(struct run *run, unsigned rival)
{
	struct world *world = &run->world;
	bool active[WORLD_SERVICES];

	for (unsigned d = 0; d < world->count; d++)
		world->faults.cut[d][rival] = world->faults.cut[rival][d] = true;
	memcpy(active, world->director[rival].active, sizeof(active));
	run->quiet_since = 0;
	go_on(run, 300);
	for (unsigned s = 0; s < WORLD_SERVICES; s++)
		world_set_active(world, rival, s, true);
	run->rival = rival;
	run->split = true;
	forget_floors(run);
	go_on(run, 100 + world_below(world, 300));
	memset(world->faults.cut, 0, sizeof(world->faults.cut));
	go_on(run, world_below(world, 100));
	/* VRRP hears again: the one that was there before stays */
	for (unsigned s = 0; s < WORLD_SERVICES; s++)
		if (!active[s])
			world_set_active(world, rival, s, false);
	run->rival = WORLD_NODES;
	for (int i = 0; i < 40 && (i < 3 || !is_merged(run)); i++)
		go_on(run, 100);
	run->split = false;
	forget_floors(run);
}

static void set_faults(struct run *run)
{
	static const unsigned losses[] = {0, 0, 10, 50, 200};
	struct world_faults *faults = &run->world.faults;

	faults->loss = losses[world_below(&run->world, 5)];
	faults->delay = world_below(&run->world, 3) ? 0 : world_below(&run->world, 20);
	faults->duplicates = world_below(&run->world, 2) ? 0 : 100;
	if (faults->loss)
		run->quiet_since = 0;
	else if (!run->quiet_since)
		run->quiet_since = run->world.now;
}

static bool holds(const struct run *run, unsigned director)
{
	const struct world_director *one = &run->world.director[director];
	struct node_status status;

	node_status(one->node, run->world.now + one->clock, &status);
	return status.state == NODE_EQUAL;
}

static void event(struct run *run)
{
	struct world *world = &run->world;
	unsigned who = world_below(world, world->count);

	switch (world_below(world, 6)) {
	case 0:
		power_off(run, who);
		break;
	case 1:
		restart(run, who);
		break;
	case 2:
		if (run->owner[0] != who)
			split(run, who);
		break;
	case 3:
		if (holds(run, who)) /* the gate */
			hand_over(run, world_below(world, WORLD_SERVICES), who);
		break;
	default:
		break;
	}
	go_on(run, 50 + world_below(world, 200));
}

/* ---- the end ---------------------------------------------------------------------------------- */

/* All directors have what the active one has; *ret_*: where not. */
static bool all_equal(struct run *run, unsigned *ret_director, unsigned *ret_service,
                      unsigned *ret_client)
{
	struct world_connection ours, theirs;

	for (unsigned s = 0; s < WORLD_SERVICES; s++)
		for (unsigned c = 0; c < CLIENTS; c++)
			for (unsigned d = 0; d < run->world.count; d++) {
				bool here = world_get(&run->world, run->owner[s], s, c, &ours);
				bool there = world_get(&run->world, d, s, c, &theirs);

				here = here && ours.phase == XLB_PHASE_ESTABLISHED;
				there = there && theirs.phase == XLB_PHASE_ESTABLISHED;
				if (here == there && (!here || ours.version == theirs.version))
					continue;
				*ret_director = d;
				*ret_service = s;
				*ret_client = c;
				return false;
			}
	return true;
}

static bool all_say_so(const struct run *run)
{
	struct node_status status;

	for (unsigned d = 0; d < run->world.count; d++) {
		const struct world_director *director = &run->world.director[d];

		node_status(director->node, run->world.now + director->clock, &status);
		if (status.state != NODE_EQUAL || status.split)
			return false;
	}
	return true;
}

static void converge(struct run *run)
{
	struct world *world = &run->world;
	int64_t begin = world->now;
	unsigned d = 0, s = 0, c = 0;
	bool equal = false, say = false;

	world->faults = (struct world_faults){};
	while (world->now - begin < CONVERGE && !(equal && say)) {
		world_run(world, world->now + 50);
		check_entries(run);
		equal = all_equal(run, &d, &s, &c);
		say = all_say_so(run);
	}
	run->took = world->now - begin;
	if (!equal)
		fail(run, "tables differ in the end", d, s, c);
	else if (!say)
		fail(run, "tables are equal, and the directors do not know it", 0, 0, 0);
	/* every connection that counts is still there: also of the other side of a split */
	for (s = 0; s < WORLD_SERVICES; s++)
		for (c = 0; c < CLIENTS; c++)
			if (run->truth[s][c].open &&
			    !world_get(world, run->owner[s], s, c, &(struct world_connection){}))
				fail(run, "a connection got lost", run->owner[s], s, c);
}

static bool simulate(uint64_t seed, struct run *run)
{
	unsigned events;

	memset(run, 0, sizeof(*run));
	run->seed = seed;
	run->rival = WORLD_NODES;
	world_open(&run->world, 2 + (unsigned)(seed % 7 == 0) + (unsigned)(seed % 3 == 0), seed);
	run->world.tap = record;
	run->world.context = run;
	for (unsigned d = 0; d < run->world.count; d++)
		start(run, d);
	for (unsigned s = 0; s < WORLD_SERVICES; s++) {
		run->owner[s] = seed & 1 && s == 2;
		world_set_active(&run->world, run->owner[s], s, true);
	}
	run->quiet_since = run->world.now;
	go_on(run, 200);
	events = 1 + world_below(&run->world, 4);
	for (unsigned i = 0; i < events && !run->failed; i++) {
		set_faults(run);
		event(run);
	}
	if (!run->failed)
		converge(run);
	world_close(&run->world);
	return !run->failed;
}

/* Every second seed of a range; exit status 1: one failed. */
static int simulate_share(uint64_t first, uint64_t count, unsigned share)
{
	struct run *run = malloc(sizeof(*run));
	uint64_t failures = 0, longest = 0;

	for (uint64_t seed = first + share; run && seed < first + count; seed += 2) {
		failures += !simulate(seed, run);
		if ((uint64_t)run->took > longest)
			longest = (uint64_t)run->took;
	}
	printf("%llu of %llu seeds failed; the slowest was equal after %llu ms\n",
	       (unsigned long long)failures, (unsigned long long)(count + !share) / 2,
	       (unsigned long long)longest);
	free(run);
	return failures || !run;
}

int main(int argc, char **argv)
{
	const char *all = getenv("XLB_SEEDS");
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t count = argc > 2   ? strtoull(argv[2], NULL, 10)
	                 : argc > 1 ? 1
	                 : all      ? strtoull(all, NULL, 10)
	                            : SEEDS;
	pid_t child = count > 1 ? fork() : -1;
	int mine, other = 0;

	/* large tables come from the kernel, zeroed when touched: most of each is not */
	mallopt(M_MMAP_THRESHOLD, 65536);
	if (child == 0)
		return simulate_share(first, count, 1);
	mine = simulate_share(first, count, 0);
	if (child > 0 && (waitpid(child, &other, 0) < 0 || other))
		mine = 1;
	return mine;
}
