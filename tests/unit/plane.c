// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plane.c - plans carried out on a small model of the data plane, which is looked at after each step.
 *
 * For test_plan.c. The model keeps what the maps keep: services with their flags, rings, real servers present, gone and
 * usable. It believes nothing: a step about something that is not there fails the test.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/plane.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/ring.h"

#define MH_SIZE 61

/* ---- generations ------------------------------------------------------------------------------ */

struct real_server real(unsigned number, int32_t weight)
{
	return (struct real_server){.addr = addr_from_ipv4(htonl(0x0a000000 + number)),
	                            .port = 80,
	                            .forwarding = XLB_FORWARD_DIRECT,
	                            .weight = weight,
	                            .last_weight = weight ? weight : 1};
}

unsigned real_number(const struct real_server *server)
{
	return server->addr.byte[15];
}

struct service service(unsigned number, const char *scheduler, enum service_side side,
                       struct real_server *reals, size_t count)
{
	struct xlb_addr vip = addr_from_ipv4(htonl(0xc0000201));
	struct service made = {.key = service_key(&vip, 1000 + number, IPPROTO_TCP),
	                       .family = AF_INET,
	                       .in_force = true,
	                       .declared = true,
	                       .side = side,
	                       .standby = side == SIDE_STANDBY,
	                       .reals = reals,
	                       .real_count = count};

	strcpy(made.scheduler, scheduler);
	return made;
}

unsigned service_number(const struct service *one)
{
	return ntohs(one->key.port) - 1000;
}

struct service_set *set_of(const struct service *one)
{
	struct service_set *set = service_set_new();

	assert_non_null(set);
	if (one)
		assert_int_equal(service_set_add(set, one), 0);
	return set;
}

/* ---- a model of the data plane ---------------------------------------------------------------- */

void empty_plane(struct plane *plane)
{
	memset(plane, 0, sizeof(*plane));
	for (size_t i = 0; i < SERVICES; i++)
		plane->service[i].length = SIZE_MAX;
}

void take_ring(struct plane *plane, const struct service *one)
{
	unsigned number = service_number(one);
	struct ring ring;

	assert_int_equal(ring_build(one, MH_SIZE, &ring), 0);
	assert_true(ring.length <= 256);
	plane->service[number].length = ring.length;
	for (size_t i = 0; i < ring.length; i++)
		plane->service[number].owner[i] = real_number(&one->reals[ring.place[i] - 1]);
	ring_free(&ring);
}

static void take_real(struct plane *plane, const struct step *step)
{
	unsigned s = service_number(step->service), r = real_number(step->real);

	if (step->kind == STEP_REAL_REMOVE) {
		plane->real[s][r].gone = true;
		return;
	}
	if (step->kind == STEP_REAL_CHANGE)
		assert_true(plane->real[s][r].present && !plane->real[s][r].gone);
	plane->real[s][r].present = true;
	plane->real[s][r].gone = false;
	plane->real[s][r].usable = step->real->weight > 0;
}

static void take_service(struct plane *plane, const struct step *step)
{
	unsigned s = service_number(step->service);

	if (step->kind != STEP_SERVICE_ADD)
		assert_true(plane->service[s].present);
	plane->service[s].present = true;
	plane->service[s].flags = step->flags;
	plane->service[s].scheduler = ring_scheduler(step->service->scheduler);
}

static void take_step(struct plane *plane, const struct step *step)
{
	if (step->kind == STEP_RING)
		take_ring(plane, step->service);
	else if (step->real)
		take_real(plane, step);
	else
		take_service(plane, step);
}

/* New connections only ever look into a ring that is there, whose places are all real servers that are there. */
static void nothing_points_at_nothing(const struct plane *plane)
{
	for (size_t s = 0; s < SERVICES; s++) {
		if (!plane->service[s].present ||
		    plane->service[s].flags & (XLB_SERVICE_DRAIN | XLB_SERVICE_GONE))
			continue;
		assert_int_not_equal(plane->service[s].length, SIZE_MAX);
		assert_int_not_equal(plane->service[s].scheduler, XLB_SCHED_NONE);
		for (size_t i = 0; i < plane->service[s].length; i++) {
			unsigned owner = plane->service[s].owner[i];

			assert_true(plane->real[s][owner].present);
			assert_false(plane->real[s][owner].gone);
		}
	}
}

size_t carry_out(struct plane *plane, const struct service_set *old, struct service_set *new)
{
	struct plan *plan = NULL;
	size_t count;

	assert_int_equal(plan_make(old, new, &plan), 0);
	count = plan_count(plan);
	for (size_t i = 0; i < count; i++) {
		take_step(plane, plan_step(plan, i));
		nothing_points_at_nothing(plane);
	}
	assert_null(plan_step(plan, count));
	plan_free(plan);
	return count;
}
