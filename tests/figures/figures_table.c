// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_table.c - figures of the connection table alone: memory, sweep, look-up, insertion, flood. One JSON object a line.
 *
 * ns are CPU time of this thread in BPF_PROG_TEST_RUN, net of the same loop without the table; the median of several runs. "2m": sized for 2 M connections, that is 4 M slots; hits are measured in a table of 2 M
 * slots filled to half, as the whole data plane's are. Arguments: patterns of names. Needs root.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "figures_table.h"
#include "table.h"
#include "tests/figures/figure.h"
#include "tests/figures/figures_table.skel.h"
#include "xlbd/dataplane/flows.h"

#define RUNS     9
#define SYNS     20000000ull
#define CLIENTS  1000000u
#define NEWCOMER 10000ull

struct lab {
	struct figures_table *skeleton;
	struct bench *bench;
	struct flows_table narrow, wide;
	struct flows *flows;
	struct flows_census *census;
};

struct options {
	char **patterns; /* of names (fnmatch); none: all */
	size_t count;
};

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static void print_one(const char *name, double value, const char *unit)
{
	figure_print(name, unit, &value, 1);
}

static bool is_wanted(const struct options *options, const char *name)
{
	return figure_wanted(name, options->patterns, options->count);
}

/* ---- the lab ---------------------------------------------------------------------------------- */

static void *map(int fd, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return memory;
}

static void set_tick_shift(struct figures_table *skeleton)
{
	skeleton->rodata->tick_shift =
		6; /* 256 ms at HZ=250; a figure at another HZ says so by its ticks */
}

static void open_lab(struct lab *lab, uint32_t narrow_bits, uint32_t wide_bits)
{
	struct figures_table *skeleton = figures_table__open();

	*lab = (struct lab){.skeleton = skeleton,
	                    .narrow = {-1, narrow_bits, narrow_bits > 4 ? narrow_bits - 4 : 0},
	                    .wide = {-1, wide_bits, wide_bits > 4 ? wide_bits - 4 : 0}};
	if (!skeleton) {
		perror("figures_table__open");
		exit(1);
	}
	set_tick_shift(skeleton);
	skeleton->rodata->narrow_bits = lab->narrow.bits;
	skeleton->rodata->narrow_stash_bits = lab->narrow.stash_bits;
	skeleton->rodata->wide_bits = lab->wide.bits;
	skeleton->rodata->wide_stash_bits = lab->wide.stash_bits;
	bpf_map__set_max_entries(skeleton->maps.connections_narrow,
	                         (1u << lab->narrow.bits) + (1u << lab->narrow.stash_bits));
	bpf_map__set_max_entries(skeleton->maps.connections_wide,
	                         (1u << lab->wide.bits) + (1u << lab->wide.stash_bits));
	if (figures_table__load(skeleton) < 0)
		exit(1);
	lab->narrow.fd = bpf_map__fd(skeleton->maps.connections_narrow);
	lab->wide.fd = bpf_map__fd(skeleton->maps.connections_wide);
	lab->bench = map(bpf_map__fd(skeleton->maps.bench), sizeof(*lab->bench));
	lab->bench->control.seed = 0x9e3779b97f4a7c15;
	for (int phase = 0; phase < XLB_PHASES; phase++)
		lab->bench->control.timeout[phase] = TABLE_TIMEOUT_MAX;
	lab->bench->random = 88172645463325252ull;
	lab->bench->now = 100;
	lab->census = malloc(sizeof(*lab->census));
	if (!lab->census ||
	    flows_open(&lab->narrow, &lab->wide, &lab->bench->control, &lab->flows) < 0)
		exit(1);
}

static void close_lab(struct lab *lab)
{
	flows_close(lab->flows);
	free(lab->census);
	munmap(lab->bench, sizeof(*lab->bench));
	figures_table__destroy(lab->skeleton);
}

/* ns an operation */
static double run(const struct bpf_program *program, uint64_t operations, unsigned batch)
{
	char packet[64] = {};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet, .data_size_in = sizeof(packet),
	            .repeat = (int)(operations / batch));
	double start = cpu_ns();

	if (bpf_prog_test_run_opts(bpf_program__fd(program), &options) < 0) {
		perror("BPF_PROG_TEST_RUN");
		exit(1);
	}
	return (cpu_ns() - start) / (double)operations;
}

static void fill(struct lab *lab, bool wide, uint8_t phase, uint64_t connections)
{
	const struct bpf_program *program =
		wide ? lab->skeleton->progs.insert_wide : lab->skeleton->progs.insert_narrow;

	lab->bench->phase = phase;
	lab->bench->next = 0;
	run(program, connections, BENCH_BATCH);
}

/* ---- figures ---------------------------------------------------------------------------------- */

static void measure_look_ups(const struct options *options, struct lab *lab, bool wide)
{
	static const struct {
		const char *name;
		uint32_t from, count;
	} rows[] = {
		{"hit.1", 0, 1},
		{"hit.1k", 0, 1000},
		{"hit.100k", 0, 100000},
		{"hit.1m", 0, 1000000},
		{"miss", BENCH_STRANGERS, 1u << 29},
	};
	const struct bpf_program *loop =
		wide ? lab->skeleton->progs.loop_wide : lab->skeleton->progs.loop_narrow;
	const struct bpf_program *find =
		wide ? lab->skeleton->progs.find_wide : lab->skeleton->progs.find_narrow;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double values[RUNS];
		char name[64];

		snprintf(name, sizeof(name), "table.ipv%c.%s.ns", wide ? '6' : '4', rows[i].name);
		if (!is_wanted(options, name))
			continue;
		lab->bench->from = rows[i].from;
		lab->bench->count = rows[i].count;
		run(find, 1000000, BENCH_BATCH);
		for (int r = 0; r < RUNS; r++)
			values[r] =
				run(find, 1000000, BENCH_BATCH) - run(loop, 1000000, BENCH_BATCH);
		figure_print(name, "ns", values, RUNS);
	}
}

