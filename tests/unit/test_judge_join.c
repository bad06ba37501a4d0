// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_judge_join.c - how declaration and table are joined: what wins, what is known of weights, in which order.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/trial.h"
#include "xlbd/cleanup.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/judge.h"

static void what_is_in_force_wins_names_come_from_the_declaration(void **state)
{
	struct service_set *set;
	const struct service *service;
	struct trial trial;

	(void)state;
	make_trial(&trial);
	strcpy(trial.declared.scheduler, "wlc");
	trial.declared.name = "web";
	trial.declared.instance = "VI_1";
	trial.declared.origin = (struct origin){"keepalived.conf", 12};
	trial.declared_reals[0].weight = 50;
	trial.declared_reals[1].sorry = true;
	trial.declared_reals[1].origin = (struct origin){"keepalived.conf", 15};
	trial.reals[0].weight = 3;
	set = judged(&trial);
	service = service_set_get(set, 0);
	assert_string_equal(service->scheduler, "mh");
	assert_string_equal(service->name, "web");
	assert_string_equal(service->instance, "VI_1");
	assert_int_equal(service->origin.line, 12);
	assert_true(service->declared && service->in_force);
	assert_int_equal(service->reals[0].weight, 3);
	assert_false(service->reals[0].sorry);
	assert_true(service->reals[1].sorry);
	assert_int_equal(service->reals[1].origin.line, 15);
	service_set_free(set);

	trial.instance = "VI_2"; /* who owns it now knows better */
	set = judged(&trial);
	assert_string_equal(service_set_get(set, 0)->instance, "VI_2");
	service_set_free(set);
}

static void everything_is_there_once_as_declared_first(void **state)
{
	static const struct {
		uint16_t port;
		bool declared, in_force;
	} rows[] = {{80, true, true}, {81, true, false}, {82, false, true}, {83, true, true}};
	static const uint16_t expected[] = {80, 81, 83, 82};
	struct service_set *declared = service_set_new(), *in_force = service_set_new();
	struct service mark = {.fwmark = 7, .family = AF_INET, .scheduler = "rr"};
	struct service_set *set = NULL;
	struct trial trial;

	(void)state;
	make_trial(&trial);
	assert_non_null(declared);
	assert_non_null(in_force);
	for (size_t i = ARRAY_SIZE(rows); i > 0; i--) {
		trial.service.key.port = htons(rows[i - 1].port);
		if (rows[i - 1].in_force)
			assert_int_equal(service_set_add(in_force, &trial.service), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		trial.declared.key.port = htons(rows[i].port);
		if (rows[i].declared)
			assert_int_equal(service_set_add(declared, &trial.declared), 0);
	}
	service_set_add(declared, &mark);
	service_set_add(in_force, &mark);
	assert_int_equal(judge(declared, in_force, &trial.world, &set), 0);
	assert_int_equal(service_set_count(set), 5);
	for (size_t i = 0, at = 0; i < 5; i++) {
		const struct service *service = service_set_get(set, i);

		if (service->fwmark)
			assert_true(service->declared && service->in_force);
		else
			assert_int_equal(service->key.port, htons(expected[at++]));
	}
	service_set_free(set);
	service_set_free(declared);
	service_set_free(in_force);
}

static void nothing_at_all_is_an_empty_set(void **state)
{
	struct service_set *set = NULL;
	struct trial trial;

	(void)state;
	make_trial(&trial);
	assert_int_equal(judge(NULL, NULL, &trial.world, &set), 0);
	assert_int_equal(service_set_count(set), 0);
	service_set_free(set);
}

static int32_t last_weight_of(struct trial *trial, size_t index)
{
	struct service_set *set = judged(trial);
	int32_t weight = service_set_get(set, 0)->reals[index].last_weight;

	service_set_free(set);
	return weight;
}

static void the_last_weight_comes_from_the_best_source(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.declared_reals[1].weight = 9;
	trial.last_weight = 8;
	trial.reals[1].weight = 7;
	trial.reals[1].last_weight = 3;
	assert_int_equal(last_weight_of(&trial, 1), 7); /* the present one */
	trial.reals[1].weight = 0;
	assert_int_equal(last_weight_of(&trial, 1), 3); /* the table's word */
	trial.reals[1].last_weight = 0;
	assert_int_equal(last_weight_of(&trial, 1), 8); /* what was seen before */
	trial.last_weight = 0;
	assert_int_equal(last_weight_of(&trial, 1), 9); /* what keepalived was told */
	expect(&trial, SIDE_XDP, NULL);
	trial.last_weight = -1;
	assert_int_equal(last_weight_of(&trial, 1), 0); /* it never had one */
	expect(&trial, SIDE_XDP, NULL);
	trial.last_weight = 0;
	trial.declared.real_count = 1;
	assert_int_equal(last_weight_of(&trial, 1), 0); /* nobody knows */
	expect(&trial, SIDE_IPVS,
	       "real server 10.0.0.2:80 has weight 0 and its share in the kernel's 'mh' table is "
	       "not known until it gets a weight");
}

static void only_without_ipvs_is_the_kind_of_a_tunnel_the_declarations(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	for (int kernel = 0; kernel < 2; kernel++) {
		struct service_set *set;

		trial.world.kernel_ipvs = kernel;
		trial.reals[0].forwarding = trial.declared_reals[0].forwarding = XLB_FORWARD_TUNNEL;
		trial.declared_reals[0].tunnel_type = XLB_TUNNEL_GUE;
		trial.declared_reals[0].tunnel_port = 6080;
		set = judged(&trial);
		assert_int_equal(service_set_get(set, 0)->reals[0].tunnel_type,
		                 kernel ? XLB_TUNNEL_IPIP : XLB_TUNNEL_GUE);
		assert_int_equal(service_set_get(set, 0)->reals[0].tunnel_port, kernel ? 0 : 6080);
		service_set_free(set);
	}
}

static void too_many_services_are_refused_whole(void **state)
{
	struct service_set *declared = service_set_new(), *in_force = service_set_new();
	struct service_set *set = NULL;
	struct trial trial;

	(void)state;
	make_trial(&trial);
	assert_non_null(declared);
	assert_non_null(in_force);
	for (unsigned i = 0; i < SERVICES_MAX; i++) {
		trial.service.key.port = htons(1 + i);
		assert_int_equal(service_set_add(in_force, &trial.service), 0);
	}
	trial.declared.key.port = htons(65535);
	assert_int_equal(service_set_add(declared, &trial.declared), 0);
	assert_int_equal(judge(declared, in_force, &trial.world, &set), -E2BIG);
	assert_null(set);
	service_set_free(declared);
	service_set_free(in_force);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_force_wins_names_come_from_the_declaration),
		cmocka_unit_test(everything_is_there_once_as_declared_first),
		cmocka_unit_test(nothing_at_all_is_an_empty_set),
		cmocka_unit_test(the_last_weight_comes_from_the_best_source),
		cmocka_unit_test(only_without_ipvs_is_the_kind_of_a_tunnel_the_declarations),
		cmocka_unit_test(too_many_services_are_refused_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
