// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_e2e.c - CPU time per packet through one director: xlbd's program against nftables DNAT on the same devices.
 *
 * Generator, director and sinks are namespaces joined by veth; a generator program sends live frames (BPF_PROG_TEST_RUN), so
 * everything happens in the softirqs of one CPU, in step, without loss: what each case costs is the CPU time of the
 * process and of ksoftirqd, divided by the packets. The cost of generator and wires is measured with a director that
 * drops at once, and subtracted. Cases take turns in one run. Call: figures_e2e [PATTERN...].
 */
#define _GNU_SOURCE /* setns(), CPU_SET() */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>

#include "tests/figures/harness.h"

#include "harness.skel.h"

#include "tests/bpf/lab.h"
#include "tests/figures/figure.h"

#define REPETITIONS 5
#define PACKETS     1000000
#define CPU         1

enum place { DIRECTOR, CLIENT, SINK1, SINK2, PLACES };
enum way { DROP, XLB, NFT, WAYS };

struct bench {
	struct lab *lab;
	struct harness_bpf *harness;
	int netns[PLACES];
	unsigned in; /* device of the director where packets come in */
	char *const *patterns;
	size_t pattern_count;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void shell(const char *script)
{
	if (system(script) != 0) {
		fprintf(stderr, "failed: %s\n", script);
		exit(1);
	}
}

static void enter(const struct bench *bench, enum place place)
{
	if (setns(bench->netns[place], CLONE_NEWNET))
		die("setns");
}

/* Names of namespaces carry the process id: runs do not meet. */
static void make_places(struct bench *bench)
{
	static const char *const names[PLACES] = {NULL, "client", "sink1", "sink2"};
	char script[1600], path[80];
	int pid = (int)getpid();

	bench->netns[DIRECTOR] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	for (int place = CLIENT; place < PLACES; place++) {
		snprintf(script, sizeof(script), "ip netns add xf%d-%s", pid, names[place]);
		shell(script);
		snprintf(path, sizeof(path), "/run/netns/xf%d-%s", pid, names[place]);
		bench->netns[place] = open(path, O_RDONLY | O_CLOEXEC);
		if (bench->netns[place] < 0)
			die(path);
	}
	snprintf(script, sizeof(script),
	         "ip link add l0 address 02:00:00:00:00:01 type veth peer name c0 netns "
	         "xf%d-client &&"
	         "ip link add l1 type veth peer name b0 netns xf%d-sink1 &&"
	         "ip link add l2 type veth peer name b0 netns xf%d-sink2 &&"
	         "ip addr add 198.51.100.1/24 dev l0 && ip addr add 10.0.1.254/24 dev l1 && ip "
	         "addr add 10.0.2.254/24 dev l2 &&"
	         "for d in l0 l1 l2; do ip link set $d up; ethtool -K $d gro on tx off >/dev/null; "
	         "done &&"
	         "ip -n xf%d-client link set c0 up && ip -n xf%d-sink1 link set b0 up && ip -n "
	         "xf%d-sink2 link set b0 up &&"
	         "ip route add 11.0.0.0/8 via 198.51.100.7 &&"
	         "ip neigh replace 198.51.100.7 lladdr 02:00:00:00:00:0c dev l0 &&"
	         "ip neigh replace 10.0.1.1 lladdr 02:00:00:00:01:01 dev l1 &&"
	         "ip neigh replace 10.0.2.2 lladdr 02:00:00:00:01:02 dev l2 &&"
	         "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 "
	         "net.ipv4.conf.l0.rp_filter=0",
	         pid, pid, pid, pid, pid, pid);
	shell(script);
	bench->in = if_nametoindex("l0");
}

static void remove_places(void)
{
	char script[200];
	int pid = (int)getpid();

	snprintf(script, sizeof(script),
	         "for n in client sink1 sink2; do ip netns del xf%d-$n; done", pid);
	shell(script);
}

static void attach_sinks(struct bench *bench)
{
	for (int place = SINK1; place <= SINK2; place++) {
		enter(bench, place);
		if (bpf_xdp_attach((int)if_nametoindex("b0"),
		                   bpf_program__fd(bench->harness->progs.sink), XDP_FLAGS_DRV_MODE,
		                   NULL))
			die("attach a sink");
	}
	enter(bench, DIRECTOR);
}

/* The data plane's own tables, filled by its own code. */
static void set_up_xlb(struct bench *bench)
{
	static const struct lab_service services[] = {
		{"192.0.2.10:8080/udp", "mh", .real = {"10.0.1.1", "10.0.2.2"}},
		{.endpoint = NULL}};
	struct xlb_interface entry = {.ifindex = bench->in};
	uint32_t slot = xlb_interface_slot(bench->in, 0, 0);

	for (int i = 5; i >= 0; i--)
		entry.mac[0] = entry.mac[0] << 8 | DIRECTOR_MAC[i];
	if (bpf_map_update_elem(dataplane_map(bench->lab->dataplane, MAP_INTERFACES), &slot, &entry,
	                        0))
		die("interface");
	lab_serve(bench->lab, services);
	lab_hop(bench->lab, &(struct lab_hop){.real = "10.0.1.1", .ifindex = if_nametoindex("l1")});
	lab_hop(bench->lab, &(struct lab_hop){.real = "10.0.2.2", .ifindex = if_nametoindex("l2")});
}

static void set_way(struct bench *bench, enum way way)
{
	int fd = way == DROP  ? bpf_program__fd(bench->harness->progs.sink)
	         : way == XLB ? dataplane_ingress_fd(bench->lab->dataplane)
	                      : -1;

	bpf_xdp_detach((int)bench->in, XDP_FLAGS_DRV_MODE, NULL);
	shell("nft flush ruleset");
	if (fd >= 0 && bpf_xdp_attach((int)bench->in, fd, XDP_FLAGS_DRV_MODE, NULL))
		die("attach");
	if (way == NFT)
		shell("nft 'table ip lb { chain pre { type nat hook prerouting priority dstnat; "
		      "policy accept; "
		      "ip daddr 192.0.2.10 udp dport 8080 dnat to jhash ip saddr . udp sport mod 2 "
		      "map "
		      "{ 0 : 10.0.1.1, 1 : 10.0.2.2 }; }; }' && ethtool -K l0 gro on >/dev/null");
}

static double cpu_ns(void)
{
	struct rusage usage;
	double softirqd = 0;
	char path[64], line[128];

	getrusage(RUSAGE_SELF, &usage);
	for (int pid = 1; pid < 400; pid++) { /* kernel threads have the lowest numbers */
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(line, sizeof(line), file) && !strncmp(line, "ksoftirqd/", 10)) {
			fclose(file);
			snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
			file = fopen(path, "r");
			if (file && fgets(line, sizeof(line), file))
				softirqd += strtod(line, NULL);
		}
		if (file)
			fclose(file);
	}
	return softirqd + 1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* CPU ns a packet in all; *ret_arrived: share of packets that met a sink. */
static double run(struct bench *bench, enum harness_mode mode, uint32_t flows, uint32_t packets,
                  double *ret_arrived)
{
	struct harness *harness = &bench->harness->bss->harness;
	uint8_t data[HARNESS_WORDS * 8] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = data, .data_size_in = sizeof(data),
	            .repeat = (int)packets, .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = 64);
	uint64_t sunk = bench->harness->bss->sunk;
	double before;

