// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check.c - walks a YAML document by cyaml's tables and finds everything that is wrong with it.
 *
 * cyaml itself stops at the first mistake. A person wants all of them, so this walk comes first: unknown keys (with the
 * one that was probably meant), keys set twice or missing, values of the wrong type, out of range or not one
 * of the words. One function a type, in the table at the end.
 *
 * What is right is collected as JSON, which is YAML too: wrong keys are left out, values are in one canonical
 * writing, one value for a whole section (connections: 2M) has become one for each key. conf.c lays these objects
 * over each other and gives the result to cyaml; so keys can be compared with each other even if others are wrong.
 *
 * Each check_x() returns the value, or NULL if it was wrong and complained about. Recursion ends with the schema.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "conf/check.h"
#include "conf/schema.h"
#include "xlbd/cleanup.h"

#define PATH_TEXT  128 /* room for a dotted path of the schema, and one key that is not in it */
#define TITLE_TEXT 160 /* room for what a complaint calls a key of the schema */
#define HINT_TEXT  200

struct check {
	struct conf_text *text;
	struct complaints *complaints;
	int errors;
	bool out_of_memory;
};

/* A place in the schema, on the way down. */
struct spot {
	const char *path;
	const char *title; /* as a complaint calls it: "'poll'", "an entry of 'interfaces'" */
	const cyaml_schema_value_t *schema;
};

static json_t *check_value(struct check *check, const struct spot *spot, const yaml_node_t *node);

static json_t *json_freed(json_t *json)
{
	json_decref(json);
	return NULL;
}
DEFINE_CLEANUP(json_t, json_freed)

#define wrong(check, node, hint, ...)                                                         \
	do {                                                                                  \
		(check)->errors++;                                                            \
		conf_text_complain((check)->text, (check)->complaints, COMPLAINT_ERROR, node, \
		                   hint, __VA_ARGS__);                                        \
	} while (0)

static json_t *or_no_memory(struct check *check, json_t *json)
{
	check->out_of_memory |= !json;
	return json;
}

static const char *join(const char *path, const char *key, char buffer[PATH_TEXT])
{
	snprintf(buffer, PATH_TEXT, "%s%s%s", path, *path ? "." : "", key);
	return buffer;
}

/* ---- what was probably meant ------------------------------------------------------------------ */

struct guess {
	const char *key, *section; /* as written */
	unsigned distance;
	char path[PATH_TEXT];
};

static void guess_among(struct guess *guess, const cyaml_schema_field_t *fields,
                        const char *section)
{
	/* a key of another section must be closer to be believed */
	unsigned elsewhere = strcmp(section, guess->section) != 0;

	for (; fields->key; fields++) {
		const cyaml_schema_value_t *value = &fields->value;
		unsigned distance = form_distance(guess->key, fields->key) + elsewhere;
		char path[PATH_TEXT];

		join(section, fields->key, path);
		if (distance < guess->distance) {
			guess->distance = distance;
			memcpy(guess->path, path, sizeof(path));
		}
		if (value->type == CYAML_SEQUENCE)
			value = value->sequence.entry;
		if (value->type == CYAML_MAPPING)
			guess_among(guess, value->mapping.fields, path);
	}
}

/* Slips that a word of this length may have and still be the same word. */
static unsigned tolerance(const char *word)
{
	size_t length = strlen(word);

	return length < 4 ? 1 : length < 9 ? 2 : 3;
}

static void unknown_key(struct check *check, const char *section, const yaml_node_t *key_node)
{
	const char *key = (const char *)key_node->data.scalar.value;
	struct guess guess = {key, section, tolerance(key) + 1, ""};
	char path[PATH_TEXT], quoted[CONF_QUOTED_TEXT], hint[HINT_TEXT];

	guess_among(&guess, conf_schema.mapping.fields, "");
	snprintf(hint, sizeof(hint), "did you mean '%s'?", guess.path);
	wrong(check, key_node, guess.path[0] ? hint : NULL, "unknown key %s",
	      conf_quote(join(section, key, path), quoted));
}

