// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * definitions.c - the `$` definitions of keepalived.conf.
 *
 * The lexer asks three things of this file: is this line a definition, does this line belong to the one that is
 * open, and what becomes of the references in this line. A value may be several lines; it then takes effect only
 * where its reference ends a line: the first line goes in its place, the others follow as lines of their own. A value
 * is replaced as it stands, so it may hold references, `@`, `~` and braces: the lexer looks at the result again.
 *
 * Names are found in a small hash table; bodies are never changed once complete, because one may be redefined while the
 * lexer is still reading it. Built-ins: _PWD, _INSTANCE, _HASH, _BANG have their values; _RANDOM and _ENV have values that
 * only keepalived's processes know, so a line that uses them is marked doubtful. All memory is the caller's arena, whose
 * size the lexer bounds by the bytes that it reads.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/keepalived/definitions.h"

#define BUCKETS 256

enum builtin { BUILTIN_NONE, BUILTIN_PWD, BUILTIN_RANDOM, BUILTIN_ENV };

struct definition {
	const char *name;
	size_t length;
	enum builtin builtin; /* BUILTIN_NONE: the value is `first` */
	bool several;         /* of several lines: references to it must end a line */
	bool garbled;         /* a loop's variable that was of several lines */
	struct body *first, *last;
	char *value; /* of a definition of one line */
	size_t room; /* for it; kept when it is set again, as loops do */
	struct definition *next;
};

struct definitions {
	struct obstack *arena;
	struct definition *bucket[BUCKETS];
	struct definition *open; /* the one that definitions_continue() adds to */
};

struct reference {
	struct definition *definition;
	size_t length; /* of all that is replaced */
	const char *parameters;
};

struct stored_line *store_line(struct obstack *arena, const struct line *line, size_t from,
                               size_t length)
{
	struct stored_line *stored = obstack_alloc(arena, sizeof(*stored));

	*stored = (struct stored_line){
		.place = line->place,
		.text = obstack_copy0(arena, line->text + from, length),
		.length = length,
		.column = from < line->length ? line->column[from] : 1,
		.doubt = line->doubt,
	};
	return stored;
}

void line_restore(struct line *line, const struct stored_line *stored, const struct place *by)
{
	line_set(line, stored->text, stored->length, stored->column);
	line->place = stored->place;
	line->place.via_file = by->via_line ? by->via_file : by->file;
	line->place.via_line = by->via_line ? by->via_line : by->line;
	line->doubt = stored->doubt;
}

static unsigned bucket_of(const char *name, size_t length)
{
	unsigned hash = 5381;

	for (size_t i = 0; i < length; i++)
		hash = hash * 33 ^ (unsigned char)name[i];
	return hash % BUCKETS;
}

static struct definition *find(const struct definitions *definitions, const char *name,
                               size_t length)
{
	struct definition *found = definitions->bucket[bucket_of(name, length)];

	while (found && (found->length != length || memcmp(found->name, name, length)))
		found = found->next;
	return found;
}

static struct definition *find_or_add(struct definitions *definitions, const char *name,
                                      size_t length)
{
	struct definition *definition = find(definitions, name, length);
	unsigned bucket;

	if (definition)
		return definition;
	bucket = bucket_of(name, length);
	definition = obstack_alloc(definitions->arena, sizeof(*definition));
	*definition = (struct definition){
		.length = length,
		.next = definitions->bucket[bucket],
	};
	definition->name = obstack_copy0(definitions->arena, name, length);
	definitions->bucket[bucket] = definition;
	return definition;
}

static void set_value(struct obstack *arena, struct definition *definition, const char *value,
                      size_t length)
{
	definition->builtin = BUILTIN_NONE;
	definition->several = definition->garbled = false;
	definition->first = definition->last = NULL;
	if (length >= definition->room) {
		definition->room = length < 23 ? 24 : length + 1;
		definition->value = obstack_alloc(arena, definition->room);
	}
	memcpy(definition->value, value, length);
	definition->value[length] = '\0';
}

