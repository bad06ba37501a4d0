// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_dataplane.c - what the loaded program costs a packet, and what the same program would cost with an LRU hash.
 *
 * 2 M slots, filled to half; the flow of each packet is chosen by harness.bpf.c. Figures are ns a packet net of the harness
 * with an empty program, medians of several repetitions; product and LRU variant take turns in one run, so their
 * ratio does not depend on how busy the machine is. Call: figures_dataplane [PATTERN...].
 */
#define _GNU_SOURCE /* CPU_SET() */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <netinet/in.h>

#include "tests/figures/harness.h"

#include "harness.skel.h"
#include "lru.skel.h"

#include "tests/bpf/lab.h"
#include "tests/figures/figure.h"

#define REPETITIONS 7
#define PACKETS     1000000
#define MILLION     (1u << 20)

struct bench {
	struct lab *lab;
	struct harness_bpf *harness;
	struct lru_bpf *lru;
	char *const *patterns;
	size_t pattern_count;
	double empty; /* ns of the harness with nothing behind it */
};

enum program { PRODUCT, LRU, NOTHING, GROW };

#define TUNNEL(type, port) .tunnel = true, .tunnel_type = (type), .tunnel_port = (port)

static const struct lab_service services[] = {
	{"192.0.2.10:80/tcp", "mh", .real = {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}},
	{"[2001:db8::10]:80/tcp", "mh",
         .real = {"2001:db8:1::1", "2001:db8:1::2", "2001:db8:1::3"}},
	{"192.0.2.10:81/tcp", "mh", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_IPIP, 0)},
	{"192.0.2.10:82/tcp", "mh", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_GRE, 0)},
	{"192.0.2.10:83/tcp", "mh", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_GUE, 6080)},
	{"[2001:db8::10]:81/tcp", "mh", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_IPIP, 0)},
	{"[2001:db8::10]:82/tcp", "mh", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_GRE, 0)},
	{"[2001:db8::10]:83/tcp", "mh", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_GUE, 6080)},
	{.endpoint = NULL},
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void aim(struct bench *bench, enum program program)
{
	const int fds[] = {
		[PRODUCT] = dataplane_ingress_fd(bench->lab->dataplane),
		[LRU] = bpf_program__fd(bench->lru->progs.xlb_ingress),
		[NOTHING] = bpf_program__fd(bench->harness->progs.nothing),
		[GROW] = bpf_program__fd(bench->harness->progs.grow),
	};
	uint32_t zero = 0;

	if (bpf_map_update_elem(bpf_map__fd(bench->harness->maps.target), &zero, &fds[program],
	                        BPF_ANY))
		die("aim");
}

static void load_frame(struct bench *bench, const struct packet_spec *spec)
{
	struct frame frame;

	packet_build(spec, &frame);
	memcpy(bench->harness->bss->harness.frame, frame.data,
	       sizeof(bench->harness->bss->harness.frame));
	bench->harness->bss->harness.ipv6 = spec->ipv6;
}

/* ns a packet, gross. */
static double feed(struct bench *bench, enum harness_mode mode, uint32_t first, uint32_t flows,
                   uint32_t packets)
{
	struct harness *harness = &bench->harness->bss->harness;
	uint8_t data[HARNESS_WORDS * 8] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = data, .data_size_in = sizeof(data),
	            .repeat = (int)packets);

	harness->mode = mode;
	harness->first = first;
	harness->flows = flows;
	harness->next = 0;
	harness->state = 0x9e3779b97f4a7c15ull;
	lab_beat(bench->lab);
	if (bpf_prog_test_run_opts(bpf_program__fd(bench->harness->progs.feed), &options))
		die("test run");
	return options.duration;
}

static void measure_empty(struct bench *bench)
{
	double values[REPETITIONS];

	aim(bench, NOTHING);
	for (int i = 0; i < REPETITIONS; i++)
		values[i] = feed(bench, HARNESS_RANDOM, 0, MILLION, PACKETS);
	bench->empty = figure_print("harness.ns", "ns", values, REPETITIONS);
}

