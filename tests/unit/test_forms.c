// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_forms.c - values with units, names, and how far two words are apart.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf.h"
#include "conf/forms.h"
#include "xlbd/cleanup.h"

static void a_count_is_digits_with_k_or_M(void **state)
{
	static const struct {
		const char *text;
		uint64_t number;
	} cases[] = {
		{"0", 0},
		{"4096", 4096},
		{"500k", 500000},
		{"2M", 2000000},
		{"1.5M", 1500000},
		{"0.001k", 1},
		{"0.000001M", 1},
		{"007", 7},
		{"18446744073709551615", UINT64_MAX},
		{"18446744073709.551615M", UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t number = 1234;

		assert_true(conf_number(cases[i].text, &number));
		assert_int_equal(number, cases[i].number);
	}
}

static void what_is_no_count_leaves_the_result_alone(void **state)
{
	static const char *const texts[] = {
		"",
		"k",
		"M",
		".5M",
		"5.M",
		"1.5",
		"0.0001k",
		"2m",
		"2 M",
		" 2",
		"2\n",
		"-2",
		"+2",
		"0x10",
		"1e3",
		"2MM",
		"2kM",
		"2K",
		"2G",
		"1,5M",
		"1.5.5M",
		"nan",
		"\xff",
		"18446744073709551616",
		"18446744073709551615k",
		"18446744073709.551616M",
		"0.0000000000001M",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t number = 1234;

		assert_false(conf_number(texts[i], &number));
		assert_int_equal(number, 1234);
	}
}

static void durations_have_a_unit_and_seconds_are_whole(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(form_number(CONF_FORM_MILLISECONDS, "250ms", &value));
	assert_int_equal(value, 250);
	assert_true(form_number(CONF_FORM_MILLISECONDS, "1.5s", &value));
	assert_int_equal(value, 1500);
	assert_true(form_number(CONF_FORM_SECONDS, "15m", &value));
	assert_int_equal(value, 900);
	assert_true(form_number(CONF_FORM_SECONDS, "2000ms", &value));
	assert_int_equal(value, 2);
	assert_true(form_number(CONF_FORM_SECONDS, "0.5m", &value));
	assert_int_equal(value, 30);
	assert_false(form_number(CONF_FORM_SECONDS, "1500ms", &value));
	assert_false(form_number(CONF_FORM_SECONDS, "5", &value));
	assert_false(form_number(CONF_FORM_MILLISECONDS, "0.5ms", &value));
	assert_false(form_number(CONF_FORM_MILLISECONDS, "1h", &value));
	assert_false(form_number(CONF_FORM_PATH, "1", &value));
}

static void names_are_what_the_kernel_and_the_system_take(void **state)
{
	(void)state;
	assert_true(form_fits(CONF_FORM_DEVICE, "eth0.100"));
	assert_false(form_fits(CONF_FORM_DEVICE, ""));
	assert_false(form_fits(CONF_FORM_DEVICE, "."));
	assert_false(form_fits(CONF_FORM_DEVICE, ".."));
	assert_false(form_fits(CONF_FORM_DEVICE, "a/b"));
	assert_false(form_fits(CONF_FORM_DEVICE, "a:b"));
	assert_false(form_fits(CONF_FORM_DEVICE, "a b"));
	assert_true(form_fits(CONF_FORM_NAME, "a:b"));
	assert_false(form_fits(CONF_FORM_NAME, "a\tb"));
	assert_true(form_fits(CONF_FORM_PATH, "/"));
	assert_false(form_fits(CONF_FORM_PATH, "etc"));
	assert_false(form_fits(CONF_FORM_PATH, ""));
}

static void a_virtual_server_needs_its_protocol(void **state)
{
	struct xlb_service_key key = {.pad = 7};
	char buffer[CONF_CANONICAL_TEXT];

	(void)state;
	assert_false(form_server("192.0.2.1:80", &key));
	assert_int_equal(key.pad, 7);
	assert_true(form_server("192.0.2.1:80/udp", &key));
	assert_int_equal(key.protocol, IPPROTO_UDP);
	assert_int_equal(ntohs(key.port), 80);
	assert_int_equal(key.pad, 0);
	assert_string_equal(form_canonical(CONF_FORM_SERVER, "[2001:DB8:0:0::1]:00053/tcp", buffer),
	                    "[2001:db8::1]:53/tcp");
	assert_string_equal(form_canonical(CONF_FORM_PATH, "/a", buffer), "/a");
}

static void slips_of_the_pen_are_counted(void **state)
{
	char longest[42];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	longest[41] = 0;
	assert_int_equal(form_distance("silence", "silence"), 0);
	assert_int_equal(form_distance("Silence", "silencE"), 0);
	assert_int_equal(form_distance("silense", "silence"), 1);
	assert_int_equal(form_distance("silnce", "silence"), 1);
	assert_int_equal(form_distance("silencee", "silence"), 1);
	assert_int_equal(form_distance("isllence", "silence"), 2);
	assert_int_equal(form_distance("silecne", "silence"), 1);
	assert_int_equal(form_distance("", "abc"), 3);
	assert_int_equal(form_distance("abc", ""), 3);
	assert_int_equal(form_distance("kitten", "sitting"), 3);
	assert_int_equal(form_distance(longest, longest), 99);
	assert_int_equal(form_distance(longest + 1, longest + 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_count_is_digits_with_k_or_M),
		cmocka_unit_test(what_is_no_count_leaves_the_result_alone),
		cmocka_unit_test(durations_have_a_unit_and_seconds_are_whole),
		cmocka_unit_test(names_are_what_the_kernel_and_the_system_take),
		cmocka_unit_test(a_virtual_server_needs_its_protocol),
		cmocka_unit_test(slips_of_the_pen_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
