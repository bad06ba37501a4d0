// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_notices.c - snmp/notices.c: what is told, what is not, and how often.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "snmp/history.h"
#include "snmp/notices.h"
#include "tests/unit/snapshots.h"

#define START 6000000u /* the beginning of a minute */

struct scene {
	struct history *history;
	struct notices *notices;
	uint64_t at;
	unsigned told[NOTICE_KINDS];
	char last[256];
};

static void hear(void *context, const struct notice *notice)
{
	struct scene *scene = context;

	scene->told[notice->kind]++;
	snprintf(scene->last, sizeof(scene->last), "%s", notice->detail);
}

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->history = history_new();
	scene->notices = notices_new(3, hear, scene);
	scene->at = START;
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	history_free(scene->history);
	notices_free(scene->notices);
	free(scene);
	return 0;
}

static void take(struct scene *scene, struct snapshot *snapshot)
{
	history_add(scene->history, snapshot, scene->at += 1000);
	notices_look(scene->notices, snapshot);
	snapshot_free(snapshot);
}

static void take_real(struct scene *scene, const char *state, int usable)
{
	take(scene, snapshot_counts(&(struct counts){.real_state = state, .usable = usable}));
}

static unsigned told_in_all(const struct scene *scene)
{
	unsigned sum = 0;

	for (size_t i = 0; i < NOTICE_KINDS; i++)
		sum += scene->told[i];
	return sum;
}

static void how_things_are_at_the_beginning_is_no_news(void **state)
{
	struct scene *scene = *state;

	take(scene, snapshot_of("{'reload_error': 'line 1', 'devices': [{'ifindex': 2, 'mode': "
	                        "'generic'}], 'roles': [{'instance': 'a', 'state': 'FAULT'}]}"));
	take_real(scene, "down", 0);
	assert_int_equal(told_in_all(scene), 1); /* that the device is gone */
	assert_int_equal(scene->told[NOTICE_DATAPLANE], 1);
}

static void a_real_server_and_the_last_of_a_service_are_told(void **state)
{
	struct scene *scene = *state;

	take_real(scene, "up", 1);
	take_real(scene, "down", 0);
	assert_int_equal(scene->told[NOTICE_REAL], 1);
	assert_int_equal(scene->told[NOTICE_VIP], 1);
	take_real(scene, "up", 1);
	assert_int_equal(scene->told[NOTICE_REAL], 2);
	assert_int_equal(scene->told[NOTICE_VIP], 2);
	take_real(scene, "up", 1);
	assert_int_equal(told_in_all(scene), 4);
}

static void what_an_operator_removes_is_not_told(void **state)
{
	struct scene *scene = *state;

	take_real(scene, "up", 1);
	take_real(scene, "gone", 1);
	take_real(scene, "up", 1);
	take(scene, snapshot_of("{}"));
	take_real(scene, "up", 1);
	assert_int_equal(told_in_all(scene), 0);
}

static void each_kind_has_a_bound_in_a_minute(void **state)
{
	struct scene *scene = *state;

	take_real(scene, "up", 1);
	for (unsigned i = 0; i < 10; i++)
		take_real(scene, i % 2 ? "up" : "down", 1);
	assert_int_equal(scene->told[NOTICE_REAL], 3);
	assert_int_equal(notices_suppressed(scene->notices), 7);
	scene->at = START + 60000;
	take_real(scene, "down", 1);
	assert_int_equal(scene->told[NOTICE_REAL], 4);
	assert_int_equal(notices_suppressed(scene->notices), 7);
}

static void take_use(struct scene *scene, unsigned live)
{
	char text[100];

	snprintf(text, sizeof(text), "{'connections': {'live': %u, 'slots': 100}}", live);
	take(scene, snapshot_of(text));
}

static void the_table_is_high_at_90_and_normal_below_80(void **state)
{
	struct scene *scene = *state;
	static const struct {
		unsigned live, high, normal;
	} rows[] = {{50, 0, 0}, {89, 0, 0}, {90, 1, 0}, {95, 1, 0}, {85, 1, 0},
	            {80, 1, 0}, {79, 1, 1}, {85, 1, 1}, {90, 2, 1}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		take_use(scene, rows[i].live);
		assert_int_equal(scene->told[NOTICE_HIGH], rows[i].high);
		assert_int_equal(scene->told[NOTICE_NORMAL], rows[i].normal);
	}
}

static void a_refused_configuration_is_told_once_and_each_new_one(void **state)
{
	struct scene *scene = *state;

	take(scene, snapshot_of("{}"));
	take(scene, snapshot_of("{'reload_error': 'line 1'}"));
	take(scene, snapshot_of("{'reload_error': 'line 1'}"));
	assert_int_equal(scene->told[NOTICE_CONFIG], 1);
	take(scene, snapshot_of("{'reload_error': 'line 2'}"));
	assert_int_equal(scene->told[NOTICE_CONFIG], 2);
	assert_string_equal(scene->last, "line 2");
	take(scene, snapshot_of("{}"));
	take(scene, snapshot_of("{'reload_error': 'line 2'}"));
	assert_int_equal(scene->told[NOTICE_CONFIG], 3);
}

static void take_mode(struct scene *scene, const char *mode)
{
	char text[200];

	snprintf(text, sizeof(text), "{'devices': [{'name': 'eth0', 'ifindex': 2, 'mode': '%s'}]}",
	         mode);
	take(scene, snapshot_of(text));
}

static void a_device_that_degrades_or_loses_the_program_is_told(void **state)
{
	struct scene *scene = *state;

	take_mode(scene, "native");
	take_mode(scene, "native");
	assert_int_equal(told_in_all(scene), 0);
	take_mode(scene, "generic");
	assert_string_equal(scene->last, "XDP program on eth0: generic");
	take_mode(scene, "none");
	assert_string_equal(scene->last, "XDP program on eth0: detached");
	take(scene, snapshot_of("{'devices': []}"));
	assert_string_equal(scene->last, "XDP program on 0 interfaces, before on 1");
	assert_int_equal(scene->told[NOTICE_DATAPLANE], 3);
}

static void a_silence_is_told_once_and_its_end(void **state)
{
	struct scene *scene = *state;

	notices_silence(scene->notices, "not yet", scene->at);
	assert_int_equal(told_in_all(scene), 0);
	take_real(scene, "up", 1);
	notices_silence(scene->notices, "gone", scene->at);
	notices_silence(scene->notices, "gone", scene->at);
	assert_int_equal(scene->told[NOTICE_DATAPLANE], 1);
	take_real(scene, "up", 1);
	assert_int_equal(scene->told[NOTICE_DATAPLANE], 2);
	assert_string_equal(scene->last, "xlbd answers again");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(how_things_are_at_the_beginning_is_no_news),
		TEST(a_real_server_and_the_last_of_a_service_are_told),
		TEST(what_an_operator_removes_is_not_told),
		TEST(each_kind_has_a_bound_in_a_minute),
		TEST(the_table_is_high_at_90_and_normal_below_80),
		TEST(a_refused_configuration_is_told_once_and_each_new_one),
		TEST(a_device_that_degrades_or_loses_the_program_is_told),
		TEST(a_silence_is_told_once_and_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
