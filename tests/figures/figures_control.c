// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_control.c - how fast the daemon changes what packets see: one JSON object a line.
 *
 * ring.rebuild_swap: a real server's weight changes in a service of mh with 65537 places and 100 real servers; measured is
 * apply_plan(), as the daemon calls it: the real server's entry, the ring built anew, its map made and filled, put into
 * the map of rings, and the wait for packets that may still read the old one. When it returns every packet uses
 * the new ring, and the figure is only printed if the map of rings says so. Time is the clock's, not the
 * CPU's, for the wait is part of it.
 *
 * control.judge.30k: 1,000 services of 30 real servers each, declared and in force, before judge(), as with each look of the
 * daemon; nothing is in their way, so every rule is tried. control.plan.30k: the plan between two such generations that are equal.
 * The world answers at once: what its questions cost is control.firewall's. Call: figures_control [PATTERN...].
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "tests/bpf/lab.h"
#include "tests/figures/figure.h"
#include "xlbd/dataplane/rings.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/judge.h"
#include "xlbd/model/plan.h"
#include "xlbd/model/ring.h"

#define REALS       100
#define PLACES      65537
#define REPETITIONS 31

static void die(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-error));
	exit(1);
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

/* The service with one real server of another weight. */
static struct service_set *make_generation(int32_t weight)
{
	struct real_server reals[REALS] = {0};
	struct service service = {.reals = reals,
	                          .real_count = REALS,
	                          .family = AF_INET,
	                          .scheduler = "mh",
	                          .declared = true,
	                          .in_force = true};
	struct service_set *set = service_set_new();
	struct xlb_addr addr;
	uint16_t port;
	uint8_t protocol;

	if (!set || !endpoint_parse("192.0.2.10:80/tcp", &addr, &port, &protocol))
		die("make a service", -ENOMEM);
	service.key = service_key(&addr, port, protocol);
	for (int i = 0; i < REALS; i++)
		reals[i] = (struct real_server){.addr = addr_from_ipv4(htonl(0x0a000001u + i)),
		                                .port = port,
		                                .forwarding = XLB_FORWARD_DIRECT,
		                                .weight = i ? 1 : weight,
		                                .last_weight = i ? 1 : weight};
	if (service_set_add(set, &service) < 0)
		die("make a service", -ENOMEM);
	return set;
}

/* Which map is the ring of the only service now. */
static uint32_t ring_in_force(const struct lab *lab, const struct service *service)
{
	uint32_t key = apply_service_id(lab->apply, &service->key), map = 0;

	if (bpf_map_lookup_elem(dataplane_map(lab->dataplane, MAP_RINGS), &key, &map))
		die("look for the ring", -errno);
	return map;
}

/* ms from one generation to the next. */
static double change(struct lab *lab, struct apply *apply, struct service_set *next)
{
	struct plan *plan = NULL;
	double begin;
	int r = plan_make(lab->services, next, &plan);

	if (r < 0)
		die("plan", r);
	begin = now_ms();
	r = apply_plan(apply, plan, NULL);
	if (r < 0)
		die("apply", r);
	begin = now_ms() - begin;
	plan_free(plan);
	service_set_free(lab->services);
	lab->services = next;
	return begin;
}

/* Where the time goes: building alone, and the system calls alone. */
static void measure_parts(const struct lab *lab, double *build, double *swap)
{
	const struct service *service = service_set_get(lab->services, 0);
	uint16_t id = apply_service_id(lab->apply, &service->key);

	for (int i = 0; i < REPETITIONS; i++) {
		struct ring ring = {0};
		double begin = now_ms();
		int r = ring_build(service, PLACES, &ring);

		if (r < 0)
			die("build", r);
		build[i] = now_ms() - begin;
		begin = now_ms();
		r = rings_swap(dataplane_map(lab->dataplane, MAP_RINGS), id, ring.place,
		               ring.length);
		if (r < 0)
			die("swap", r);
		swap[i] = now_ms() - begin;
		ring_free(&ring);
	}
}

