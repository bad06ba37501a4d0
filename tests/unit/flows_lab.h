/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flows_lab.h - a connection table on plain memory, for tests of xlbd/dataplane/flows*.c; numbers stand for connections.
 */
#ifndef TESTS_UNIT_FLOWS_LAB_H
#define TESTS_UNIT_FLOWS_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"
#include "xlbd/dataplane/flows.h"

#define TINY 12 /* slots of a table of bits 1, stash_bits 0: one place for all keys */

struct lab {
	bool wide;
	struct xlb_control control;
	struct flows_table table, old;
	uint64_t *word, *old_word; /* our own mappings of them */
	struct flows *flows;
};

size_t lab_bytes(const struct flows_table *table, bool wide); /* of a mapping */
void lab_open(struct lab *lab, bool wide, uint32_t bits, uint32_t stash_bits);
void lab_close(struct lab *lab);
void lab_grow(struct lab *lab, uint32_t bits,
              uint32_t stash_bits); /* what was the table becomes the old one */
uint64_t *lab_state(const struct lab *lab, size_t slot); /* a slot's state word */

struct flow lab_flow(const struct lab *lab, unsigned i); /* connection number i, ESTABLISHED */
int lab_insert(struct lab *lab, unsigned i, uint8_t phase, uint64_t now);
bool lab_finds(struct lab *lab, unsigned i, struct flow *ret); /* as of tick 100; ret may be NULL */
/* A sweep. Free the result. */
struct flows_census *lab_census(struct lab *lab, uint64_t now, const uint64_t *drop_service,
                                const uint64_t *drop_real);
uint64_t lab_count(struct lab *lab); /* connections after a sweep as of tick 100 */

/* A test for both widths of a key, and its rows. */
#define BOTH(name)                            \
	static void name##_ipv4(void **state) \
	{                                     \
		(void)state;                  \
		name(false);                  \
	}                                     \
	static void name##_ipv6(void **state) \
	{                                     \
		(void)state;                  \
		name(true);                   \
	}
#define ROWS(name) cmocka_unit_test(name##_ipv4), cmocka_unit_test(name##_ipv6),

#endif