/* From half full on, 1 % of the slots a run. `open`: the look-up that misses is part of it. */
static void measure_insertions(const struct options *options, struct lab *lab, bool wide, bool open,
                               uint64_t from)
{
	const struct figures_table *skeleton = lab->skeleton;
	const struct bpf_program *loop =
		wide ? skeleton->progs.next_wide : skeleton->progs.next_narrow;
	const struct bpf_program *work =
		wide ? skeleton->progs.insert_wide : skeleton->progs.insert_narrow;
	double values[RUNS];
	char name[64];

	if (open)
		work = wide ? skeleton->progs.open_wide : skeleton->progs.open_narrow;
	snprintf(name, sizeof(name), "table.ipv%c.%s.1m.ns", wide ? '6' : '4',
	         open ? "look_and_insert" : "insert");
	if (!is_wanted(options, name))
		return;
	for (int r = 0; r < RUNS; r++) {
		double net;

		lab->bench->next = from + (uint64_t)r * 10000;
		net = run(loop, 10000, BENCH_BATCH);
		lab->bench->next = from + (uint64_t)r * 10000;
		values[r] = run(work, 10000, BENCH_BATCH) - net;
	}
	figure_print(name, "ns", values, RUNS);
}

static void measure_packets(const struct options *options, bool wide)
{
	struct lab lab;

	open_lab(&lab, wide ? 4 : 19, wide ? 19 : 4);
	fill(&lab, wide, XLB_PHASE_ESTABLISHED, 1000000);
	measure_look_ups(options, &lab, wide);
	measure_insertions(options, &lab, wide, false, 2000000);
	measure_insertions(options, &lab, wide, true, 3000000);
	close_lab(&lab);
}

/* The kernel's own word for what a map takes. */
static double map_mib(int fd)
{
	char path[64], line[128];
	double mib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "memlock:", 8) == 0)
			mib = (double)strtoull(line + 8, NULL, 10) / (1 << 20);
	if (file)
		fclose(file);
	return mib;
}

static void measure_walk(const struct options *options)
{
	double values[RUNS];
	struct lab lab;

	if (!is_wanted(options, "table.memory.2m_ipv4.mib") &&
	    !is_wanted(options, "table.walk.4m.ms"))
		return;
	open_lab(&lab, 20, 4);
	print_one("table.memory.2m_ipv4.mib", map_mib(lab.narrow.fd), "MiB");
	fill(&lab, false, XLB_PHASE_ESTABLISHED, 2000000);
	for (int r = 0; r < RUNS; r++) {
		double start = cpu_ns();

		flows_sweep(lab.flows, 101, NULL, NULL, lab.census);
		values[r] = (cpu_ns() - start) / 1e6;
	}
	figure_print("table.walk.4m.ms", "ms", values, RUNS);
	print_one("table.walk.4m.live", (double)lab.census->live, "connections");
	close_lab(&lab);
}

static uint64_t count_there(struct lab *lab, uint32_t from, uint32_t count)
{
	uint64_t there = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct flow flow = {.service = BENCH_SERVICE}, found;

		flow.client_port = __builtin_bswap16(bench_name(from + i, &flow.client));
		there += flows_look(lab->flows, 0, &flow, false, &found) &&
		         found.phase == XLB_PHASE_ESTABLISHED;
	}
	return there;
}

/*
 * 1 M established connections, each of their packets among ten SYNs of new clients, 20 M SYNs in all, the clock the kernel's.
 * Every 2,000th SYN a real client connects; its ACK comes 64,000 SYNs later. A client counts as complete when, at the
 * end, its connection is established; none of them sends its SYN twice, as a real one would.
 */
static void measure_flood(const struct options *options)
{
	struct bench *bench;
	struct lab lab;
	uint64_t before;
	double start, seconds;

	if (!is_wanted(options, "table.flood.survival") &&
	    !is_wanted(options, "table.flood.newcomers"))
		return;
	open_lab(&lab, 19, 4);
	bench = lab.bench;
	bench->clients = CLIENTS;
	bench->every = SYNS / NEWCOMER;
	run(lab.skeleton->progs.read_tick, 1, 1);
	fill(&lab, false, XLB_PHASE_ESTABLISHED, CLIENTS);
	before = count_there(&lab, 0, CLIENTS);
	start = cpu_ns();
	run(lab.skeleton->progs.flood, SYNS / BENCH_SYNS, 1);
	seconds = (cpu_ns() - start) / 1e9;
	/* the last newcomers' ACKs */
	bench->every = 1;
	run(lab.skeleton->progs.flood, BENCH_LATER / BENCH_SYNS + 1, 1);
	print_one("table.flood.established", (double)before, "connections");
	print_one("table.flood.survival", (double)count_there(&lab, 0, CLIENTS) / (double)before,
	          "ratio");
	print_one("table.flood.newcomers",
	          (double)count_there(&lab, BENCH_NEWCOMERS, NEWCOMER) / (double)NEWCOMER, "ratio");
	print_one("table.flood.syns_refused", (double)bench->syns_refused / (double)bench->syns,
	          "ratio");
	print_one("table.flood.packets_lost", (double)bench->packets_lost, "packets");
	print_one("table.flood.syns_per_s", (double)bench->syns / seconds, "1/s");
	close_lab(&lab);
}

int main(int argc, char **argv)
{
	const struct options options = {argv + 1, (size_t)argc - 1};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	measure_walk(&options);
	measure_packets(&options, false);
	measure_packets(&options, true);
	measure_flood(&options);
	return 0;
}
