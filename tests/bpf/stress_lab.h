/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stress_lab.h - a small connection table, two CPUs that work on it by BPF_PROG_TEST_RUN, and what a scene of the stress is.
 */
#ifndef TESTS_BPF_STRESS_LAB_H
#define TESTS_BPF_STRESS_LAB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table_insert.h"
#include "table_stress.h"
#include "xlbd/dataplane/flows.h"

#define BITS       8
#define STASH_BITS 3
#define BUCKETS    ((1 << BITS) + (1 << STASH_BITS))
#define SLOTS      (4 * BUCKETS)
#define CPUS       2

struct scene {
	const char *name;
	enum stress_mode mode;
	uint32_t keys, hot;
	uint32_t step;    /* ticks that the clock jumps (0: 1) */
	uint32_t slow;    /* operations a jump (0: 16) */
	uint32_t stretch; /* longest delay */
	uint32_t round_ms;
	uint32_t kept;
	bool few, grows;
};

struct worker {
	pthread_t thread;
	int cpu, program;
	struct lab *lab;
	bool paused; /* it has seen that it shall pause */
};

struct lab {
	const struct scene *scene;
	int words;
	struct table_stress *skeleton, *old_skeleton;
	struct stress *stress;
	volatile __u64 *table, *old_table;
	struct flows_table map, old_map;
	struct flows *flows, *old_flows;
	struct flows_census *census;
	struct worker worker[CPUS];
	volatile bool pause, stop;
	uint32_t next[BUCKETS + 1]; /* by bucket of the old table: place in the order of moves */
	uint64_t doubles, moved, rounds, violations;
};

/* False: this process may not run on two of the first three. */
bool stress_choose_cpus(int cpu[CPUS]);
/* Stops the CPUs, or lets them go on; returns when they have obeyed. */
void stress_pause(struct lab *lab, bool pause);
/* Of a mapping. */
size_t stress_bytes(const struct lab *lab, const struct flows_table *table);
/* Loads the program (if the table grows: two) for one width of a key, with one rule broken (0: none). */
void stress_open(struct lab *lab, const struct scene *scene, int words, unsigned mutant);
/* The CPUs begin, paused. */
void stress_start(struct lab *lab, const int cpu[CPUS]);
void stress_close(struct lab *lab);

#endif
