// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_addr.c - addresses and endpoints as people write them, and what is refused.
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
#include "xlbd/model/addr.h"

static struct xlb_addr parsed(const char *text)
{
	struct xlb_addr addr;

	assert_true(addr_parse(text, &addr));
	return addr;
}

static void what_is_printed_is_what_was_parsed(void **state)
{
	static const char *const texts[] = {"192.0.2.1", "0.0.0.0", "255.255.255.255",
	                                    "::",        "::1",     "2001:db8::1:0:0:1",
	                                    "fe80::1",   "ff02::1", "1:2:3:4:5:6:7:8"};
	char buffer[ADDR_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct xlb_addr addr = parsed(texts[i]);

		assert_string_equal(addr_print(&addr, buffer), texts[i]);
		assert_int_equal(addr_family(&addr), strchr(texts[i], ':') ? AF_INET6 : AF_INET);
	}
}

static void the_longest_texts_fit(void **state)
{
	const char *text = "2001:1001:2002:3003:4004:5005:6006:7007";
	struct xlb_addr addr = parsed(text), compatible = parsed("::1:2:255.255.255.255");
	char buffer[ADDR_TEXT], endpoint[ENDPOINT_TEXT];

	(void)state;
	assert_string_equal(addr_print(&addr, buffer), text);
	assert_string_equal(endpoint_print(&addr, 65535, IPPROTO_SCTP, endpoint),
	                    "[2001:1001:2002:3003:4004:5005:6006:7007]:65535/sctp");
	assert_string_equal(addr_print(&compatible, buffer), "::1:2:ffff:ffff");
}

static void a_mapped_address_is_the_ipv4_address(void **state)
{
	struct xlb_addr mapped = parsed("::ffff:192.0.2.1"), plain = parsed("192.0.2.1");
	char buffer[ADDR_TEXT];

	(void)state;
	assert_true(addr_equal(&mapped, &plain));
	assert_true(addr_is_ipv4(&mapped));
	assert_int_equal(addr_ipv4(&mapped), htonl(0xc0000201));
	assert_string_equal(addr_print(&mapped, buffer), "192.0.2.1");
}

static void names_brackets_scopes_and_prefixes_are_no_addresses(void **state)
{
	static const char *const texts[] = {
		"",          "localhost", "192.0.2",    "192.0.2.256", "[::1]",     "fe80::1%eth0",
		"1.2.3.4/8", " 1.2.3.4",  "192.0.2.01", ":",           "1.2.3.4.5", "12345::"};
	struct xlb_addr addr, before;

	(void)state;
	memset(&before, 0xaa, sizeof(before));
	addr = before;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_false(addr_parse(texts[i], &addr));
		assert_memory_equal(&addr, &before, sizeof(addr));
	}
}

static void bytes_of_both_families_become_addresses(void **state)
{
	const uint8_t four[] = {192, 0, 2, 1}, sixteen[16] = {0x20, 1, 0xd, 0xb8, [15] = 1};
	struct xlb_addr a = addr_from_bytes(AF_INET, four), b = parsed("192.0.2.1");
	struct xlb_addr c = addr_from_bytes(AF_INET6, sixteen), d = parsed("2001:db8::1");
	struct xlb_addr e = addr_from_ipv4(htonl(0xc0000201));

	(void)state;
	assert_true(addr_equal(&a, &b));
	assert_true(addr_equal(&c, &d));
	assert_true(addr_equal(&a, &e));
	assert_false(addr_equal(&a, &c));
}

static void order_is_that_of_the_network_bytes(void **state)
{
	struct xlb_addr low = parsed("10.0.0.200"), high = parsed("10.0.1.0"), same = low;

	(void)state;
	assert_true(addr_compare(&low, &high) < 0);
	assert_true(addr_compare(&high, &low) > 0);
	assert_int_equal(addr_compare(&low, &same), 0);
}

static void zero_is_zero_in_both_families(void **state)
{
	struct xlb_addr four = parsed("0.0.0.0"), six = parsed("::"), loopback = parsed("::1");
	struct xlb_addr odd = parsed("::1:0:0"), some = parsed("0.0.0.1");

	(void)state;
	assert_true(addr_is_zero(&four));
	assert_true(addr_is_zero(&six));
	assert_false(addr_is_zero(&loopback));
	assert_false(addr_is_zero(&odd));
	assert_false(addr_is_zero(&some));
}

static void endpoints_come_back_as_they_were_written(void **state)
{
	static const struct {
		const char *text;
		uint16_t port;
		uint8_t protocol;
	} rows[] = {
		{"192.0.2.1:80", 80, 0},
		{"192.0.2.1:0/tcp", 0, IPPROTO_TCP},
		{"[2001:db8::1]:65535/udp", 65535, IPPROTO_UDP},
		{"[::]:443", 443, 0},
	};
	char buffer[ENDPOINT_TEXT];
	struct xlb_addr addr;
	uint16_t port;
	uint8_t protocol;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(endpoint_parse(rows[i].text, &addr, &port, &protocol));
		assert_int_equal(port, rows[i].port);
		assert_int_equal(protocol, rows[i].protocol);
		assert_string_equal(endpoint_print(&addr, port, protocol, buffer), rows[i].text);
	}
}

static void what_is_no_endpoint_is_refused_and_nothing_is_written(void **state)
{
	static const char *const texts[] = {
		"",
		"192.0.2.1",
		"192.0.2.1:",
		"192.0.2.1:65536",
		"192.0.2.1:http",
		"192.0.2.1:-1",
		"192.0.2.1:+1",
		"192.0.2.1: 80",
		"192.0.2.1:80/",
		"192.0.2.1:80/icmp",
		"192.0.2.1:80tcp",
		"192.0.2.1:80/none",
		"[192.0.2.1]:80",
		"2001:db8::1:80",
		"[2001:db8::1]80",
		"[2001:db8::1]",
		"[2001:db8::1:80",
		"[]:80",
		":80",
		"192.0.2.1:80/TCP",
		"1.2.3.4:000080",
		"192.0.2.1:80/tcp ",
		"[1111:1111:1111:1111:1111:1111:1111:1111:1111:1111]:80"};
	struct xlb_addr addr = {.word = {1, 2, 3, 4}}, before = addr;
	uint16_t port = 7;
	uint8_t protocol = 8;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_false(endpoint_parse(texts[i], &addr, &port, &protocol));
		assert_memory_equal(&addr, &before, sizeof(addr));
		assert_int_equal(port, 7);
		assert_int_equal(protocol, 8);
	}
}

static void protocols_have_names(void **state)
{
	(void)state;
	assert_string_equal(protocol_name(IPPROTO_TCP), "tcp");
	assert_string_equal(protocol_name(IPPROTO_UDP), "udp");
	assert_string_equal(protocol_name(IPPROTO_SCTP), "sctp");
	assert_string_equal(protocol_name(0), "none");
	assert_string_equal(protocol_name(IPPROTO_ICMP), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_printed_is_what_was_parsed),
		cmocka_unit_test(the_longest_texts_fit),
		cmocka_unit_test(a_mapped_address_is_the_ipv4_address),
		cmocka_unit_test(names_brackets_scopes_and_prefixes_are_no_addresses),
		cmocka_unit_test(bytes_of_both_families_become_addresses),
		cmocka_unit_test(order_is_that_of_the_network_bytes),
		cmocka_unit_test(zero_is_zero_in_both_families),
		cmocka_unit_test(endpoints_come_back_as_they_were_written),
		cmocka_unit_test(what_is_no_endpoint_is_refused_and_nothing_is_written),
		cmocka_unit_test(protocols_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
