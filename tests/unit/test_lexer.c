// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_lexer.c - statements of keepalived.conf, where they stand, and where reading ends.
 *
 * What the golden tests do not show: columns through comments and substitutions, order of expansion, every limit.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "xlbd/keepalived/files.h"
#include "xlbd/keepalived/lexer.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

struct reading {
	struct obstack names;
	struct complaints *complaints;
	struct lexer *lexer;
	char text[4096]; /* all statements: words separated by blanks, statements by '|' */
	int result;
};

static void begin(struct reading *reading)
{
	*reading = (struct reading){};
	obstack_init(&reading->names);
	reading->complaints = complaints_new();
	assert_non_null(reading->complaints);
}

static void end(struct reading *reading)
{
	lexer_free(reading->lexer);
	complaints_free(reading->complaints);
	obstack_free(&reading->names, NULL);
}

static void append(char *text, size_t size, const char *more)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s", more);
}

static void read_all(struct reading *reading)
{
	const struct statement *statement;
	int r;

	while ((r = lexer_next(reading->lexer, &statement)) > 0) {
		if (reading->text[0])
			append(reading->text, sizeof(reading->text), "|");
		for (size_t i = 0; i < statement->count; i++) {
			if (i)
				append(reading->text, sizeof(reading->text), " ");
			append(reading->text, sizeof(reading->text), statement->words[i].text);
		}
	}
	reading->result = r;
}

static void read_text(struct reading *reading, const char *text, size_t bytes_max)
{
	const struct lexer_options options = {.config_id = "me", .bytes_max = bytes_max};

	begin(reading);
	assert_int_equal(lexer_open_text("t", text, strlen(text), &options, &reading->names,
	                                 reading->complaints, &reading->lexer),
	                 0);
	read_all(reading);
}

static void expect(const char *text, const char *statements)
{
	struct reading reading;

	read_text(&reading, text, 0);
	assert_int_equal(reading.result, 0);
	assert_string_equal(reading.text, statements);
	end(&reading);
}

static void expect_limit(const char *text, size_t bytes_max)
{
	struct reading reading;

	read_text(&reading, text, bytes_max);
	assert_int_equal(reading.result, -E2BIG);
	assert_int_equal(complaints_errors(reading.complaints), 1);
	end(&reading);
}

static void braces_stand_alone_and_the_rest_comes_back(void **state)
{
	(void)state;
	expect("a { b {c} }d", "a|{|b|{|c|}|}|d");
	expect("a{b}c", "a|{|b|}|c");
	expect("a \"{ }\" b", "a { } b");
	expect("} $X=1\n$X", "}|1");
	expect("a {\n@me b\n@you c\n}", "a|{|b|}");
}

static void words_end_at_blanks_and_quotes(void **state)
{
	(void)state;
	expect("a\tb  c", "a b c");
	expect("a\"b c\"d", "a b c d");
	expect("a \"\" b", "a  b");
	expect("a 'b c'", "a 'b c'");
	expect("a \"b c", "a");
}

static void comments_end_at_the_line_and_quotes_protect(void **state)
{
	(void)state;
	expect("a#b\n!c\nd \"#e\" f ! \"g", "a|d #e f");
	expect("a '#b'", "a '");
	expect("a\\#b", "a#b");
	expect("a \"\\#b\"", "a \\#b");
}

static void a_backslash_continues_only_definitions(void **state)
{
	(void)state;
	expect("a\\\nb", "a\\|b");
	expect("$A=x \\\n y\\\nb\n$A\nc", "x|y|b|c");
	expect("$A=x \\\n\ny\n$A", "y|x");
	expect("$A= \\\n\n[$A]", "[$A]");
	expect("$A=\\\n# none \\\nx\nb $A", "b x");
	expect("$A=x\\\n# ends it\ny\nb $A", "y|b x");
	expect("$A=\\\nx\nb $A c", "b x c"); /* one line is no several */
	expect("$A=\\\nx\\\n\nb $A c\nb $A", "b $A c|b x");
}

