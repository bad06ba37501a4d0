// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_plan.c - each transition alone, and many generations at random carried out on a model of the data plane (plane.c).
 */
#include <arpa/inet.h>
#include <linux/ip_vs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/plane.h"
#include "xlbd/cleanup.h"
#include "xlbd/model/plan.h"
#include "xlbd/model/ring.h"

/* ---- one thing at a time ---------------------------------------------------------------------- */

/* Steps of the plan from one service to another, as "kind kind ...". NULL: the service is not there. */
static void expect(const struct service *old, const struct service *new, const char *steps)
{
	struct service_set *before = set_of(old), *after = set_of(new);
	struct plan *plan = NULL;
	char text[400] = "";

	assert_int_equal(plan_make(before, after, &plan), 0);
	for (size_t i = 0; i < plan_count(plan); i++) {
		const struct step *step = plan_step(plan, i);
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
		         step_name(step->kind));
		if (step->real)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), ":%u",
			         real_number(step->real));
		else if (step->flags)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "=%u",
			         step->flags);
	}
	assert_string_equal(text, steps);
	plan_free(plan);
	service_set_free(before);
	service_set_free(after);
}

static void a_new_service_comes_real_servers_first(void **state)
{
	struct real_server reals[] = {real(1, 1), real(2, 0)};
	struct service web = service(0, "mh", SIDE_XDP, reals, 2);

	(void)state;
	expect(NULL, &web, "real-add:1 real-add:2 ring service-add");
	web.flags = IP_VS_SVC_F_SCHED_SH_FALLBACK;
	expect(NULL, &web, "real-add:1 real-add:2 ring service-add=1");
	web.flags |= IP_VS_SVC_F_SCHED_SH_PORT;
	web.side = SIDE_STANDBY;
	expect(NULL, &web, "real-add:1 real-add:2 ring service-add=11");
	strcpy(web.scheduler, "rr"); /* the flags mean nothing to rr */
	web.side = SIDE_XDP;
	expect(NULL, &web, "real-add:1 real-add:2 ring service-add");
	web.real_count = 0;
	expect(NULL, &web, "ring service-add");
}

static void a_service_that_is_no_more_goes_service_first(void **state)
{
	struct real_server reals[] = {real(1, 1), real(2, 1)};
	struct service web = service(0, "mh", SIDE_XDP, reals, 2), declared = web;

	(void)state;
	expect(&web, NULL, "service-remove=16 real-remove:1 real-remove:2");
	declared.in_force = false;
	declared.side = SIDE_UNSERVED;
	expect(&web, &declared, "service-remove=16 real-remove:1 real-remove:2");
	web.standby = true; /* frames for an address that is not ours must pass */
	expect(&web, NULL, "service-remove=24 real-remove:1 real-remove:2");
}

static void nothing_changed_is_nothing_to_do(void **state)
{
	struct real_server reals[] = {real(1, 1), real(2, 1)}, busy[] = {real(1, 1), real(2, 1)};
	struct service web = service(0, "mh", SIDE_XDP, reals, 2), same = web;

	(void)state;
	busy[0].active = 7;
	busy[0].packets = 8;
	same.reals = busy;
	same.name = "web";
	same.origin.line = 3;
	expect(&web, &same, "");
	expect(NULL, NULL, "");
}

static void a_real_server_joins_before_the_ring_and_leaves_behind_it(void **state)
{
	struct real_server one[] = {real(1, 1), real(2, 1)}, two[] = {real(3, 1), real(1, 1)};
	struct service old = service(0, "rr", SIDE_XDP, one, 2), new = old;

	(void)state;
	new.reals = two;
	expect(&old, &new, "real-add:3 ring real-remove:2");
}

