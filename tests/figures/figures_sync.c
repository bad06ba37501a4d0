// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_sync.c - figures of xlbd-sync: bytes, sending, applying, joining, repair. One JSON object a line.
 *
 * Two directors with the daemon's own table, replica and protocol (tests/unit/sync_world.c), tables of full size. Rates are CPU time
 * of this thread: telling with sealing and sendto() over lo, applying with opening and through the mapping (without recvmmsg()). Lags and the
 * time of a repair are of the simulated clock, so they are the protocol's, without the machine's own delays. Arguments: patterns of
 * names. Needs no rights.
 */
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/figures/figure.h"
#include "tests/unit/sync_world.h"

#define CONNECTIONS 1000000u
#define MANY        2000000u
#define BITS        20u /* 4 M slots */
#define RUNS        3
#define HEADERS     (38 + 20 + 8) /* Ethernet with preamble and gap, IPv4, UDP */

struct figures {
	char **patterns;
	size_t count;
	struct world world;
	int fd; /* sends to nobody */
	struct sockaddr_in sink;
	uint8_t *kept; /* what was sent, each with its length in front */
	size_t kept_bytes, room;
	uint64_t messages, bytes;
	bool keeps;
};

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_wanted(const struct figures *figures, const char *name)
{
	return figure_wanted(name, figures->patterns, figures->count);
}

static void print_one(const char *name, double value, const char *unit)
{
	figure_print(name, unit, &value, 1);
}

/* ---- two directors ---------------------------------------------------------------------------- */

static void take(void *context, const uint8_t *bytes, size_t length, unsigned from)
{
	struct figures *figures = context;

	if (from != 0)
		return;
	figures->messages++;
	figures->bytes += length;
	if (figures->fd >= 0)
		(void)!sendto(figures->fd, bytes, length, MSG_DONTWAIT,
		              (struct sockaddr *)&figures->sink, sizeof(figures->sink));
	if (!figures->keeps)
		return;
	if (figures->kept_bytes + length + 2 > figures->room) {
		figures->room = 2 * figures->room + (1 << 20);
		figures->kept = realloc(figures->kept, figures->room);
		if (!figures->kept)
			exit(1);
	}
	memcpy(figures->kept + figures->kept_bytes, &(uint16_t){(uint16_t)length}, 2);
	memcpy(figures->kept + figures->kept_bytes + 2, bytes, length);
	figures->kept_bytes += length + 2;
}

/* The first one is active for everything; both trust each other. */
static void begin(struct figures *figures, uint32_t bits)
{
	struct world *world = &figures->world;

	world_open(world, 2, 1);
	for (int i = 0; i < 2; i++)
		for (int wide = 0; wide < 2; wide++) {
			world->director[i].table[wide].bits = wide ? bits - 1 : bits;
			world->director[i].table[wide].stash_bits = bits - 5;
		}
	world_start(world, 0);
	world_start(world, 1);
	for (unsigned s = 0; s < WORLD_SERVICES; s++)
		world_set_active(world, 0, s, true);
	world_run(world, world->now + 500);
	world->tap = take;
	world->context = figures;
	figures->kept_bytes = 0;
	figures->messages = figures->bytes = 0;
}

static struct flow flow_number(const struct world_director *director, bool wide, unsigned i)
{
	struct flow flow = {.client_port = (uint16_t)(1024 + i % 60000),
	                    .service = (uint16_t)(wide ? 1 + (2 + director->shift) % WORLD_SERVICES
	                                               : 1 + director->shift % WORLD_SERVICES),
	                    .phase = XLB_PHASE_ESTABLISHED};
	const unsigned first = wide ? 2 * WORLD_REALS : 0;

	flow.real = (uint16_t)(1 + (first + i % WORLD_REALS + 5u * director->shift) %
	                                   (WORLD_SERVICES * WORLD_REALS));
	flow.client.word[0] = wide ? htonl(0x20010db8) : 0;
	flow.client.word[2] = wide ? 0 : htonl(0xffff);
	flow.client.word[3] = htonl(0x0a000000 + i / 3);
	return flow;
}

static void insert(struct figures *figures, bool wide, unsigned from, unsigned to)
{
	struct world_director *director = &figures->world.director[0];
	/* some ticks later, so that slots may change hands */
	uint64_t now = (uint64_t)(figures->world.now + director->clock) / 250;

	for (unsigned i = from; i < to; i++) {
		struct flow flow = flow_number(director, wide, i);

		(void)flows_insert(director->flows, now, &flow, wide);
	}
}