static void measure_ring(struct lab *lab)
{
	double whole[REPETITIONS], build[REPETITIONS], swap[REPETITIONS];

	change(lab, lab->apply, make_generation(1));
	for (int i = 0; i < REPETITIONS; i++) {
		const struct service *service = service_set_get(lab->services, 0);
		uint32_t before = ring_in_force(lab, service);

		whole[i] = change(lab, lab->apply, make_generation(i % 2 ? 1 : 2));
		if (ring_in_force(lab, service_set_get(lab->services, 0)) == before)
			die("the ring was not replaced", -EIO);
	}
	measure_parts(lab, build, swap);
	figure_print("ring.rebuild_swap.65537x100.ms", "ms", whole, REPETITIONS);
	figure_print("ring.rebuild.65537x100.ms", "ms", build, REPETITIONS);
	figure_print("ring.swap.65537x100.ms", "ms", swap, REPETITIONS);
}

/* ---- the look ---------------------------------------------------------------------------------- */

#define LOOK_SERVICES 1000
#define LOOK_REALS    30

static struct service_set *make_services(bool declared)
{
	struct service_set *set = service_set_new();
	struct real_server reals[LOOK_REALS] = {0};

	for (unsigned i = 0; set && i < LOOK_SERVICES; i++) {
		struct xlb_addr addr = addr_from_ipv4(htonl(0xc0000200u + i % 200));
		struct service service = {
			.key = service_key(&addr, (uint16_t)(80 + i / 200), IPPROTO_TCP),
			.reals = reals,
			.real_count = LOOK_REALS,
			.family = AF_INET,
			.scheduler = "mh",
			.origin = {declared ? "keepalived.conf" : NULL, i}};

		for (unsigned j = 0; j < LOOK_REALS; j++)
			/* the kernel has the newest first */
			reals[declared ? j : LOOK_REALS - 1 - j] = (struct real_server){
				.addr = addr_from_ipv4(htonl(0x0a000000u + i * LOOK_REALS + j)),
				.port = 80,
				.forwarding = XLB_FORWARD_DIRECT,
				.weight = 1 + (int32_t)(j % 3),
				.origin = {declared ? "keepalived.conf" : NULL, j}};
		if (service_set_add(set, &service) < 0)
			die("make services", -ENOMEM);
	}
	if (!set)
		die("make services", -ENOMEM);
	return set;
}

static bool no_local(void *context, const struct xlb_addr *addr)
{
	(void)context;
	(void)addr;
	return false;
}

static const char *no_route(void *context, const struct xlb_addr *addr)
{
	(void)context;
	(void)addr;
	return NULL;
}

static void measure_judge(void)
{
	const struct judge_world world = {.kernel_ipvs = true,
	                                  .mh_exact = true,
	                                  .mh_size = RING_MH_SIZE,
	                                  .is_local = no_local,
	                                  .route = no_route};
	struct service_set *declared = make_services(true), *in_force = make_services(false);
	struct service_set *before = NULL;
	double judging[REPETITIONS], planning[REPETITIONS];

	for (int i = -1; i < REPETITIONS; i++) { /* the first one is not counted */
		struct service_set *set = NULL;
		struct plan *plan = NULL;
		double begin = now_ms();

		if (judge(declared, in_force, &world, &set) < 0)
			die("judge", -ENOMEM);
		if (i >= 0)
			judging[i] = now_ms() - begin;
		begin = now_ms();
		if (plan_make(before, set, &plan) < 0 || (i >= 0 && plan_count(plan)))
			die("plan", -EIO);
		if (i >= 0)
			planning[i] = now_ms() - begin;
		plan_free(plan);
		service_set_free(before);
		before = set;
	}
	service_set_free(before);
	service_set_free(declared);
	service_set_free(in_force);
	figure_print("control.judge.30k.ms", "ms", judging, REPETITIONS);
	figure_print("control.plan.30k.ms", "ms", planning, REPETITIONS);
}

static void measure_swap(void)
{
	struct lab *lab = lab_open();
	int r;

	apply_close(lab->apply);
	r = apply_open(lab->dataplane, lab->counters, lab->interfaces, PLACES, &lab->apply);
	if (r < 0)
		die("apply", r);
	measure_ring(lab);
	lab_close(lab);
}

int main(int argc, char **argv)
{
	if (figure_wanted("control.judge.30k.ms", argv + 1, (size_t)argc - 1))
		measure_judge();
	if (figure_wanted("ring.rebuild_swap.65537x100.ms", argv + 1, (size_t)argc - 1))
		measure_swap();
	return 0;
}