static const char *guess_word(const char *word, const cyaml_schema_value_t *schema)
{
	unsigned closest = tolerance(word) + 1;
	const char *guess = NULL;

	for (uint32_t i = 0; i < schema->enumeration.count; i++) {
		const char *known = schema->enumeration.strings[i].str;
		unsigned distance = form_distance(word, known);

		/* half of a short word is too much to guess */
		if (distance < closest && distance * 2 < strlen(known)) {
			closest = distance;
			guess = known;
		}
	}
	return guess;
}

/* ---- values ----------------------------------------------------------------------------------- */

/* The text of a scalar that may be a value; NULL: complained. */
static const char *scalar(struct check *check, const struct spot *spot, const yaml_node_t *node)
{
	const char *value = (const char *)node->data.scalar.value;
	char quoted[CONF_QUOTED_TEXT];

	if (node->type != YAML_SCALAR_NODE) {
		wrong(check, node, NULL, "%s takes one value, not %s", spot->title,
		      conf_node_quote(node, quoted));
		return NULL;
	}
	if (!node->data.scalar.length) {
		wrong(check, node, "the default holds if the line is left out", "%s has no value",
		      spot->title);
		return NULL;
	}
	for (size_t i = 0; i < node->data.scalar.length; i++)
		if ((unsigned char)value[i] < ' ' || value[i] == 0x7f) {
			wrong(check, node, NULL, "%s has a control character in its value",
			      spot->title);
			return NULL;
		}
	return value;
}

static bool in_range(struct check *check, const struct spot *spot, const struct conf_range *range,
                     const yaml_node_t *node)
{
	const char *value = (const char *)node->data.scalar.value;
	const char * or = range->word ? " or " : "", *word = range->word ? range->word : "";
	bool fits = form_fits(range->form, value);
	uint64_t number, min = 0, max = UINT64_MAX;
	char quoted[CONF_QUOTED_TEXT];

	conf_quote(value, quoted);
	if (range->word && strcmp(value, range->word) == 0)
		return true;
	if (!form_is_number(range->form)) {
		if (!fits)
			wrong(check, node, form_hint(range->form), "%s must be %s%s%s, not %s",
			      spot->title, form_name(range->form), or, word, quoted);
		return fits;
	}
	form_number(range->form, range->min, &min);
	form_number(range->form, range->max, &max);
	if (form_number(range->form, value, &number) && number >= min && number <= max)
		return true;
	wrong(check, node, fits ? NULL : form_hint(range->form),
	      "%s must be %s from %s to %s, not %s", spot->title, form_name(range->form),
	      range->min, range->max, quoted);
	return false;
}

static json_t *check_string(struct check *check, const struct spot *spot, const yaml_node_t *node)
{
	const struct conf_range *range = conf_range(spot->path);
	const char *value = scalar(check, spot, node);
	char canonical[CONF_CANONICAL_TEXT];

	if (!value)
		return NULL;
	if (node->data.scalar.length > spot->schema->string.max) {
		wrong(check, node, NULL, "%s is %zu bytes long, at most %u are possible",
		      spot->title, node->data.scalar.length, spot->schema->string.max);
		return NULL;
	}
	if (range && !in_range(check, spot, range, node))
		return NULL;
	if (range)
		value = form_canonical(range->form, value, canonical);
	return or_no_memory(check, json_string(value));
}

static const char *list_words(const cyaml_schema_value_t *schema, char buffer[HINT_TEXT])
{
	size_t used = 0;

	buffer[0] = 0;
	for (uint32_t i = 0; i < schema->enumeration.count && used < HINT_TEXT; i++) {
		uint32_t left = schema->enumeration.count - 1 - i;

		used += (size_t)snprintf(buffer + used, HINT_TEXT - used, "%s%s",
		                         schema->enumeration.strings[i].str,
		                         left > 1    ? ", "
		                         : left == 1 ? " or "
		                                     : "");
	}
	return buffer;
}

