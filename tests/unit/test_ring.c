// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_ring.c - rings against values seen from the kernel, and against a plain walk of each scheduler's rule.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/hash.h"
#include "tests/unit/hash_vectors.h"
#include "xlbd/cleanup.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/ring.h"

/* Real servers 10.1.0.1 ..., weights and last weights as given. */
static void make_reals(struct real_server *reals, const int32_t *weights, size_t count)
{
	for (size_t i = 0; i < count; i++)
		reals[i] = (struct real_server){.addr = addr_from_ipv4(htonl(0x0a010001 + i)),
		                                .port = 80,
		                                .weight = weights[i],
		                                .last_weight = weights[i]};
}

static struct ring built(const char *scheduler, struct real_server *reals, size_t count,
                         size_t mh_size)
{
	struct service service = {.reals = reals, .real_count = count};
	struct ring ring;

	strcpy(service.scheduler, scheduler);
	assert_int_equal(ring_build(&service, mh_size, &ring), 0);
	return ring;
}

static int refused(const char *scheduler, struct real_server *reals, size_t count, size_t mh_size)
{
	struct service service = {.reals = reals, .real_count = count};
	struct ring ring = {.length = 77}, before = ring;
	int r;

	strcpy(service.scheduler, scheduler);
	r = ring_build(&service, mh_size, &ring);
	assert_memory_equal(&ring, &before, sizeof(ring));
	return r;
}

/* ---- the kernel's values ---------------------------------------------------------------------- */

static size_t vector_reals(const struct hash_vector *vector, struct real_server *reals)
{
	for (size_t i = 0; i < vector->real_count; i++) {
		reals[i] = (struct real_server){.port = vector->real[i].port,
		                                .weight = vector->real[i].weight,
		                                .last_weight = vector->real[i].weight};
		assert_true(addr_parse(vector->real[i].addr, &reals[i].addr));
	}
	return vector->real_count;
}

static size_t count_places(const struct ring *ring, uint16_t owner)
{
	size_t count = 0;

	for (size_t i = 0; i < ring->length; i++)
		count += ring->place[i] == owner;
	return count;
}

static void every_mh_table_is_the_kernels(void **state)
{
	(void)state;
	for (size_t v = 0; v < ARRAY_SIZE(hash_vectors); v++) {
		const struct hash_vector *vector = &hash_vectors[v];
		uint64_t print = 0xcbf29ce484222325ull;
		struct real_server reals[VECTOR_REALS];
		size_t count = vector_reals(vector, reals);
		struct ring ring = built("mh", reals, count, RING_MH_SIZE);

		assert_int_equal(ring.length, 4093);
		for (size_t i = 0; i < 16; i++)
			assert_int_equal(ring.place[i], vector->mh_first[i] + 1);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(count_places(&ring, i + 1), vector->real[i].mh_count);
		for (size_t i = 0; i < ring.length; i++)
			print = (print ^ (uint8_t)(ring.place[i] - 1)) * 0x100000001b3ull;
		assert_true(print == vector->mh_print);
		ring_free(&ring);
	}
}

static void first_place_and_step_are_the_kernels(void **state)
{
	(void)state;
	for (size_t v = 0; v < ARRAY_SIZE(hash_vectors); v++) {
		struct real_server reals[VECTOR_REALS];
		size_t count = vector_reals(&hash_vectors[v], reals);

		for (size_t i = 0; i < count; i++) {
			uint32_t word = ring_fold(&reals[i].addr);

			assert_int_equal(ring_mh_hash(word, reals[i].port, 0, RING_MH_KEY1) % 4093,
			                 hash_vectors[v].real[i].offset);
			assert_int_equal(ring_mh_hash(word, reals[i].port, 0, RING_MH_KEY2) % 4092 +
			                         1,
			                 hash_vectors[v].real[i].skip);
		}
	}
}

static void every_sh_table_is_the_kernels(void **state)
{
	(void)state;
	for (size_t v = 0; v < ARRAY_SIZE(hash_vectors); v++) {
		struct real_server reals[VECTOR_REALS];
		size_t count = vector_reals(&hash_vectors[v], reals);
		struct ring ring = built("sh", reals, count, 0);

		assert_int_equal(ring.length, 256);
		for (size_t i = 0; i < 16; i++)
			assert_int_equal(ring.place[i], hash_vectors[v].sh_first[i] + 1);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(count_places(&ring, i + 1),
			                 hash_vectors[v].real[i].sh_count);
		ring_free(&ring);
	}
}

static bool is_mh(const struct ring *ring)
{
	return ring->length != 256;
}

