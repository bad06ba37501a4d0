/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loops.h - ~SEQ(...), ~SEQx(...) and ~LST(...): the rest of the line, once for each value. Pure.
 */
#ifndef XLBD_KEEPALIVED_LOOPS_H
#define XLBD_KEEPALIVED_LOOPS_H

#include <obstack.h>
#include <stdbool.h>

#include "xlbd/keepalived/definitions.h"
#include "xlbd/keepalived/line.h"

struct loop; /* opaque; lives in the arena */

bool loop_is(const struct line *line); /* does it begin with one? */
/*
 * Reads the head of the line; parameters of ~SEQ may be definitions. False: *ret_problem says what is wrong with it.
 */
bool loop_parse(struct obstack *arena, struct definitions *definitions, const struct line *line,
                const char *directory, struct loop **ret, const char **ret_problem);
/* Sets the variables and gives the line for the next value. False: that was the last one. */
bool loop_next(struct loop *loop, struct definitions *definitions, struct line *line);

#endif
