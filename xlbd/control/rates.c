// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rates.c - what the data plane does per second, so that one question can be answered with a rate.
 *
 * A question is one moment, a rate needs two: a timer keeps the totals of the last two seconds'
 * ends. 23 verdicts are 23 system calls a second. Rates of single services are not kept: who
 * watches them (xlbctl -w) asks twice. Owned by commands.c; show.c reads it.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>

#include "xlbd/control/rates.h"
#include "xlbd/xlbd.h"

struct rates {
	const struct xlbd *xlbd;
	struct event *timer;
	struct totals last, rate;
	int64_t last_time; /* ms; 0: not looked yet */
	bool known;
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void totals_read(const struct xlbd *xlbd, struct totals *ret)
{
	struct totals sum = {};

	for (int v = XLB_CONTINUE + 1; xlbd->counters && v < XLB_VERDICT_COUNT; v++) {
		struct xlb_verdict_counters one = {};
		const char *action = verdict_action((enum xlb_verdict)v);

		if (!action || counters_verdict(xlbd->counters, (enum xlb_verdict)v, &one) < 0)
			continue;
		if (strcmp(action, "forward") == 0) {
			sum.forwarded += one.packets;
			sum.forwarded_bytes += one.bytes;
		} else if (strcmp(action, "drop") == 0) {
			sum.dropped += one.packets;
		} else {
			sum.passed += one.packets;
		}
	}
	*ret = sum;
}

static uint64_t per_second(uint64_t before, uint64_t after, int64_t milliseconds)
{
	return after > before ? (after - before) * 1000 / (uint64_t)milliseconds : 0;
}

struct totals totals_rate(const struct totals *before, const struct totals *after,
                          int64_t milliseconds)
{
	if (milliseconds <= 0)
		return (struct totals){};
	return (struct totals){
		.forwarded = per_second(before->forwarded, after->forwarded, milliseconds),
		.passed = per_second(before->passed, after->passed, milliseconds),
		.dropped = per_second(before->dropped, after->dropped, milliseconds),
		.forwarded_bytes =
			per_second(before->forwarded_bytes, after->forwarded_bytes, milliseconds),
	};
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
	struct rates *rates = context;
	int64_t now = now_ms();
	struct totals totals;

	(void)fd;
	(void)what;
	totals_read(rates->xlbd, &totals);
	if (rates->last_time) {
		rates->rate = totals_rate(&rates->last, &totals, now - rates->last_time);
		rates->known = true;
	}
	rates->last = totals;
	rates->last_time = now;
}

int rates_start(struct event_base *base, const struct xlbd *xlbd, struct rates **ret)
{
	_cleanup_(rates_stopp) struct rates *rates = calloc(1, sizeof(*rates));
	struct timeval second = {.tv_sec = 1};

	if (!rates)
		return -ENOMEM;
	rates->xlbd = xlbd;
	rates->timer = event_new(base, -1, EV_PERSIST, on_timer, rates);
	if (!rates->timer || event_add(rates->timer, &second) < 0)
		return -ENOMEM;
	*ret = take_ptr(rates);
	return 0;
}

struct rates *rates_stop(struct rates *rates)
{
	if (rates && rates->timer)
		event_free(rates->timer);
	free(rates);
	return NULL;
}

bool rates_get(const struct rates *rates, struct totals *ret)
{
	if (!rates || !rates->known)
		return false;
	*ret = rates->rate;
	return true;
}
