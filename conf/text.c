// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * text.c - from bytes to a YAML document, refusing what a configuration never needs.
 *
 * The text is gone through twice. The first time as a stream of events, which costs no memory: here YAML's own mistakes are
 * found, and anchors, aliases, tags, a second document and deep nesting are refused, so that no text can unfold
 * into more than was written. The second time libyaml builds its tree of nodes, each with its line and column.
 *
 * check.c walks the tree; conf.c looks up single keys in it when it compares one with another. Both complain
 * through conf_text_complain(), which turns a node into file:line:column and the line itself.
 *
 * libyaml counts lines as YAML does: a line ends at CR, LF, CR LF, NEL, LS or PS. So does line_start() here, or
 * the line shown would be another one. Columns are characters, not bytes.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf/text.h"
#include "xlbd/cleanup.h"

#define SOURCE_MAX 160 /* of a long line, what a complaint shows */

/* Bytes of the line break at `at`; 0: there is none. */
static size_t line_break(const char *at, size_t left)
{
	static const struct {
		const char *bytes;
		size_t length;
	} breaks[] = {{"\r\n", 2},     {"\n", 1},           {"\r", 1},
	              {"\302\205", 2}, {"\342\200\250", 3}, {"\342\200\251", 3}};

	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++)
		if (left >= breaks[i].length && memcmp(at, breaks[i].bytes, breaks[i].length) == 0)
			return breaks[i].length;
	return 0;
}

/* line from 0. The end of the text if it has fewer lines. */
static size_t line_start(const struct conf_text *text, size_t line)
{
	size_t at = 0;

	while (line && at < text->size) {
		size_t length = line_break(text->bytes + at, text->size - at);

		at += length ? length : 1;
		line -= length != 0;
	}
	return at;
}

/* Bytes of the character at `at`; 0: it is not UTF-8. */
static size_t character(const char *at, size_t left)
{
	unsigned char first = (unsigned char)*at;
	size_t length = first < 0x80   ? 1
	                : first < 0xc2 ? 0
	                : first < 0xe0 ? 2
	                : first < 0xf0 ? 3
	                               : 4;

	if (!length || length > left || first > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++)
		if (((unsigned char)at[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

/* The line, or as much of it as fits, '?' for what is no text. Returns how many characters that are. */
static size_t copy_line(const struct conf_text *text, size_t line, char ret[SOURCE_MAX + 1])
{
	size_t at = line_start(text, line), used = 0, count = 0;

	while (at < text->size && !line_break(text->bytes + at, text->size - at)) {
		const char *from = text->bytes + at;
		size_t length = character(from, text->size - at);
		bool text_too = length && *from;

		if (used + (length ? length : 1) > SOURCE_MAX)
			break;
		memcpy(ret + used, text_too ? from : "?", text_too ? length : 1);
		used += text_too ? length : 1;
		at += length ? length : 1;
		count++;
	}
	ret[used] = 0;
	return count;
}

static struct complaint place(const struct conf_text *text, enum complaint_level level,
                              const yaml_mark_t *start, const yaml_mark_t *end,
                              char source[SOURCE_MAX + 1])
{
	struct complaint where = {.level = level, .file = text->name};
	size_t shown;

	if (text->placeless || !start)
		return where;
	where.line = (unsigned)start->line + 1;
	where.column = (unsigned)start->column + 1;
	shown = copy_line(text, start->line, source);
	if (where.column > shown + 1)
		return where; /* too far to the right */
	where.source = source;
	if (end && end->line == start->line && end->column > start->column)
		where.length = (unsigned)(end->column - start->column);
	if (where.column + where.length > shown)
		where.length = (unsigned)shown - start->column;
	return where;
}

void conf_text_complain(const struct conf_text *text, struct complaints *complaints,
                        enum complaint_level level, const yaml_node_t *node, const char *hint,
                        const char *format, ...)
{
	bool scalar = node && node->type == YAML_SCALAR_NODE;
	char source[SOURCE_MAX + 1], sentence[500];
	struct complaint where = place(text, level, node ? &node->start_mark : NULL,
	                               scalar ? &node->end_mark : NULL, source);
	va_list arguments;

	where.hint = hint;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	complain(complaints, &where, "%s", sentence);
}

static void complain_mark(const struct conf_text *text, struct complaints *complaints,
                          const yaml_mark_t *mark, const char *hint, const char *sentence)
{
	char source[SOURCE_MAX + 1];
	struct complaint where = place(text, COMPLAINT_ERROR, mark, NULL, source);

	where.hint = hint;
	complain(complaints, &where, "%s", sentence);
}

/* The reader knows only how many bytes it has read. */
static yaml_mark_t mark_of_byte(const struct conf_text *text, size_t offset)
{
	yaml_mark_t mark = {};

	for (size_t at = 0; at < offset && at < text->size;) {
		size_t length = line_break(text->bytes + at, text->size - at);

		mark.line += length != 0;
		mark.column =
			length ? 0
			       : mark.column + (((unsigned char)text->bytes[at] & 0xc0) != 0x80);
		at += length ? length : 1;
	}
	return mark;
}

/* libyaml's sentences that say too little at three in the morning. */
static const struct {
	const char *problem, *hint;
} hints[] = {
	{"mapping values are not allowed in this context",
         "a value with ': ' in it belongs in quotes, a key in a line of its own"},
	{"did not find expected key", "keys of a section begin in the same column; a value that "
                                      "begins with [ belongs in quotes"},
};

static const char *yaml_hint(const struct conf_text *text, const yaml_parser_t *parser,
                             const yaml_mark_t *mark, char buffer[200])
{
	size_t at = line_start(text, mark->line) + mark->column;

	if (text->placeless || !parser->problem)
		return NULL;
	if (parser->error == YAML_SCANNER_ERROR && at < text->size && text->bytes[at] == '\t')
		return "a tab: YAML is indented with spaces";
	for (size_t i = 0; i < ARRAY_SIZE(hints); i++)
		if (strcmp(hints[i].problem, parser->problem) == 0)
			return hints[i].hint;
	if (!parser->context)
		return NULL;
	snprintf(buffer, 200, "%s that starts in line %zu", parser->context,
	         parser->context_mark.line + 1);
	return buffer;
}

static int complain_yaml(const struct conf_text *text, struct complaints *complaints,
                         const yaml_parser_t *parser)
{
	yaml_mark_t mark = parser->problem_mark;
	char sentence[200], hint[200];

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_READER_ERROR)
		mark = mark_of_byte(text, parser->problem_offset);
	snprintf(sentence, sizeof(sentence), "not YAML: %s",
	         parser->problem ? parser->problem : "unreadable");
	complain_mark(text, complaints, &mark, yaml_hint(text, parser, &mark, hint), sentence);
	return -EINVAL;
}

struct depth {
	int nesting, documents;
};

/* What this event has that no configuration needs; NULL: nothing. */
static const char *refusal(const yaml_event_t *event, struct depth *depth)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return "an alias (*name) is not allowed here: write the value itself";
	case YAML_DOCUMENT_START_EVENT:
		return depth->documents++ ? "a second document in one file" : NULL;
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
		depth->nesting++;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
		depth->nesting++;
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		depth->nesting--;
		break;
	default:
		break;
	}
	if (anchor)
		return "an anchor (&name) is not allowed here";
	if (tag)
		return "a tag (!name) is not allowed here";
	return depth->nesting > CONF_DEPTH_MAX ? "nested too deeply" : NULL;
}

static void start(yaml_parser_t *parser, const struct conf_text *text)
{
	yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(parser, (const unsigned char *)text->bytes, text->size);
}

static int read_events(const struct conf_text *text, struct complaints *complaints)
{
	_cleanup_(yaml_parser_delete) yaml_parser_t parser = {};
	struct depth depth = {};
	bool more = true;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	start(&parser, text);
	while (more) {
		yaml_event_t event;
		const char *refused;

		if (!yaml_parser_parse(&parser, &event))
			return complain_yaml(text, complaints, &parser);
		more = event.type != YAML_STREAM_END_EVENT;
		refused = refusal(&event, &depth);
		if (refused)
			complain_mark(text, complaints, &event.start_mark, NULL, refused);
		yaml_event_delete(&event);
		if (refused)
			return -EINVAL;
	}
	return 0;
}

int conf_text_parse(struct conf_text *text, struct complaints *complaints)
{
	_cleanup_(yaml_parser_delete) yaml_parser_t parser = {};
	int r;

	r = read_events(text, complaints);
	if (r < 0)
		return r;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	start(&parser, text);
	if (!yaml_parser_load(&parser, &text->document))
		return complain_yaml(text, complaints, &parser);
	text->parsed = true;
	return 0;
}

void conf_text_close(struct conf_text *text)
{
	if (text->parsed)
		yaml_document_delete(&text->document);
	text->parsed = false;
}

const yaml_node_t *conf_text_root(struct conf_text *text)
{
	return text->parsed ? yaml_document_get_root_node(&text->document) : NULL;
}

const yaml_node_t *conf_text_node(struct conf_text *text, int index)
{
	return yaml_document_get_node(&text->document, index);
}

static const yaml_node_t *child(struct conf_text *text, const yaml_node_t *node, const char *key,
                                size_t length)
{
	if (node->type != YAML_MAPPING_NODE)
		return NULL;
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *name = conf_text_node(text, pair->key);

		if (name->type == YAML_SCALAR_NODE && name->data.scalar.length == length &&
		    memcmp(name->data.scalar.value, key, length) == 0)
			return conf_text_node(text, pair->value);
	}
	return NULL;
}

