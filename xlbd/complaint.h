/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * complaint.h - what is wrong with a text that a person wrote, and where.
 *
 * Readers never log: they collect complaints, and who called them shows these. A list is bounded; what exceeds it is
 * counted. Every complaint owns its strings through the list.
 */
#ifndef XLBD_COMPLAINT_H
#define XLBD_COMPLAINT_H

#include <stdbool.h>
#include <stddef.h>

#include "xlbd/cleanup.h"
#include <stdio.h>

enum complaint_level {
	COMPLAINT_ERROR,   /* refused */
	COMPLAINT_WARNING, /* accepted, but probably not what was meant */
	COMPLAINT_NOTE,    /* accepted; what follows from it */
};

struct complaint {
	enum complaint_level level;
	const char *file;   /* as the person would name it */
	unsigned line;      /* from 1; 0: the whole file */
	unsigned column;    /* from 1, a tab is one; 0: the whole line */
	unsigned length;    /* of what the caret underlines; 0: one */
	const char *text;   /* one sentence, no full stop, no newline */
	const char *hint;   /* what to do about it; NULL: none */
	const char *source; /* the line itself; NULL: not known */
};

#define COMPLAINTS_MAX 200

struct complaints; /* opaque */

struct complaints *complaints_new(void);                     /* NULL: out of memory */
struct complaints *complaints_free(struct complaints *list); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct complaints, complaints_free)

/* Copies everything. `where` gives level, file, line, column, length, hint, source; the text is formatted. */
void complain(struct complaints *list, const struct complaint *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

size_t complaints_count(const struct complaints *list);  /* those kept */
size_t complaints_errors(const struct complaints *list); /* errors, also those not kept */
size_t complaints_dropped(const struct complaints *list);
const struct complaint *complaints_get(const struct complaints *list,
                                       size_t index); /* NULL after the last */

/*
 * Prints one as compilers do:
 *	FILE:LINE:COLUMN: error: text
 *	   48 |     lb_algo wlc
 *	      |             ^~~ hint
 * Parts that are not known are left out.
 */
void complaint_print(const struct complaint *complaint, FILE *out);

#endif
