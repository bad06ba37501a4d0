/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * definitions.h - $NAME=value: kept, looked up, and put in place of its references. Pure.
 */
#ifndef XLBD_KEEPALIVED_DEFINITIONS_H
#define XLBD_KEEPALIVED_DEFINITIONS_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>

#include "xlbd/keepalived/line.h"

#define SUBSTITUTIONS_MAX 1000 /* in one line; keepalived has no limit and would never come back */

/* A line that waits to be read: of a definition, or what follows ~SEQ(...). */
struct stored_line {
	struct place place;
	const char *text;
	size_t length;
	unsigned column; /* of its first character */
	const char *doubt;
};
struct stored_line *store_line(struct obstack *arena, const struct line *line, size_t from,
                               size_t length);
/* The stored line as one that is read now, asked for by a line at `by`. */
void line_restore(struct line *line, const struct stored_line *stored, const struct place *by);

struct body { /* the lines of a definition, in order; never changed once it is complete */
	const struct stored_line *line;
	struct body *next;
};

struct definitions; /* opaque */

/* Everything lives in `arena`. config_id is what ${_INSTANCE} gives. */
struct definitions *definitions_new(struct obstack *arena, const char *config_id);

/* $NAME=... at the start of the line? Then it is taken over. *ret_continues: more lines belong to it. */
bool definitions_take(struct definitions *definitions, const struct line *line,
                      bool *ret_continues);
/* The next line of the definition that definitions_take() began. True: still more. */
bool definitions_continue(struct definitions *definitions, const struct line *line);
void definitions_end(struct definitions *definitions); /* no more lines */
/* As keepalived sets the variables of ~SEQ and ~LST. The value is copied. */
void definitions_set(struct definitions *definitions, const char *name, size_t length,
                     const char *value);

enum substituted {
	SUBSTITUTED_NOTHING,
	SUBSTITUTED,
	SUBSTITUTED_UNKNOWN, /* in part by something that only keepalived knows */
	SUBSTITUTED_TOO_LONG, /* a value that would make the line longer than LINE_MAX_LENGTH stayed out */
	SUBSTITUTED_ENDLESS, /* a definition leads to itself */
};
/*
 * Replaces references until nothing changes. `directory` is what ${_PWD} gives. *ret_body: what follows the line when
 * a definition of several lines was asked for at its end, in order of reading; the caller reads it before
 * anything else. NULL: nothing. Values that nobody but keepalived can know set line->doubt.
 */
struct pending_body {
	const struct body *body;
	struct place by;
	struct pending_body *next; /* what follows when this one is through */
};
enum substituted definitions_substitute(struct definitions *definitions, struct line *line,
                                        const char *directory, struct pending_body **ret_body);

#endif
