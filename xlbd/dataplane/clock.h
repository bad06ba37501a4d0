/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.h - how long a jiffy is, and from that the tick of the connection table.
 */
#ifndef XLBD_DATAPLANE_CLOCK_H
#define XLBD_DATAPLANE_CLOCK_H

#include <stdint.h>

struct tick {
	unsigned shift;        /* jiffies64 >> shift is the tick */
	unsigned microseconds; /* of one tick: 200,000 to 330,000 */
};

/*
 * Measures CONFIG_HZ by a program of two instructions run twice, 100 ms apart: the kernel's configuration need not be readable.
 * -EPERM and what bpf(2) says.
 */
int clock_measure(struct tick *ret);
/* The tick now, without the data plane's program: for before it is loaded. */
int clock_now(const struct tick *tick, uint64_t *ret);
/* The tick for a CONFIG_HZ. Pure. */
struct tick clock_tick(unsigned hz);

#endif
