// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * print.c - columns, numbers and sentences on a terminal or into a pipe.
 *
 * A table keeps its cells, so that columns are as wide as they need to be; in a terminal that is
 * too narrow the widest columns of text are cut, never numbers, and never anything in a pipe.
 * Widths are counted in characters of UTF-8. What is printed came from configuration files and the
 * network: control characters are made harmless here, so nothing that is shown can steer a
 * terminal. Used by views.c; knows no command and no JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "xlbd/ctl/print.h"

#define GAP         2  /* between columns */
#define CUT_LEAST   10 /* no column gets narrower than this */
#define NOTE_INDENT 4

struct cell {
	char *text;
	enum emphasis emphasis;
};

struct row {
	struct cell cell[TABLE_COLUMNS];
	char *note;
	size_t filled;
};

struct table {
	struct column column[TABLE_COLUMNS];
	size_t columns, rows, room;
	struct row *row;
};

/* ---- text ------------------------------------------------------------------------------------- */

static bool starts_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += starts_character(*text);
	return width;
}

/* Bytes of the first `width` characters. */
static size_t bytes_of(const char *text, size_t width)
{
	const char *at = text;

	while (*at && (width > 0 || !starts_character(*at))) {
		width -= starts_character(*at);
		at++;
	}
	return (size_t)(at - text);
}

/* C0 and DEL, and C1 in UTF-8 (c2 80 .. c2 9f). */
static char *harmless(const char *text)
{
	char *copy = strdup(text);

	for (unsigned char *byte = (unsigned char *)copy; byte && *byte; byte++) {
		if (*byte < ' ' || *byte == 0x7f)
			*byte = '?';
		if (byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] <= 0x9f)
			byte[0] = byte[1] = '?';
	}
	return copy;
}

static const char *colour_of(enum emphasis emphasis)
{
	static const char *const codes[] = {
		[PLAIN] = "",       [STRONG] = "\033[1m", [GOOD] = "\033[32m",
		[BAD] = "\033[31m", [ODD] = "\033[33m",
	};

	return codes[emphasis];
}

static void write_emphasis(const struct style *style, enum emphasis emphasis, const char *text,
                           size_t bytes)
{
	bool colour = style->colour && emphasis != PLAIN;

	fprintf(style->out, "%s%.*s%s", colour ? colour_of(emphasis) : "", (int)bytes, text,
	        colour ? "\033[0m" : "");
}

void print_emphasis(const struct style *style, enum emphasis emphasis, const char *text)
{
	_cleanup_free_ char *copy = harmless(text);

	if (copy)
		write_emphasis(style, emphasis, copy, strlen(copy));
}

static void spaces(FILE *out, size_t count)
{
	fprintf(out, "%*s", (int)count, "");
}

