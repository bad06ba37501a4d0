// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reader.c - reads blocks of keywords, as keepalived's own parser does, and hands out the result.
 *
 * keepalived_read() is the whole way: the lexer gives statements; read_block() looks each up in the table of the block that
 * is open (keywords.c) and calls its handler; the handlers fill drafts; vrrp.c and declare.c make of them what is declared.
 * The oddities of keepalived's parser are kept on purpose: a keyword is only looked up in the block that is open; an
 * unknown one is ignored, but not the contents of its block, and its closing brace closes the block around it. What such
 * a thing happens to is marked doubtful.
 *
 * A complaint is an error exactly if `keepalived -t` objects (or keepalived silently drops something). Reading goes on
 * after every one of them, so all mistakes are found in one run. Nothing is logged here.
 */
#include <errno.h>
#include <obstack.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/keepalived/values.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

struct owner { /* what keepalived_config_free() gets back */
	struct keepalived_config config;
	struct obstack arena;
};

const char *keep(struct reader *reader, const char *text)
{
	return obstack_copy0(&reader->scratch, text, strlen(text));
}

struct mark mark_of(const struct statement *statement, size_t word)
{
	return (struct mark){
		.place = statement->place,
		.column = statement->words[word].column,
		.length = statement->words[word].length,
	};
}

void doubt(struct reader *reader, const char *reason)
{
	if (reader->service && !reader->service->doubt)
		reader->service->doubt = reason;
	if (reader->group && !reader->group->doubt)
		reader->group->doubt = reason;
}

/* The next statement. Its doubts go to what is open. */
static int next(struct reader *reader, const struct statement **ret)
{
	int r = lexer_next(reader->lexer, ret);

	if (r > 0 && (*ret)->doubt)
		doubt(reader, (*ret)->doubt);
	if (r > 0 && (*ret)->lost)
		doubt(reader, (*ret)->lost);
	return r;
}

/* Passes over a block, whose brace is still to come; without a brace there is nothing to pass over. */
static int skip_block(struct reader *reader)
{
	const struct statement *statement;
	unsigned depth = 0;
	int r;

	while ((r = next(reader, &statement)) > 0) {
		if (statement->kind == STATEMENT_OPEN) {
			depth++;
		} else if (!depth) {
			lexer_again(reader->lexer);
			return 1;
		} else if (statement->kind == STATEMENT_CLOSE && --depth == 0) {
			return 1;
		}
	}
	return r;
}

static int read_list(struct reader *reader, const struct keyword *keyword)
{
	const struct statement *statement;
	bool begun = false;
	int r;

	while ((r = next(reader, &statement)) > 0) {
		if (statement->kind == STATEMENT_CLOSE)
			return 1;
		if (statement->kind == STATEMENT_OPEN) {
			if (begun)
				complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
				              "'{' within the list of '%s'", keyword->name);
			begun = true;
			continue;
		}
		begun = true;
		if (keyword->entry)
			keyword->entry(reader, statement);
	}
	return r;
}

static void check_value(struct reader *reader, const struct keyword *keyword,
                        const struct statement *statement)
{
	uint32_t number;
	bool on;

	if (keyword->value == VALUE_SWITCH)
		(void)value_switch(reader, statement, &on);
	else if (statement->count < 2)
		return;
	else if (keyword->value == VALUE_NUMBER)
		(void)value_number(reader, statement, 1, keyword->least, keyword->most, STRICT,
		                   "ignoring", &number);
	else if (keyword->value == VALUE_TIMER)
		(void)value_is_timer(reader, statement, 1, keyword->least);
}

static int read_block(struct reader *reader, const struct keyword *keywords, unsigned depth);