static void definitions_are_replaced_where_keepalived_does(void **state)
{
	(void)state;
	expect("$A=1\n$A $A, ($A) $A. a$A ${A}b", "1 1, (1) $A. a1 1b");
	expect("$A =1", "$A =1");
	expect("$1=2", "$1=2");
	expect("$A=1\n$A=2\n$A", "2");
	expect("$A=$B\n$B=x\n$A", "x");
	expect("$A=\na${A}b", "ab");
	expect("$A=\nx\n$A\ny", "x|y");
	expect("a$", "a$");
	expect("${_INSTANCE} \"${_HASH}${_BANG}\"", "me #!");
	expect("${_HASH}a", "");
}

static void several_lines_only_at_the_end_of_a_line(void **state)
{
	(void)state;
	expect("$A=x \\\ny\nb $A\n$A c\nb ${A}", "b x|y|$A c|b x|y");
	expect("$A=x \\\n$B\n$B=p \\\nq\n$A\nz", "x|p|q|z");
	expect("$A=$B \\\nx\n$B=p \\\nq\n$A\nz", "p|q|x|z");
}

static void loops_nest_as_keepalived_nests_them(void **state)
{
	(void)state;
	expect("~SEQ(i,2) a$i\n$i", "a1|a2|2");
	expect("~SEQ(i,3,-1,2)a$i", "a3|a2");
	expect("~SEQ(i,0) a$i", "a1|a0");
	expect("~SEQ(i,-2) a$i", "a-1|a-2");
	expect("~SEQx(i,0x0e,16) a$i", "ae|af|a10");
	expect("$E=2\n~SEQ(i,1,$E) a$i", "a1|a2");
	expect("~SEQ(i,2) ~SEQ(j,2) a${i}${j}", "a11|a12|a21|a22");
	expect("$M=b$i \\\n~SEQ(j,2) c${i}${j} \\\nd\n~SEQ(i,2) $M\ne",
	       "b1|c11|c12|d|b2|c21|c22|d|e");
	expect("~LST({a,b},{1,2},3) x${a}y${b}z", "x1y2z|x3yz");
	expect("~LST(a, p, ,q) x${a}z", "xpz|xz|xqz");
	expect("~SEQ(i,9223372036854775806,9223372036854775807) a$i",
	       "a9223372036854775806|a9223372036854775807");
}

static void broken_loops_are_lost_and_said(void **state)
{
	static const char *const broken[] = {
		"~SEQ",
		"~SEQ(",
		"~SEQ()",
		"~SEQ(i",
		"~SEQ(i)",
		"~SEQ(i,)x",
		"~SEQ(i,1,2,3,4)x",
		"~SEQ(i,1,0,2)x",
		"~SEQ(i,99999999999999999999)x",
		"~SEQx(i,-1)x",
		"~LST",
		"~LST(",
		"~LST(a",
		"~LST(a,",
		"~LST(a,b",
		"~LST({a",
		"~LST({a}",
		"~LST({a},{b",
		"~LST(a,{b)x",
		"$M=1 \\\n2\n~SEQ(i,$M)x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct reading reading;

		read_text(&reading, broken[i], 0);
		assert_int_equal(reading.result, 0);
		assert_string_equal(reading.text, "");
		assert_int_equal(complaints_errors(reading.complaints), 1);
		end(&reading);
	}
}

static const struct statement *nth(struct reading *reading, unsigned n)
{
	const struct statement *statement = NULL;

	while (n--)
		assert_int_equal(lexer_next(reading->lexer, &statement), 1);
	return statement;
}

static void open_text(struct reading *reading, const char *text)
{
	begin(reading);
	assert_int_equal(lexer_open_text("t", text, strlen(text), NULL, &reading->names,
	                                 reading->complaints, &reading->lexer),
	                 0);
}

static void columns_survive_comments_escapes_and_substitution(void **state)
{
	const struct statement *statement;
	struct reading reading;

	(void)state;
	open_text(&reading, "$A=long value\n\n\t a  $A \"q r\" {bb # x\n");
	statement = nth(&reading, 1);
	assert_int_equal(statement->place.line, 3);
	assert_string_equal(statement->place.source, "\t a  $A \"q r\" {bb # x");
	assert_int_equal(statement->count, 4);
	assert_int_equal(statement->words[0].column, 3);
	assert_int_equal(statement->words[1].column, 6); /* both words of the value: the $ */
	assert_int_equal(statement->words[2].column, 6);
	assert_int_equal(statement->words[3].column, 10);
	assert_int_equal(statement->words[3].length, 3);
	statement = nth(&reading, 2);
	assert_int_equal(statement->words[0].column, 16);
	assert_int_equal(statement->words[0].length, 2);
	end(&reading);
}

