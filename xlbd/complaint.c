// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * complaint.c - a bounded list of what is wrong with a text, and how one of them is shown.
 *
 * The readers (conf/, keepalived/) add, main.c and xlbctl show. Strings are copied into one obstack, so a list
 * outlives the reader and is freed in one call. Out of memory ends the process (obstack's way): a list is
 * at most COMPLAINTS_MAX lines.
 */
#include <obstack.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/complaint.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

struct complaints {
	struct complaint kept[COMPLAINTS_MAX];
	size_t count, errors, dropped;
	struct obstack strings;
};

struct complaints *complaints_new(void)
{
	struct complaints *list = calloc(1, sizeof(*list));

	if (list)
		obstack_init(&list->strings);
	return list;
}

struct complaints *complaints_free(struct complaints *list)
{
	if (list)
		obstack_free(&list->strings, NULL);
	free(list);
	return NULL;
}

static const char *copy(struct complaints *list, const char *text)
{
	return text ? obstack_copy0(&list->strings, text, strlen(text)) : NULL;
}

void complain(struct complaints *list, const struct complaint *where, const char *format, ...)
{
	struct complaint *kept;
	char text[500];
	va_list arguments;

	if (!list)
		return;
	if (where->level == COMPLAINT_ERROR)
		list->errors++;
	if (list->count == COMPLAINTS_MAX) {
		list->dropped++;
		return;
	}
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);

	kept = &list->kept[list->count++];
	*kept = *where;
	kept->file = copy(list, where->file);
	kept->hint = copy(list, where->hint);
	kept->source = copy(list, where->source);
	kept->text = copy(list, text);
}

size_t complaints_count(const struct complaints *list)
{
	return list->count;
}

size_t complaints_errors(const struct complaints *list)
{
	return list->errors;
}

size_t complaints_dropped(const struct complaints *list)
{
	return list->dropped;
}

const struct complaint *complaints_get(const struct complaints *list, size_t index)
{
	return index < list->count ? &list->kept[index] : NULL;
}

/* The line itself, control characters made harmless, and below it the caret under the same tabs. */
static void print_source(const struct complaint *complaint, FILE *out)
{
	const char *source = complaint->source;
	size_t length = strlen(source);

	fprintf(out, "%5u | ", complaint->line);
	for (size_t i = 0; i < length; i++)
		fputc((unsigned char)source[i] < ' ' && source[i] != '\t' ? '?' : source[i], out);
	fputc('\n', out);
	if (!complaint->column)
		return;
	fputs("      | ", out);
	for (size_t i = 0; i + 1 < complaint->column; i++)
		fputc(i < length && source[i] == '\t' ? '\t' : ' ', out);
	fputc('^', out);
	for (unsigned i = 1; i < complaint->length; i++)
		fputc('~', out);
	if (complaint->hint)
		fprintf(out, " %s", complaint->hint);
	fputc('\n', out);
}

void complaint_print(const struct complaint *complaint, FILE *out)
{
	static const char *const levels[] = {"error", "warning", "note"};

	if (complaint->file)
		fprintf(out, "%s:", complaint->file);
	if (complaint->line)
		fprintf(out, "%u:", complaint->line);
	if (complaint->line && complaint->column)
		fprintf(out, "%u:", complaint->column);
	fprintf(out, "%s%s: %s\n", complaint->file ? " " : "", levels[complaint->level],
	        complaint->text);
	if (complaint->source && complaint->line)
		print_source(complaint, out);
	else if (complaint->hint)
		fprintf(out, "  %s\n", complaint->hint);
}
