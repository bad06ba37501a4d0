// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_table_stress.c - two CPUs work on one small connection table as packets would, and this process sweeps, inserts, moves and
 * hunts through the mapping; on two CPUs it is preempted anywhere. Delays stretch the windows of the races.
 *
 * A test is a row of `scenes`, for one width of a key: rounds of a few milliseconds on an empty table, each followed by a look at the
 * table at rest. What must hold: no look-up yields another connection's real server; no key is live twice (also during the
 * run); no word is alien to its key, no claim is left over, counts by real server are exact; a connection that must stay is never
 * missed: not in a flood, not while the table grows. Then every rule is broken on purpose (the mutants of bpf/table.h): each
 * must be caught, or this test is worth nothing.
 *
 * XLB_STRESS_SECONDS: of each scene (default 0.8). Needs root and two CPUs of the first three, else exit 77.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "tests/bpf/stress_lab.h"

#define PATIENCE 30 /* seconds until a mutant must be caught */
#define NEVER    TABLE_TIMEOUT_MAX

struct table_hooks table_hooks;

static const struct scene scenes[] = {
	{.name = "nine tenths full", .keys = SLOTS * 9 / 10, .hot = 32, .round_ms = 300},
	{.name = "nine tenths full, long windows",
         .keys = SLOTS * 9 / 10,
         .hot = 32,
         .stretch = 1023,
         .round_ms = 300},
	{.name = "few keys", .keys = 64, .hot = 4, .stretch = 127, .round_ms = 200},
	{.name = "more keys than slots",
         .keys = SLOTS * 4,
         .hot = SLOTS / 8,
         .stretch = 127,
         .round_ms = 200},
	{.name = "clock goes round",
         .keys = SLOTS * 2,
         .hot = 64,
         .step = 97,
         .stretch = 127,
         .round_ms = 300},
	{.name = "equal words",
         .keys = SLOTS * 4,
         .hot = SLOTS * 2,
         .slow = 512,
         .stretch = 1023,
         .round_ms = 300,
         .few = true},
	{.name = "flood",
         .mode = STRESS_FLOOD,
         .keys = SLOTS * 64,
         .hot = SLOTS * 64,
         .stretch = 127,
         .round_ms = 100,
         .kept = SLOTS / 2},
	{.name = "everybody inserts the same",
         .mode = STRESS_FILL,
         .slow = 4096,
         .stretch = 63,
         .round_ms = 10},
	{.name = "growing",
         .mode = STRESS_KEEP,
         .keys = SLOTS / 4,
         .hot = 32,
         .slow = 256,
         .round_ms = 10,
         .kept = SLOTS / 4,
         .grows = true},
	{.name = "growing, long windows",
         .mode = STRESS_KEEP,
         .keys = SLOTS / 4,
         .hot = 32,
         .slow = 256,
         .stretch = 1023,
         .round_ms = 10,
         .kept = SLOTS / 4,
         .grows = true},
};

static const struct {
	unsigned mutant;
	const char *rule, *scene;
} mutants[] = {
	{1, "a look-up looks twice", "more keys than slots"},
	{2, "a word is updated by compare-and-swap", "more keys than slots"},
	/* 3: a slot changes hands once a tick: tests/unit/test_table_model.c */
	{4, "an insertion looks for rivals", "everybody inserts the same"},
	{5, "the key is written behind the claim", "more keys than slots"},
	{6, "established connections never give way", "flood"},
	{7, "publication is a compare-and-swap", "everybody inserts the same"},
	{8, "a packet looks in new, old and new again", "growing, long windows"},
	{9, "removal is a compare-and-swap", "equal words"},
	{10, "a move is into new first", "growing, long windows"},
};

static __u64 user_random; /* of this thread alone */