static void lines_of_definitions_have_their_own_place(void **state)
{
	const struct statement *statement;
	struct reading reading;

	(void)state;
	open_text(&reading, "$A=one \\\n  two\n\nthree $A\n$A\n");
	statement = nth(&reading, 1); /* three one: mixed, where it is asked for */
	assert_int_equal(statement->place.line, 4);
	statement = nth(&reading, 1); /* two */
	assert_int_equal(statement->place.line, 2);
	assert_int_equal(statement->words[0].column, 3);
	assert_int_equal(statement->place.via_line, 4);
	statement = nth(&reading, 1); /* one: the whole line */
	assert_int_equal(statement->place.line, 1);
	assert_int_equal(statement->words[0].column, 4);
	assert_int_equal(statement->place.via_line, 5);
	end(&reading);
}

static void a_statement_can_be_had_again(void **state)
{
	const struct statement *statement;
	struct reading reading;

	(void)state;
	open_text(&reading, "a\nb\n");
	nth(&reading, 1);
	lexer_again(reading.lexer);
	statement = nth(&reading, 1);
	assert_string_equal(statement->words[0].text, "a");
	statement = nth(&reading, 1);
	assert_string_equal(statement->words[0].text, "b");
	end(&reading);
}

static void what_keepalived_alone_knows_is_doubtful(void **state)
{
	const struct statement *statement;
	struct reading reading;

	(void)state;
	open_text(&reading, "a ${_RANDOM 5 9}\nb\n${_ENV HOME}c\n~SEQ(\nd\ne");
	statement = nth(&reading, 1);
	assert_non_null(statement->doubt);
	assert_string_equal(statement->words[1].text, "5");
	assert_null(nth(&reading, 1)->doubt);
	statement = nth(&reading, 1);
	assert_non_null(statement->doubt);
	assert_string_equal(statement->words[0].text, "c");
	assert_non_null(nth(&reading, 1)->lost); /* the broken loop in front of d */
	assert_null(nth(&reading, 1)->lost);
	end(&reading);
}

static void a_loop_over_a_definition_of_several_lines_is_doubtful(void **state)
{
	struct reading reading;

	(void)state;
	open_text(&reading, "$i=a\\\nb\n~SEQ(i,2) c$i\n$i=d\ne $i");
	assert_non_null(nth(&reading, 1)->doubt);
	assert_non_null(nth(&reading, 1)->doubt);
	assert_null(nth(&reading, 1)->doubt); /* defined anew */
	end(&reading);
}

static void every_expansion_has_an_end(void **state)
{
	char nested[4096] = "";

	(void)state;
	expect_limit("~SEQ(i,1,9000000000) a$i", 100000);
	expect_limit("$A=a \\\n$A\n$A", 100000);
	expect_limit("a\nb\nc\nd\ne\n", 100);
	for (int i = 0; i < LEXER_EXPANSIONS_MAX; i++) {
		char line[64];

		/* each body is still open when the next one begins */
		snprintf(line, sizeof(line), "$D%d=$D%d \\\n x\n", i, i + 1);
		append(nested, sizeof(nested), line);
	}
	snprintf(nested + strlen(nested), sizeof(nested) - strlen(nested), "$D%d=y \\\n z\n$D0\n",
	         LEXER_EXPANSIONS_MAX);
	expect_limit(nested, 0);
}

static void a_definition_of_itself_is_given_up(void **state)
{
	struct reading reading;

	(void)state;
	read_text(&reading, "$A=x$B\n$B=$A\na $A\nb", 0);
	assert_int_equal(reading.result, 0);
	assert_int_equal(complaints_errors(reading.complaints), 1);
	assert_non_null(strstr(reading.text, "|b"));
	end(&reading);
}

