/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * problems.h - everything that an operator should look at now, in sentences.
 */
#ifndef XLBD_CONTROL_PROBLEMS_H
#define XLBD_CONTROL_PROBLEMS_H

#include <jansson.h>

#define PROBLEMS_MAX 100 /* in one list; the rest is counted */

struct xlbd;

/* An array of {"level": "error"|"warning", "about": what or null, "text": sentence}, errors first. New reference. */
json_t *problems_list(const struct xlbd *xlbd);

#endif
