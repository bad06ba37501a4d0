// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loops.c - the loops of keepalived.conf: ~SEQ counts, ~SEQx counts in hex, ~LST goes through a list.
 *
 * The lexer gives the line that begins with one; what stands behind the parenthesis is kept as it is, and comes back once
 * for each value with the variables set as ordinary definitions, which keep their last value afterwards. A loop within
 * a loop is simply what the rest of the line begins with: the lexer sees it when the line comes back.
 * Nothing here bounds the number of values: the lexer counts the lines that it reads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/keepalived/loops.h"

struct variable {
	const char *name;
	size_t length;
	struct variable *next;
};

struct value {
	const char *text;
	struct value *next;
};

struct values { /* one for each variable; missing ones are empty */
	struct value *first;
	struct values *next;
};

struct loop {
	const struct stored_line *rest;
	struct variable *variables;
	struct values *values; /* ~LST: those still to come */
	long next, step, last; /* ~SEQ */
	bool hex;
};

bool loop_is(const struct line *line)
{
	return !strncmp(line->text, "~SEQ", 4) || !strncmp(line->text, "~LST", 4);
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

static struct variable *add_variable(struct obstack *arena, const char *name, size_t length)
{
	struct variable *variable = obstack_alloc(arena, sizeof(*variable));

	*variable = (struct variable){
		.name = obstack_copy0(arena, name, length),
		.length = length,
	};
	return variable;
}

static bool sequence_limits(struct loop *loop, const long *number, unsigned count)
{
	if (count == 1) {
		loop->last = number[0];
		loop->step = loop->last < 1 ? -1 : 1;
		loop->next = loop->last < 0 ? -1 : 1;
	} else if (count == 2) {
		loop->next = number[0];
		loop->last = number[1];
		loop->step = loop->next <= loop->last ? 1 : -1;
	} else {
		loop->next = number[0];
		loop->step = number[1];
		loop->last = number[2];
	}
	return loop->step && !(loop->next < loop->last && loop->step < 0) &&
	       !(loop->next > loop->last && loop->step > 0) &&
	       !(loop->hex && (loop->next < 0 || loop->last < 0));
}

/* "1, 2, 3": C's prefixes for hex and octal. */
static bool parse_numbers(const char *text, struct loop *loop)
{
	long number[3];
	unsigned count = 0;

	for (;;) {
		char *end;

		errno = 0;
		number[count++] = strtol(text, &end, 0);
		if (end == text || errno)
			return false;
		text = skip_blanks(end);
		if (*text == '\0')
			return sequence_limits(loop, number, count);
		if (*text != ',' || count == 3)
			return false;
		text++;
	}
}

/* ~SEQ(var, 1, $END) rest */
static bool parse_sequence(struct obstack *arena, struct definitions *definitions,
                           const struct line *line, const char *directory, struct loop *loop,
                           const char **ret_problem)
{
	const char *text = line->text + 4, *name, *close;
	struct pending_body *bodies;
	struct line numbers;

	*ret_problem = "it has the form ~SEQ(variable, [start, [step,]] end) text";
	loop->hex = *text == 'x';
	text = skip_blanks(text + loop->hex);
	if (*text != '(')
		return false;
	name = skip_blanks(text + 1);
	text = name + strcspn(name, " \t,)");
	loop->variables = add_variable(arena, name, (size_t)(text - name));
	text = skip_blanks(text);
	close = strchr(text, ')');
	if (*text != ',' || !loop->variables->length || !close)
		return false;
	text = skip_blanks(text + 1);
	numbers.place = line->place;
	numbers.doubt = NULL;
	line_set(&numbers, text, (size_t)(close - text), 1);
	(void)definitions_substitute(definitions, &numbers, directory, &bodies);
	if (bodies) {
		*ret_problem = "a limit is a definition of several lines";
		return false;
	}
	if (!parse_numbers(numbers.text, loop)) {
		*ret_problem = "its limits are no numbers, or the step leads away from the end";
		return false;
	}
	close = skip_blanks(close + 1);
	loop->rest = store_line(arena, line, (size_t)(close - line->text), strlen(close));
	return true;
}

/* "a" or "{a, b}": names of variables. NULL: not of that form. */
static const char *parse_variables(struct obstack *arena, const char *text, struct loop *loop,
                                   unsigned *ret_count)
{
	struct variable **last = &loop->variables;
	bool braces = *text == '{';
	unsigned count = 0;

	text = skip_blanks(text + braces);
	for (;;) {
		size_t length = strcspn(text, " \t,}");

		*last = add_variable(arena, text, length);
		last = &(*last)->next;
		count++;
		text = skip_blanks(text + length);
		if (*text == (braces ? '}' : ','))
			break;
		if (*text != ',')
			return NULL;
		text = skip_blanks(text + 1);
	}
	if (braces)
		text = skip_blanks(text + 1);
	*ret_count = count;
	return *text == ',' ? skip_blanks(text + 1) : NULL;
}

/* "1" or "{1, 2}". NULL: not of that form, or more values than variables. */
static const char *parse_values(struct obstack *arena, const char *text, unsigned most,
                                struct values **ret)
{
	struct values *values = obstack_alloc(arena, sizeof(*values));
	struct value **last = &values->first;
	bool braces = *text == '{';

	*values = (struct values){};
	text = skip_blanks(text + braces);
	for (unsigned count = 1;; count++) {
		size_t length = strcspn(text, " \t,})");
		struct value *value = obstack_alloc(arena, sizeof(*value));

		*value = (struct value){.text = obstack_copy0(arena, text, length)};
		*last = value;
		last = &value->next;
		text = skip_blanks(text + length);
		if (*text == (braces ? '}' : ',') || (*text == ')' && !braces))
			break;
		if (*text != ',' || count == most)
			return NULL;
		text = skip_blanks(text + 1);
	}
	*ret = values;
	return braces ? skip_blanks(text + 1) : text;
}

/* ~LST(var, a, b) rest; ~LST({v, w}, {a, b}, {c, d}) rest */
static bool parse_list(struct obstack *arena, const struct line *line, struct loop *loop,
                       const char **ret_problem)
{
	const char *text = skip_blanks(line->text + 4);
	struct values **last = &loop->values;
	unsigned count;

	*ret_problem = "it has the form ~LST(variable, value, ...) text or "
		       "~LST({v, w}, {1, 2}, ...) text";
	if (*text != '(')
		return false;
	text = parse_variables(arena, skip_blanks(text + 1), loop, &count);
	while (text) {
		text = parse_values(arena, text, count, last);
		if (!text)
			break;
		last = &(*last)->next;
		if (*text == ')')
			break;
		text = *text == ',' ? skip_blanks(text + 1) : NULL;
	}
	if (!text)
		return false;
	text = skip_blanks(text + 1);
	loop->rest = store_line(arena, line, (size_t)(text - line->text), strlen(text));
	return true;
}

bool loop_parse(struct obstack *arena, struct definitions *definitions, const struct line *line,
                const char *directory, struct loop **ret, const char **ret_problem)
{
	struct loop *loop = obstack_alloc(arena, sizeof(*loop));
	bool good;

	*loop = (struct loop){};
	good = line->text[1] == 'S'
	               ? parse_sequence(arena, definitions, line, directory, loop, ret_problem)
	               : parse_list(arena, line, loop, ret_problem);
	if (good)
		*ret = loop;
	return good;
}

static bool next_of_list(struct loop *loop, struct definitions *definitions)
{
	const struct value *value = loop->values->first;

	for (const struct variable *variable = loop->variables; variable;
	     variable = variable->next) {
		definitions_set(definitions, variable->name, variable->length,
		                value ? value->text : "");
		value = value ? value->next : NULL;
	}
	loop->values = loop->values->next;
	return loop->values != NULL;
}

static bool next_of_sequence(struct loop *loop, struct definitions *definitions)
{
	char value[24];

	snprintf(value, sizeof(value), loop->hex ? "%lx" : "%ld", loop->next);
	definitions_set(definitions, loop->variables->name, loop->variables->length, value);
	if (__builtin_add_overflow(loop->next, loop->step, &loop->next))
		return false;
	return loop->step > 0 ? loop->next <= loop->last : loop->next >= loop->last;
}

bool loop_next(struct loop *loop, struct definitions *definitions, struct line *line)
{
	line_set(line, loop->rest->text, loop->rest->length, loop->rest->column);
	line->place = loop->rest->place;
	line->doubt = loop->rest->doubt;
	return loop->values ? next_of_list(loop, definitions) : next_of_sequence(loop, definitions);
}
