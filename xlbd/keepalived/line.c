// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * line.c - what keepalived does to the text of a single line, with the columns kept.
 *
 * A line is a fixed buffer: LINE_MAX_LENGTH is keepalived's own limit. Beside each character stands the column that it had
 * in the file, so that a caret points at the right word even after comments, escapes and substitutions have moved
 * it; characters that came from a definition all have the column of their reference.
 * The lexer (lexer.c) decides what happens in which order; nothing here knows of files or definitions.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "xlbd/keepalived/line.h"

static uint16_t clamp(size_t column)
{
	return column > UINT16_MAX ? UINT16_MAX : (uint16_t)column;
}

void line_set(struct line *line, const char *text, size_t length, unsigned column)
{
	if (length > LINE_MAX_LENGTH)
		length = LINE_MAX_LENGTH;
	memcpy(line->text, text, length);
	line->text[length] = '\0';
	for (size_t i = 0; i < length; i++)
		line->column[i] = clamp(column + i);
	line->length = length;
}

void line_copy(struct line *to, const struct line *from)
{
	to->place = from->place;
	to->doubt = from->doubt;
	to->length = from->length;
	memcpy(to->text, from->text, from->length + 1);
	memcpy(to->column, from->column, from->length * sizeof(from->column[0]));
}

static void cut(struct line *line, size_t length)
{
	line->length = length;
	line->text[length] = '\0';
}

static void remove_at(struct line *line, size_t at, size_t count)
{
	size_t behind = line->length - at - count;

	memmove(line->text + at, line->text + at + count, behind + 1);
	memmove(line->column + at, line->column + at + count, behind * sizeof(line->column[0]));
	line->length -= count;
}

void line_cut_front(struct line *line, size_t count)
{
	while (count < line->length && is_blank(line->text[count]))
		count++;
	remove_at(line, 0, count);
}

static void cut_blanks_behind(struct line *line)
{
	size_t length = line->length;

	while (length && is_blank(line->text[length - 1]))
		length--;
	cut(line, length);
}

/* Where the comment begins, or the length; *ret_continued: the line ends with a backslash, comment or not. */
static size_t find_comment(struct line *line, bool *quoted, bool *escaped, bool *ret_continued)
{
	size_t comment = SIZE_MAX;

	for (size_t i = 0; i < line->length; i++) {
		char c = line->text[i];

		if (c == '"' && comment == SIZE_MAX) {
			*quoted = !*quoted;
		} else if (c == '\\' && i + 1 == line->length) {
			*ret_continued = true;
			cut(line, i);
		} else if (c == '\\') {
			char next = line->text[i + 1];

			if (!*quoted && comment == SIZE_MAX && (next == '#' || next == '!')) {
				remove_at(line, i, 1);
				*escaped = true;
			} else {
				i++;
			}
		} else if ((c == '#' || c == '!') && !*quoted && comment == SIZE_MAX) {
			comment = i;
		}
	}
	return comment < line->length ? comment : line->length;
}

bool line_strip(struct line *line, bool *ret_escaped)
{
	bool quoted = false, continued = false, escaped = false;

	line_cut_front(line, 0);
	cut(line, find_comment(line, &quoted, &escaped, &continued));
	cut_blanks_behind(line);
	if (continued) {
		uint16_t column = line->length ? line->column[line->length - 1] + 1 : 1;

		line->text[line->length] = '\\';
		line->column[line->length] = column;
		cut(line, line->length + 1);
	}
	*ret_escaped = escaped;
	return !quoted;
}

bool line_replace(struct line *line, size_t at, size_t length, const char *text, size_t text_length)
{
	size_t behind = line->length - at - length;
	uint16_t column = line->column[at];

	if (line->length - length + text_length > LINE_MAX_LENGTH)
		return false;
	memmove(line->text + at + text_length, line->text + at + length, behind + 1);
	memmove(line->column + at + text_length, line->column + at + length,
	        behind * sizeof(line->column[0]));
	memcpy(line->text + at, text, text_length);
	for (size_t i = 0; i < text_length; i++)
		line->column[at + i] = column;
	line->length = line->length - length + text_length;
	return true;
}

static bool is_brace(char c)
{
	return c == '{' || c == '}';
}

/* The first brace that is not in double quotes; the length if there is none. */
static size_t find_brace(const struct line *line)
{
	bool quoted = false;

	for (size_t i = 0; i < line->length; i++) {
		if (line->text[i] == '"')
			quoted = !quoted;
		else if (!quoted && is_brace(line->text[i]))
			return i;
	}
	return line->length;
}

bool line_split(struct line *line, struct line *ret_rest)
{
	size_t at = is_brace(line->text[0]) ? 1 : find_brace(line);

	if (at >= line->length)
		return false;
	line_copy(ret_rest, line);
	line_cut_front(ret_rest, at);
	cut_blanks_behind(ret_rest);
	cut(line, at);
	cut_blanks_behind(line);
	return ret_rest->length > 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool was_said(const struct complaints *complaints, const struct complaint *where,
                     const char *text)
{
	const struct complaint *said;

	for (size_t i = 0; (said = complaints_get(complaints, i)); i++)
		if (said->line == where->line && said->column == where->column &&
		    same_text(said->file, where->file) && same_text(said->text, text))
			return true;
	return false;
}

void complain_at(struct complaints *complaints, enum complaint_level level,
                 const struct place *place, unsigned column, unsigned length, const char *hint,
                 const char *format, ...)
{
	struct complaint where = {
		.level = level,
		.file = place->file,
		.line = place->line,
		.column = column,
		.length = length,
		.hint = hint,
		.source = place->source,
	};
	char text[400], via[300];
	va_list arguments;

	if (!complaints)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (!hint && place->via_line) {
		snprintf(via, sizeof(via), "asked for by %s:%u", place->via_file, place->via_line);
		where.hint = via;
	}
	if (!was_said(complaints, &where, text))
		complain(complaints, &where, "%s", text);
}
