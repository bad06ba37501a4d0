/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line.h - one line of keepalived.conf on its way through the lexer, every character with the column it came from. Pure.
 */
#ifndef XLBD_KEEPALIVED_LINE_H
#define XLBD_KEEPALIVED_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlbd/complaint.h"

#define LINE_MAX_LENGTH 1023 /* keepalived reads pieces of this size, and expands to no more */

/* Where a line was written. A line of a definition has the place of that line, and `via` where it was asked for. */
struct place {
	const char *file;
	unsigned line;
	const char *source;   /* the line as written; NULL: too long to show */
	const char *via_file; /* NULL: the line stands where it is read */
	unsigned via_line;
};

struct line {
	struct place place;
	const char *doubt; /* why keepalived may have read something else here; NULL: no doubt */
	size_t length;
	char text[LINE_MAX_LENGTH + 1];
	uint16_t column[LINE_MAX_LENGTH + 1]; /* from 1 */
};

/* Takes the first LINE_MAX_LENGTH characters of text; the first of them stands in `column`. */
void line_set(struct line *line, const char *text, size_t length, unsigned column);
/*
 * Takes away comments, the backslash of \# and \!, and blanks around; a backslash at the end stays, its blanks do not.
 * *ret_escaped: a comment sign was escaped. False: a double quote is not closed.
 */
bool line_strip(struct line *line, bool *ret_escaped);
/* `length` characters at `at` become `text`, all in the column of the first. False: too long, nothing is changed. */
bool line_replace(struct line *line, size_t at, size_t length, const char *text,
                  size_t text_length);
void line_cut_front(struct line *line, size_t count); /* and the blanks that follow */
/*
 * Splits off what does not belong to the first statement: a brace outside double quotes stands alone.
 * True: there is a rest (may be empty of text).
 */
bool line_split(struct line *line, struct line *ret_rest);

/* Copies as much of a line as is used. */
void line_copy(struct line *to, const struct line *from);

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * A complaint about `length` characters in `column` of a line; the same one about the same place is made once, however
 * often a definition is expanded. `hint` may be NULL: then it says where the line was asked for, if that is elsewhere.
 */
void complain_at(struct complaints *complaints, enum complaint_level level,
                 const struct place *place, unsigned column, unsigned length, const char *hint,
                 const char *format, ...) __attribute__((format(printf, 7, 8)));

#endif