static void long_lines_are_cut_as_keepalived_cuts_them(void **state)
{
	char text[3000] = "";
	struct reading reading;

	(void)state;
	memset(text, 'a', LINE_MAX_LENGTH);
	append(text, sizeof(text), "b\nc\n");
	read_text(&reading, text, 0);
	assert_int_equal(strcspn(reading.text, "|"), LINE_MAX_LENGTH);
	assert_string_equal(reading.text + LINE_MAX_LENGTH, "|b|c");
	assert_int_equal(complaints_errors(reading.complaints), 1);
	end(&reading);

	text[LINE_MAX_LENGTH] = '\0';
	read_text(&reading, text, 0); /* as long as it may be */
	assert_int_equal(strlen(reading.text), LINE_MAX_LENGTH);
	assert_int_equal(complaints_count(reading.complaints), 0);
	end(&reading);
}

/* ---- files ------------------------------------------------------------------------------------ */

struct folder {
	char path[64], file[96];
};

static void make_folder(struct folder *folder)
{
	strcpy(folder->path, "/tmp/test_lexer.XXXXXX");
	assert_non_null(mkdtemp(folder->path));
}

static const char *in(struct folder *folder, const char *name)
{
	snprintf(folder->file, sizeof(folder->file), "%s/%s", folder->path, name);
	return folder->file;
}

