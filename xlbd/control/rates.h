/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rates.h - packets per second of the whole data plane: looks at its counters once a second.
 */
#ifndef XLBD_CONTROL_RATES_H
#define XLBD_CONTROL_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "xlbd/cleanup.h"

struct event_base;
struct xlbd;
struct rates; /* opaque */

struct totals {                              /* of verdicts, by what was done */
	uint64_t forwarded, passed, dropped; /* packets */
	uint64_t forwarded_bytes;            /* of frames */
};

int rates_start(struct event_base *base, const struct xlbd *xlbd, struct rates **ret);
struct rates *rates_stop(struct rates *rates); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct rates, rates_stop)
/* Per second, over the last second that was looked at; false: not known yet. */
bool rates_get(const struct rates *rates, struct totals *ret);
/* Since the counters were made. All 0 where there is no data plane. */
void totals_read(const struct xlbd *xlbd, struct totals *ret);
/* Pure: what `after` has more than `before`, per second; 0 where a counter went backwards. */
struct totals totals_rate(const struct totals *before, const struct totals *after,
                          int64_t milliseconds);

#endif