static const struct packet_spec syn4 = {.flags = SPEC_SYN, .payload = 26},
				ack4 = {.flags = SPEC_ACK, .payload = 26};
static const struct packet_spec syn6 = {.ipv6 = true, .flags = SPEC_SYN},
				ack6 = {.ipv6 = true, .flags = SPEC_ACK};
static const struct packet_spec other4 = {.dest = "203.0.113.9", .payload = 26};
static const struct packet_spec other6 = {.ipv6 = true, .dest = "2001:db8:ffff::9"};

static void figure(struct bench *bench, const char *name, const char *unit, double *values)
{
	if (figure_wanted(name, bench->patterns, bench->pattern_count))
		figure_print(name, unit, values, REPETITIONS);
}

/* Opens the flows, in pieces that each give one value for `new`. */
static void measure_new(struct bench *bench, enum program program, const struct packet_spec *syn,
                        const char *name)
{
	double values[REPETITIONS];

	aim(bench, program);
	load_frame(bench, syn);
	for (uint32_t i = 0; i < REPETITIONS; i++) {
		uint32_t share = MILLION / REPETITIONS + 1;

		values[i] = feed(bench, HARNESS_SEQUENCE, i * share, share, share) - bench->empty;
	}
	figure(bench, name, "ns", values);
	load_frame(bench, syn == &syn6 ? &ack6 : &ack4);
	feed(bench, HARNESS_SEQUENCE, 0, MILLION, MILLION); /* established */
}

static const struct {
	const char *name;
	uint32_t flows;
} sizes[] = {{"1", 1}, {"1k", 1000}, {"100k", 100000}, {"1m", MILLION}};

static void measure_hits(struct bench *bench, const struct packet_spec *ack, const char *family)
{
	for (size_t size = 0; size < 4; size++) {
		double product[REPETITIONS], lru[REPETITIONS], ratio[REPETITIONS];
		char name[80];

		for (int i = 0; i < REPETITIONS; i++) {
			load_frame(bench, ack);
			aim(bench, PRODUCT);
			product[i] = feed(bench, HARNESS_RANDOM, 0, sizes[size].flows, PACKETS) -
			             bench->empty;
			aim(bench, LRU);
			lru[i] = feed(bench, HARNESS_RANDOM, 0, sizes[size].flows, PACKETS) -
			         bench->empty;
			ratio[i] = lru[i] / product[i];
		}
		snprintf(name, sizeof(name), "dataplane.dr.%s.tcp.hit.%s.ns", family,
		         sizes[size].name);
		figure(bench, name, "ns", product);
		snprintf(name, sizeof(name), "dataplane.dr.%s.tcp.hit.%s.lru_ns", family,
		         sizes[size].name);
		figure(bench, name, "ns", lru);
		snprintf(name, sizeof(name), "dataplane.dr.%s.tcp.hit.%s.vs_lru", family,
		         sizes[size].name);
		figure(bench, name, "ratio", ratio);
	}
}

static void measure_pass(struct bench *bench, const struct packet_spec *spec, const char *name)
{
	double values[REPETITIONS];

	aim(bench, PRODUCT);
	load_frame(bench, spec);
	for (int i = 0; i < REPETITIONS; i++)
		values[i] = feed(bench, HARNESS_RANDOM, 0, MILLION, PACKETS) - bench->empty;
	figure(bench, name, "ns", values);
}

/* Service by port; what goes around the packet. */
static const struct tunnel {
	const char *name;
	uint16_t port;
	uint32_t around;
} tunnels[] = {{"ipip", 81, 20}, {"gre", 82, 24}, {"gue", 83, 32}};