static json_t *check_word(struct check *check, const struct spot *spot, const yaml_node_t *node)
{
	const cyaml_schema_value_t *schema = spot->schema;
	bool any_case = schema->flags & CYAML_FLAG_CASE_INSENSITIVE;
	const char *value = scalar(check, spot, node), *guess;
	char words[HINT_TEXT], hint[HINT_TEXT], quoted[CONF_QUOTED_TEXT];

	if (!value)
		return NULL;
	for (uint32_t i = 0; i < schema->enumeration.count; i++) {
		const char *known = schema->enumeration.strings[i].str;

		if ((any_case ? strcasecmp(value, known) : strcmp(value, known)) == 0)
			return or_no_memory(check, json_string(known));
	}
	guess = guess_word(value, schema);
	snprintf(hint, sizeof(hint), "did you mean '%s'?", guess);
	wrong(check, node, guess ? hint : NULL, "%s must be %s, not %s", spot->title,
	      list_words(schema, words), conf_quote(value, quoted));
	return NULL;
}

/* ---- sections --------------------------------------------------------------------------------- */

/* connections: 2M stands for {ipv4: 2M, ipv6: 2M}. */
static json_t *one_for_all(struct check *check, const struct spot *spot,
                           const struct conf_range *range, const yaml_node_t *node)
{
	_cleanup_(json_freedp) json_t *values = or_no_memory(check, json_object());
	const char *value = scalar(check, spot, node);

	if (!values || !value || !in_range(check, spot, range, node))
		return NULL;
	for (const cyaml_schema_field_t *field = spot->schema->mapping.fields; field->key; field++)
		check->out_of_memory |=
			json_object_set_new(values, field->key, json_string(value)) < 0;
	return take_ptr(values);
}

/* The index of the key in the section's table; -1: complained. */
static int find_field(struct check *check, const struct spot *spot, const yaml_node_t *key)
{
	const cyaml_schema_field_t *fields = spot->schema->mapping.fields;

	if (key->type != YAML_SCALAR_NODE) {
		wrong(check, key, NULL, "a key must be a word");
		return -1;
	}
	for (int i = 0; fields[i].key; i++)
		if (strlen(fields[i].key) == key->data.scalar.length &&
		    memcmp(fields[i].key, key->data.scalar.value, key->data.scalar.length) == 0)
			return i;
	unknown_key(check, spot->path, key);
	return -1;
}

static void check_pair(struct check *check, const struct spot *spot, const yaml_node_pair_t *pair,
                       const yaml_node_t *seen[], json_t *values)
{
	const yaml_node_t *key = conf_text_node(check->text, pair->key);
	const yaml_node_t *node = conf_text_node(check->text, pair->value);
	int index = find_field(check, spot, key);
	const cyaml_schema_field_t *field;
	char path[PATH_TEXT], title[TITLE_TEXT], hint[HINT_TEXT];
	json_t *value;

	if (index < 0)
		return;
	assert(index < CONF_FIELDS_MAX);
	field = &spot->schema->mapping.fields[index];
	join(spot->path, field->key, path);
	snprintf(title, sizeof(title), "'%s'", path);
	if (seen[index]) {
		snprintf(hint, sizeof(hint), "first in line %zu", seen[index]->start_mark.line + 1);
		wrong(check, key, check->text->placeless ? NULL : hint, "%s is set twice", title);
	} else {
		seen[index] = key;
	}
	value = check_value(check, &(struct spot){path, title, &field->value}, node);
	if (value)
		check->out_of_memory |= json_object_set_new(values, field->key, value) < 0;
}

static json_t *check_section(struct check *check, const struct spot *spot, const yaml_node_t *node)
{
	_cleanup_(json_freedp) json_t *values = or_no_memory(check, json_object());
	const cyaml_schema_field_t *fields = spot->schema->mapping.fields;
	const yaml_node_t *seen[CONF_FIELDS_MAX] = {};
	const struct conf_range *range = conf_range(spot->path);
	char quoted[CONF_QUOTED_TEXT];
	bool missing = false;

	if (!values)
		return NULL;
	if (conf_node_is_empty(node) && !check->text->placeless)
		return take_ptr(values); /* all its keys are commented out */
	if (node->type == YAML_SCALAR_NODE && range)
		return one_for_all(check, spot, range, node);
	if (node->type != YAML_MAPPING_NODE) {
		wrong(check, node, range ? form_hint(range->form) : NULL,
		      "%s must be a section of 'key: value' lines, not %s", spot->title,
		      conf_node_quote(node, quoted));
		return NULL;
	}
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		/* more than anybody will read: enough said */
		if (check->errors > COMPLAINTS_MAX)
			return NULL;
		check_pair(check, spot, pair, seen, values);
	}
	for (int i = 0; fields[i].key; i++) {
		if (seen[i] || fields[i].value.flags & CYAML_FLAG_OPTIONAL)
			continue;
		wrong(check, node, NULL, "'%s.%s' is missing", spot->path, fields[i].key);
		missing = true;
	}
	return missing ? NULL : take_ptr(values);
}