void print_wrapped(const struct style *style, size_t used, size_t indent, const char *text)
{
	_cleanup_free_ char *copy = harmless(text);
	size_t at = used;
	bool first = true;
	char *rest = copy, *word;

	while (rest && (word = strsep(&rest, " "))) {
		size_t width = width_of(word);

		if (!*word)
			continue;
		if (!first && style->width && at + 1 + width > style->width) {
			fputc('\n', style->out);
			spaces(style->out, indent);
			at = indent;
		} else if (!first) {
			fputc(' ', style->out);
			at++;
		}
		fputs(word, style->out);
		at += width;
		first = false;
	}
	fputc('\n', style->out);
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static void print_grouped(uint64_t value, char buffer[NUMBER_TEXT])
{
	char digits[NUMBER_TEXT];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	char *at = buffer;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	*at = '\0';
}

const char *number_print(uint64_t value, bool exact, char buffer[NUMBER_TEXT])
{
	static const char units[] = "kMGTPE";
	double shown = (double)value / 1000;
	size_t unit = 0;

	if (exact || value < 10000) {
		print_grouped(value, buffer);
		return buffer;
	}
	/* three digits, never four: 999,500 is 1.00 M */
	for (; shown >= 999.5 && units[unit + 1]; unit++)
		shown /= 1000;
	snprintf(buffer, NUMBER_TEXT, "%.*f %c",
	         shown < 9.995   ? 2
	         : shown < 99.95 ? 1
	                         : 0,
	         shown, units[unit]);
	return buffer;
}

const char *duration_print(int64_t milliseconds, char buffer[NUMBER_TEXT])
{
	long long seconds = milliseconds / 1000;

	if (seconds < 10)
		snprintf(buffer, NUMBER_TEXT, "%.1f s", (double)milliseconds / 1000);
	else if (seconds < 60)
		snprintf(buffer, NUMBER_TEXT, "%lld s", seconds);
	else if (seconds < 3600)
		snprintf(buffer, NUMBER_TEXT, "%lld min %02lld s", seconds / 60, seconds % 60);
	else if (seconds < 86400)
		snprintf(buffer, NUMBER_TEXT, "%lld h %02lld min", seconds / 3600,
		         seconds / 60 % 60);
	else
		snprintf(buffer, NUMBER_TEXT, "%lld d %02lld h", seconds / 86400,
		         seconds / 3600 % 24);
	return buffer;
}

/* ---- tables ----------------------------------------------------------------------------------- */

struct table *table_new(const struct column *columns, size_t count)
{
	struct table *table = count <= TABLE_COLUMNS ? calloc(1, sizeof(*table)) : NULL;

	if (!table)
		return NULL;
	memcpy(table->column, columns, count * sizeof(*columns));
	table->columns = count;
	return table;
}

struct table *table_free(struct table *table)
{
	for (size_t i = 0; table && i < table->rows; i++) {
		for (size_t c = 0; c < table->columns; c++)
			free(table->row[i].cell[c].text);
		free(table->row[i].note);
	}
	if (table)
		free(table->row);
	free(table);
	return NULL;
}

/* The row that is being filled, a new one if the last is full; NULL: out of memory. */
static struct row *open_row(struct table *table)
{
	struct row *last = table->rows ? &table->row[table->rows - 1] : NULL;

	if (last && last->filled < table->columns)
		return last;
	if (table->rows == table->room) {
		size_t room = table->room ? table->room * 2 : 16;
		struct row *grown = reallocarray(table->row, room, sizeof(*grown));

		if (!grown)
			return NULL;
		table->row = grown;
		table->room = room;
	}
	table->row[table->rows] = (struct row){};
	return &table->row[table->rows++];
}

void table_cell(struct table *table, enum emphasis emphasis, const char *text)
{
	struct row *row = open_row(table);

	if (row)
		row->cell[row->filled++] =
			(struct cell){.text = harmless(text ? text : "-"), .emphasis = emphasis};
}

void table_note(struct table *table, const char *text)
{
	if (!table->rows)
		return;
	free(table->row[table->rows - 1].note);
	table->row[table->rows - 1].note = harmless(text);
}

size_t table_rows(const struct table *table)
{
	return table->rows;
}

static const char *cell_text(const struct row *row, size_t column)
{
	return row->cell[column].text ? row->cell[column].text : "";
}

/* As wide as the widest cell; then the widest columns of text give way until all fits. */
static void fit_columns(const struct table *table, size_t terminal, size_t *width)
{
	size_t sum = (table->columns - 1) * GAP;

	for (size_t c = 0; c < table->columns; c++) {
		width[c] = width_of(table->column[c].title);
		for (size_t r = 0; r < table->rows; r++) {
			size_t cell = width_of(cell_text(&table->row[r], c));

			width[c] = cell > width[c] ? cell : width[c];
		}
		sum += width[c];
	}
	for (; terminal && sum > terminal; sum--) {
		size_t widest = table->columns;

		for (size_t c = 0; c < table->columns; c++)
			if (!table->column[c].right && width[c] > CUT_LEAST &&
			    (widest == table->columns || width[c] > width[widest]))
				widest = c;
		if (widest == table->columns)
			return;
		width[widest]--;
	}
}

/* `last`: nothing follows in this line, so no spaces at its end. */
static void print_cell(const struct style *style, const char *text, enum emphasis emphasis,
                       size_t width, bool right, bool last)
{
	size_t has = width_of(text);
	bool cut = has > width;

	if (right && !cut)
		spaces(style->out, width - has);
	write_emphasis(style, emphasis, text, bytes_of(text, cut ? width - 1 : has));
	if (cut)
		fputc('>', style->out);
	if (!right && !cut && !last)
		spaces(style->out, width - has);
	if (!last)
		spaces(style->out, GAP);
}

void table_print(const struct table *table, const struct style *style)
{
	size_t width[TABLE_COLUMNS];

	fit_columns(table, style->width, width);
	for (size_t c = 0; c < table->columns; c++)
		print_cell(style, table->column[c].title, STRONG, width[c], table->column[c].right,
		           c + 1 == table->columns);
	fputc('\n', style->out);
	for (size_t r = 0; r < table->rows; r++) {
		const struct row *row = &table->row[r];

		for (size_t c = 0; c < table->columns; c++)
			print_cell(style, cell_text(row, c), row->cell[c].emphasis, width[c],
			           table->column[c].right, c + 1 == table->columns);
		fputc('\n', style->out);
		if (row->note) {
			spaces(style->out, NOTE_INDENT);
			print_wrapped(style, NOTE_INDENT, NOTE_INDENT, row->note);
		}
	}
}
