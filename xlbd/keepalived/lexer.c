// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lexer.c - the order in which keepalived turns physical lines into statements.
 *
 * keepalived does not read its file as a stream of tokens. It takes a line, strips it, looks whether the line is meant for this
 * machine (@id), defines something ($X=), begins a loop (~SEQ), substitutes, looks again, includes, and only then splits
 * off what stands before the first brace; the rest comes back as a line of its own. This file is that order and nothing
 * else: line.c knows the text of a line, definitions.c and loops.c what expands, files.c what comes next.
 *
 * Lines come from three places, the first that has one: the rest behind a brace; the innermost loop or definition of
 * several lines that is being expanded; the innermost file. (So an include within a definition is read after the rest of
 * that definition, as keepalived does.) Where keepalived may have read something else, the line carries a `doubt`
 * that the reader passes on to the virtual server it belongs to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xlbd/keepalived/definitions.h"
#include "xlbd/keepalived/files.h"
#include "xlbd/keepalived/include.h"
#include "xlbd/keepalived/lexer.h"
#include "xlbd/keepalived/loops.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

struct expansion {
	struct loop *loop;       /* or */
	const struct body *body; /* lines still to come */
	struct place by;
	struct expansion *below;
};

struct lexer {
	struct obstack arena;
	struct complaints *complaints;
	const char *config_id;
	struct definitions *definitions;
	struct files *files;
	struct expansion *expansion;
	unsigned expansion_depth;
	size_t bytes, bytes_max;
	bool again;          /* the statement was given back */
	bool defining;       /* lines go to a definition */
	bool plain_include;  /* the line is an include as it stands in the file */
	const char *pending; /* why something is missing in front of the next statement */
	struct line line, rest;
	struct statement statement;
	char words_text[LINE_MAX_LENGTH + LEXER_WORDS_MAX]; /* each with its NUL */
	size_t words_used;
	struct word words[LEXER_WORDS_MAX];
};

static void complain_line(struct lexer *lexer, enum complaint_level level, const char *hint,
                          const char *text)
{
	const struct line *line = &lexer->line;
	unsigned first = line->length ? line->column[0] : 0;
	unsigned last = line->length ? line->column[line->length - 1] : 0;

	complain_at(lexer->complaints, level, &line->place, first,
	            last > first ? last - first + 1 : 1, hint, "%s", text);
}

static int limit_reached(struct lexer *lexer, const char *what)
{
	complain_line(lexer, COMPLAINT_ERROR, NULL, what);
	return -E2BIG;
}

static void strip(struct lexer *lexer)
{
	bool escaped;

	if (!line_strip(&lexer->line, &escaped)) {
		complain_line(lexer, COMPLAINT_ERROR, NULL,
		              "double quote is not closed, ignoring what follows it");
		lexer->line.doubt = "it has a double quote that is not closed";
	}
	if (escaped) {
		complain_line(lexer, COMPLAINT_WARNING, "put it in double quotes",
		              "keepalived 2.2 and later take an escaped # or ! for a comment");
		lexer->line.doubt =
			"it has an escaped comment sign, which keepalived reads differently "
			"in its processes";
	}
}

/* ---- lines ------------------------------------------------------------------------------------ */

static int push_expansion(struct lexer *lexer, struct loop *loop, const struct body *body,
                          const struct place *by)
{
	struct expansion *expansion;

	if (lexer->expansion_depth == LEXER_EXPANSIONS_MAX)
		return limit_reached(lexer, "definitions and loops are nested too deep");
	expansion = obstack_alloc(&lexer->arena, sizeof(*expansion));
	*expansion = (struct expansion){
		.loop = loop,
		.body = body,
		.by = *by,
		.below = lexer->expansion,
	};
	lexer->expansion = expansion;
	lexer->expansion_depth++;
	return 0;
}

