/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * estimator.h - rates as IPVS shows them: a moving average with weight 1/4 and a step of two seconds. Pure.
 */
#ifndef XLBD_IPVS_ESTIMATOR_H
#define XLBD_IPVS_ESTIMATOR_H

#include <stdint.h>

enum estimator_counter {
	ESTIMATOR_CONNECTIONS,
	ESTIMATOR_PACKETS,
	ESTIMATOR_BYTES,
	ESTIMATOR_COUNTERS
};

struct estimator {                         /* plain: zeroed, it has seen nothing */
	int64_t at;                        /* ms, of the last step */
	uint64_t last[ESTIMATOR_COUNTERS]; /* counters at that time */
	int64_t average[ESTIMATOR_COUNTERS];
};

/* Begins anew: from these counters on, at rate 0. */
void estimator_reset(struct estimator *estimator, const uint64_t counter[ESTIMATOR_COUNTERS],
                     int64_t now);
/*
 * Call at any time; it steps when two seconds have gone by. A counter that went backwards counts as standing still.
 */
void estimator_update(struct estimator *estimator, const uint64_t counter[ESTIMATOR_COUNTERS],
                      int64_t now);
/* A second, rounded as IPVS rounds it. */
uint32_t estimator_rate(const struct estimator *estimator, enum estimator_counter which);

#endif