static void a_weight_that_rises_is_written_before_the_ring_one_that_ends_behind_it(void **state)
{
	struct real_server one[] = {real(1, 1), real(2, 0), real(3, 2)};
	struct real_server two[] = {real(1, 0), real(2, 1), real(3, 5)};
	struct service old = service(0, "rr", SIDE_XDP, one, 3), new = old;

	(void)state;
	new.reals = two;
	expect(&old, &new, "real-change:2 real-change:3 ring real-change:1");
}

static void a_weight_that_the_ring_does_not_depend_on_leaves_it_alone(void **state)
{
	struct real_server one[] = {real(1, 2), real(2, 2)}, two[] = {real(1, 0), real(2, 2)};
	struct service old = service(0, "mh", SIDE_XDP, one, 2), new = old;

	(void)state;
	two[0].last_weight = 2;
	new.reals = two;
	expect(&old, &new, "real-change:1");
}

static void every_field_of_a_real_server_that_counts_is_a_change(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct real_server one[] = {real(1, 1)}, two[] = {real(1, 1)};
		struct service old = service(0, "dh", SIDE_XDP, one, 1), new = old;

		new.reals = two;
		two[0].weight += i == 0;
		two[0].last_weight += i == 1;
		two[0].forwarding -= i == 2;
		two[0].tunnel_type += i == 3;
		two[0].tunnel_port += i == 4;
		two[0].tunnel_flags += i == 5;
		two[0].upper_threshold += i == 6;
		two[0].lower_threshold += i == 7;
		expect(&old, &new, "real-change:1");
	}
}

static void another_order_of_the_list_is_another_ring(void **state)
{
	struct real_server one[] = {real(1, 1), real(2, 1)}, two[] = {real(2, 1), real(1, 1)};
	struct service old = service(0, "mh", SIDE_XDP, one, 2), new = old;

	(void)state;
	new.reals = two;
	expect(&old, &new, "ring");
}

static void another_scheduler_is_another_ring_and_perhaps_another_service(void **state)
{
	struct real_server reals[] = {real(1, 1), real(2, 1)};
	struct service old = service(0, "rr", SIDE_XDP, reals, 2), new = old;

	(void)state;
	strcpy(new.scheduler, "wrr"); /* the same to the data plane */
	expect(&old, &new, "ring");
	strcpy(new.scheduler, "sh");
	expect(&old, &new, "ring service-change");
	new.flags = IP_VS_SVC_F_SCHED_SH_PORT;
	expect(&old, &new, "ring service-change=2");
}

static void an_address_that_changes_hands_changes_only_the_service(void **state)
{
	struct real_server reals[] = {real(1, 1)};
	struct service active = service(0, "mh", SIDE_XDP, reals, 1);
	struct service standby = service(0, "mh", SIDE_STANDBY, reals, 1);

	(void)state;
	expect(&active, &standby, "service-change=8");
	expect(&standby, &active, "service-change");
}

static void a_service_that_leaves_xdp_drains(void **state)
{
	struct real_server one[] = {real(1, 1), real(2, 1)}, two[] = {real(3, 1), real(1, 1)};
	struct service old = service(0, "mh", SIDE_XDP, one, 2), new = old, standby;

	(void)state;
	new.side = SIDE_IPVS;
	expect(&old, &new, "service-drain=4");
	new.side = SIDE_UNSERVED;
	expect(&old, &new, "service-drain=4");
	new.reals = two;
	expect(&old, &new, "real-add:3 service-drain=4 real-remove:2");
	standby = new;
	standby.standby = true; /* frames for an address that is not ours must pass */
	expect(&old, &standby, "real-add:3 service-drain=12 real-remove:2");
}

static void a_draining_service_still_loses_and_regains_real_servers(void **state)
{
	struct real_server one[] = {real(1, 1), real(2, 1)}, two[] = {real(3, 1), real(1, 1)};
	struct service old = service(0, "wlc", SIDE_IPVS, one, 2), new = old;

	(void)state;
	new.reals = two;
	expect(&old, &new, ""); /* never was in XDP */
	old.draining = true;
	expect(&old, &new, "real-add:3 real-remove:2");
	two[0].forwarding = XLB_FORWARD_LOCAL; /* the data plane could not use it */
	expect(&old, &new, "real-remove:2");
	new.reals = one;
	new.standby = true;
	expect(&old, &new, "service-drain=12");
	new.in_force = false;
	expect(&old, &new, "service-remove=16 real-remove:1 real-remove:2");
}