/* A tunnel grows the frame, and the harness shrinks it again: half of what a program costs that only grows it is the harness's. */
static void measure_tunnel(struct bench *bench, const struct tunnel *tunnel, bool ipv6)
{
	struct packet_spec spec = {
		.ipv6 = ipv6, .dest_port = tunnel->port, .payload = ipv6 ? 0 : 26};
	struct harness *harness = &bench->harness->bss->harness;
	double values[REPETITIONS], restore;
	char name[80];

	aim(bench, PRODUCT);
	harness->grown = tunnel->around + (ipv6 ? 20 : 0);
	spec.flags = SPEC_SYN;
	load_frame(bench, &spec);
	feed(bench, HARNESS_FIXED, 0, 1, 1);
	spec.flags = SPEC_ACK;
	load_frame(bench, &spec);
	for (int i = 0; i < REPETITIONS; i++) {
		aim(bench, GROW);
		restore = (feed(bench, HARNESS_FIXED, 0, 1, PACKETS) - bench->empty) / 2;
		aim(bench, PRODUCT);
		values[i] = feed(bench, HARNESS_FIXED, 0, 1, PACKETS) - bench->empty - restore;
	}
	harness->grown = 0;
	snprintf(name, sizeof(name), "dataplane.%s.%s.tcp.hit.1.ns", tunnel->name,
	         ipv6 ? "ipv6" : "ipv4");
	figure(bench, name, "ns", values);
}

static void measure_tunnels(struct bench *bench)
{
	for (size_t i = 0; i < sizeof(tunnels) / sizeof(tunnels[0]); i++) {
		measure_tunnel(bench, &tunnels[i], false);
		measure_tunnel(bench, &tunnels[i], true);
	}
}

/* The variant works on the product's own maps, connections aside: found by the name under which they are pinned. */
static struct lru_bpf *open_lru(const char *folder)
{
	struct lru_bpf *lru = lru_bpf__open();
	struct bpf_map *map;
	char path[256];

	if (!lru)
		die("open lru");
	bpf_object__for_each_map(map, lru->obj)
	{
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folder, bpf_map__name(map));
		fd = bpf_map__is_internal(map) ? -1 : bpf_obj_get(path);
		if (fd < 0)
			continue;
		if (bpf_map__reuse_fd(map, fd))
			die("reuse a map");
		close(fd);
	}
	if (lru_bpf__load(lru))
		die("load lru");
	return lru;
}

int main(int argc, char **argv)
{
	struct bench bench = {.patterns = argv + 1, .pattern_count = (size_t)argc - 1};
	char folder[] = "/tmp/xlbd-figures-XXXXXX", pins[80];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || !mkdtemp(folder) ||
	    mount("bpf", folder, "bpf", 0, NULL))
		die("mount a bpffs");
	snprintf(pins, sizeof(pins), "%s/xlbd", folder);
	bench.lab = lab_open_at(pins, MILLION, MILLION);
	lab_serve(bench.lab, services);
	bench.harness = harness_bpf__open_and_load();
	if (!bench.harness)
		die("load harness");
	bench.lru = open_lru(pins);
	load_frame(&bench, &ack4);
	measure_empty(&bench);
	measure_pass(&bench, &other4, "dataplane.pass.ns");
	measure_pass(&bench, &other6, "dataplane.pass.ipv6.ns");
	measure_new(&bench, PRODUCT, &syn4, "dataplane.dr.ipv4.tcp.new.1m.ns");
	measure_new(&bench, LRU, &syn4, "dataplane.dr.ipv4.tcp.new.1m.lru_ns");
	measure_hits(&bench, &ack4, "ipv4");
	measure_new(&bench, PRODUCT, &syn6, "dataplane.dr.ipv6.tcp.new.1m.ns");
	measure_new(&bench, LRU, &syn6, "dataplane.dr.ipv6.tcp.new.1m.lru_ns");
	measure_hits(&bench, &ack6, "ipv6");
	measure_tunnels(&bench);
	lru_bpf__destroy(bench.lru);
	harness_bpf__destroy(bench.harness);
	lab_close(bench.lab);
	umount2(folder, MNT_DETACH);
	rmdir(folder);
	return 0;
}
