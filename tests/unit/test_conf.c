// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_conf.c - what conf_load() promises beyond the golden files (tests/golden/conf): files that are missing, too
 * long or no files, failure that leaves everything as it was, limits, and that nothing is written to stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/load.h"
#include "conf/text.h"
#include "tests/golden/dump_conf.h"

static char *dumped(const struct xlbd_conf *conf)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	dump_conf(conf, out);
	fclose(out);
	return text;
}

/* Expects that `bytes` are refused; the first complaint's text. */
static const char *refused(struct complaints *complaints, const char *bytes, size_t size)
{
	struct xlbd_conf *conf = (struct xlbd_conf *)&size; /* must stay */

	assert_int_equal(conf_load_text("t.yaml", bytes, size, NULL, 0, complaints, &conf),
	                 -EINVAL);
	assert_ptr_equal(conf, &size);
	assert_true(complaints_errors(complaints) > 0);
	return complaints_get(complaints, 0)->text;
}

static void the_shipped_file_is_the_defaults(void **state)
{
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	_cleanup_(conf_freep) struct xlbd_conf *built_in = NULL, *shipped = NULL;
	_cleanup_free_ char *expected = NULL, *found = NULL;
	const char *folder = getenv("top_builddir");
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s/conf/xlbd.yaml", folder ? folder : ".");
	assert_int_equal(conf_load(NULL, NULL, 0, complaints, &built_in), 0);
	assert_int_equal(conf_load(path, NULL, 0, complaints, &shipped), 0);
	assert_int_equal(complaints_count(complaints), 0);
	expected = dumped(built_in);
	found = dumped(shipped);
	assert_string_equal(found, expected);
	assert_int_equal(built_in->silence, 5);
	assert_int_equal(built_in->maglev_size, 4093);
	assert_int_equal(built_in->poll, 1000);
	assert_string_equal(built_in->lvs_notify_fifo, RUNSTATEDIR "/xlbd/lvs.fifo");
	assert_string_equal(built_in->control_socket, RUNSTATEDIR "/xlbd/control");
	assert_null(built_in->keepalived_config_id);
}

static void only_the_default_file_may_be_missing(void **state)
{
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	_cleanup_(conf_freep) struct xlbd_conf *conf = NULL;

	(void)state;
	if (access(CONF_DEFAULT_FILE, F_OK) != 0) {
		assert_int_equal(conf_load(CONF_DEFAULT_FILE, NULL, 0, complaints, &conf), 0);
		assert_int_equal(complaints_count(complaints), 0);
		conf = conf_free(conf);
	}
	assert_int_equal(conf_load("/nonexistent/x.yaml", NULL, 0, complaints, &conf), -EINVAL);
	assert_null(conf);
	assert_string_equal(complaints_get(complaints, 0)->file, "/nonexistent/x.yaml");
	assert_string_equal(complaints_get(complaints, 0)->text,
	                    "cannot be read: No such file or directory");
	assert_int_equal(conf_load("/", NULL, 0, complaints, &conf), -EINVAL);
	assert_string_equal(complaints_get(complaints, 1)->text, "cannot be read: Is a directory");
}

static void a_file_that_never_ends_is_refused(void **state)
{
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	struct xlbd_conf *conf = NULL;

	(void)state;
	assert_int_equal(conf_load("/dev/zero", NULL, 0, complaints, &conf), -EINVAL);
	assert_string_equal(complaints_get(complaints, 0)->text, "is longer than 1 MiB");
}

static void a_text_may_have_one_mebibyte_and_no_more(void **state)
{
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	_cleanup_(conf_freep) struct xlbd_conf *conf = NULL;
	_cleanup_free_ char *bytes = malloc(CONF_TEXT_MAX + 1);

	(void)state;
	memset(bytes, '\n', CONF_TEXT_MAX + 1);
	memcpy(bytes, "poll: 2s", 8);
	assert_int_equal(conf_load_text("t", bytes, CONF_TEXT_MAX, NULL, 0, complaints, &conf), 0);
	assert_int_equal(conf->poll, 2000);
	assert_string_equal(refused(complaints, bytes, CONF_TEXT_MAX + 1), "is longer than 1 MiB");
}

static void complaints_are_optional(void **state)
{
	struct xlbd_conf *conf = NULL;
	char override[] = "silense=1s";
	char *const overrides[] = {override};

	(void)state;
	assert_int_equal(conf_load_text("t", "a: b", 4, overrides, 1, NULL, &conf), -EINVAL);
	assert_null(conf);
}

/* Hostile texts of the greatest size: an answer within seconds, whatever the answer. */
static void no_text_takes_long(void **state)
{
	static const char *const patterns[] = {"[",      "{",        "- ", "? ",  "a:\n", "- a\n",
	                                       "a: b\n", "\"",       "'",  "[],", "*a ",  "&a ",
	                                       "!a ",    "a: [[]\n", "\t", "%",   "#",    "--- a\n",
	                                       "<<: ",   "k: |\n ",  "a,", "x"};
	_cleanup_free_ char *bytes = malloc(CONF_TEXT_MAX + 16);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
		size_t length = strlen(patterns[i]);
		clock_t start = clock();

		for (size_t used = 0; used < CONF_TEXT_MAX; used += length)
			memcpy(bytes + used, patterns[i], length);
		bytes[0] = patterns[i][0] == '#' ? '!' : bytes[0];
		refused(complaints, bytes, CONF_TEXT_MAX);
		if (clock() - start > 5 * CLOCKS_PER_SEC)
			fail_msg("1 MiB of '%s' took %ld s", patterns[i],
			         (long)((clock() - start) / CLOCKS_PER_SEC));
	}
}

