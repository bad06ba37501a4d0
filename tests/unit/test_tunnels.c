// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_tunnels.c - templates of outer headers: what the data plane copies. Whole packets are the bpf tier's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "xlbd/dataplane/tunnels.h"
#include "xlbd/model/addr.h"

static struct xlb_addr parsed(const char *text)
{
	struct xlb_addr addr;

	assert_true(addr_parse(text, &addr));
	return addr;
}

static struct xlb_tunnel made(const char *to, uint8_t type, uint16_t port, bool inner_ipv6)
{
	struct real_server real = {.addr = parsed(to),
	                           .forwarding = XLB_FORWARD_TUNNEL,
	                           .tunnel_type = type,
	                           .tunnel_port = port};

	return tunnel_make(&real, inner_ipv6);
}

static void lengths_are_those_of_the_headers(void **state)
{
	(void)state;
	assert_int_equal(made("10.0.0.1", XLB_TUNNEL_IPIP, 0, false).length, 20);
	assert_int_equal(made("10.0.0.1", XLB_TUNNEL_GRE, 0, false).length, 24);
	assert_int_equal(made("10.0.0.1", XLB_TUNNEL_GUE, 6080, true).length, 32);
	assert_int_equal(made("2001:db8::1", XLB_TUNNEL_IPIP, 0, false).length, 40);
	assert_int_equal(made("2001:db8::1", XLB_TUNNEL_GRE, 0, true).length, 44);
	assert_int_equal(made("2001:db8::1", XLB_TUNNEL_GUE, 6080, true).length, 52);
}

static void a_source_of_the_other_family_is_refused(void **state)
{
	struct xlb_tunnel four = made("10.0.0.1", XLB_TUNNEL_IPIP, 0, false);
	struct xlb_tunnel six = made("2001:db8::1", XLB_TUNNEL_IPIP, 0, false), before = six;
	struct xlb_addr ipv4 = parsed("10.0.0.9"), ipv6 = parsed("2001:db8::9");
	struct xlb_addr none = parsed("::"), none4 = parsed("0.0.0.0");

	(void)state;
	assert_false(tunnel_set_source(&four, &ipv6));
	assert_false(tunnel_set_source(&four, &none4));
	assert_false(tunnel_set_source(&six, &ipv4));
	assert_false(tunnel_set_source(&six, &none));
	assert_memory_equal(&six, &before, sizeof(six));
	assert_true(tunnel_set_source(&four, &ipv4));
	assert_true(tunnel_set_source(&six, &ipv6));
}

static void a_new_source_replaces_the_old_one_and_the_sum(void **state)
{
	struct xlb_tunnel one = made("10.0.0.1", XLB_TUNNEL_IPIP, 0, false), two = one;
	struct xlb_addr first = parsed("10.9.8.7"), second = parsed("192.168.255.254");

	(void)state;
	assert_true(tunnel_set_source(&one, &first));
	assert_true(tunnel_set_source(&one, &second));
	assert_true(tunnel_set_source(&two, &second));
	assert_memory_equal(&one, &two, sizeof(one));
	/* 4500, protocol 4, c0a8 fffe, 0a00 0001 */
	assert_int_equal(one.sum, 0x4500 + 0x0004 + 0xc0a8 + 0xfffe + 0x0a00 + 0x0001);
}

static void what_is_wrong_with_a_route_is_a_sentence(void **state)
{
	struct real_server real = {.addr = parsed("10.0.0.1"), .forwarding = XLB_FORWARD_TUNNEL};
	struct xlb_addr source = parsed("10.0.0.9"), none = parsed("::");

	(void)state;
	assert_null(tunnel_problem(&real, &source, 1500));
	assert_null(tunnel_problem(&real, &source, 596));
	assert_string_equal(tunnel_problem(&real, &source, 595),
	                    "the MTU of the route to it leaves no room in the tunnel");
	assert_string_equal(tunnel_problem(&real, &none, 1500),
	                    "the route to it has no source address for the tunnel");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_are_those_of_the_headers),
		cmocka_unit_test(a_source_of_the_other_family_is_refused),
		cmocka_unit_test(a_new_source_replaces_the_old_one_and_the_sum),
		cmocka_unit_test(what_is_wrong_with_a_route_is_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
