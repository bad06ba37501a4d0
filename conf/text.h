/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - one YAML text that somebody wrote: the file, or one override; and how a complaint finds its place in it.
 */
#ifndef XLBD_CONF_TEXT_H
#define XLBD_CONF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "xlbd/complaint.h"

#define CONF_TEXT_MAX    (1024 * 1024) /* bytes of a file */
#define CONF_DEPTH_MAX   8             /* sections and lists in one another */
#define CONF_QUOTED_TEXT 80            /* room for a quoted value */

struct conf_text {
	const char *name;  /* "/etc/xlbd/xlbd.yaml", "-o silence=3s" */
	const char *bytes; /* borrowed; YAML in UTF-8 */
	size_t size;
	bool placeless; /* `bytes` is made from something else: places in it mean nothing */
	bool parsed;
	yaml_document_t document; /* if parsed */
};

/* -EINVAL with a complaint, -ENOMEM. The text must stay where it is until conf_text_close(). */
int conf_text_parse(struct conf_text *text, struct complaints *complaints);
void conf_text_close(struct conf_text *text);

const yaml_node_t *conf_text_root(struct conf_text *text); /* NULL: nothing in it */
const yaml_node_t *conf_text_node(struct conf_text *text, int index);
const yaml_node_t *conf_text_find(struct conf_text *text, const char *path); /* dotted; or NULL */

/* node NULL: the whole text. hint NULL: none. */
void conf_text_complain(const struct conf_text *text, struct complaints *complaints,
                        enum complaint_level level, const yaml_node_t *node, const char *hint,
                        const char *format, ...) __attribute__((format(printf, 6, 7)));

bool conf_node_is_empty(const yaml_node_t *node); /* "key:" and nothing behind it */
/* A value as a complaint shows it: 'quoted', cut, without control characters; or "a list". */
const char *conf_node_quote(const yaml_node_t *node, char buffer[CONF_QUOTED_TEXT]);
const char *conf_quote(const char *value, char buffer[CONF_QUOTED_TEXT]);

#endif
