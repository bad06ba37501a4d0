// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_print.c - numbers, durations, columns and wrapped sentences, as they stand on the screen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "xlbd/ctl/print.h"

struct screen {
	struct style style;
	char *text;
	size_t length;
};

static void screen_open(struct screen *screen, size_t width)
{
	*screen = (struct screen){.style = {.width = width}};
	screen->style.out = open_memstream(&screen->text, &screen->length);
	assert_non_null(screen->style.out);
}

static void screen_expect(struct screen *screen, const char *expected)
{
	fclose(screen->style.out);
	assert_string_equal(screen->text, expected);
	free(screen->text);
}

static void numbers_have_three_digits_and_a_unit(void **state)
{
	static const struct {
		uint64_t value;
		const char *shown, *exact;
	} rows[] = {
		{0, "0", "0"},
		{999, "999", "999"},
		{9999, "9,999", "9,999"},
		{10000, "10.0 k", "10,000"},
		{88149, "88.1 k", "88,149"},
		{999499, "999 k", "999,499"},
		{999500, "1.00 M", "999,500"},
		{1204311, "1.20 M", "1,204,311"},
		{18400000000, "18.4 G", "18,400,000,000"},
		{UINT64_MAX, "18.4 E", "18,446,744,073,709,551,615"},
	};
	char buffer[NUMBER_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_string_equal(number_print(rows[i].value, false, buffer), rows[i].shown);
		assert_string_equal(number_print(rows[i].value, true, buffer), rows[i].exact);
	}
}

static void durations_have_two_units_at_most(void **state)
{
	char buffer[NUMBER_TEXT];

	(void)state;
	assert_string_equal(duration_print(0, buffer), "0.0 s");
	assert_string_equal(duration_print(420, buffer), "0.4 s");
	assert_string_equal(duration_print(59999, buffer), "59 s");
	assert_string_equal(duration_print(61000, buffer), "1 min 01 s");
	assert_string_equal(duration_print(3600000 * 3 + 240000, buffer), "3 h 04 min");
	assert_string_equal(duration_print(86400000LL * 2 + 3600000 * 11, buffer), "2 d 11 h");
}

static const struct column columns[] = {{"NAME", false}, {"COUNT", true}, {"WHY", false}};

static struct table *example(void)
{
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	assert_non_null(table);
	table_cell(table, PLAIN, "web");
	table_cell(table, PLAIN, "1");
	table_cell(table, PLAIN, "a sentence of some length");
	table_cell(table, PLAIN,
	           "gr\xc3\xbc\xc3\x9f"
	           "e");
	table_cell(table, BAD, "1234567");
	table_cell(table, PLAIN, NULL);
	table_note(table, "left to IPVS: the scheduler is not offered");
	return table;
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
	struct table *table = example();
	struct screen screen;

	(void)state;
	screen_open(&screen, 0);
	table_print(table, &screen.style);
	screen_expect(&screen, "NAME     COUNT  WHY\n"
	                       "web          1  a sentence of some length\n"
	                       "gr\xc3\xbc\xc3\x9f"
	                       "e  1234567  -\n"
	                       "    left to IPVS: the scheduler is not offered\n");
	table_free(table);
}

static void a_narrow_terminal_cuts_text_but_no_number(void **state)
{
	struct table *table = example();
	struct screen screen;

	(void)state;
	screen_open(&screen, 30);
	table_print(table, &screen.style);
	screen_expect(&screen, "NAME     COUNT  WHY\n"
	                       "web          1  a sentence of>\n"
	                       "gr\xc3\xbc\xc3\x9f"
	                       "e  1234567  -\n"
	                       "    left to IPVS: the\n"
	                       "    scheduler is not offered\n");
	screen_open(&screen, 5);
	table_print(table, &screen.style);
	screen_expect(&screen, "NAME     COUNT  WHY\n"
	                       "web          1  a sentenc>\n"
	                       "gr\xc3\xbc\xc3\x9f"
	                       "e  1234567  -\n"
	                       "    left\n    to\n    IPVS:\n    the\n    scheduler\n    is\n"
	                       "    not\n    offered\n");
	table_free(table);
}

static void colour_adds_no_width(void **state)
{
	struct table *table = example();
	struct screen screen;

	(void)state;
	screen_open(&screen, 0);
	screen.style.colour = true;
	table_print(table, &screen.style);
	screen_expect(&screen, "\033[1mNAME\033[0m     \033[1mCOUNT\033[0m  \033[1mWHY\033[0m\n"
	                       "web          1  a sentence of some length\n"
	                       "gr\xc3\xbc\xc3\x9f"
	                       "e  \033[31m1234567\033[0m  -\n"
	                       "    left to IPVS: the scheduler is not offered\n");
	table_free(table);
}

static void nothing_that_is_shown_steers_the_terminal(void **state)
{
	struct table *table = table_new(columns, 1);
	struct screen screen;

	(void)state;
	table_cell(table, PLAIN,
	           "a\033[2Jb\nc\x7f\xc2\x9b"
	           "d");
	table_note(table, "e\rf");
	screen_open(&screen, 0);
	table_print(table, &screen.style);
	print_emphasis(&screen.style, BAD, "g\033h");
	print_wrapped(&screen.style, 0, 0, "i\tj");
	screen_expect(&screen, "NAME\na?[2Jb?c???d\n    e?f\ng?hi?j\n");
	table_free(table);
}

static void many_rows_are_kept(void **state)
{
	struct table *table = table_new(columns, 1);

	(void)state;
	for (int i = 0; i < 1000; i++)
		table_cell(table, PLAIN, "x");
	assert_int_equal(table_rows(table), 1000);
	table_free(table);
	assert_null(table_new(columns, TABLE_COLUMNS + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_three_digits_and_a_unit),
		cmocka_unit_test(durations_have_two_units_at_most),
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(a_narrow_terminal_cuts_text_but_no_number),
		cmocka_unit_test(colour_adds_no_width),
		cmocka_unit_test(nothing_that_is_shown_steers_the_terminal),
		cmocka_unit_test(many_rows_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