static void write_file(struct folder *folder, const char *name, const char *text)
{
	FILE *file = fopen(in(folder, name), "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void remove_folder(struct folder *folder)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder->path);
	assert_int_equal(system(command), 0);
}

static void read_folder(struct reading *reading, struct folder *folder, const char *root)
{
	const struct lexer_options options = {.config_id = "me", .root = root};

	begin(reading);
	assert_int_equal(lexer_open(root ? "/main.conf" : in(folder, "main.conf"), &options,
	                            &reading->names, reading->complaints, &reading->lexer),
	                 0);
	read_all(reading);
}

static void includes_are_sorted_relative_and_nested(void **state)
{
	struct folder folder;
	struct reading reading;

	(void)state;
	make_folder(&folder);
	assert_int_equal(mkdir(in(&folder, "sub"), 0700), 0);
	write_file(&folder, "main.conf", "a\ninclude sub/*.conf\nb { include sub/z.inc\n}\n");
	write_file(&folder, "sub/2.conf", "two");
	write_file(&folder, "sub/1.conf", "one {\ninclude z.inc\n}");
	write_file(&folder, "sub/z.inc", "z");
	write_file(&folder, "sub/run.conf", "never");
	assert_int_equal(chmod(in(&folder, "sub/run.conf"), 0755), 0);
	assert_int_equal(mkfifo(in(&folder, "sub/fifo.conf"), 0600), 0);
	read_folder(&reading, &folder, NULL);
	assert_string_equal(reading.text, "a|one|{|z|}|two|b|{|z|}");
	assert_int_equal(complaints_count(reading.complaints), 2); /* executable, FIFO */
	assert_string_equal(lexer_file(reading.lexer, 4) + strlen(folder.path), "/sub/z.inc");
	assert_null(lexer_file(reading.lexer, 5));
	end(&reading);
	remove_folder(&folder);
}

static void absolute_paths_lie_below_the_root(void **state)
{
	struct folder folder;
	struct reading reading;

	(void)state;
	make_folder(&folder);
	write_file(&folder, "main.conf", "include /other.conf\ninclude /{a,b}[x].conf");
	write_file(&folder, "other.conf", "other");
	write_file(&folder, "bx.conf", "bx");
	read_folder(&reading, &folder, folder.path);
	assert_string_equal(reading.text, "other|bx");
	end(&reading);
	remove_folder(&folder);
}

static void a_folder_with_odd_characters_is_no_pattern(void **state)
{
	struct folder folder;
	struct reading reading;

	(void)state;
	make_folder(&folder);
	assert_int_equal(mkdir(in(&folder, "a[b]{c,d}"), 0700), 0);
	write_file(&folder, "a[b]{c,d}/x.conf", "include y.conf");
	write_file(&folder, "a[b]{c,d}/y.conf", "y");
	write_file(&folder, "main.conf", "include a\\[b\\]*/x.conf");
	read_folder(&reading, &folder, NULL);
	assert_string_equal(reading.text, "y");
	end(&reading);
	remove_folder(&folder);
}

static void circles_and_floods_of_files_end(void **state)
{
	static const struct {
		const char *text, *limit;
	} cases[] = {
		{"include main.conf", "circle"},
		{"include *.conf\ninclude main.conf", "circle"},
		{"include {a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}", "more files"},
		{"~SEQ(i,1,2000) include part.inc", "more files"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct folder folder;
		struct reading reading;

		make_folder(&folder);
		write_file(&folder, "main.conf", cases[i].text);
		write_file(&folder, "part.inc", "");
		read_folder(&reading, &folder, NULL);
		assert_int_equal(reading.result, -E2BIG);
		assert_non_null(
			strstr(complaints_get(reading.complaints, 0)->text, cases[i].limit));
		end(&reading);
		remove_folder(&folder);
	}
}

static void the_working_directory_is_that_of_the_file(void **state)
{
	char expected[200];
	struct folder folder;
	struct reading reading;

	(void)state;
	make_folder(&folder);
	assert_int_equal(mkdir(in(&folder, "sub"), 0700), 0);
	write_file(&folder, "main.conf", "include sub/a.conf\n${_PWD}");
	write_file(&folder, "sub/a.conf", "${_PWD}");
	read_folder(&reading, &folder, NULL);
	snprintf(expected, sizeof(expected), "%s/sub|%s", folder.path, folder.path);
	assert_string_equal(reading.text, expected);
	end(&reading);
	remove_folder(&folder);
}

static void an_included_file_goes_on_in_a_definition(void **state)
{
	struct folder folder;
	struct reading reading;

	(void)state;
	make_folder(&folder);
	write_file(&folder, "main.conf", "include part.conf\nb\nc\n$M\n");
	write_file(&folder, "part.conf", "$M=a \\");
	read_folder(&reading, &folder, NULL);
	assert_string_equal(reading.text, "c|a|b");
	end(&reading);
	remove_folder(&folder);
}

static void the_main_file_must_be_readable(void **state)
{
	struct folder folder;
	struct reading reading;

	(void)state;
	make_folder(&folder);
	begin(&reading);
	assert_int_equal(lexer_open(in(&folder, "none"), NULL, &reading.names, reading.complaints,
	                            &reading.lexer),
	                 -ENOENT);
	assert_int_equal(
		lexer_open(folder.path, NULL, &reading.names, reading.complaints, &reading.lexer),
		-EINVAL);
	assert_null(reading.lexer);
	assert_int_equal(complaints_errors(reading.complaints), 2);
	end(&reading);
	remove_folder(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(braces_stand_alone_and_the_rest_comes_back),
		cmocka_unit_test(words_end_at_blanks_and_quotes),
		cmocka_unit_test(comments_end_at_the_line_and_quotes_protect),
		cmocka_unit_test(a_backslash_continues_only_definitions),
		cmocka_unit_test(definitions_are_replaced_where_keepalived_does),
		cmocka_unit_test(several_lines_only_at_the_end_of_a_line),
		cmocka_unit_test(loops_nest_as_keepalived_nests_them),
		cmocka_unit_test(broken_loops_are_lost_and_said),
		cmocka_unit_test(columns_survive_comments_escapes_and_substitution),
		cmocka_unit_test(lines_of_definitions_have_their_own_place),
		cmocka_unit_test(a_statement_can_be_had_again),
		cmocka_unit_test(what_keepalived_alone_knows_is_doubtful),
		cmocka_unit_test(a_loop_over_a_definition_of_several_lines_is_doubtful),
		cmocka_unit_test(every_expansion_has_an_end),
		cmocka_unit_test(a_definition_of_itself_is_given_up),
		cmocka_unit_test(long_lines_are_cut_as_keepalived_cuts_them),
		cmocka_unit_test(includes_are_sorted_relative_and_nested),
		cmocka_unit_test(absolute_paths_lie_below_the_root),
		cmocka_unit_test(a_folder_with_odd_characters_is_no_pattern),
		cmocka_unit_test(circles_and_floods_of_files_end),
		cmocka_unit_test(the_working_directory_is_that_of_the_file),
		cmocka_unit_test(an_included_file_goes_on_in_a_definition),
		cmocka_unit_test(the_main_file_must_be_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