static void a_draining_service_comes_back_whole(void **state)
{
	struct real_server one[] = {real(1, 1), real(2, 1)}, two[] = {real(1, 1), real(3, 1)};
	struct service old = service(0, "wlc", SIDE_IPVS, one, 2);
	struct service new = service(0, "rr", SIDE_XDP, two, 2);

	(void)state;
	expect(&old, &new, "real-add:1 real-add:3 ring service-add");
	old.draining = true;
	expect(&old, &new, "real-add:1 real-add:3 ring service-add real-remove:2");
}

static void draining_goes_on_until_the_service_is_back(void **state)
{
	struct real_server reals[] = {real(1, 1)};
	struct service xdp = service(0, "mh", SIDE_XDP, reals, 1), ipvs = xdp;
	struct service_set *sets[4];
	struct plane plane;

	(void)state;
	ipvs.side = SIDE_IPVS;
	empty_plane(&plane);
	sets[0] = set_of(&xdp);
	sets[1] = set_of(&ipvs);
	sets[2] = set_of(&ipvs);
	sets[3] = set_of(&xdp);
	carry_out(&plane, NULL, sets[0]);
	carry_out(&plane, sets[0], sets[1]);
	assert_true(service_set_get(sets[1], 0)->draining);
	assert_int_equal(plane.service[0].flags, XLB_SERVICE_DRAIN);
	assert_int_equal(carry_out(&plane, sets[1], sets[2]), 0);
	assert_true(service_set_get(sets[2], 0)->draining);
	service_set_get(sets[3], 0)->draining = true; /* whatever was there before */
	carry_out(&plane, sets[2], sets[3]);
	assert_false(service_set_get(sets[3], 0)->draining);
	assert_int_equal(plane.service[0].flags, 0);
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		service_set_free(sets[i]);
}

static void what_xdp_never_had_is_not_planned(void **state)
{
	struct real_server reals[] = {real(1, 1)};
	struct service ipvs = service(0, "wlc", SIDE_IPVS, reals, 1), declared = ipvs;
	struct service mark = {.fwmark = 7,
	                       .family = AF_INET,
	                       .scheduler = "rr",
	                       .in_force = true,
	                       .side = SIDE_IPVS};

	(void)state;
	declared.in_force = false;
	declared.side = SIDE_UNSERVED;
	expect(NULL, &ipvs, "");
	expect(&ipvs, NULL, "");
	expect(NULL, &declared, "");
	expect(&declared, &ipvs, "");
	expect(NULL, &mark, "");
	expect(&mark, NULL, "");
	expect(&mark, &ipvs, "");
}

static void no_generation_is_an_empty_one(void **state)
{
	struct real_server reals[] = {real(1, 1)};
	struct service web = service(0, "mh", SIDE_XDP, reals, 1);
	struct service_set *set = set_of(&web);
	struct plan *plan = NULL;
	struct plane plane;

	(void)state;
	empty_plane(&plane);
	assert_int_equal(carry_out(&plane, NULL, set), 3);
	assert_int_equal(carry_out(&plane, set, NULL), 2);
	assert_int_equal(plan_make(NULL, NULL, &plan), 0);
	assert_int_equal(plan_count(plan), 0);
	assert_null(plan_step(plan, 0));
	assert_null(plan_free(plan));
	assert_null(plan_free(NULL));
	service_set_free(set);
}

