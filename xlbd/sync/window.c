// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * window.c - a bit for each of the last 32,768 sequences of a sender's epoch.
 *
 * It serves two ends: a message that was received already is a replay or a duplicate and is not looked at again; and the zeros
 * below the highest sequence are what must be asked for. `received` is the front up to which nothing is missing. A sequence that
 * falls out of the window before it came is given up: the caller compares digests then. Called by peer.c, after the seal of a
 * message was found good: until then nothing changes here. Sequences begin at 1; 0 is before the first.
 */
#include <string.h>

#include "xlbd/sync/window.h"

static bool is_set(const struct window *window, uint64_t sequence)
{
	return window->bit[sequence % WINDOW_BITS / 64] >> sequence % 64 & 1;
}

static void set(struct window *window, uint64_t sequence)
{
	window->bit[sequence % WINDOW_BITS / 64] |= 1ull << sequence % 64;
}

static void clear(struct window *window, uint64_t sequence)
{
	window->bit[sequence % WINDOW_BITS / 64] &= ~(1ull << sequence % 64);
}

void window_start(struct window *window, uint64_t sequence)
{
	*window = (struct window){.highest = sequence, .received = sequence};
}

bool window_is_new(const struct window *window, uint64_t sequence)
{
	if (sequence > window->highest)
		return true;
	return sequence > window->received && !is_set(window, sequence);
}

static void advance(struct window *window)
{
	while (window->received < window->highest && is_set(window, window->received + 1))
		window->received++;
}

uint64_t window_know(struct window *window, uint64_t sequence)
{
	uint64_t given_up = 0, lowest;

	if (sequence <= window->highest)
		return 0;
	if (sequence - window->highest >= WINDOW_BITS)
		memset(window->bit, 0, sizeof(window->bit));
	else
		for (uint64_t i = window->highest + 1; i <= sequence; i++)
			clear(window, i);
	window->highest = sequence;
	lowest = sequence > WINDOW_BITS - 1 ? sequence - (WINDOW_BITS - 1) : 0;
	if (window->received < lowest) {
		given_up = lowest - window->received;
		window->received = lowest;
		advance(window);
	}
	return given_up;
}

uint64_t window_take(struct window *window, uint64_t sequence)
{
	uint64_t given_up = window_know(window, sequence);

	if (sequence > window->received)
		set(window, sequence);
	advance(window);
	return given_up;
}

size_t window_missing(const struct window *window, struct wire_range *ret, size_t room)
{
	size_t count = 0;

	for (uint64_t i = window->received + 1; i <= window->highest && count < room; i++) {
		if (is_set(window, i))
			continue;
		ret[count].first = i;
		while (i < window->highest && !is_set(window, i + 1))
			i++;
		ret[count++].last = i;
	}
	return count;
}
