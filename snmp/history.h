/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.h - what one snapshot cannot know: rates, peaks, when something changed, where a counter lost continuity. Pure.
 */
#ifndef XLB_SNMP_HISTORY_H
#define XLB_SNMP_HISTORY_H

#include <stdint.h>

#include "snmp/snapshot.h"
#include "xlbd/cleanup.h"

#define HISTORY_WINDOW \
	10 /* samples behind the last one, so seconds, that a rate is an average of */
#define HISTORY_PEAKS   30               /* tens of seconds that a peak is looked for in */
#define HISTORY_KEEP_MS (10 * 60 * 1000) /* how long a row that is gone is remembered */

struct history; /* opaque */

struct history *history_new(void);                     /* NULL: out of memory */
struct history *history_free(struct history *history); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct history, history_free)

/*
 * Takes in a snapshot and fills in what its rows have "from history". now: CLOCK_BOOTTIME in ms, never less than in the call
 * before. A row that appears, or returns, begins with a discontinuity; so does a counter that is less than it was.
 */
void history_add(struct history *history, struct snapshot *snapshot, uint64_t now);

#endif