/* ---- many generations ------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static bool one_in(uint32_t *seed, uint32_t chances)
{
	return next_random(seed) % chances == 0;
}

static size_t random_reals(uint32_t *seed, struct real_server *reals)
{
	size_t count = 0;

	for (unsigned i = 0; i < REALS; i++) {
		struct real_server one = real(i, next_random(seed) % 4);
		size_t at = next_random(seed) % (count + 1);

		if (one_in(seed, 2))
			continue;
		one.last_weight = one.weight ? one.weight : (int32_t)(next_random(seed) % 3);
		memmove(&reals[at + 1], &reals[at], (count - at) * sizeof(*reals));
		reals[at] = one;
		count++;
	}
	return count;
}

/* Sides and lists change now and then, as they do in life; `before` NULL: all new. */
static struct service_set *random_generation(uint32_t *seed, const struct service_set *before)
{
	static const char *const offered[] = {"mh", "sh", "dh", "rr", "wrr"};
	static const enum service_side sides[] = {SIDE_XDP, SIDE_XDP, SIDE_STANDBY, SIDE_IPVS,
	                                          SIDE_UNSERVED};
	struct service_set *set = set_of(NULL);

	for (unsigned i = 0; i < SERVICES; i++) {
		struct real_server reals[REALS];
		struct service one = service(i, "mh", SIDE_XDP, reals, 0);
		const struct service *old = before ? service_set_find(before, &one.key) : NULL;

		if (one_in(seed, 6))
			continue;
		if (old && !one_in(seed, 3)) {
			one = *old;
			one.draining = false;
		} else {
			one.side = sides[next_random(seed) % ARRAY_SIZE(sides)];
			one.standby = one.side == SIDE_STANDBY ||
			              (one.side != SIDE_XDP && one_in(seed, 2));
			one.in_force = one.side != SIDE_UNSERVED || one_in(seed, 2);
			strcpy(one.scheduler,
			       one_in(seed, 2) ? "rr" : offered[next_random(seed) % 5]);
			one.flags = next_random(seed) % 4 * IP_VS_SVC_F_SCHED1;
		}
		if (!old || one_in(seed, 3)) {
			one.real_count = random_reals(seed, reals);
			one.reals = reals;
		}
		assert_int_equal(service_set_add(set, &one), 0);
	}
	return set;
}

enum life { LIFE_NEVER, LIFE_LIVE, LIFE_DRAINING, LIFE_GONE };

static enum life next_life(enum life life, const struct service *one)
{
	bool had = life == LIFE_LIVE || life == LIFE_DRAINING;

	if (!one || !one->in_force)
		return had ? LIFE_GONE : life;
	if (one->side == SIDE_XDP || one->side == SIDE_STANDBY)
		return LIFE_LIVE;
	return had ? LIFE_DRAINING : life;
}

static void look_at_ring(const struct plane *plane, const struct service *one)
{
	struct plane fresh;
	unsigned s = service_number(one);

	empty_plane(&fresh);
	take_ring(&fresh, one);
	assert_int_equal(plane->service[s].length, fresh.service[s].length);
	assert_memory_equal(plane->service[s].owner, fresh.service[s].owner,
	                    fresh.service[s].length);
}

static void look_at_live(const struct plane *plane, const struct service *one)
{
	unsigned s = service_number(one);
	uint16_t flags = one->side == SIDE_STANDBY ? XLB_SERVICE_STANDBY : 0;

	if (!strcmp(one->scheduler, "mh") || !strcmp(one->scheduler, "sh")) {
		flags |= one->flags & IP_VS_SVC_F_SCHED1 ? XLB_SERVICE_FALLBACK : 0;
		flags |= one->flags & IP_VS_SVC_F_SCHED2 ? XLB_SERVICE_PORT : 0;
	}
	assert_true(plane->service[s].present);
	assert_int_equal(plane->service[s].flags, flags);
	assert_int_equal(plane->service[s].scheduler, ring_scheduler(one->scheduler));
	look_at_ring(plane, one);
	for (size_t i = 0; i < one->real_count; i++) {
		unsigned r = real_number(&one->reals[i]);

		assert_true(plane->real[s][r].present);
		assert_int_equal(plane->real[s][r].usable, one->reals[i].weight > 0);
	}
}

