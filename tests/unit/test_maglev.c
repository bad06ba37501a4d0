// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_maglev.c - mh tables against the plain rule: shares, weight 0, sizes. Values seen from the kernel: test_ring.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/hash.h"
#include "xlbd/cleanup.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/maglev.h"

#define KERNEL_SIZE 4093
#define MOST        40 /* real servers of most tests */

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Real servers 10.1.0.1 ..., weights and last weights as given. */
static void make_reals(struct real_server *reals, const int32_t *weights, size_t count)
{
	for (size_t i = 0; i < count; i++)
		reals[i] = (struct real_server){.addr = addr_from_ipv4(htonl(0x0a010001 + i)),
		                                .port = 80,
		                                .weight = weights[i],
		                                .last_weight = weights[i]};
}

static int fill(struct real_server *reals, size_t count, size_t size, uint16_t *place)
{
	struct service service = {.scheduler = "mh", .reals = reals, .real_count = count};

	return maglev_fill(&service, size, place);
}

/* `size` places, to be freed. */
static uint16_t *filled(struct real_server *reals, size_t count, size_t size)
{
	uint16_t *place = calloc(size, sizeof(*place));

	assert_non_null(place);
	assert_int_equal(fill(reals, count, size, place), 0);
	return place;
}

static size_t count_places(const uint16_t *place, size_t size, uint16_t owner)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += place[i] == owner;
	return count;
}

/* The rule in so many words, without any short cut. */
static void fill_plainly(const struct real_server *reals, size_t count, const uint32_t *turns,
                         uint32_t size, uint16_t *place)
{
	uint32_t at[MOST], step[MOST], left = size;

	memset(place, 0, size * sizeof(*place));
	for (size_t i = 0; i < count; i++) {
		uint32_t name = hash_fold(&reals[i].addr) + reals[i].port;

		at[i] = hash_siphash(name, HASH_MH_KEY1) % size;
		step[i] = hash_siphash(name, HASH_MH_KEY2) % (size - 1) + 1;
	}
	for (size_t i = 0; left; i = (i + 1) % count) {
		for (uint32_t turn = 0; turn < turns[i] && left; turn++, left--) {
			while (place[at[i]])
				at[i] = (at[i] + step[i]) % size;
			place[at[i]] = i + 1;
		}
	}
}

static void compare_with_plain_walk(uint32_t size, uint32_t *seed)
{
	uint16_t *expected = calloc(size, sizeof(*expected)), *place;
	size_t count = 1 + next_random(seed) % MOST;
	struct real_server reals[MOST];
	uint32_t turns[MOST] = {0};
	int32_t weights[MOST];

	assert_non_null(expected);
	count = count > size ? size : count;
	for (size_t i = 0; i < count; i++) {
		/* divisor 1 and at most 4 bits: turns are the weights, in every size that is tried */
		weights[i] = i && size >= 251 ? (int32_t)(next_random(seed) % 15) : 1;
		turns[i] = weights[i];
	}
	make_reals(reals, weights, count);
	place = filled(reals, count, size);
	fill_plainly(reals, count, turns, size, expected);
	assert_memory_equal(place, expected, size * sizeof(*expected));
	free(place);
	free(expected);
}

static void the_short_cut_gives_what_the_plain_walk_gives(void **state)
{
	static const uint32_t sizes[] = {2, 3, 61, 67, 251, 4093, 65521, 65537, 131071};
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t round = 0; round < 4; round++)
			compare_with_plain_walk(sizes[i], &seed);
}

static void weight_zero_keeps_its_places_if_it_had_a_weight(void **state)
{
	const int32_t weights[] = {3, 2, 1};
	struct real_server reals[3];
	uint16_t *before, *after;

	(void)state;
	make_reals(reals, weights, 3);
	before = filled(reals, 3, KERNEL_SIZE);
	reals[1].weight = 0;
	after = filled(reals, 3, KERNEL_SIZE);
	assert_memory_equal(before, after, KERNEL_SIZE * sizeof(*before));
	assert_true(count_places(after, KERNEL_SIZE, 2) > 0);
	free(before);
	free(after);
}

static void weight_zero_from_the_start_gets_no_place(void **state)
{
	const int32_t weights[] = {3, 0, 1};
	struct real_server reals[3];
	uint16_t *place;

	(void)state;
	make_reals(reals, weights, 3);
	place = filled(reals, 3, KERNEL_SIZE);
	assert_int_equal(count_places(place, KERNEL_SIZE, 2), 0);
	assert_int_equal(count_places(place, KERNEL_SIZE, 1) + count_places(place, KERNEL_SIZE, 3),
	                 KERNEL_SIZE);
	free(place);
}

