/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.h - a YAML document against the tables of schema.c: every mistake, and what is right of it.
 */
#ifndef XLBD_CONF_CHECK_H
#define XLBD_CONF_CHECK_H

#include <jansson.h>

#include "conf/text.h"

/*
 * Adds what is right in the document to `values`, a JSON object of the file's shape: keys that are there already are
 * replaced. Returns the number of errors, each of which became a complaint; -ENOMEM.
 */
int conf_check(struct conf_text *text, struct complaints *complaints, json_t *values);

#endif