/* What the plane should be like, worked out without a plan. `one` NULL: not in this generation. */
static void look_at_service(const struct plane *plane, unsigned s, enum life life,
                            const struct service *one)
{
	uint16_t flags = plane->service[s].flags;
	bool listed[REALS] = {false};

	if (life == LIFE_LIVE)
		look_at_live(plane, one);
	if (life == LIFE_NEVER)
		assert_false(plane->service[s].present);
	if (life == LIFE_GONE)
		assert_int_equal(flags & ~XLB_SERVICE_STANDBY, XLB_SERVICE_GONE);
	if (life == LIFE_DRAINING)
		assert_int_equal(flags,
		                 XLB_SERVICE_DRAIN | (one->standby ? XLB_SERVICE_STANDBY : 0));
	for (size_t i = 0; (life == LIFE_LIVE || life == LIFE_DRAINING) && i < one->real_count; i++)
		listed[real_number(&one->reals[i])] = true;
	for (size_t r = 0; r < REALS; r++) {
		assert_int_equal(plane->real[s][r].present && !plane->real[s][r].gone, listed[r]);
		assert_false(life == LIFE_NEVER && plane->real[s][r].present);
	}
}

static void random_generations_leave_what_they_say(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct service_set *old = NULL;
		enum life life[SERVICES] = {LIFE_NEVER};
		uint32_t random = seed;
		struct plane plane;

		empty_plane(&plane);
		for (size_t generation = 0; generation < 60; generation++) {
			struct service_set *new = random_generation(&random, old);

			carry_out(&plane, old, new);
			for (unsigned s = 0; s < SERVICES; s++) {
				struct service key = service(s, "mh", SIDE_XDP, NULL, 0);
				const struct service *one = service_set_find(new, &key.key);

				life[s] = next_life(life[s], one);
				look_at_service(&plane, s, life[s], one);
			}
			service_set_free(old);
			old = new;
		}
		service_set_free(old);
	}
}

static void steps_have_names(void **state)
{
	(void)state;
	for (int kind = STEP_REAL_ADD; kind <= STEP_REAL_REMOVE; kind++)
		assert_string_not_equal(step_name(kind), "?");
	assert_string_equal(step_name(STEP_REAL_REMOVE + 1), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_service_comes_real_servers_first),
		cmocka_unit_test(a_service_that_is_no_more_goes_service_first),
		cmocka_unit_test(nothing_changed_is_nothing_to_do),
		cmocka_unit_test(a_real_server_joins_before_the_ring_and_leaves_behind_it),
		cmocka_unit_test(
			a_weight_that_rises_is_written_before_the_ring_one_that_ends_behind_it),
		cmocka_unit_test(a_weight_that_the_ring_does_not_depend_on_leaves_it_alone),
		cmocka_unit_test(every_field_of_a_real_server_that_counts_is_a_change),
		cmocka_unit_test(another_order_of_the_list_is_another_ring),
		cmocka_unit_test(another_scheduler_is_another_ring_and_perhaps_another_service),
		cmocka_unit_test(an_address_that_changes_hands_changes_only_the_service),
		cmocka_unit_test(a_service_that_leaves_xdp_drains),
		cmocka_unit_test(a_draining_service_still_loses_and_regains_real_servers),
		cmocka_unit_test(a_draining_service_comes_back_whole),
		cmocka_unit_test(draining_goes_on_until_the_service_is_back),
		cmocka_unit_test(what_xdp_never_had_is_not_planned),
		cmocka_unit_test(no_generation_is_an_empty_one),
		cmocka_unit_test(random_generations_leave_what_they_say),
		cmocka_unit_test(steps_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
