// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_entry.c - what follows from a real server's declaration: flags of its method, and what NAT adds to checksums.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/trial.h"
#include "xlbd/dataplane/entry.h"

static void methods_become_flags(void **state)
{
	static const struct {
		uint8_t forwarding;
		uint16_t flags;
	} rows[] = {
		{XLB_FORWARD_DIRECT, XLB_REAL_USABLE},
		{XLB_FORWARD_TUNNEL, XLB_REAL_USABLE | XLB_REAL_TUNNEL},
		{XLB_FORWARD_NAT, XLB_REAL_USABLE | XLB_REAL_NAT},
	};
	struct trial trial;

	(void)state;
	make_trial(&trial);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct real_entry entry;

		trial.reals[0].forwarding = rows[i].forwarding;
		entry = entry_make(&trial.service, &trial.reals[0], 7);
		assert_int_equal(entry.real.flags, rows[i].flags);
		assert_int_equal(entry.real.service, 7);
		assert_int_equal(entry.tunnel.length,
		                 rows[i].forwarding == XLB_FORWARD_TUNNEL ? 20 : 0);
	}
	trial.reals[0].weight = 0;
	assert_int_equal(entry_make(&trial.service, &trial.reals[0], 7).real.flags, XLB_REAL_NAT);
}

/* The sum of the words of both ends before, plus what NAT adds, is the sum of the words after, in one's complement. */
static void what_nat_adds_turns_one_sum_into_the_other(void **state)
{
	struct trial trial;
	struct real_entry entry;
	uint32_t was, is;

	(void)state;
	make_trial(&trial);
	trial.service.key = service_key(&(struct xlb_addr){0}, 80, IPPROTO_TCP);
	trial.service.key.addr = parsed("192.0.2.1");
	trial.reals[0].addr = parsed("10.0.0.1");
	trial.reals[0].port = 8080;
	trial.reals[0].forwarding = XLB_FORWARD_NAT;
	entry = entry_make(&trial.service, &trial.reals[0], 7);
	/* c000 0201 -> 0a00 0001 */
	was = 0xc000 + 0x0201;
	is = 0x0a00 + 0x0001;
	assert_int_equal((was + ntohs(entry.real.sum_l3)) % 0xffff, is % 0xffff);
	assert_int_equal((was + 80 + ntohs(entry.real.sum_l4)) % 0xffff, (is + 8080) % 0xffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_become_flags),
		cmocka_unit_test(what_nat_adds_turns_one_sum_into_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
