// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_schema.c - the two tables agree with each other, and with what is written about them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/schema.h"

static char *read_built(const char *name)
{
	const char *folder = getenv("top_builddir");
	_cleanup_fclose_ FILE *in = NULL;
	char path[4096];
	char *text;
	size_t used;

	snprintf(path, sizeof(path), "%s/conf/%s", folder ? folder : ".", name);
	in = fopen(path, "r");
	if (!in)
		fail_msg("cannot read %s", path);
	text = calloc(1, 65536);
	assert_non_null(text);
	used = fread(text, 1, 65535, in);
	assert_in_range(used, 1, 65534);
	return text;
}

static void every_range_belongs_to_a_key_and_is_of_its_form(void **state)
{
	const struct conf_range *range;

	(void)state;
	for (size_t i = 0; (range = conf_range_row(i)); i++) {
		uint64_t min, max;

		assert_non_null(conf_schema_field(range->path));
		assert_ptr_equal(conf_range(range->path), range);
		assert_int_equal(form_is_number(range->form), range->min != NULL);
		if (!range->min)
			continue;
		assert_true(form_number(range->form, range->min, &min));
		assert_true(form_number(range->form, range->max, &max));
		assert_true(min <= max);
		assert_true(max <= UINT32_MAX);
	}
}

static void what_is_not_there_is_not_found(void **state)
{
	(void)state;
	assert_null(conf_schema_field(""));
	assert_null(conf_schema_field("silenc"));
	assert_null(conf_schema_field("silence.x"));
	assert_null(conf_schema_field("ipvs.timeouts.tcp.x"));
	assert_null(conf_range("services"));
	assert_non_null(conf_schema_field("ipvs.timeouts.tcp_fin"));
	assert_non_null(conf_schema_field("virtual_servers.bypass"));
}

/* A key is "name:" at the start of a line of xlbd.yaml, and ".It Ic path :" in the manual. */
static void expect_documented(const cyaml_schema_field_t *fields, const char *section,
                              const char *manual, const char *sample)
{
	for (; fields->key; fields++) {
		const cyaml_schema_value_t *value = &fields->value;
		char path[100], line[120], inside[120];

		snprintf(path, sizeof(path), "%s%s%s", section, *section ? "." : "", fields->key);
		snprintf(line, sizeof(line), "\n%s:", fields->key);
		snprintf(inside, sizeof(inside), " %s:", fields->key);
		if (!strstr(sample, *section ? inside : line))
			fail_msg("'%s' is not in xlbd.yaml", path);
		if (value->type == CYAML_SEQUENCE)
			value = value->sequence.entry;
		if (value->type == CYAML_MAPPING) {
			expect_documented(value->mapping.fields, path, manual, sample);
			continue;
		}
		snprintf(line, sizeof(line), ".It Ic %s : ", path);
		if (!strstr(manual, line))
			fail_msg("'%s' is not in xlbd.yaml(5)", path);
	}
}

static void every_key_is_in_the_manual_and_in_the_shipped_file(void **state)
{
	_cleanup_free_ char *manual = read_built("xlbd.yaml.5"), *sample = read_built("xlbd.yaml");

	(void)state;
	expect_documented(conf_schema.mapping.fields, "", manual, sample);
}

/* check.c keeps an array of this size, and a recursion of this depth. */
static void expect_bounded(const cyaml_schema_field_t *fields, unsigned depth)
{
	unsigned count = 0;

	assert_true(depth < CONF_FIELDS_MAX);
	for (; fields->key; fields++, count++) {
		const cyaml_schema_value_t *value = &fields->value;

		if (value->type == CYAML_SEQUENCE)
			value = value->sequence.entry;
		if (value->type == CYAML_MAPPING)
			expect_bounded(value->mapping.fields, depth + 1);
	}
	assert_true(count < CONF_FIELDS_MAX);
}

static void sections_are_small(void **state)
{
	(void)state;
	expect_bounded(conf_schema.mapping.fields, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_range_belongs_to_a_key_and_is_of_its_form),
		cmocka_unit_test(what_is_not_there_is_not_found),
		cmocka_unit_test(every_key_is_in_the_manual_and_in_the_shipped_file),
		cmocka_unit_test(sections_are_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