struct definitions *definitions_new(struct obstack *arena, const char *config_id)
{
	static const struct {
		const char *name, *value;
		enum builtin builtin;
	} builtins[] = {
		{"_PWD", "", BUILTIN_PWD},    {"_RANDOM", "", BUILTIN_RANDOM},
		{"_ENV", "", BUILTIN_ENV},    {"_HASH", "#", BUILTIN_NONE},
		{"_BANG", "!", BUILTIN_NONE},
	};
	struct definitions *definitions = obstack_alloc(arena, sizeof(*definitions));

	*definitions = (struct definitions){.arena = arena};
	for (size_t i = 0; i < ARRAY_SIZE(builtins); i++) {
		struct definition *definition =
			find_or_add(definitions, builtins[i].name, strlen(builtins[i].name));

		set_value(arena, definition, builtins[i].value, strlen(builtins[i].value));
		definition->builtin = builtins[i].builtin;
	}
	set_value(arena, find_or_add(definitions, "_INSTANCE", 9), config_id, strlen(config_id));
	return definitions;
}

void definitions_set(struct definitions *definitions, const char *name, size_t length,
                     const char *value)
{
	struct definition *definition = find_or_add(definitions, name, length);
	bool garbled = definition->several || definition->garbled;

	set_value(definitions->arena, definition, value, strlen(value));
	definition->garbled = garbled;
}

static size_t name_length(const char *text)
{
	size_t length = 0;

	if (!isalpha((unsigned char)*text) && *text != '_')
		return 0;
	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return length;
}

/* Adds a line of the open definition; a line of nothing is none. True: it ended with a backslash. */
static bool add_line(struct definitions *definitions, const struct line *line, size_t from)
{
	struct definition *open = definitions->open;
	size_t end = line->length;
	bool continued = end > from && line->text[end - 1] == '\\';
	struct body *body;

	if (continued)
		end--;
	while (end > from && is_blank(line->text[end - 1]))
		end--;
	if (end == from)
		return continued;
	body = obstack_alloc(definitions->arena, sizeof(*body));
	*body = (struct body){
		.line = store_line(definitions->arena, line, from, end - from),
	};
	if (open->last)
		open->last->next = body;
	else
		open->first = body;
	open->last = body;
	return continued;
}

bool definitions_take(struct definitions *definitions, const struct line *line, bool *ret_continues)
{
	size_t length, from;

	if (line->text[0] != '$')
		return false;
	length = name_length(line->text + 1);
	from = length + 1;
	if (!length || line->text[from] != '=')
		return false;
	for (from++; is_blank(line->text[from]); from++)
		;
	definitions->open = find_or_add(definitions, line->text + 1, length);
	if (line->length > from && line->text[line->length - 1] == '\\') {
		set_value(definitions->arena, definitions->open, "", 0);
		definitions->open->several = true;
		(void)add_line(definitions, line, from); /* ends with a backslash, as we know */
		*ret_continues = true;
	} else {
		set_value(definitions->arena, definitions->open, line->text + from,
		          line->length - from);
		*ret_continues = false;
	}
	return true;
}

bool definitions_continue(struct definitions *definitions, const struct line *line)
{
	struct definition *open = definitions->open;

	if (!open->first && line->text[line->length - 1] != '\\') {
		/* a single line behind an empty first one: to keepalived that is not several */
		set_value(definitions->arena, open, line->text, line->length);
		definitions->open = NULL;
		return false;
	}
	if (add_line(definitions, line, 0))
		return true;
	definitions_end(definitions);
	return false;
}

void definitions_end(struct definitions *definitions)
{
	/* without any line it is an ordinary empty definition */
	if (definitions->open && !definitions->open->first)
		definitions->open->several = false;
	definitions->open = NULL;
}

/* Behind the name of ${NAME ...}: blanks and digits, or for _ENV anything, up to the brace. 0: not a reference. */
static size_t parameters_length(const struct definition *definition, const char *text)
{
	size_t length = definition->builtin == BUILTIN_RANDOM ? strspn(text, " 0123456789")
	                : definition->builtin == BUILTIN_ENV  ? strcspn(text, "{}")
	                                                      : 0;

	if (text[length] != '}' || (length && text[length - 1] == ' '))
		return SIZE_MAX;
	return length;
}