/* ---- lists ------------------------------------------------------------------------------------ */

/* What tells one entry of a list from another: itself, or its first key. */
static const json_t *identity(const struct spot *spot, const json_t *value)
{
	const cyaml_schema_value_t *entry = spot->schema->sequence.entry;

	return entry->type == CYAML_MAPPING ? json_object_get(value, entry->mapping.fields[0].key)
	                                    : value;
}

static void append(struct check *check, const struct spot *spot, const yaml_node_t *node,
                   json_t *values, json_t *value)
{
	const json_t *name = identity(spot, value), *other;
	char quoted[CONF_QUOTED_TEXT];
	size_t index;

	if (!name) {
		json_decref(value); /* its name was wrong, and is complained about */
		return;
	}
	json_array_foreach((json_t *)values, index, other)
		if (json_equal(identity(spot, other), name)) {
			wrong(check, node, NULL, "%s is twice in %s",
			      conf_quote(json_string_value(name), quoted), spot->title);
			json_decref(value);
			return;
		}
	check->out_of_memory |= json_array_append_new(values, value) < 0;
}

static json_t *check_list(struct check *check, const struct spot *spot, const yaml_node_t *node)
{
	_cleanup_(json_freedp) json_t *values = or_no_memory(check, json_array());
	const cyaml_schema_value_t *schema = spot->schema;
	char quoted[CONF_QUOTED_TEXT], title[TITLE_TEXT];
	uint32_t count = 0;

	if (!values)
		return NULL;
	if (conf_node_is_empty(node) && !check->text->placeless)
		return take_ptr(values);
	if (node->type != YAML_SEQUENCE_NODE) {
		wrong(check, node, "in brackets, [a, b], or one a line behind '- '",
		      "%s must be a list, not %s", spot->title, conf_node_quote(node, quoted));
		return NULL;
	}
	snprintf(title, sizeof(title), "an entry of %s", spot->title);
	for (const yaml_node_item_t *item = node->data.sequence.items.start;
	     item < node->data.sequence.items.top; item++) {
		const yaml_node_t *entry = conf_text_node(check->text, *item);
		json_t *value;

		if (count++ == schema->sequence.max) {
			wrong(check, entry, NULL, "%s has more than %u entries", spot->title,
			      schema->sequence.max);
			return NULL;
		}
		if (check->errors > COMPLAINTS_MAX)
			return NULL;
		value = check_value(
			check, &(struct spot){spot->path, title, schema->sequence.entry}, entry);
		if (value)
			append(check, spot, entry, values, value);
	}
	return take_ptr(values);
}

static json_t *check_value(struct check *check, const struct spot *spot, const yaml_node_t *node)
{
	static json_t *(*const checks[CYAML__TYPE_COUNT])(struct check *, const struct spot *,
	                                                  const yaml_node_t *) = {
		[CYAML_STRING] = check_string,
		[CYAML_ENUM] = check_word,
		[CYAML_MAPPING] = check_section,
		[CYAML_SEQUENCE] = check_list,
	};

	return checks[spot->schema->type](check, spot, node);
}

int conf_check(struct conf_text *text, struct complaints *complaints, json_t *values)
{
	struct check check = {.text = text, .complaints = complaints};
	const yaml_node_t *root = conf_text_root(text);
	_cleanup_(json_freedp) json_t *found = NULL;

	if (!root)
		return 0;
	found = check_value(&check, &(struct spot){"", "the file", &conf_schema}, root);
	if (found)
		check.out_of_memory |= json_object_update_recursive(values, found) < 0;
	return check.out_of_memory ? -ENOMEM : check.errors;
}