/* What a packet does with a ring: index of the real server, or -1. `down`: one that is unusable beside those of weight 0. */
static int look_up(const struct ring *ring, const struct real_server *reals, uint32_t client,
                   uint16_t port, bool fallback, size_t down)
{
	uint32_t first =
		is_mh(ring) ? hash_mh(client, port, 0) % ring->length : hash_sh(client, port, 0);
	uint16_t owner = ring->place[first];

	for (uint32_t try = 0; owner && try <= ring->length; try++) {
		uint32_t offset = (try + first) % ring->length;

		if (reals[owner - 1].weight > 0 && owner - 1u != down)
			return owner - 1;
		if (!fallback)
			return -1;
		owner = ring->place[is_mh(ring) ? hash_mh(client, port, offset) % ring->length
		                                : hash_sh(client, port, offset)];
	}
	return -1;
}

static void every_look_up_finds_the_kernels_real_server(void **state)
{
	(void)state;
	for (size_t v = 0; v < ARRAY_SIZE(hash_vectors); v++) {
		struct real_server reals[VECTOR_REALS];
		size_t count = vector_reals(&hash_vectors[v], reals);
		struct ring mh = built("mh", reals, count, RING_MH_SIZE);
		struct ring sh = built("sh", reals, count, RING_MH_SIZE);

		for (size_t i = 0; i < hash_vectors[v].lookup_count; i++) {
			const struct hash_lookup *one = &hash_vectors[v].lookup[i];
			struct xlb_addr client;
			uint32_t word;

			assert_true(addr_parse(one->client, &client));
			word = ring_fold(&client);
			assert_int_equal(look_up(&mh, reals, word, one->port, false, SIZE_MAX),
			                 one->mh);
			assert_int_equal(look_up(&sh, reals, word, one->port, false, SIZE_MAX),
			                 one->sh);
			assert_int_equal(look_up(&mh, reals, word, one->port, true, 0),
			                 one->mh_fallback);
			assert_int_equal(look_up(&sh, reals, word, one->port, true, 0),
			                 one->sh_fallback);
		}
		ring_free(&mh);
		ring_free(&sh);
	}
}

static void a_size_that_maglev_refuses_is_refused(void **state)
{
	const int32_t weights[] = {1, 1, 1, 1};
	struct real_server reals[4];

	(void)state;
	make_reals(reals, weights, 4);
	assert_int_equal(refused("mh", reals, 4, 4096), -EINVAL);
	assert_int_equal(refused("mh", reals, 4, 3), -E2BIG);
}

/* ---- sh, dh ----------------------------------------------------------------------------------- */

static void sh_counts_the_present_weight_and_gives_zero_one_bucket(void **state)
{
	const int32_t weights[] = {2, 0, 3};
	const uint16_t expected[] = {1, 1, 2, 3, 3, 3, 1, 1, 2};
	struct real_server reals[3];
	struct ring ring;

	(void)state;
	make_reals(reals, weights, 3);
	reals[1].last_weight = 100; /* only mh looks at it */
	ring = built("sh", reals, 3, 0);
	assert_memory_equal(ring.place, expected, sizeof(expected));
	ring_free(&ring);
}

static void sh_of_a_huge_weight_has_one_owner(void **state)
{
	const int32_t weights[] = {INT32_MAX, 5};
	struct real_server reals[2];
	struct ring ring;

	(void)state;
	make_reals(reals, weights, 2);
	ring = built("sh", reals, 2, 0);
	assert_int_equal(count_places(&ring, 1), 256);
	ring_free(&ring);
}

static void dh_gives_a_bucket_each_whatever_the_weight(void **state)
{
	const int32_t weights[] = {9, 0, 1};
	struct real_server reals[3];
	struct ring ring;

	(void)state;
	make_reals(reals, weights, 3);
	ring = built("dh", reals, 3, 0);
	assert_int_equal(ring.length, 256);
	for (size_t i = 0; i < ring.length; i++)
		assert_int_equal(ring.place[i], i % 3 + 1);
	/* with one virtual address in every service, this is all that dh ever looks at */
	for (size_t i = 0; i < ARRAY_SIZE(dh_vectors); i++) {
		struct xlb_addr vip;

		assert_true(addr_parse(dh_vectors[i].vip, &vip));
		assert_int_equal(ring.place[hash_dh(ring_fold(&vip))],
		                 dh_vectors[i].bucket % 3 + 1);
	}
	ring_free(&ring);
}

/* ---- rr, wrr ---------------------------------------------------------------------------------- */