static int read_keyword(struct reader *reader, const struct keyword *keyword,
                        const struct statement *statement, unsigned depth)
{
	bool wanted = true;
	int r;

	if (statement->count <= keyword->words) {
		complain_word(reader, COMPLAINT_ERROR, statement, 0, "keepalived ends here",
		              "'%s' lacks a parameter", keyword->name);
		doubt(reader, "keepalived does not read on where a parameter is missing");
		wanted = false;
	}
	if (keyword->shape == KEYWORD_LINE) {
		if (wanted)
			check_value(reader, keyword, statement);
		if (wanted && keyword->take)
			keyword->take(reader, statement);
		return 1;
	}
	if (wanted && keyword->take)
		keyword->take(reader, statement);
	if (wanted && keyword->open)
		wanted = keyword->open(reader, statement);
	if (!wanted)
		return skip_block(reader);
	r = keyword->shape == KEYWORD_LIST ? read_list(reader, keyword)
	                                   : read_block(reader, keyword->block, depth + 1);
	if (r >= 0 && keyword->close)
		keyword->close(reader);
	return r;
}

static const struct keyword *find(const struct keyword *keywords, const char *name)
{
	for (; keywords->name; keywords++)
		if (!strcmp(keywords->name, name))
			return keywords;
	return NULL;
}

/* How many characters must change to make one of the other; far more than `most` if it is more. */
static unsigned distance(const char *a, const char *b, unsigned most)
{
	size_t length = strlen(b), other = strlen(a);
	unsigned row[64];

	if (length >= 64 || length > other + most || other > length + most)
		return UINT32_MAX;
	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= length; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			best = row[j] + 1 < best ? row[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			row[j] = best;
		}
	}
	return row[length];
}

static void complain_unknown(struct reader *reader, const struct keyword *keywords,
                             const struct statement *statement)
{
	const char *word = statement->words[0].text, *nearest = NULL;
	unsigned best = strlen(word) < 5 ? (unsigned)strlen(word) / 2 : 3;
	char hint[100];

	for (; keywords->name; keywords++) {
		unsigned changes = distance(word, keywords->name, best);

		if (changes >= best)
			continue;
		best = changes;
		nearest = keywords->name;
	}
	if (nearest)
		snprintf(hint, sizeof(hint), "did you mean '%s'?", nearest);
	complain_word(reader, COMPLAINT_ERROR, statement, 0, nearest ? hint : NULL,
	              "unknown keyword '%.80s', ignoring", word);
	doubt(reader, "it has a keyword that is not known");
}

/* A brace where none belongs. */
static void stray_brace(struct reader *reader, const struct statement *statement,
                        const char *unknown)
{
	if (statement->kind == STATEMENT_CLOSE) {
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'}' closes nothing, ignoring");
		return;
	}
	if (unknown)
		complain_word(reader, COMPLAINT_ERROR, statement, 0,
		              "its '}' closes the block around it",
		              "keepalived takes what is in the block of the unknown '%s' for part "
		              "of the block around it",
		              unknown);
	else
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'{' opens nothing, ignoring");
	doubt(reader, "a brace in it does not belong to any keyword of keepalived's");
}

/* The statements of a block, or of the file (depth 0), whose brace is still to come. 1: closed; 0: end of file; -E2BIG. */
static int read_block(struct reader *reader, const struct keyword *keywords, unsigned depth)
{
	const struct statement *statement;
	bool begun = depth == 0;
	char unknown[64] = "";
	int r;

	while ((r = next(reader, &statement)) > 0) {
		const struct keyword *keyword;

		if (!begun && statement->kind == STATEMENT_OPEN) {
			begun = true;
			continue;
		}
		if (!begun)
			complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
			              "'{' is missing in front of this");
		begun = true;
		if (statement->kind == STATEMENT_CLOSE && depth > 0)
			return 1;
		if (statement->kind != STATEMENT_WORDS) {
			stray_brace(reader, statement, *unknown ? unknown : NULL);
			unknown[0] = '\0';
			continue;
		}
		unknown[0] = '\0';
		keyword = find(keywords, statement->words[0].text);
		if (!keyword) {
			complain_unknown(reader, keywords, statement);
			strncpy(unknown, statement->words[0].text, sizeof(unknown) - 1);
			continue;
		}
		r = read_keyword(reader, keyword, statement, depth);
		if (r <= 0)
			break;
	}
	if (r == 0 && depth > 0)
		doubt(reader, "its block is not closed");
	return r;
}