/* CPU seconds of the sender until it has nothing more to tell; nothing arrives. */
static double tell(struct figures *figures)
{
	struct world *world = &figures->world;
	struct world_director *director = &world->director[0];
	struct node_status before, after;
	double begin_s = cpu_s();

	do {
		node_status(director->node, 0, &before);
		for (int i = 0; i < 40; i++) {
			struct node_time now = {world->now + director->clock,
			                        (uint64_t)(world->now + director->clock) / 250};

			world->now += NODE_TICK_MS;
			node_tick(director->node, now);
		}
		node_status(director->node, 0, &after);
	} while (after.records != before.records);
	return cpu_s() - begin_s;
}

/* CPU seconds of the receiver for all that was kept. */
static double apply(struct figures *figures)
{
	double begin_s = cpu_s();

	for (size_t at = 0; at < figures->kept_bytes;) {
		uint16_t length;

		memcpy(&length, figures->kept + at, 2);
		world_deliver(&figures->world, 1, figures->kept + at + 2, length);
		at += 2u + length;
	}
	return cpu_s() - begin_s;
}

/* ---- figures ---------------------------------------------------------------------------------- */

/* CPU seconds of the receiver for everything that the sender has to tell. */
static double pass_on(struct figures *figures)
{
	double seconds;

	figures->kept_bytes = 0;
	figures->world.faults.cut[0][1] = figures->keeps = true;
	(void)tell(figures);
	figures->world.faults.cut[0][1] = figures->keeps = false;
	seconds = apply(figures);
	return seconds;
}

/* The second million of connections: tables, shadows and ring are in memory by then, as they are after the first minute. */
static void measure_stream(struct figures *figures, bool wide)
{
	const struct peer_counters *count;
	double send[RUNS], applied[RUNS], bytes = 0;
	struct node_status before, after;
	uint64_t messages, sum, records;

	for (int run = 0; run < RUNS; run++) {
		begin(figures, BITS);
		insert(figures, wide, 0, CONNECTIONS);
		(void)pass_on(figures);
		node_status(figures->world.director[0].node, 0, &before);
		messages = figures->messages;
		sum = figures->bytes;
		figures->world.faults.cut[0][1] = true;
		insert(figures, wide, CONNECTIONS, CONNECTIONS + CONNECTIONS / 2);
		send[run] = tell(figures);
		node_status(figures->world.director[0].node, 0, &after);
		records = after.records - before.records;
		send[run] = (double)records / send[run];
		bytes = (double)(figures->bytes - sum + HEADERS * (figures->messages - messages)) /
		        (double)records;
		insert(figures, wide, CONNECTIONS + CONNECTIONS / 2, MANY);
		count = &node_peer(figures->world.director[1].node, 0)->count;
		records = count->applied;
		applied[run] = pass_on(figures);
		applied[run] = (double)(count->applied - records) / applied[run];
		world_close(&figures->world);
	}
	print_one(wide ? "ha.sync.bytes_per_record.ipv6" : "ha.sync.bytes_per_record.ipv4", bytes,
	          "bytes");
	figure_print(wide ? "ha.sync.send_per_core_second.ipv6" : "ha.sync.send_per_core_second",
	             "1/s", send, RUNS);
	figure_print(wide ? "ha.sync.apply_per_core_second.ipv6" : "ha.sync.apply_per_core_second",
	             "1/s", applied, RUNS);
}

/* A circle over 4 M slots that hold 2 M connections of which nothing changed. */
static void measure_scan(struct figures *figures)
{
	struct world_director *director = &figures->world.director[0];
	struct replica_pass pass = {};
	struct replica_cursor cursor = {};
	double seconds[RUNS];

	begin(figures, BITS);
	figures->world.faults.cut[0][1] = true;
	insert(figures, false, 0, MANY);
	pass.now = (uint64_t)(figures->world.now + director->clock) / 250;
	(void)replica_scan(director->replica, &cursor, SIZE_MAX, ~0u, &pass);
	for (int run = 0; run < RUNS; run++) {
		double begin_s = cpu_s();

		(void)replica_scan(director->replica, &cursor, SIZE_MAX, ~0u, &pass);
		seconds[run] = 1e3 * (cpu_s() - begin_s);
	}
	figure_print("ha.sync.scan.2m.ms", "ms", seconds, RUNS);
	world_close(&figures->world);
}