/* The expansion goes with its last line, before that is looked at: what the line expands to comes in its place. */
static void next_of_expansion(struct lexer *lexer)
{
	struct expansion *expansion = lexer->expansion;
	bool more;

	if (expansion->loop) {
		more = loop_next(expansion->loop, lexer->definitions, &lexer->line);
	} else {
		line_restore(&lexer->line, expansion->body->line, &expansion->by);
		expansion->body = expansion->body->next;
		more = expansion->body != NULL;
	}
	if (more)
		return;
	lexer->expansion = expansion->below;
	lexer->expansion_depth--;
}

/* 1: lexer->line is the next line, may be empty; 0: no more; -E2BIG. */
static int fetch(struct lexer *lexer)
{
	lexer->plain_include = false;
	lexer->bytes += LEXER_LINE_COST;
	if (lexer->bytes > lexer->bytes_max)
		return limit_reached(lexer,
		                     "configuration is larger than xlbd reads, or expands to more");
	if (lexer->rest.length) {
		line_copy(&lexer->line, &lexer->rest);
		lexer->rest.length = 0;
	} else if (lexer->expansion) {
		next_of_expansion(lexer);
	} else {
		unsigned checks;
		size_t pattern;
		int r = files_read(lexer->files, &lexer->line);

		if (r <= 0)
			return r;
		strip(lexer);
		/* a comment of its own is an empty line in the copy that keepalived's children read */
		if (lexer->defining && !lexer->line.length) {
			definitions_end(lexer->definitions);
			lexer->defining = false;
		}
		lexer->plain_include = include_is(lexer->line.text, &checks, &pattern);
		return 1;
	}
	lexer->bytes += lexer->line.length;
	return 1;
}

/* @id text, @^id text: takes the condition away. False: the line is for others. */
static bool is_meant_for_us(struct lexer *lexer)
{
	struct line *line = &lexer->line;
	bool others = line->text[1] == '^';
	size_t from = others ? 2 : 1;
	size_t length = strcspn(line->text + from, " \t");
	const char *id = lexer->config_id;
	bool same = strlen(id) == length && !memcmp(line->text + from, id, length);

	if (!line->text[from + length] || same == others)
		return false;
	line_cut_front(line, from + length);
	return true;
}

static int begin_loop(struct lexer *lexer, const char *directory)
{
	struct loop *loop;
	const char *problem;

	if (loop_parse(&lexer->arena, lexer->definitions, &lexer->line, directory, &loop, &problem))
		return push_expansion(lexer, loop, NULL, &lexer->line.place);
	complain_line(lexer, COMPLAINT_ERROR, problem, "loop is not understood, ignoring the line");
	lexer->pending = "it has a loop that is not understood";
	return 0;
}

/* 1: something changed; 0: nothing; -E2BIG. */
static int substitute(struct lexer *lexer)
{
	struct line *line = &lexer->line;
	struct pending_body *pending, *ordered = NULL;
	enum substituted done;
	size_t before = line->length;
	int r;

	done = definitions_substitute(lexer->definitions, line, files_directory(lexer->files),
	                              &pending);
	lexer->bytes += line->length > before ? line->length - before : 0;
	if (done == SUBSTITUTED_TOO_LONG || done == SUBSTITUTED_ENDLESS) {
		line->doubt = "it has a definition that cannot be expanded";
		complain_line(lexer, COMPLAINT_ERROR, NULL,
		              done == SUBSTITUTED_TOO_LONG
		                      ? "line becomes longer than keepalived allows, stays as it is"
		                      : "definition leads to itself: keepalived never comes back");
		return 0;
	}
	while (pending) { /* the one that was found first is read last */
		struct pending_body *next = pending->next;

		pending->next = ordered;
		ordered = pending;
		pending = next;
	}
	for (; ordered; ordered = ordered->next) {
		r = push_expansion(lexer, NULL, ordered->body, &ordered->by);
		if (r < 0)
			return r;
	}
	if (done == SUBSTITUTED_UNKNOWN)
		complain_line(lexer, COMPLAINT_WARNING, NULL,
		              "only keepalived knows what _RANDOM or _ENV becomes here");
	return done != SUBSTITUTED_NOTHING;
}

