// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_pattern.c - what a person writes, and which virtual servers, real servers and clients it
 * means.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "xlbd/cleanup.h"
#include "xlbd/control/pattern.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/service.h"

static struct service service(const char *text, const char *name)
{
	struct service service = {.name = name};
	struct xlb_addr addr;
	uint16_t port;
	uint8_t protocol;

	assert_true(endpoint_parse(text, &addr, &port, &protocol));
	service.key = service_key(&addr, port, protocol);
	service.family = addr_family(&addr);
	return service;
}

static void a_virtual_server_is_meant_by_name_address_port_or_protocol(void **state)
{
	static const struct {
		const char *text;
		bool web, dns;
	} rows[] = {
		{NULL, true, true},
		{"web", true, false},
		{"we", false, false},
		{"", false, false},
		{"192.0.2.1", true, false},
		{"192.0.2.1:80", true, false},
		{"192.0.2.1:81", false, false},
		{"192.0.2.1:80/tcp", true, false},
		{"192.0.2.1:80/udp", false, false},
		{"2001:db8::1", false, true},
		{"[2001:db8::1]:53", false, true},
		{"[2001:db8::1]:53/udp", false, true},
		{"[2001:db8::1]:53/tcp", false, false},
		{"fwmark 7", false, false},
	};
	struct service web = service("192.0.2.1:80/tcp", "web");
	struct service dns = service("[2001:db8::1]:53/udp", NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pattern pattern = pattern_make(rows[i].text);

		assert_int_equal(pattern_matches_service(&pattern, &web), rows[i].web);
		assert_int_equal(pattern_matches_service(&pattern, &dns), rows[i].dns);
	}
}

static void a_fwmark_service_is_meant_by_its_mark(void **state)
{
	struct service marked = {.fwmark = 7, .family = AF_INET};
	struct pattern mark = pattern_make("fwmark 7"), zero = pattern_make("::");

	(void)state;
	assert_true(pattern_matches_service(&mark, &marked));
	assert_false(pattern_matches_service(&zero, &marked));
}

static void a_client_is_meant_with_or_without_its_port(void **state)
{
	struct pattern with = pattern_make("198.51.100.7:5000");
	struct pattern without = pattern_make("198.51.100.7"), name = pattern_make("x");
	struct xlb_addr addr;

	(void)state;
	assert_true(addr_parse("198.51.100.7", &addr));
	assert_true(pattern_matches(&with, &addr, 5000, 0));
	assert_false(pattern_matches(&with, &addr, 5001, 0));
	assert_true(pattern_matches(&without, &addr, 5001, IPPROTO_UDP));
	assert_false(pattern_matches(&name, &addr, 5000, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_virtual_server_is_meant_by_name_address_port_or_protocol),
		cmocka_unit_test(a_fwmark_service_is_meant_by_its_mark),
		cmocka_unit_test(a_client_is_meant_with_or_without_its_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