static void user_stretch(void)
{
	__u64 x = stress_random(&user_random);

	if ((x & 4095) == 0)
		sched_yield();
	else if ((x & 7) == 0)
		for (volatile unsigned i = x >> 32 & 255; i > 0; i--)
			;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

/* ---- user space's part ------------------------------------------------------------------------ */

static struct flow flow_of(const struct lab *lab, __u32 number, uint8_t phase)
{
	struct wide_key key = stress_key(lab->words, number);
	struct flow flow = {.service = STRESS_SERVICE, .phase = phase};

	flow.client_port = __builtin_bswap16(stress_name(lab->words, number, &flow.client));
	flow.real = stress_real(lab->words, key.word, lab->stress->few);
	return flow;
}

static void user_insert(struct lab *lab, __u32 number, uint8_t phase)
{
	struct stress_worker *worker = &lab->stress->worker[STRESS_WORKERS - 1];
	struct flow flow = flow_of(lab, number, phase), found;
	const bool wide = lab->words == TABLE_WIDE;
	int r = flows_insert(lab->flows, lab->stress->now, &flow, wide);

	worker->operations++;
	worker->inserted += r == 0;
	worker->refused += r == -ENOSPC;
	worker->busy += r == -EAGAIN;
	worker->found += r == -EEXIST;
	if (r == -EEXIST && flows_look(lab->flows, 0, &flow, wide, &found) &&
	    found.real != flow.real)
		worker->wrong++;
}

static struct table_place place_of(const struct lab *lab, const __u64 *key)
{
	__u64 hash = table_hash(lab->words, key, lab->stress->control.seed);
	const uint32_t bucket = TABLE_WAYS * (lab->words + 1), bits = lab->map.bits;

	return (struct table_place){lab->table + bucket * table_first(hash, bits),
	                            lab->table + bucket * table_second(hash, bits),
	                            lab->table +
	                                    bucket * table_stash(hash, bits, lab->map.stash_bits)};
}

/* Two live entries of one key at one moment: the first still the same after the second was read. */
static bool is_double(const struct lab *lab, const __u64 *key)
{
	struct table_place place = place_of(lab, key);
	const int words = lab->words;
	__u64 one, two;

	for (int i = 0; i < TABLE_SLOTS; i++) {
		volatile __u64 *slot = table_slot(words, &place, i);

		if (table_differs(words, slot, key) ||
		    table_read(words, slot, key, &one) != TABLE_SAME || !TABLE_LIVE(one))
			continue;
		for (int j = i + 1; j < TABLE_SLOTS; j++) {
			volatile __u64 *other = table_slot(words, &place, j);

			if (!table_differs(words, other, key) &&
			    table_read(words, other, key, &two) == TABLE_SAME && TABLE_LIVE(two) &&
			    table_load(&slot[words], table_behind(two)) == one)
				return true;
		}
	}
	return false;
}

static void user_turn(struct lab *lab, uint64_t turn)
{
	struct stress *stress = lab->stress;
	struct stress_worker *worker = &stress->worker[STRESS_WORKERS - 1];
	__u32 phase;

	for (int i = 0; i < (lab->scene->grows ? 2 : 16); i++) {
		__u32 number = stress_draw(stress, worker, &phase);
		struct wide_key key = stress_key(lab->words, number);

		(void)stress_clock(stress, worker);
		if (i & 1 && number < STRESS_KEPT)
			user_insert(lab, number, phase ? phase : XLB_PHASE_SYN);
		else
			lab->doubles += is_double(lab, key.word);
	}
	if (turn % 16 == 0)
		flows_sweep(lab->flows, stress->now, NULL, NULL, lab->census);
	if (lab->scene->mode == STRESS_FILL && turn % 8 == 0)
		stress->base += 16;
}

/* ---- a round ---------------------------------------------------------------------------------- */

/* The order in which the kept connections will move. */
static void put_in_order(struct lab *lab)
{
	const size_t slots = stress_bytes(lab, &lab->old_map) / 8 / (lab->words + 1);
	uint32_t places = 0;

	for (size_t i = 0; i < slots; i++) {
		volatile __u64 *slot = lab->old_table + i * (lab->words + 1);

		if (i % TABLE_WAYS == 0)
			lab->next[i / TABLE_WAYS] = places;
		for (uint32_t kept = 0; TABLE_LIVE(slot[lab->words]) && kept < lab->stress->kept;
		     kept++) {
			struct wide_key key = stress_key(lab->words, STRESS_KEPT + kept);

			if (table_differs(lab->words, slot, key.word) == 0)
				lab->stress->order[places++] = STRESS_KEPT + kept;
		}
	}
	for (uint32_t i = places; i < STRESS_ORDER; i++)
		lab->stress->order[i] = lab->stress->order[i - places];
	lab->stress->next = 0;
}

static void prepare(struct lab *lab)
{
	const struct scene *scene = lab->scene;
	struct stress *stress = lab->stress;
	struct flows *flows = lab->old_flows ? lab->old_flows : lab->flows;
	uint32_t now = stress->now + 2;

	memset((void *)lab->table, 0, stress_bytes(lab, &lab->map));
	if (lab->old_table)
		memset((void *)lab->old_table, 0, stress_bytes(lab, &lab->old_map));
	memset(stress->live, 0, sizeof(stress->live));
	stress->now = now % 0x10000 + 2; /* free words of time 0 must be older */
	stress->keys = scene->keys;
	stress->hot = scene->hot;
	stress->base += 16;
	stress->few = scene->few;
	stress->step = scene->step ? scene->step : 1;
	stress->slow = scene->slow ? scene->slow : 16;
	stress->control = (struct xlb_control){.seed = stress_random(&user_random)};
	stress->control.timeout[XLB_PHASE_SYN] = scene->few ? 2 : 400;
	stress->control.timeout[XLB_PHASE_ESTABLISHED] = scene->kept  ? NEVER
	                                                 : scene->few ? 3
	                                                              : 3000;
	stress->control.timeout[XLB_PHASE_FIN_WAIT] = 200;
	stress->control.timeout[XLB_PHASE_CLOSE] = scene->few ? 1 : 20;
	for (int i = 0; i < STRESS_WORKERS; i++) {
		/* the program of before knows the old table only: it cannot keep anything */
		const bool outdated = scene->grows && i == lab->worker[0].cpu;

		stress->worker[i].mode = outdated ? STRESS_MIXED : scene->mode;
		stress->worker[i].random = stress_random(&user_random);
	}
	stress->kept = 0;
	for (uint32_t i = 0; i < scene->kept; i++) {
		struct flow flow = flow_of(lab, STRESS_KEPT + stress->kept, XLB_PHASE_ESTABLISHED);

		if (flows_insert(flows, stress->now, &flow, lab->words == TABLE_WIDE) < 0)
			break; /* twelve slots full: keep those before */
		stress->kept++;
	}
	stress->now++;
	if (scene->grows)
		put_in_order(lab);
}

/* At rest: no claim, no key twice, every word its key's. */
static void check_table(struct lab *lab, __s64 *seen)
{
	const int words = lab->words;
	size_t slots = stress_bytes(lab, &lab->map) / 8 / (words + 1);

	for (size_t i = 0; i < slots; i++) {
		volatile __u64 *slot = lab->table + i * (words + 1);
		__u64 state = slot[words], key[TABLE_WIDE] = {};

		if (TABLE_PHASE(state) == XLB_PHASE_FREE)
			continue;
		if (!TABLE_LIVE(state)) {
			print_message("a claim is left: %016llx\n", (unsigned long long)state);
			lab->violations++;
			continue;
		}
		for (int w = 0; w < words; w++)
			key[w] = slot[w];
		if (TABLE_REAL(state) != stress_real(words, key, lab->stress->few) ||
		    is_double(lab, key))
			lab->violations++;
		seen[TABLE_REAL(state) % TABLE_GROUPS]++;
	}
}

static void check_round(struct lab *lab)
{
	struct stress *stress = lab->stress;
	struct flows_progress progress = {};
	__s64 seen[TABLE_GROUPS] = {};
	struct flow found;

	for (int walk = 0; lab->old_flows && walk < 8 && (walk == 0 || progress.left); walk++)
		(void)flows_move(lab->flows, ++stress->now, SIZE_MAX, &progress);
	check_table(lab, seen);
	for (int i = 0; i < TABLE_GROUPS; i++)
		lab->violations += !progress.left && seen[i] != stress->live[i];
	for (uint32_t i = 0; i < stress->kept; i++) {
		struct flow flow = flow_of(lab, STRESS_KEPT + i, XLB_PHASE_ESTABLISHED);

		if (!flows_look(lab->flows, stress->now, &flow, lab->words == TABLE_WIDE, &found) ||
		    found.real != flow.real || found.phase != XLB_PHASE_ESTABLISHED)
			lab->violations++;
	}
	for (int i = 0; i < STRESS_WORKERS; i++)
		lab->violations += stress->worker[i].wrong + stress->worker[i].missing;
	lab->violations += lab->doubles;
	lab->rounds++;
}

static void move(struct lab *lab, struct flows_progress *progress)
{
	if (flows_move(lab->flows, lab->stress->now, 1, progress))
		lab->moved += progress->moved;
	else
		lab->stress->next = lab->next[progress->bucket];
}

static void play_round(struct lab *lab)
{
	struct flows_progress progress = {};
	double end = seconds() + lab->scene->round_ms * 1e-3;

	prepare(lab);
	stress_pause(lab, false);
	for (uint64_t turn = 0; seconds() < end; turn++) {
		user_turn(lab, turn);
		if (lab->old_flows)
			move(lab, &progress);
	}
	stress_pause(lab, true);
	check_round(lab);
}

static void report(const struct lab *lab)
{
	struct stress_worker sum = {};

	for (int i = 0; i < STRESS_WORKERS; i++) {
		const struct stress_worker *w = &lab->stress->worker[i];

		sum.operations += w->operations;
		sum.hits += w->hits;
		sum.inserted += w->inserted;
		sum.found += w->found;
		sum.busy += w->busy;
		sum.refused += w->refused;
		sum.wrong += w->wrong;
		sum.missing += w->missing;
	}
	print_message(
		"%s, IPv%c: %llu rounds, %llu operations, %llu hits, %llu inserted (%llu by user "
		"space), %llu found, %llu busy, %llu refused, %llu moved; wrong real %llu, "
		"missing %llu, doubles %llu, violations %llu\n",
		lab->scene->name, lab->words == TABLE_WIDE ? '6' : '4',
		(unsigned long long)lab->rounds, (unsigned long long)sum.operations,
		(unsigned long long)sum.hits, (unsigned long long)sum.inserted,
		(unsigned long long)lab->stress->worker[STRESS_WORKERS - 1].inserted,
		(unsigned long long)sum.found, (unsigned long long)sum.busy,
		(unsigned long long)sum.refused, (unsigned long long)lab->moved,
		(unsigned long long)sum.wrong, (unsigned long long)sum.missing,
		(unsigned long long)lab->doubles, (unsigned long long)lab->violations);
}

/* ---- the tests -------------------------------------------------------------------------------- */

static double scene_seconds(void)
{
	const char *text = getenv("XLB_STRESS_SECONDS");

	return text ? atof(text) : 0.8;
}

/* Plays a scene until its time is over or something is wrong; returns the number of violations. */
static uint64_t play(const struct scene *scene, int words, unsigned mutant, double limit)
{
	int cpu[CPUS];
	struct lab lab;
	double end;

	assert_true(stress_choose_cpus(cpu));
	stress_open(&lab, scene, words, mutant);
	table_hooks.stretch = scene->stretch ? user_stretch : NULL;
	stress_start(&lab, cpu);
	end = seconds() + limit;
	while (seconds() < end && !lab.violations)
		play_round(&lab);
	report(&lab);
	stress_close(&lab);
	return lab.violations;
}

static void every_invariant_holds(void **state)
{
	const struct scene *scene = *state;

	assert_int_equal(play(scene, TABLE_NARROW, 0, scene_seconds()), 0);
	assert_int_equal(play(scene, TABLE_WIDE, 0, scene_seconds()), 0);
}

static void every_broken_rule_is_noticed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(mutants); i++) {
		const struct scene *scene = scenes;

		while (strcmp(scene->name, mutants[i].scene) != 0)
			scene++;
		print_message("broken: %s\n", mutants[i].rule);
		/* a race that is broken in one width is broken in both: they are one source */
		if (play(scene, TABLE_NARROW, mutants[i].mutant, PATIENCE) == 0)
			assert_true(play(scene, TABLE_WIDE, mutants[i].mutant, PATIENCE) > 0);
	}
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(scenes) + 1] = {};
	int cpu[CPUS];

	if (geteuid() != 0 || !stress_choose_cpus(cpu)) {
		puts("skipped: needs root and two of the first three CPUs");
		return 77;
	}
	user_random = (__u64)time(NULL);
	printf("seed %llu\n", (unsigned long long)user_random);
	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++)
		tests[i] = (struct CMUnitTest){.name = scenes[i].name,
		                               .test_func = every_invariant_holds,
		                               .initial_state = (void *)&scenes[i]};
	tests[ARRAY_SIZE(scenes)] =
		(struct CMUnitTest)cmocka_unit_test(every_broken_rule_is_noticed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
