/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lexer.h - keepalived.conf -> statements: words, or a brace, each with file, line and column.
 *
 * Does what keepalived does before it looks at keywords (reference: config-grammar.md sections 1 to 6), executes nothing,
 * and is bounded: a limit that is reached is a complaint and -E2BIG. Files and their depth: files.h.
 */
#ifndef XLBD_KEEPALIVED_LEXER_H
#define XLBD_KEEPALIVED_LEXER_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>

#include "xlbd/cleanup.h"
#include "xlbd/complaint.h"
#include "xlbd/keepalived/line.h"

#define LEXER_BYTES_MAX      (64ul << 20) /* read or expanded; each line costs LEXER_LINE_COST more */
#define LEXER_LINE_COST      32           /* so that empty lines are not free */
#define LEXER_EXPANSIONS_MAX 64 /* loops and definitions of several lines, in one another */
#define LEXER_WORDS_MAX      (LINE_MAX_LENGTH / 2 + 1)

struct word {
	const char *text;
	unsigned column, length; /* in the file, for the caret */
};

enum statement_kind { STATEMENT_WORDS, STATEMENT_OPEN, STATEMENT_CLOSE };

struct statement { /* valid until the next one */
	enum statement_kind kind;
	const struct word *words; /* at least one; of a brace too */
	size_t count;
	struct place place;
	const char *doubt; /* NULL: keepalived reads the same here */
	const char *lost;  /* why something in front of it is missing; NULL: nothing is */
};

struct lexer_options {
	const char *
		config_id; /* for @id lines and ${_INSTANCE}; NULL: host name up to the first dot */
	const char *root;  /* in front of absolute paths; NULL: none */
	bool ignore_includes; /* for texts that come from nowhere (fuzzing) */
	size_t bytes_max;     /* 0: LEXER_BYTES_MAX */
};

struct lexer; /* opaque */

/*
 * Reads `file`. Names of files are kept in `names`, which must outlive all use of places; everything else
 * dies with the lexer. Complaints go to `complaints`. -ENOENT, -EACCES and others from the system; -EINVAL:
 * not a regular file, or executable (keepalived refuses it); -E2BIG: longer than the limit; -ENOMEM.
 */
int lexer_open(const char *file, const struct lexer_options *options, struct obstack *names,
               struct complaints *complaints, struct lexer **ret);
/* The same for a text in memory, which is copied. */
int lexer_open_text(const char *name, const char *text, size_t length,
                    const struct lexer_options *options, struct obstack *names,
                    struct complaints *complaints, struct lexer **ret);
struct lexer *lexer_free(struct lexer *lexer); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct lexer, lexer_free)

/* 1: *ret is the next statement; 0: there is none; -E2BIG: a limit, said in a complaint. */
int lexer_next(struct lexer *lexer, const struct statement **ret);
/* The next lexer_next() gives the same statement once more. */
void lexer_again(struct lexer *lexer);

/* The keyword include_check: changes what later includes must find. */
void lexer_include_check(struct lexer *lexer, const struct statement *statement);
/* Every file read so far; NULL after the last. */
const char *lexer_file(const struct lexer *lexer, size_t index);

#endif
