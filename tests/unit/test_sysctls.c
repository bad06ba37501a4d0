// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_sysctls.c - net.ipv4.vs.* in a folder of its own: there, not there, and no number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "xlbd/cleanup.h"
#include "xlbd/sysctls.h"

static char folder[] = "/tmp/xlbd-sysctls-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static void path_of(const char *name, char path[100])
{
	snprintf(path, 100, "%s/%s", folder, name);
}

static int tear_down(void **state)
{
	static const char *const names[] = {"conntrack",  "sloppy_tcp",         "drop_entry",
	                                    "secure_tcp", "expire_nodest_conn", "unknown_one"};
	char path[100];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		path_of(names[i], path);
		(void)remove(path); /* a file or a folder, if it is there */
	}
	return remove(folder);
}

static void put(const char *name, const char *text)
{
	char path[100];
	FILE *file;

	path_of(name, path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void without_ipvs_the_callers_values_hold(void **state)
{
	struct sysctls defaults, read = {};

	(void)state;
	sysctls_defaults(&defaults);
	assert_int_equal(defaults.conn_reuse_mode, 1);
	assert_int_equal(defaults.conntrack, 0);
	defaults.sloppy_tcp = 1;
	assert_int_equal(sysctls_read("/nowhere/at/all", &defaults, &read), 0);
	assert_memory_equal(&read, &defaults, sizeof(read));
}

static void what_is_there_wins_over_the_defaults(void **state)
{
	struct sysctls defaults, read;

	(void)state;
	sysctls_defaults(&defaults);
	defaults.expire_nodest_conn = 1;
	defaults.drop_entry = 3;
	put("conntrack", "1\n");
	put("expire_nodest_conn", "0\n");
	put("secure_tcp", "-2");
	put("unknown_one", "7\n");
	assert_int_equal(sysctls_read(folder, &defaults, &read), 3);
	assert_int_equal(read.conntrack, 1);
	assert_int_equal(read.expire_nodest_conn, 0);
	assert_int_equal(read.secure_tcp, -2);
	assert_int_equal(read.drop_entry, 3);
}

static void what_is_no_number_is_not_off(void **state)
{
	static const char *const odd[] = {"", "\n", "off\n", "1x\n", "99999999999\n"};
	struct sysctls defaults, read;
	char path[100];

	(void)state;
	sysctls_defaults(&defaults);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		put("sloppy_tcp", odd[i]);
		assert_int_equal(sysctls_read(folder, &defaults, &read), 1);
		assert_int_equal(read.sloppy_tcp, -1);
	}
	path_of("conntrack", path); /* cannot be read */
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(sysctls_read(folder, &defaults, &read), 2);
	assert_int_equal(read.conntrack, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_ipvs_the_callers_values_hold),
		TEST(what_is_there_wins_over_the_defaults),
		TEST(what_is_no_number_is_not_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
