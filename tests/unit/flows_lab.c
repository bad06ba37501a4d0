// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flows_lab.c - a connection table on plain memory: a memfd takes the BPF map's place, so that flows_open() maps it as it would
 * map that. Connection number i has an address, ports, service and real server of its own; a second mapping lets
 * tests look at words and play packets.
 */
#define _GNU_SOURCE /* memfd_create */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/unit/flows_lab.h"

struct table_hooks table_hooks;

size_t lab_bytes(const struct flows_table *table, bool wide)
{
	return (((size_t)1 << table->bits) + ((size_t)1 << table->stash_bits)) * (wide ? 128 : 64);
}

static uint64_t *make_table(struct flows_table *table, bool wide)
{
	void *memory;

	table->fd = memfd_create("table", MFD_CLOEXEC);
	assert_true(table->fd >= 0);
	assert_int_equal(ftruncate(table->fd, lab_bytes(table, wide)), 0);
	memory = mmap(NULL, lab_bytes(table, wide), PROT_READ | PROT_WRITE, MAP_SHARED, table->fd,
	              0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	return memory;
}

void lab_open(struct lab *lab, bool wide, uint32_t bits, uint32_t stash_bits)
{
	*lab = (struct lab){.wide = wide, .table = {.bits = bits, .stash_bits = stash_bits}};
	lab->control.seed = 0x1234567890abcdef;
	for (int phase = 0; phase < XLB_PHASES; phase++)
		lab->control.timeout[phase] = 1000;
	lab->word = make_table(&lab->table, wide);
	assert_int_equal(flows_open(wide ? NULL : &lab->table, wide ? &lab->table : NULL,
	                            &lab->control, &lab->flows),
	                 0);
	table_hooks = (struct table_hooks){};
}

void lab_close(struct lab *lab)
{
	table_hooks = (struct table_hooks){};
	flows_close(lab->flows);
	munmap(lab->word, lab_bytes(&lab->table, lab->wide));
	close(lab->table.fd);
	if (lab->old_word)
		munmap(lab->old_word, lab_bytes(&lab->old, lab->wide));
	if (lab->old_word)
		close(lab->old.fd);
}

/* What was the table becomes the old one. */
void lab_grow(struct lab *lab, uint32_t bits, uint32_t stash_bits)
{
	flows_close(lab->flows);
	lab->old = lab->table;
	lab->old_word = lab->word;
	lab->table = (struct flows_table){.bits = bits, .stash_bits = stash_bits};
	lab->word = make_table(&lab->table, lab->wide);
	assert_int_equal(flows_open(lab->wide ? NULL : &lab->table, lab->wide ? &lab->table : NULL,
	                            &lab->control, &lab->flows),
	                 0);
	assert_int_equal(flows_attach(lab->flows, lab->wide ? NULL : &lab->old,
	                              lab->wide ? &lab->old : NULL),
	                 0);
}

uint64_t *lab_state(const struct lab *lab, size_t slot)
{
	return &lab->word[lab->wide ? slot * 4 + 3 : slot * 2 + 1];
}

struct flow lab_flow(const struct lab *lab, unsigned i)
{
	struct flow flow = {
		.client_port = 1024 + i % 60000, .service = 1 + i % 3, .real = 1 + i % 5};

	flow.client.word[0] = lab->wide ? htonl(0x20010db8) : 0;
	flow.client.word[1] = lab->wide ? htonl(i) : 0;
	flow.client.word[2] = lab->wide ? 0 : htonl(0xffff);
	flow.client.word[3] = htonl(0x0a000000 + i);
	flow.virtual_port = lab->wide ? 80 : 0;
	flow.phase = XLB_PHASE_ESTABLISHED;
	return flow;
}

int lab_insert(struct lab *lab, unsigned i, uint8_t phase, uint64_t now)
{
	struct flow flow = lab_flow(lab, i);

	flow.phase = phase;
	return flows_insert(lab->flows, now, &flow, lab->wide);
}

bool lab_finds(struct lab *lab, unsigned i, struct flow *ret)
{
	struct flow flow = lab_flow(lab, i), found;

	return flows_look(lab->flows, 100, &flow, lab->wide, ret ? ret : &found);
}

struct flows_census *lab_census(struct lab *lab, uint64_t now, const uint64_t *drop_service,
                                const uint64_t *drop_real)
{
	struct flows_census *seen = calloc(1, sizeof(*seen));

	assert_non_null(seen);
	flows_sweep(lab->flows, now, drop_service, drop_real, seen);
	return seen;
}

uint64_t lab_count(struct lab *lab)
{
	_cleanup_free_ struct flows_census *seen = lab_census(lab, 100, NULL, NULL);

	return seen->live;
}
