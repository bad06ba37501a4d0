// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * estimator.c - connections, packets and bytes a second, in the arithmetic of net/netfilter/ipvs/ip_vs_est.c.
 *
 * api.c keeps one for each service and real server, because ipvsadm --rate and keepalived show what IPVS would have estimated. IPVS
 * samples every two seconds in fixed point, 10 bits behind the point for connections and packets, 5 for bytes, and
 * moves the average a quarter of the way to the sample (an arithmetic shift, so it rounds down). We look
 * whenever the daemon writes counters: the sample is what happened since the last step per two seconds, and a
 * late look takes as many steps as it missed.
 */
#include <string.h>

#include "xlbd/ipvs/estimator.h"

#define STEP       2000 /* ms */
#define STEPS_MOST 64   /* after that many the average is the sample */

static const int scale[ESTIMATOR_COUNTERS] = {
	[ESTIMATOR_CONNECTIONS] = 10,
	[ESTIMATOR_PACKETS] = 10,
	[ESTIMATOR_BYTES] = 5,
};

void estimator_reset(struct estimator *estimator, const uint64_t counter[ESTIMATOR_COUNTERS],
                     int64_t now)
{
	*estimator = (struct estimator){.at = now};
	memcpy(estimator->last, counter, sizeof(estimator->last));
}

void estimator_update(struct estimator *estimator, const uint64_t counter[ESTIMATOR_COUNTERS],
                      int64_t now)
{
	int64_t elapsed = now - estimator->at;
	int64_t steps = elapsed / STEP;

	if (steps < 1)
		return;
	for (int i = 0; i < ESTIMATOR_COUNTERS; i++) {
		uint64_t last = estimator->last[i];
		double grown = counter[i] > last ? (double)(counter[i] - last) : 0;
		int64_t sample = (int64_t)(grown * (1 << scale[i]) * 1000 / (double)elapsed);

		for (int64_t step = 0; step < steps && step < STEPS_MOST; step++)
			estimator->average[i] += (sample - estimator->average[i]) >> 2;
		estimator->last[i] = counter[i];
	}
	estimator->at = now;
}

uint32_t estimator_rate(const struct estimator *estimator, enum estimator_counter which)
{
	int64_t half = (1 << (scale[which] - 1)) - 1;

	return (uint32_t)((estimator->average[which] + half) >> scale[which]);
}