static void a_list_of_the_longest_kind_is_read(void **state)
{
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	_cleanup_(conf_freep) struct xlbd_conf *conf = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fprintf(out, "virtual_servers:\n");
	for (int i = 0; i < CONF_SERVERS_MAX; i++)
		fprintf(out, " - {address: '10.0.%d.%d:80/tcp', bypass: yes}\n", i >> 8, i & 255);
	fflush(out);
	assert_int_equal(conf_load_text("t", text, size, NULL, 0, complaints, &conf), 0);
	assert_int_equal(conf->service_count, CONF_SERVERS_MAX);
	assert_true(conf->service[CONF_SERVERS_MAX - 1].bypass);
	fprintf(out, " - address: 10.1.0.0:80/tcp\n");
	fclose(out);
	assert_string_equal(refused(complaints, text, size),
	                    "'virtual_servers' has more than 4096 entries");
}

static void overrides_are_bounded(void **state)
{
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	_cleanup_free_ char *longest = calloc(1, 5001);
	char *overrides[257] = {longest};
	struct xlbd_conf *conf = NULL;

	(void)state;
	memset(longest, 'x', 5000);
	assert_int_equal(conf_load(NULL, overrides, 1, complaints, &conf), -EINVAL);
	assert_int_equal(
		conf_load(NULL, (char *[]){(char *)"silence=3s\npoll: 1s"}, 1, complaints, &conf),
		-EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(overrides); i++)
		overrides[i] = (char *)"poll=1s";
	assert_int_equal(conf_load(NULL, overrides, 257, complaints, &conf), -EINVAL);
	assert_int_equal(complaints_count(complaints), 3);
	assert_int_equal(conf_load(NULL, overrides, 256, complaints, &conf), 0);
	conf_free(conf);
}

static void a_complaint_names_the_override_it_is_about(void **state)
{
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	struct xlbd_conf *conf = NULL;
	const struct complaint *complaint;

	(void)state;
	assert_int_equal(
		conf_load(NULL, (char *[]){(char *)"ipvs.timeouts.tcp=15"}, 1, complaints, &conf),
		-EINVAL);
	complaint = complaints_get(complaints, 0);
	assert_string_equal(complaint->file, "-o ipvs.timeouts.tcp=15");
	assert_int_equal(complaint->line, 0);
	assert_null(complaint->source);
}

static void a_complaint_shows_line_column_and_length(void **state)
{
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	const char *text =
		"# \xc3\xa4\npoll: 1s\nipvs: {api: '\xc3\xa4\xc3\xa4', sloppy_tcp: on}\n";
	const struct complaint *complaint;

	(void)state;
	refused(complaints, text, strlen(text));
	complaint = complaints_get(complaints, 0);
	assert_string_equal(complaint->file, "t.yaml");
	assert_int_equal(complaint->line, 3);
	assert_int_equal(complaint->column, 13);
	assert_int_equal(complaint->length, 4); /* characters, not bytes */
	assert_string_equal(complaint->source, "ipvs: {api: '\xc3\xa4\xc3\xa4', sloppy_tcp: on}");
}

static void lines_are_counted_as_yaml_counts_them(void **state)
{
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	const char *text = "#1\r\n#2\r#3\n#4\xc2\x85#5\xe2\x80\xa8#6\xe2\x80\xa9modus: auto\r\n";

	(void)state;
	refused(complaints, text, strlen(text));
	assert_int_equal(complaints_get(complaints, 0)->line, 7);
	assert_string_equal(complaints_get(complaints, 0)->source, "modus: auto");
}

/* Nobody but log.c writes to stderr, and cyaml's lines are for those who debug. */
static void nothing_is_written_to_stderr(void **state)
{
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	int kept = dup(STDERR_FILENO), pipes[2];
	const char *bad = "ipvs: {api: 7}\nsilence: [\n";
	struct xlbd_conf *conf = NULL;
	char byte;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	dup2(pipes[1], STDERR_FILENO);
	conf_load_text("t", bad, strlen(bad), NULL, 0, complaints, &conf);
	conf_load(NULL, NULL, 0, complaints, &conf);
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 0);
	close(pipes[0]);
	conf_free(conf);
}

static void freeing_nothing_is_fine(void **state)
{
	(void)state;
	assert_null(conf_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shipped_file_is_the_defaults),
		cmocka_unit_test(only_the_default_file_may_be_missing),
		cmocka_unit_test(a_file_that_never_ends_is_refused),
		cmocka_unit_test(a_text_may_have_one_mebibyte_and_no_more),
		cmocka_unit_test(complaints_are_optional),
		cmocka_unit_test(no_text_takes_long),
		cmocka_unit_test(a_list_of_the_longest_kind_is_read),
		cmocka_unit_test(overrides_are_bounded),
		cmocka_unit_test(a_complaint_names_the_override_it_is_about),
		cmocka_unit_test(a_complaint_shows_line_column_and_length),
		cmocka_unit_test(lines_are_counted_as_yaml_counts_them),
		cmocka_unit_test(nothing_is_written_to_stderr),
		cmocka_unit_test(freeing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