/* ---- the whole -------------------------------------------------------------------------------- */

static void prepare(struct reader *reader, struct owner *owner, struct complaints *complaints)
{
	*reader = (struct reader){
		.complaints = complaints,
		.arena = &owner->arena,
		.config = &owner->config,
	};
	reader->last_service = &reader->services;
	reader->last_group = &reader->groups;
	reader->last_instance = &reader->instances;
	reader->last_member = &reader->members;
	obstack_init(&reader->scratch);
}

static void reader_end(struct reader *reader)
{
	reader->lexer = lexer_free(reader->lexer);
	obstack_free(&reader->scratch, NULL);
}

/* Every file once, in order of reading. */
static void list_files(struct reader *reader)
{
	const char *file;
	size_t count = 0;

	for (size_t i = 0; (file = lexer_file(reader->lexer, i)); i++) {
		const char **known = obstack_base(reader->arena);
		bool seen = false;

		for (size_t j = 0; j < count && !seen; j++)
			seen = !strcmp(known[j], file);
		if (seen)
			continue;
		obstack_grow(reader->arena, &file, sizeof(file));
		count++;
	}
	file = NULL;
	obstack_grow(reader->arena, &file, sizeof(file));
	reader->config->files = obstack_finish(reader->arena);
}

static int read_all(struct reader *reader)
{
	int r = read_block(reader, keywords_root(), 0);

	if (r < 0)
		return r;
	reader->service = NULL;
	reader->group = NULL;
	list_files(reader);
	declare_instances(reader);
	return declare_services(reader);
}

static struct owner *owner_new(void)
{
	struct owner *owner = calloc(1, sizeof(*owner));

	if (!owner)
		return NULL;
	obstack_init(&owner->arena);
	owner->config.services = service_set_new();
	if (owner->config.services)
		return owner;
	obstack_free(&owner->arena, NULL);
	free(owner);
	return NULL;
}

static struct lexer_options lexer_options(const struct keepalived_options *options)
{
	return options ? (struct lexer_options){.config_id = options->config_id,
	                                        .root = options->root}
	               : (struct lexer_options){};
}

/* `text` NULL: reads the file. */
static int read_source(const char *file, const char *text, size_t length,
                       const struct lexer_options *options, struct complaints *complaints,
                       struct keepalived_config **ret)
{
	struct owner *owner = owner_new();
	struct reader reader;
	int r;

	if (!owner)
		return -ENOMEM;
	prepare(&reader, owner, complaints);
	r = text ? lexer_open_text(file, text, length, options, &owner->arena, complaints,
	                           &reader.lexer)
	         : lexer_open(file, options, &owner->arena, complaints, &reader.lexer);
	if (r >= 0)
		r = read_all(&reader);
	reader_end(&reader);
	if (r < 0) {
		keepalived_config_free(&owner->config);
		return r;
	}
	*ret = &owner->config;
	return 0;
}

int keepalived_read(const char *file, const struct keepalived_options *options,
                    struct complaints *complaints, struct keepalived_config **ret)
{
	struct lexer_options lexer = lexer_options(options);

	return read_source(file, NULL, 0, &lexer, complaints, ret);
}

int keepalived_read_text(const char *name, const char *text, size_t length,
                         const struct keepalived_options *options, size_t bytes_max,
                         struct complaints *complaints, struct keepalived_config **ret)
{
	struct lexer_options lexer = lexer_options(options);

	lexer.ignore_includes = true;
	lexer.bytes_max = bytes_max;
	return read_source(name, text, length, &lexer, complaints, ret);
}

struct keepalived_config *keepalived_config_free(struct keepalived_config *config)
{
	struct owner *owner = (struct owner *)config; /* its first member */

	if (!owner)
		return NULL;
	owner->config.services = service_set_free(owner->config.services);
	obstack_free(&owner->arena, NULL);
	free(owner);
	return NULL;
}
