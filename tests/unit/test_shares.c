// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_shares.c - how many services share a real server behind NAT.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/trial.h"
#include "xlbd/model/shares.h"

static void add(struct service_set *set, uint16_t port, uint8_t protocol, uint8_t forwarding)
{
	struct trial trial;

	make_trial(&trial);
	trial.service.key.port = htons(port);
	trial.service.key.protocol = protocol;
	trial.reals[0].forwarding = trial.reals[1].forwarding = forwarding;
	assert_int_equal(service_set_add(set, &trial.service), 0);
}

static void services_of_one_protocol_are_counted_others_are_not(void **state)
{
	struct service_set *set = service_set_new();
	struct shares *shares = NULL;
	struct real_server real;
	struct trial trial;

	(void)state;
	make_trial(&trial);
	real = trial.reals[0];
	for (uint16_t port = 80; port < 89; port++)
		add(set, port, IPPROTO_TCP, XLB_FORWARD_NAT);
	add(set, 80, IPPROTO_UDP, XLB_FORWARD_NAT);
	add(set, 89, IPPROTO_TCP, XLB_FORWARD_DIRECT);
	assert_int_equal(shares_count(set, &shares), 0);
	assert_int_equal(shares_of(shares, &real, IPPROTO_TCP), 9);
	assert_int_equal(shares_of(shares, &real, IPPROTO_UDP), 1);
	real.port++;
	assert_int_equal(shares_of(shares, &real, IPPROTO_TCP), 0);
	shares_free(shares);
	service_set_free(set);
}

static void without_nat_there_is_nothing_to_count(void **state)
{
	struct service_set *set = service_set_new();
	struct shares *shares = NULL;
	struct trial trial;

	(void)state;
	make_trial(&trial);
	add(set, 80, IPPROTO_TCP, XLB_FORWARD_DIRECT);
	assert_int_equal(shares_count(set, &shares), 0);
	assert_null(shares);
	assert_int_equal(shares_of(shares, &trial.reals[0], IPPROTO_TCP), 0);
	service_set_free(set);
}

static void more_than_eight_are_a_reason_for_ipvs(void **state)
{
	struct service_set *declared = service_set_new(), *in_force = service_set_new(),
			   *set = NULL;
	struct trial trial;

	(void)state;
	make_trial(&trial);
	for (uint16_t port = 80; port < 89; port++) {
		add(declared, port, IPPROTO_TCP, XLB_FORWARD_NAT);
		add(in_force, port, IPPROTO_TCP, XLB_FORWARD_NAT);
		assert_int_equal(judge(declared, in_force, &trial.world, &set), 0);
		assert_int_equal(service_set_get(set, 0)->side, port < 88 ? SIDE_XDP : SIDE_IPVS);
		set = service_set_free(set);
	}
	service_set_free(declared);
	service_set_free(in_force);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(services_of_one_protocol_are_counted_others_are_not),
		cmocka_unit_test(without_nat_there_is_nothing_to_count),
		cmocka_unit_test(more_than_eight_are_a_reason_for_ipvs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
