// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stress_lab.c - sets up what test_table_stress.c plays with: the programs over a table of a thousand slots, its mappings, a thread
 * pinned to each of two CPUs that runs the program all the time.
 *
 * If the scene grows the table there are two programs over two tables: the first CPU goes on with the program of before, as it
 * may while a link is being replaced, and the second has the one that knows both tables.
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
#include "tests/bpf/table_stress.skel.h"

/* ---- the two CPUs ----------------------------------------------------------------------------- */

static void *work(void *argument)
{
	struct worker *worker = argument;
	char packet[64] = {};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(worker->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	while (!worker->lab->stop) {
		LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet,
		            .data_size_in = sizeof(packet), .repeat = 50);

		__atomic_store_n(&worker->paused, worker->lab->pause, __ATOMIC_SEQ_CST);
		if (worker->lab->pause)
			sched_yield();
		else if (bpf_prog_test_run_opts(worker->program, &options) < 0)
			abort();
	}
	return NULL;
}

bool stress_choose_cpus(int cpu[CPUS])
{
	cpu_set_t set;
	int found = 0;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return false;
	for (int i = 0; i < STRESS_WORKERS - 1 && found < CPUS; i++)
		if (CPU_ISSET(i, &set))
			cpu[found++] = i;
	return found == CPUS;
}

void stress_pause(struct lab *lab, bool pause)
{
	lab->pause = pause;
	for (int i = 0; i < CPUS; i++)
		while (__atomic_load_n(&lab->worker[i].paused, __ATOMIC_SEQ_CST) != pause)
			sched_yield();
}

/* ---- set up and tear down --------------------------------------------------------------------- */

static void set_size(struct lab *lab, struct table_stress *skeleton,
                     const struct flows_table *table, const struct flows_table *old)
{
	const bool wide = lab->words == TABLE_WIDE;
	uint32_t buckets = (1u << table->bits) + (1u << table->stash_bits);

	bpf_map__set_max_entries(wide ? skeleton->maps.connections_wide
	                              : skeleton->maps.connections_narrow,
	                         buckets);
	bpf_program__set_autoload(skeleton->progs.stress_narrow, !wide);
	bpf_program__set_autoload(skeleton->progs.stress_wide, wide);
	if (wide) {
		skeleton->rodata->wide_bits = table->bits;
		skeleton->rodata->wide_stash_bits = table->stash_bits;
		skeleton->rodata->wide_old_bits = old ? old->bits : 0;
		skeleton->rodata->wide_old_stash_bits = old ? old->stash_bits : 0;
	} else {
		skeleton->rodata->narrow_bits = table->bits;
		skeleton->rodata->narrow_stash_bits = table->stash_bits;
		skeleton->rodata->narrow_old_bits = old ? old->bits : 0;
		skeleton->rodata->narrow_old_stash_bits = old ? old->stash_bits : 0;
	}
}

/* A program over a table of its own; `before`: the one whose table it grows out of. */
static struct table_stress *load(struct lab *lab, unsigned mutant, struct flows_table *table,
                                 struct table_stress *before, const struct flows_table *old)
{
	struct table_stress *skeleton = table_stress__open();
	const bool wide = lab->words == TABLE_WIDE;

	assert_non_null(skeleton);
	skeleton->rodata->mutant = mutant;
	skeleton->rodata->stretch = lab->scene->stretch;
	set_size(lab, skeleton, table, old);
	if (before) {
		struct bpf_map *from =
			wide ? before->maps.connections_wide : before->maps.connections_narrow;

		assert_int_equal(
			bpf_map__reuse_fd(skeleton->maps.stress, bpf_map__fd(before->maps.stress)),
			0);
		assert_int_equal(bpf_map__reuse_fd(wide ? skeleton->maps.connections_wide_old
		                                        : skeleton->maps.connections_narrow_old,
		                                   bpf_map__fd(from)),
		                 0);
	}
	assert_int_equal(table_stress__load(skeleton), 0);
	table->fd = bpf_map__fd(wide ? skeleton->maps.connections_wide
	                             : skeleton->maps.connections_narrow);
	return skeleton;
}

size_t stress_bytes(const struct lab *lab, const struct flows_table *table)
{
	return ((1u << table->bits) + (1u << table->stash_bits)) * (size_t)32 * (lab->words + 1);
}

static void *map(int fd, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	return memory;
}

static struct flows *open_flows(const struct lab *lab, const struct flows_table *table)
{
	const bool wide = lab->words == TABLE_WIDE;
	struct flows *flows = NULL;

	assert_int_equal(
		flows_open(wide ? NULL : table, wide ? table : NULL, &lab->stress->control, &flows),
		0);
	return flows;
}

void stress_open(struct lab *lab, const struct scene *scene, int words, unsigned mutant)
{
	const bool wide = words == TABLE_WIDE;
	struct table_stress *first;

	*lab = (struct lab){.scene = scene, .words = words, .pause = true};
	lab->map = (struct flows_table){-1, BITS, STASH_BITS};
	lab->skeleton = first = load(lab, mutant, &lab->map, NULL, NULL);
	if (scene->grows) {
		lab->old_map = lab->map;
		lab->map = (struct flows_table){-1, BITS + 1, STASH_BITS + 1};
		lab->old_skeleton = first;
		lab->skeleton = load(lab, mutant, &lab->map, first, &lab->old_map);
	}
	lab->stress = map(bpf_map__fd(first->maps.stress), sizeof(*lab->stress));
	lab->table = map(lab->map.fd, stress_bytes(lab, &lab->map));
	lab->flows = open_flows(lab, &lab->map);
	lab->census = malloc(sizeof(*lab->census));
	assert_non_null(lab->census);
	if (scene->grows) {
		lab->old_table = map(lab->old_map.fd, stress_bytes(lab, &lab->old_map));
		lab->old_flows = open_flows(lab, &lab->old_map);
		assert_int_equal(flows_attach(lab->flows, wide ? NULL : &lab->old_map,
		                              wide ? &lab->old_map : NULL),
		                 0);
	}
	table_hooks = (struct table_hooks){.mutant = mutant, .live = lab->stress->live};
}

void stress_start(struct lab *lab, const int cpu[CPUS])
{
	for (int i = 0; i < CPUS; i++) {
		/* while it grows, the first CPU still runs the program of before */
		struct table_stress *skeleton =
			lab->old_skeleton && i == 0 ? lab->old_skeleton : lab->skeleton;
		struct bpf_program *program = lab->words == TABLE_WIDE
		                                      ? skeleton->progs.stress_wide
		                                      : skeleton->progs.stress_narrow;

		lab->worker[i] = (struct worker){
			.cpu = cpu[i], .program = bpf_program__fd(program), .lab = lab};
		assert_int_equal(
			pthread_create(&lab->worker[i].thread, NULL, work, &lab->worker[i]), 0);
	}
}

void stress_close(struct lab *lab)
{
	lab->stop = true;
	for (int i = 0; i < CPUS; i++)
		pthread_join(lab->worker[i].thread, NULL);
	table_hooks = (struct table_hooks){};
	flows_close(lab->old_flows);
	flows_close(lab->flows);
	free(lab->census);
	munmap((void *)lab->table, stress_bytes(lab, &lab->map));
	if (lab->old_table)
		munmap((void *)lab->old_table, stress_bytes(lab, &lab->old_map));
	munmap(lab->stress, sizeof(*lab->stress));
	table_stress__destroy(lab->skeleton);
	table_stress__destroy(lab->old_skeleton);
}