	harness->mode = mode;
	harness->flows = flows;
	harness->next = 0;
	harness->state = 0x9e3779b97f4a7c15ull;
	lab_beat(bench->lab);
	enter(bench, CLIENT);
	harness->device = if_nametoindex("c0");
	before = cpu_ns();
	if (bpf_prog_test_run_opts(bpf_program__fd(bench->harness->progs.generate), &options))
		die("live frames");
	before = (cpu_ns() - before) / packets;
	enter(bench, DIRECTOR);
	*ret_arrived = (double)(bench->harness->bss->sunk - sunk) / packets;
	return before;
}

static void measure(struct bench *bench, uint32_t flows, const char *size)
{
	double cost[WAYS][REPETITIONS], arrived[WAYS] = {0}, ratio[REPETITIONS];
	char name[80];

	for (int i = 0; i < REPETITIONS; i++) {
		for (int way = DROP; way < WAYS; way++) {
			double share;

			set_way(bench, way);
			run(bench, HARNESS_SEQUENCE, flows, flows,
			    &share); /* the flows are known */
			cost[way][i] = run(bench, HARNESS_RANDOM, flows, PACKETS, &share);
			arrived[way] += share / REPETITIONS;
		}
		ratio[i] = (cost[NFT][i] - cost[DROP][i]) / (cost[XLB][i] - cost[DROP][i]);
		cost[XLB][i] -= cost[DROP][i];
		cost[NFT][i] -= cost[DROP][i];
	}
	snprintf(name, sizeof(name), "e2e.cpu.dr.%s.ns", size);
	if (figure_wanted(name, bench->patterns, bench->pattern_count))
		figure_print(name, "ns", cost[XLB], REPETITIONS);
	snprintf(name, sizeof(name), "e2e.cpu.nft.%s.ns", size);
	if (figure_wanted(name, bench->patterns, bench->pattern_count))
		figure_print(name, "ns", cost[NFT], REPETITIONS);
	snprintf(name, sizeof(name), "e2e.pps.dr.vs_nft.%s", size);
	if (figure_wanted(name, bench->patterns, bench->pattern_count))
		figure_print(name, "ratio", ratio, REPETITIONS);
	fprintf(stderr, "arrived: drop %.3f, xlb %.3f, nft %.3f\n", arrived[DROP], arrived[XLB],
	        arrived[NFT]);
}