/* What the `$` at `at` refers to. False: it is text. */
static bool find_reference(const struct definitions *definitions, const struct line *line,
                           size_t at, struct reference *ret)
{
	bool braces = line->text[at + 1] == '{';
	const char *name = line->text + at + 1 + braces;
	size_t length = name_length(name), parameters = 0;
	struct definition *definition;
	bool at_end;

	if (!length)
		return false;
	definition = find(definitions, name, length);
	if (!definition)
		return false;
	if (braces)
		parameters = parameters_length(definition, name + length);
	else if (name[length] && !strchr(" \t,)", name[length]))
		return false;
	if (parameters == SIZE_MAX || (definition->builtin == BUILTIN_ENV && !braces))
		return false;
	at_end = name[length + parameters + braces] == '\0';
	if (definition->several && (!at_end || !definition->first))
		return false;
	*ret = (struct reference){
		.definition = definition,
		.length = 1 + length + parameters + 2 * (size_t)braces,
		.parameters = parameters ? name + length : "",
	};
	return true;
}

static bool is_known(const struct definition *definition)
{
	return definition->builtin != BUILTIN_RANDOM && definition->builtin != BUILTIN_ENV;
}

/* The text for a reference; `buffer` has room for any number. */
static const char *value_of(const struct reference *reference, const char *directory,
                            struct line *line, char *buffer, size_t size)
{
	unsigned long lowest = 0;

	switch (reference->definition->builtin) {
	case BUILTIN_NONE:
		if (reference->definition->garbled)
			line->doubt = "its loop has a variable that was a definition of several "
				      "lines, which keepalived garbles";
		return reference->definition->value;
	case BUILTIN_PWD:
		return directory;
	case BUILTIN_ENV:
		line->doubt = "it depends on the environment of keepalived (_ENV)";
		return "";
	case BUILTIN_RANDOM:
		line->doubt = "it depends on _RANDOM, which each of keepalived's processes throws "
			      "for itself";
		(void)sscanf(reference->parameters, "%19lu", &lowest); /* none: 0 */
		snprintf(buffer, size, "%lu", lowest);
		return buffer;
	}
	return "";
}

/*
 * The first line of the definition takes the place of the reference. If it is the whole line, the line is from now on
 * that of the definition, with its columns.
 */
static bool replace_by_several(struct definitions *definitions, struct line *line, size_t at,
                               const struct reference *reference, struct pending_body **bodies)
{
	const struct body *first = reference->definition->first;
	struct place by = line->place;
	const char *doubt = line->doubt;
	struct pending_body *pending;

	if (at == 0)
		line_restore(line, first->line, &by);
	else if (!line_replace(line, at, reference->length, first->line->text, first->line->length))
		return false;
	if (!line->doubt)
		line->doubt = doubt ? doubt : first->line->doubt;
	if (!first->next)
		return true;
	pending = obstack_alloc(definitions->arena, sizeof(*pending));
	*pending = (struct pending_body){.body = first->next, .by = by, .next = *bodies};
	*bodies = pending;
	return true;
}

enum substituted definitions_substitute(struct definitions *definitions, struct line *line,
                                        const char *directory, struct pending_body **ret_body)
{
	struct pending_body *bodies = NULL;
	enum substituted done = SUBSTITUTED_NOTHING;
	unsigned count = 0;
	char buffer[32];
	char *dollar = line->text;

	while ((dollar = strchr(dollar, '$')) && dollar[1]) {
		size_t at = (size_t)(dollar - line->text);
		struct reference reference;
		const char *value;
		bool fits;

		if (!find_reference(definitions, line, at, &reference)) {
			dollar++;
			continue;
		}
		if (count++ == SUBSTITUTIONS_MAX) {
			done = SUBSTITUTED_ENDLESS;
			break;
		}
		value = reference.definition->several
		                ? reference.definition->first->line->text
		                : value_of(&reference, directory, line, buffer, sizeof(buffer));
		fits = reference.definition->several
		               ? replace_by_several(definitions, line, at, &reference, &bodies)
		               : line_replace(line, at, reference.length, value, strlen(value));
		if (!fits) {
			done = SUBSTITUTED_TOO_LONG;
			break;
		}
		if (done != SUBSTITUTED_UNKNOWN)
			done = is_known(reference.definition) ? SUBSTITUTED : SUBSTITUTED_UNKNOWN;
		/* what begins with ~ is looked at before its own references are */
		if (value[strspn(value, " \t")] == '~')
			break;
	}
	*ret_body = bodies;
	return done;
}
