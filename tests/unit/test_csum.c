// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_csum.c - bpf/lib/csum.h on the host: the same checksums as the definition (RFC 1071), which is written down here once more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "lib/csum.h"

#define WORDS 320 /* 1280 bytes: the longest that is summed up */

/* As it goes over the wire; bytes: even. */
static uint16_t by_definition(const void *data, size_t bytes)
{
	const uint8_t *byte = data;
	uint32_t sum = 0;

	for (size_t i = 0; i < bytes; i += 2) {
		sum += (uint32_t)byte[i] << 8 | byte[i + 1];
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return htons((uint16_t)~sum);
}

static void fill(uint32_t *word, size_t words, unsigned seed)
{
	srandom(seed);
	for (size_t i = 0; i < words; i++)
		word[i] = (uint32_t)random() << 16 ^ (uint32_t)random();
}

static void a_sum_of_words_gives_the_checksum(void **state)
{
	uint32_t word[WORDS];

	(void)state;
	for (uint32_t words = 0; words <= WORDS; words++) {
		fill(word, words, words + 1);
		assert_int_equal(csum_finish(csum_add(0, word, words)),
		                 by_definition(word, words * 4));
	}
}

static void no_carry_is_lost(void **state)
{
	uint32_t word[WORDS];

	(void)state;
	memset(word, 0xff, sizeof(word));
	for (uint32_t words = 1; words <= WORDS; words++)
		assert_int_equal(csum_finish(csum_add(0, word, words)), 0);
	/* every step of the folding carries */
	assert_int_equal(csum_finish(0x10000ffffffffull), (uint16_t)~1);
}

static void a_sum_can_go_on_where_another_ended(void **state)
{
	uint32_t word[WORDS];

	(void)state;
	fill(word, WORDS, 7);
	for (uint32_t first = 0; first <= WORDS; first += 16) {
		uint16_t folded = (uint16_t)~csum_finish(csum_add(0, word, first));
		uint64_t sum = csum_add(folded, word + first, WORDS - first);

		assert_int_equal(csum_finish(sum), by_definition(word, sizeof(word)));
	}
}

static void a_changed_word_changes_the_checksum_alone(void **state)
{
	uint16_t half[10];

	(void)state;
	for (unsigned seed = 1; seed < 1000; seed++) {
		uint16_t before, was, is = (uint16_t)(seed * 40503u);
		uint32_t word[5];

		fill(word, 5, seed);
		memcpy(half, word, sizeof(half));
		before = by_definition(half, sizeof(half));
		was = half[seed % 10];
		half[seed % 10] = is;
		assert_int_equal(csum_replace(before, was, is), by_definition(half, sizeof(half)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_of_words_gives_the_checksum),
		cmocka_unit_test(no_carry_is_lost),
		cmocka_unit_test(a_sum_can_go_on_where_another_ended),
		cmocka_unit_test(a_changed_word_changes_the_checksum_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
