// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_complaint.c - what a person sees of a mistake: place, sentence, the line, the caret, the hint.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "xlbd/complaint.h"

static void expect(const struct complaint *where, const char *text, const char *expected)
{
	struct complaints *list = complaints_new();
	char shown[1000] = "";
	FILE *out = fmemopen(shown, sizeof(shown), "w");

	assert_non_null(list);
	assert_non_null(out);
	complain(list, where, "%s", text);
	complaint_print(complaints_get(list, 0), out);
	fclose(out);
	assert_string_equal(shown, expected);
	complaints_free(list);
}

static void the_caret_stands_under_the_column_behind_tabs(void **state)
{
	(void)state;
	expect(&(struct complaint){.level = COMPLAINT_WARNING,
	                           .file = "k.conf",
	                           .line = 48,
	                           .column = 2,
	                           .length = 3,
	                           .source = "\twlc",
	                           .hint = "use 'mh'"},
	       "odd scheduler",
	       "k.conf:48:2: warning: odd scheduler\n   48 | \twlc\n      | \t^~~ use 'mh'\n");
}

static void what_is_not_known_is_left_out(void **state)
{
	(void)state;
	expect(&(struct complaint){.level = COMPLAINT_ERROR}, "nothing to read",
	       "error: nothing to read\n");
	expect(&(struct complaint){.level = COMPLAINT_NOTE, .file = "a"}, "b", "a: note: b\n");
}

static void a_list_is_bounded_and_says_what_it_left_out(void **state)
{
	struct complaints *list = complaints_new();

	(void)state;
	for (int i = 0; i < COMPLAINTS_MAX + 7; i++)
		complain(list, &(struct complaint){.level = COMPLAINT_ERROR}, "number %d", i);
	assert_int_equal(complaints_count(list), COMPLAINTS_MAX);
	assert_int_equal(complaints_errors(list), COMPLAINTS_MAX + 7);
	assert_int_equal(complaints_dropped(list), 7);
	assert_null(complaints_get(list, COMPLAINTS_MAX));
	complaints_free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_caret_stands_under_the_column_behind_tabs),
		cmocka_unit_test(what_is_not_known_is_left_out),
		cmocka_unit_test(a_list_is_bounded_and_says_what_it_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
