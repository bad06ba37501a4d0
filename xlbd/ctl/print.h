/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * print.h - JSON -> columns: tables, numbers, durations and long sentences for people.
 */
#ifndef XLBD_CTL_PRINT_H
#define XLBD_CTL_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xlbd/cleanup.h"

/* How to print: found out once, by xlbctl.c. */
struct style {
	FILE *out;
	bool colour;
	bool exact;   /* numbers to the last digit */
	size_t width; /* of the terminal; 0: no terminal, nothing is cut or wrapped */
};

enum emphasis { PLAIN, STRONG, GOOD, BAD, ODD };

struct column {
	const char *title;
	bool right; /* numbers */
};

#define TABLE_COLUMNS 16

struct table; /* opaque: all cells are kept until it is printed, for the widths */

struct table *table_new(const struct column *columns, size_t count); /* NULL: out of memory */
struct table *table_free(struct table *table); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct table, table_free)
/* Fills the row from the left; the row ends with the last column. Control characters become '?'. */
void table_cell(struct table *table, enum emphasis emphasis, const char *text);
/* A sentence under the row that was filled last, indented and wrapped. */
void table_note(struct table *table, const char *text);
size_t table_rows(const struct table *table);
/* In a terminal that is too narrow the widest left-aligned columns are cut. */
void table_print(const struct table *table, const struct style *style);

/* Wraps at words; the first line is indented by nothing, the others by `indent`. Ends with a newline. */
void print_wrapped(const struct style *style, size_t used, size_t indent, const char *text);
/* Text with its emphasis, without newline; control characters become '?'. */
void print_emphasis(const struct style *style, enum emphasis emphasis, const char *text);

#define NUMBER_TEXT 32
/* "9,999", "88.1 k", "3.02 M", "18.4 G"; exact: all digits, in groups. Returns `buffer`. */
const char *number_print(uint64_t value, bool exact, char buffer[NUMBER_TEXT]);
/* "0.4 s", "14:57", "3 h 04 min", "2 d 11 h"; returns `buffer`. */
const char *duration_print(int64_t milliseconds, char buffer[NUMBER_TEXT]);

#endif