/* A standby with an empty table beside 2 M connections: both halves in this thread, the clock as the network would have it. */
static void measure_join(struct figures *figures)
{
	struct world *world = &figures->world;
	struct node_status status;
	double begin_s;
	int64_t begin_ms;

	begin(figures, BITS);
	world->tap = NULL;
	world_stop(world, 1, true);
	insert(figures, false, 0, MANY);
	world->director[1].table[0].bits = BITS;
	(void)tell(figures);
	world_start(world, 1);
	begin_s = cpu_s();
	begin_ms = world->now;
	do {
		world_run(world, world->now + 10);
		node_status(world->director[1].node, world->now + world->director[1].clock,
		            &status);
	} while (status.state != NODE_EQUAL && world->now - begin_ms < 60000);
	print_one("ha.sync.join.2m.clock.s", (double)(world->now - begin_ms) / 1e3, "s");
	print_one("ha.sync.join.2m.cpu_of_both.s", cpu_s() - begin_s, "s");
	print_one("ha.sync.join.2m.arrived", (double)world_live(world, 1), "");
	world_close(world);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* New connections each millisecond; how long until each is at the other director. */
static void measure_lag(struct figures *figures, const char *name, uint32_t bits, unsigned loss,
                        unsigned a_ms)
{
	const unsigned all = a_ms * 500;
	int *lag = calloc(all, sizeof(*lag));
	struct world *world = &figures->world;
	unsigned arrived = 0, sent = 0, first = 0;
	int64_t begin_ms;

	if (!lag)
		exit(1);
	begin(figures, bits);
	world->tap = NULL;
	world->faults.loss = loss;
	begin_ms = world->now;
	while (arrived < all && world->now - begin_ms < 20000) {
		struct world_director *other = &world->director[1];

		if (sent < all) {
			insert(figures, false, sent, sent + a_ms);
			sent += a_ms;
		}
		world_run(world, world->now + 1);
		for (unsigned i = first; i < sent; i++) {
			struct flow flow = flow_number(other, false, i), found;

			if (lag[i] || !flows_look(other->flows, 0, &flow, false, &found))
				continue;
			lag[i] = (int)(world->now - begin_ms - i / a_ms);
			arrived++;
		}
		while (first < sent && lag[first])
			first++;
	}
	qsort(lag, all, sizeof(*lag), compare);
	if (arrived < all)
		fprintf(stderr, "%s: %u of %u never arrived\n", name, all - arrived, all);
	print_one(name, lag[all * 99 / 100], "ms");
	world_close(world);
	free(lag);
}

int main(int argc, char **argv)
{
	struct figures figures = {.patterns = argv + 1,
	                          .count = (size_t)argc - 1,
	                          .fd = socket(AF_INET, SOCK_DGRAM, 0),
	                          .sink = {.sin_family = AF_INET} /* nobody reads */};

	int sink;

	mallopt(M_MMAP_THRESHOLD, 65536);
	figures.sink.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sink = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(sink, (struct sockaddr *)&figures.sink, sizeof(figures.sink)) ||
	    getsockname(sink, (struct sockaddr *)&figures.sink, &(socklen_t){sizeof(figures.sink)}))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (is_wanted(&figures, "ha.sync.bytes_per_record.ipv4") ||
	    is_wanted(&figures, "ha.sync.send_per_core_second") ||
	    is_wanted(&figures, "ha.sync.apply_per_core_second")) {
		measure_stream(&figures, false);
		measure_stream(&figures, true);
	}
	if (is_wanted(&figures, "ha.sync.scan.2m.ms"))
		measure_scan(&figures);
	if (is_wanted(&figures, "ha.sync.join.2m.clock.s"))
		measure_join(&figures);
	if (is_wanted(&figures, "ha.sync.lag.p99.ms"))
		measure_lag(&figures, "ha.sync.lag.p99.ms", 16, 0, 100);
	if (is_wanted(&figures, "ha.sync.lag.4m.p99.ms"))
		measure_lag(&figures, "ha.sync.lag.4m.p99.ms", BITS, 0, 100);
	if (is_wanted(&figures, "ha.sync.repair.p99.ms"))
		measure_lag(&figures, "ha.sync.repair.p99.ms", 16, 10, 100);
	free(figures.kept);
	return 0;
}