/* What happens to a line before it is split. 1: it is left as text; 0: it is used up; -E2BIG. */
static int process(struct lexer *lexer)
{
	struct line *line = &lexer->line;
	bool substituted = false;
	unsigned checks;
	size_t pattern;
	int r = 1;

	if (!line->length)
		return 0;
	if (lexer->defining) {
		lexer->defining = definitions_continue(lexer->definitions, line);
		return 0;
	}
	while (line->length && r > 0) {
		if (line->text[0] == '@' && substituted)
			line->doubt = "it has a condition that comes from a definition, which "
				      "keepalived garbles";
		if (line->text[0] == '@' && !is_meant_for_us(lexer))
			return 0;
		if (definitions_take(lexer->definitions, line, &lexer->defining))
			return 0;
		if (loop_is(line))
			return begin_loop(lexer, files_directory(lexer->files));
		if (line->text[0] == '~' || !strchr(line->text, '$'))
			break;
		r = substitute(lexer);
		if (r < 0)
			return r;
		substituted = r > 0;
		if (substituted)
			strip(lexer);
		if (line->text[0] != '@' && !strchr(line->text, '$'))
			break;
	}
	if (include_is(line->text, &checks, &pattern))
		return files_include(lexer->files, line, checks, line->text + pattern,
		                     !lexer->plain_include);
	return line->length > 0;
}

/* ---- statements ------------------------------------------------------------------------------- */

static void add_word(struct lexer *lexer, size_t start, size_t end)
{
	const uint16_t *column = lexer->line.column;
	unsigned length = end > start && column[end - 1] > column[start]
	                          ? column[end - 1] - column[start] + 1u
	                          : 1;
	char *text = lexer->words_text + lexer->words_used;

	memcpy(text, lexer->line.text + start, end - start);
	text[end - start] = '\0';
	lexer->words_used += end - start + 1;
	lexer->words[lexer->statement.count++] = (struct word){
		.text = text,
		.column = column[start],
		.length = length,
	};
}

/* Cuts lexer->line into words: at blanks; what is in double quotes is one word and begins a new one. */
static void cut_words(struct lexer *lexer)
{
	const char *text = lexer->line.text;
	size_t at = 0;

	lexer->words_used = 0;
	for (;;) {
		size_t start, end;
		bool quoted;

		at += strspn(text + at, " \t");
		if (!text[at])
			return;
		quoted = text[at] == '"';
		start = at + quoted;
		end = start + strcspn(text + start, quoted ? "\"" : " \t\"");
		if (quoted && !text[end])
			return; /* not closed: the word is lost */
		add_word(lexer, start, end);
		at = end + quoted;
	}
}

/* An undefined ${NAME} stays and is now torn apart. */
static void warn_of_undefined(struct lexer *lexer)
{
	struct line *line = &lexer->line;
	size_t length = line->length;

	if (!length || line->text[length - 1] != '$' || lexer->rest.text[0] != '{')
		return;
	line->doubt = "it refers to a definition that is not there";
	lexer->rest.doubt = line->doubt;
	complain_at(lexer->complaints, COMPLAINT_WARNING, &line->place, line->column[length - 1], 2,
	            "its braces are taken for those of a block",
	            "definition is not there (yet), or cannot stand here");
}

static bool make_statement(struct lexer *lexer)
{
	struct line *line = &lexer->line;
	struct statement *statement = &lexer->statement;

	lexer->rest.length = 0;
	if (line_split(line, &lexer->rest))
		warn_of_undefined(lexer);
	*statement = (struct statement){
		.kind = line->text[0] == '{'   ? STATEMENT_OPEN
	                : line->text[0] == '}' ? STATEMENT_CLOSE
	                                       : STATEMENT_WORDS,
		.words = lexer->words,
		.place = line->place,
		.doubt = line->doubt,
	};
	cut_words(lexer);
	if (statement->count)
		statement->lost =
			lexer->pending ? take_ptr(lexer->pending) : files_take_doubt(lexer->files);
	return statement->count > 0;
}