/* A million flows need room in the kernel's own table; put back afterwards. */
static void set_conntrack(char *max, char *buckets, size_t room, int restore)
{
	static const char *const files[] = {"/proc/sys/net/netfilter/nf_conntrack_max",
	                                    "/sys/module/nf_conntrack/parameters/hashsize"};
	char *kept[] = {max, buckets};
	const char *const wanted[] = {"4194304", "1048576"};

	for (int i = 0; i < 2; i++) {
		FILE *file = fopen(files[i], "r+");

		if (!file)
			continue;
		if (!restore && !fgets(kept[i], (int)room, file))
			kept[i][0] = '\0';
		rewind(file);
		fputs(restore ? kept[i] : wanted[i], file);
		fclose(file);
	}
}

int main(int argc, char **argv)
{
	static const struct packet_spec packet = {
		.protocol = IPPROTO_UDP, .dest_port = 8080, .payload = 38};
	struct bench bench = {.patterns = argv + 1, .pattern_count = (size_t)argc - 1};
	char max[32] = "", buckets[32] = "";
	struct frame frame;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(CPU, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("sched_setaffinity");
	set_conntrack(max, buckets, sizeof(max), 0);
	bench.lab = lab_open_at(NULL, 1u << 20, 2000);
	make_places(&bench);
	bench.harness = harness_bpf__open_and_load();
	if (!bench.harness)
		die("load harness");
	packet_build(&packet, &frame);
	memset(frame.data + frame.l4 + 6, 0,
	       2); /* UDP without checksum: flows differ in what it covers */
	memset(frame.data + frame.l3 + 10, 0, 2);
	memset(frame.data + frame.l3 + 12, 0, 4);
	bench.harness->bss->harness.sum = (uint16_t)~packet_checksum(frame.data + frame.l3, 20, 0);
	memcpy(bench.harness->bss->harness.frame, frame.data,
	       sizeof(bench.harness->bss->harness.frame));
	attach_sinks(&bench);
	set_up_xlb(&bench);
	measure(&bench, 1000, "1k");
	measure(&bench, 1u << 20, "1m");
	set_way(&bench, NFT);
	shell("nft flush ruleset");
	remove_places();
	set_conntrack(max, buckets, sizeof(max), 1);
	harness_bpf__destroy(bench.harness);
	lab_close(bench.lab);
	return 0;
}
