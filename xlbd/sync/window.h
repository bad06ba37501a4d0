/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window.h - which sequences have been received: each is taken once, and what is missing is known. Pure.
 */
#ifndef XLBD_SYNC_WINDOW_H
#define XLBD_SYNC_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlbd/sync/wire.h"

#define WINDOW_BITS 32768u /* a sequence that is so far behind the highest is too old */

struct window {
	uint64_t highest;  /* received, or known to have been sent */
	uint64_t received; /* all up to here have been, or are given up */
	uint64_t bit[WINDOW_BITS / 64];
};

/* Everything up to `sequence` counts as received. */
void window_start(struct window *window, uint64_t sequence);
/* Not received yet, and not too old. */
bool window_is_new(const struct window *window, uint64_t sequence);
/* It has been received. How many had to be given up for being too old now. */
uint64_t window_take(struct window *window, uint64_t sequence);
/* It has been sent, whether we have it or not. As window_take(). */
uint64_t window_know(struct window *window, uint64_t sequence);
/* What is missing, oldest first; how many ranges. */
size_t window_missing(const struct window *window, struct wire_range *ret, size_t room);
static inline bool window_is_whole(const struct window *window)
{
	return window->received == window->highest;
}

#endif