static void rr_has_one_place_for_everybody_usable_in_list_order(void **state)
{
	const int32_t weights[] = {5, 0, 1, 7};
	const uint16_t expected[] = {1, 3, 4};
	struct real_server reals[4];
	struct ring ring;

	(void)state;
	make_reals(reals, weights, 4);
	ring = built("rr", reals, 4, 0);
	assert_int_equal(ring.length, 3);
	assert_memory_equal(ring.place, expected, sizeof(expected));
	ring_free(&ring);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* The kernel's walk, one connection at a time. */
struct plain_walk {
	const struct real_server *reals;
	size_t count, at; /* at: the next to look at; count: the end of the list */
	int32_t unit, highest, limit;
};

static int32_t plain_gcd(int32_t a, int32_t b)
{
	return b ? plain_gcd(b, a % b) : a;
}

static void plain_start(struct plain_walk *walk, const struct real_server *reals, size_t count)
{
	*walk = (struct plain_walk){.reals = reals, .count = count};
	for (size_t i = 0; i < count; i++) {
		walk->unit = plain_gcd(walk->unit, reals[i].weight);
		if (reals[i].weight > walk->highest)
			walk->highest = reals[i].weight;
	}
	walk->highest -= walk->unit - 1;
	walk->limit = walk->highest;
}

static uint16_t plain_next(struct plain_walk *walk)
{
	for (;;) {
		for (; walk->at < walk->count; walk->at++)
			if (walk->reals[walk->at].weight >= walk->limit)
				return ++walk->at;
		walk->at = 0;
		walk->limit -= walk->unit;
		if (walk->limit <= 0)
			walk->limit = walk->highest;
	}
}

static void wrr_goes_the_kernels_way_round_and_begins_again(void **state)
{
	uint32_t seed = 2;

	(void)state;
	for (size_t round = 0; round < 300; round++) {
		struct real_server reals[30];
		int32_t weights[30];
		size_t count = 1 + next_random(&seed) % 30;
		int32_t unit = 1 + next_random(&seed) % 4 * 7, most = 1 + next_random(&seed) % 50;
		struct plain_walk walk;
		struct ring ring;

		for (size_t i = 0; i < count; i++)
			weights[i] = unit * (int32_t)(next_random(&seed) % (most + 1));
		weights[next_random(&seed) % count] = unit * most;
		make_reals(reals, weights, count);
		ring = built("wrr", reals, count, 0);
		plain_start(&walk, reals, count);
		for (size_t i = 0; i < 2 * ring.length; i++)
			assert_int_equal(ring.place[i % ring.length], plain_next(&walk));
		ring_free(&ring);
	}
}

static void wrr_takes_heavy_servers_in_bursts_first(void **state)
{
	const int32_t weights[] = {2, 0, 6, 4};
	const uint16_t expected[] = {3, 3, 4, 1, 3, 4};
	struct real_server reals[4];
	struct ring ring;

	(void)state;
	make_reals(reals, weights, 4);
	ring = built("wrr", reals, 4, 0);
	assert_int_equal(ring.length, 6);
	assert_memory_equal(ring.place, expected, sizeof(expected));
	ring_free(&ring);
}

static void a_cycle_is_as_long_as_the_ring_at_most(void **state)
{
	const int32_t equal[] = {INT32_MAX, INT32_MAX}, just[] = {XLB_RING_MAX - 1, 1},
		      over[] = {XLB_RING_MAX, 1}, most[] = {INT32_MAX, INT32_MAX - 1};
	struct real_server reals[2];
	struct service service = {.scheduler = "wrr", .reals = reals, .real_count = 2};
	struct ring ring;

	(void)state;
	make_reals(reals, equal, 2);
	ring = built("wrr", reals, 2, 0);
	assert_int_equal(ring.length, 2);
	ring_free(&ring);
	make_reals(reals, just, 2);
	ring = built("wrr", reals, 2, 0);
	assert_int_equal(ring.length, XLB_RING_MAX);
	assert_int_equal(count_places(&ring, 2), 1);
	assert_int_equal(ring.place[ring.length - 1], 2);
	ring_free(&ring);
	make_reals(reals, over, 2);
	assert_int_equal(refused("wrr", reals, 2, 0), -E2BIG);
	make_reals(reals, most, 2);
	assert_int_equal(refused("wrr", reals, 2, 0), -E2BIG);
	assert_int_equal(ring_cycle(&service), 2ull * INT32_MAX - 1);
	/* rr does not look at how much a weight is */
	ring = built("rr", reals, 2, 0);
	assert_int_equal(ring.length, 2);
	ring_free(&ring);
}

/* ---- all -------------------------------------------------------------------------------------- */

static void nobody_to_go_to_is_a_ring_of_length_zero(void **state)
{
	static const char *const schedulers[] = {"mh", "sh", "dh", "rr", "wrr"};
	const int32_t weights[] = {0, 0};
	struct real_server reals[2];

	(void)state;
	make_reals(reals, weights, 2);
	for (size_t i = 0; i < ARRAY_SIZE(schedulers); i++) {
		bool places = !strcmp(schedulers[i], "sh") || !strcmp(schedulers[i], "dh");
		struct ring none = built(schedulers[i], NULL, 0, RING_MH_SIZE);
		struct ring unusable = built(schedulers[i], reals, 2, RING_MH_SIZE);

		assert_int_equal(none.length, 0);
		assert_int_equal(unusable.length, places ? 256 : 0);
		ring_free(&none);
		ring_free(&unusable);
	}
}

static void only_schedulers_with_a_ring_are_offered(void **state)
{
	static const char *const others[] = {"lc",   "wlc",   "sed",  "nq", "fo",  "ovf",
	                                     "lblc", "lblcr", "twos", "",   "mhx", "r"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(ring_scheduler(others[i]), XLB_SCHED_NONE);
		assert_int_equal(refused(others[i], NULL, 0, RING_MH_SIZE), -ENOTSUP);
	}
	assert_int_equal(ring_scheduler("rr"), XLB_SCHED_RR);
	assert_int_equal(ring_scheduler("wrr"), XLB_SCHED_RR);
	assert_int_equal(ring_scheduler("mh"), XLB_SCHED_MH);
	assert_int_equal(ring_scheduler("sh"), XLB_SCHED_SH);
	assert_int_equal(ring_scheduler("dh"), XLB_SCHED_DH);
}

static void a_ring_changes_only_with_what_its_scheduler_looks_at(void **state)
{
	static const struct {
		const char *scheduler;
		bool weight, usable, last_weight, order, address;
	} rows[] = {
		{"mh", false, false, true, true, true},  {"sh", true, true, false, true, true},
		{"dh", false, false, false, true, true}, {"rr", false, true, false, true, true},
		{"wrr", true, true, false, true, true},
	};
	const int32_t weights[] = {3, 2};
	struct real_server one[2], two[2], swap;
	struct service a = {.reals = one, .real_count = 2}, b = {.reals = two, .real_count = 2};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		strcpy(a.scheduler, rows[i].scheduler);
		strcpy(b.scheduler, rows[i].scheduler);
		make_reals(one, weights, 2);
		make_reals(two, weights, 2);
		assert_true(ring_is_same(&a, &b));
		two[0].weight = 4;
		assert_int_equal(ring_is_same(&a, &b), !rows[i].weight);
		two[0].weight = 0;
		assert_int_equal(ring_is_same(&a, &b), !rows[i].usable);
		make_reals(two, weights, 2);
		two[0].last_weight = 4;
		assert_int_equal(ring_is_same(&a, &b), !rows[i].last_weight);
		make_reals(two, weights, 2);
		swap = two[0];
		two[0] = two[1];
		two[1] = swap;
		assert_int_equal(ring_is_same(&a, &b), !rows[i].order);
		make_reals(two, weights, 2);
		two[1].port++;
		assert_int_equal(ring_is_same(&a, &b), !rows[i].address);
		make_reals(two, weights, 2);
		b.real_count = 1;
		assert_false(ring_is_same(&a, &b));
		b.real_count = 2;
	}
	strcpy(b.scheduler, "rr");
	assert_false(ring_is_same(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mh_table_is_the_kernels),
		cmocka_unit_test(first_place_and_step_are_the_kernels),
		cmocka_unit_test(every_sh_table_is_the_kernels),
		cmocka_unit_test(every_look_up_finds_the_kernels_real_server),
		cmocka_unit_test(a_size_that_maglev_refuses_is_refused),
		cmocka_unit_test(sh_counts_the_present_weight_and_gives_zero_one_bucket),
		cmocka_unit_test(sh_of_a_huge_weight_has_one_owner),
		cmocka_unit_test(dh_gives_a_bucket_each_whatever_the_weight),
		cmocka_unit_test(rr_has_one_place_for_everybody_usable_in_list_order),
		cmocka_unit_test(wrr_goes_the_kernels_way_round_and_begins_again),
		cmocka_unit_test(wrr_takes_heavy_servers_in_bursts_first),
		cmocka_unit_test(a_cycle_is_as_long_as_the_ring_at_most),
		cmocka_unit_test(nobody_to_go_to_is_a_ring_of_length_zero),
		cmocka_unit_test(a_ring_changes_only_with_what_its_scheduler_looks_at),
		cmocka_unit_test(only_schedulers_with_a_ring_are_offered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