void lexer_again(struct lexer *lexer)
{
	lexer->again = lexer->statement.count > 0;
}

int lexer_next(struct lexer *lexer, const struct statement **ret)
{
	if (lexer->again) {
		lexer->again = false;
		*ret = &lexer->statement;
		return 1;
	}
	for (;;) {
		int r = fetch(lexer);

		if (r <= 0)
			return r;
		r = process(lexer);
		if (r < 0)
			return r;
		if (r > 0 && make_statement(lexer)) {
			*ret = &lexer->statement;
			return 1;
		}
	}
}

/* ---- life ------------------------------------------------------------------------------------- */

static struct lexer *lexer_new(const struct lexer_options *options, struct obstack *names,
                               struct complaints *complaints)
{
	struct lexer *lexer = calloc(1, sizeof(*lexer));
	char host[HOST_NAME_MAX + 1] = "";
	const char *id = options ? options->config_id : NULL;

	if (!lexer)
		return NULL;
	obstack_init(&lexer->arena);
	lexer->complaints = complaints;
	lexer->bytes_max = options && options->bytes_max ? options->bytes_max : LEXER_BYTES_MAX;
	if (!id && gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	lexer->config_id = id ? obstack_copy0(&lexer->arena, id, strlen(id))
	                      : obstack_copy0(&lexer->arena, host, strcspn(host, "."));
	lexer->definitions = definitions_new(&lexer->arena, lexer->config_id);
	lexer->files = files_new(&(struct files_options){
		.arena = &lexer->arena,
		.names = names,
		.root = options ? options->root : NULL,
		.ignore_includes = options && options->ignore_includes,
		.bytes = &lexer->bytes,
		.bytes_max = lexer->bytes_max,
		.complaints = complaints,
	});
	return lexer;
}

int lexer_open(const char *file, const struct lexer_options *options, struct obstack *names,
               struct complaints *complaints, struct lexer **ret)
{
	_cleanup_(lexer_freep) struct lexer *lexer = lexer_new(options, names, complaints);
	int r;

	if (!lexer)
		return -ENOMEM;
	r = files_open(lexer->files, file);
	if (r < 0)
		return r;
	*ret = take_ptr(lexer);
	return 0;
}

int lexer_open_text(const char *name, const char *text, size_t length,
                    const struct lexer_options *options, struct obstack *names,
                    struct complaints *complaints, struct lexer **ret)
{
	struct lexer *lexer = lexer_new(options, names, complaints);

	if (!lexer)
		return -ENOMEM;
	files_open_text(lexer->files, name, text, length);
	*ret = lexer;
	return 0;
}

struct lexer *lexer_free(struct lexer *lexer)
{
	if (lexer)
		obstack_free(&lexer->arena, NULL);
	free(lexer);
	return NULL;
}

void lexer_include_check(struct lexer *lexer, const struct statement *statement)
{
	unsigned checks = files_checks(lexer->files);

	if (statement->count == 1)
		checks = INCLUDE_CHECK_ALL;
	for (size_t i = 1; i < statement->count; i++) {
		const struct word *word = &statement->words[i];
		char sign = word->text[0] == '+' || word->text[0] == '-' ? word->text[0] : '\0';
		unsigned check = include_check_named(word->text + (sign != '\0'));

		if (!check)
			complain_at(lexer->complaints, COMPLAINT_ERROR, &statement->place,
			            word->column, word->length,
			            "read, match, wildcard_match or brace_match",
			            "unknown check '%s', ignoring", word->text);
		else if (!sign && i > 1)
			complain_at(lexer->complaints, COMPLAINT_ERROR, &statement->place,
			            word->column, word->length,
			            "write + or - in front of all but the first",
			            "second check '%s', ignoring", word->text);
		else if (sign == '-')
			checks &= ~check;
		else
			checks = check | (sign ? checks : INCLUDE_CHECK_READ);
	}
	files_set_checks(lexer->files, checks);
}

const char *lexer_file(const struct lexer *lexer, size_t index)
{
	return files_name(lexer->files, index);
}