const yaml_node_t *conf_text_find(struct conf_text *text, const char *path)
{
	const yaml_node_t *node = conf_text_root(text);

	while (node && *path) {
		size_t length = strcspn(path, ".");

		node = child(text, node, path, length);
		path += length + (path[length] == '.');
	}
	return node;
}

bool conf_node_is_empty(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE && !node->data.scalar.length &&
	       node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* A terminal must not obey what stands in a file: C0 and C1 controls become '?'. */
static void quote(const unsigned char *value, size_t length, char buffer[CONF_QUOTED_TEXT])
{
	const size_t room = CONF_QUOTED_TEXT - sizeof("'...'");
	size_t kept = length < room ? length : room;
	char *out = buffer;

	while (kept < length && kept && (value[kept] & 0xc0) == 0x80)
		kept--;
	*out++ = '\'';
	for (size_t i = 0; i < kept; i++) {
		bool c1 = value[i] == 0xc2 && i + 1 < kept && value[i + 1] < 0xa0;

		*out++ = value[i] < ' ' || value[i] == 0x7f || c1 ? '?' : (char)value[i];
		i += c1;
	}
	strcpy(out, kept < length ? "...'" : "'");
}

const char *conf_quote(const char *value, char buffer[CONF_QUOTED_TEXT])
{
	quote((const unsigned char *)value, strlen(value), buffer);
	return buffer;
}

const char *conf_node_quote(const yaml_node_t *node, char buffer[CONF_QUOTED_TEXT])
{
	if (node->type == YAML_SEQUENCE_NODE)
		return "a list";
	if (node->type == YAML_MAPPING_NODE)
		return "a section";
	if (conf_node_is_empty(node))
		return "an empty value";
	quote(node->data.scalar.value, node->data.scalar.length, buffer);
	return buffer;
}