static void weights_are_cut_to_half_the_bits_of_the_size_but_never_to_nothing(void **state)
{
	static const struct {
		uint32_t size, turns[3];
	} rows[] = {
		{251, {15, 1, 7}},          /* 4 bits */
		{KERNEL_SIZE, {63, 1, 31}}, /* 6 */
		{16381, {127, 1, 63}},      /* 7 */
		{65537, {255, 1, 127}},     /* 8 */
	};
	const int32_t weights[] = {INT32_MAX, 1, INT32_MAX / 2};
	struct real_server reals[3];

	(void)state;
	make_reals(reals, weights, 3);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint16_t *place = filled(reals, 3, rows[i].size);
		uint16_t *expected = calloc(rows[i].size, sizeof(*expected));

		assert_non_null(expected);
		fill_plainly(reals, 3, rows[i].turns, rows[i].size, expected);
		assert_memory_equal(place, expected, rows[i].size * sizeof(*expected));
		free(place);
		free(expected);
	}
}

static void only_the_proportion_of_weights_matters(void **state)
{
	const int32_t weights[] = {300, 200, 100}, proportion[] = {3, 2, 1};
	struct real_server reals[3];
	uint16_t *one, *two;

	(void)state;
	make_reals(reals, weights, 3);
	one = filled(reals, 3, KERNEL_SIZE);
	make_reals(reals, proportion, 3);
	two = filled(reals, 3, KERNEL_SIZE);
	assert_memory_equal(one, two, KERNEL_SIZE * sizeof(*one));
	free(one);
	free(two);
}

static void a_table_wants_a_prime_and_a_place_for_everybody(void **state)
{
	static const size_t sizes[] = {0, 1, 4, 4095, 4096, 65536, 131072, 131073, 262147};
	const int32_t weights[] = {1, 1, 1, 1};
	struct real_server reals[4];

	(void)state;
	make_reals(reals, weights, 4);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_false(maglev_size_is_valid(sizes[i]));
		assert_int_equal(fill(reals, 4, sizes[i], NULL), -EINVAL);
	}
	assert_int_equal(fill(reals, 4, 3, NULL), -E2BIG);
}

static void the_kernels_sizes_are_valid(void **state)
{
	static const size_t sizes[] = {251,  509,   1021,  2039,  4093,
	                               8191, 16381, 32749, 65521, 131071};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_true(maglev_size_is_valid(sizes[i]));
}

static void nobody_with_a_share_is_no_table(void **state)
{
	const int32_t weights[] = {0, 0};
	struct real_server reals[2];

	(void)state;
	make_reals(reals, weights, 2);
	assert_int_equal(fill(reals, 2, KERNEL_SIZE, NULL), -ENOENT);
	assert_int_equal(fill(NULL, 0, KERNEL_SIZE, NULL), -ENOENT);
}

static void the_most_real_servers_all_get_a_place(void **state)
{
	struct real_server *reals = calloc(REALS_MAX, sizeof(*reals));
	uint16_t *place;

	(void)state;
	assert_non_null(reals);
	for (size_t i = 0; i < REALS_MAX; i++) {
		reals[i].addr = addr_from_ipv4(htonl(0x0a010000 + i));
		reals[i].weight = reals[i].last_weight = 1;
	}
	place = filled(reals, REALS_MAX, 8191);
	for (size_t i = 1; i <= REALS_MAX; i++)
		assert_in_range(count_places(place, 8191, i), 1, 2);
	assert_int_equal(fill(reals, REALS_MAX, KERNEL_SIZE, NULL), -E2BIG);
	free(place);
	free(reals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_short_cut_gives_what_the_plain_walk_gives),
		cmocka_unit_test(weight_zero_keeps_its_places_if_it_had_a_weight),
		cmocka_unit_test(weight_zero_from_the_start_gets_no_place),
		cmocka_unit_test(weights_are_cut_to_half_the_bits_of_the_size_but_never_to_nothing),
		cmocka_unit_test(only_the_proportion_of_weights_matters),
		cmocka_unit_test(a_table_wants_a_prime_and_a_place_for_everybody),
		cmocka_unit_test(the_kernels_sizes_are_valid),
		cmocka_unit_test(nobody_with_a_share_is_no_table),
		cmocka_unit_test(the_most_real_servers_all_get_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
