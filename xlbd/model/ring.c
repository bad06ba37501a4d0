// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ring.c - the order in which the real servers of a service take new connections, as IPVS would have it.
 *
 * mh (maglev.c), sh and dh are tables that a client's or a virtual address's hash looks into. rr and wrr are one whole cycle of
 * the kernel's walk, which packets go round with one cursor. Everything is worked out from the list order of the
 * real servers, newest first, because the kernel's schedulers walk that list.
 *
 * wrr: the kernel keeps a limit that falls from the highest weight in steps of the greatest common divisor; each time round the
 * list it takes all whose weight reaches the limit. So the k-th round from the end holds those with weight >= k steps: heavy
 * servers come in bursts first. The cycle starts where the kernel starts with a fresh list: at its head, with the
 * highest limit. (After a change the kernel may go on with a lower limit: the same cycle, entered elsewhere.)
 *
 * apply.c calls it for STEP_RING, judge.c asks whether a ring is possible. Which real server is usable now is looked at
 * only where the kernel's order depends on it (rr, wrr, shares of sh); otherwise a weight of 0 keeps its places.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "xlbd/cleanup.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/maglev.h"
#include "xlbd/model/ring.h"

static int build_mh(const struct service *service, size_t mh_size, struct ring *ret)
{
	_cleanup_free_ uint16_t *place = calloc(mh_size, sizeof(*place));
	int r;

	if (!place)
		return -ENOMEM;
	r = maglev_fill(service, mh_size, place);
	if (r < 0 && r != -ENOENT)
		return r;
	*ret = (struct ring){0};
	if (r == 0)
		*ret = (struct ring){.length = mh_size, .place = take_ptr(place)};
	return 0;
}

/* Each real server in turn gets as many buckets as its weight says, but at least one; again from the head until all are given. */
static int build_sh(const struct service *service, size_t mh_size, struct ring *ret)
{
	uint16_t *place;
	size_t real = 0;
	int32_t given = 0;

	(void)mh_size;
	if (!service->real_count) {
		*ret = (struct ring){0};
		return 0;
	}
	place = calloc(RING_HASH_SIZE, sizeof(*place));
	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < RING_HASH_SIZE; i++) {
		place[i] = real + 1;
		if (++given < service->reals[real].weight)
			continue;
		real = (real + 1) % service->real_count;
		given = 0;
	}
	*ret = (struct ring){.length = RING_HASH_SIZE, .place = place};
	return 0;
}

/* A bucket each, round and round. */
static int build_dh(const struct service *service, size_t mh_size, struct ring *ret)
{
	uint16_t *place;

	(void)mh_size;
	if (!service->real_count) {
		*ret = (struct ring){0};
		return 0;
	}
	place = calloc(RING_HASH_SIZE, sizeof(*place));
	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < RING_HASH_SIZE; i++)
		place[i] = i % service->real_count + 1;
	*ret = (struct ring){.length = RING_HASH_SIZE, .place = place};
	return 0;
}

/* A usable real server in a cycle: `rounds` times it is taken. */
struct taker {
	uint32_t rounds;
	uint16_t owner; /* 1 + index of the real server */
};

static uint32_t greatest_common_weight(const struct service *service)
{
	uint32_t divisor = 0;

	for (size_t i = 0; i < service->real_count; i++) {
		uint32_t a = service->reals[i].weight > 0 ? service->reals[i].weight : 0;

		while (a) {
			uint32_t rest = divisor % a;

			divisor = a;
			a = rest;
		}
	}
	return divisor;
}

/* Weight in steps of `unit`; of rr (unit 0) one for everybody usable. */
static uint32_t rounds_of(const struct real_server *real, uint32_t unit)
{
	if (real->weight <= 0)
		return 0;
	return unit ? real->weight / unit : 1;
}

static uint32_t unit_of(const struct service *service)
{
	return strcmp(service->scheduler, "wrr") ? 0 : greatest_common_weight(service);
}

uint64_t ring_cycle(const struct service *service)
{
	uint32_t unit = unit_of(service);
	uint64_t sum = 0;

	for (size_t i = 0; i < service->real_count; i++)
		sum += rounds_of(&service->reals[i], unit);
	return sum;
}

/* Most rounds first; equal ones in the order of the list. */
static int compare_takers(const void *one, const void *two)
{
	const struct taker *a = one, *b = two;

	if (a->rounds != b->rounds)
		return a->rounds < b->rounds ? 1 : -1;
	return a->owner - b->owner;
}

/* Puts `owner` where the order of the list wants it. */
static void join(uint16_t *active, size_t count, uint16_t owner)
{
	size_t at = count;

	while (at > 0 && active[at - 1] > owner)
		at--;
	memmove(&active[at + 1], &active[at], (count - at) * sizeof(*active));
	active[at] = owner;
}

/* takers: sorted. Writes the rounds one after the other: those that reach the limit, in the order of the list. */
static void walk(const struct taker *takers, size_t count, uint16_t *active, uint16_t *place)
{
	size_t joined = 0;

	for (uint32_t limit = count ? takers[0].rounds : 0; limit > 0; limit--) {
		while (joined < count && takers[joined].rounds >= limit) {
			join(active, joined, takers[joined].owner);
			joined++;
		}
		memcpy(place, active, joined * sizeof(*place));
		place += joined;
	}
}

static int build_cycle(const struct service *service, size_t mh_size, struct ring *ret)
{
	_cleanup_free_ struct taker *takers = NULL;
	_cleanup_free_ uint16_t *active = NULL, *place = NULL;
	uint64_t length = ring_cycle(service);
	uint32_t unit = unit_of(service);
	size_t count = 0;

	(void)mh_size;
	if (length > XLB_RING_MAX)
		return -E2BIG;
	if (!length) {
		*ret = (struct ring){0};
		return 0;
	}
	takers = calloc(service->real_count, sizeof(*takers));
	active = calloc(service->real_count, sizeof(*active));
	place = calloc(length, sizeof(*place));
	if (!takers || !active || !place)
		return -ENOMEM;
	for (size_t i = 0; i < service->real_count; i++) {
		uint32_t rounds = rounds_of(&service->reals[i], unit);

		if (rounds)
			takers[count++] = (struct taker){.rounds = rounds, .owner = i + 1};
	}
	qsort(takers, count, sizeof(*takers), compare_takers);
	walk(takers, count, active, place);
	*ret = (struct ring){.length = length, .place = take_ptr(place)};
	return 0;
}

static int32_t last_weight(const struct real_server *real)
{
	return real->last_weight;
}

static int32_t weight(const struct real_server *real)
{
	return real->weight;
}

static int32_t usable(const struct real_server *real)
{
	return real->weight > 0;
}

static int32_t nothing(const struct real_server *real)
{
	(void)real;
	return 0;
}

static const struct scheduler {
	const char *name;
	enum xlb_scheduler number;
	int (*build)(const struct service *service, size_t mh_size, struct ring *ret);
	/* what of a real server, beside its address, its ring depends on */
	int32_t (*share)(const struct real_server *real);
} schedulers[] = {
	{"mh", XLB_SCHED_MH, build_mh, last_weight}, {"sh", XLB_SCHED_SH, build_sh, weight},
	{"dh", XLB_SCHED_DH, build_dh, nothing},     {"rr", XLB_SCHED_RR, build_cycle, usable},
	{"wrr", XLB_SCHED_RR, build_cycle, weight},
};

static const struct scheduler *find_scheduler(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(schedulers); i++)
		if (!strcmp(schedulers[i].name, name))
			return &schedulers[i];
	return NULL;
}

enum xlb_scheduler ring_scheduler(const char *scheduler)
{
	const struct scheduler *found = find_scheduler(scheduler);

	return found ? found->number : XLB_SCHED_NONE;
}

bool ring_is_same(const struct service *a, const struct service *b)
{
	const struct scheduler *scheduler = find_scheduler(a->scheduler);

	if (scheduler != find_scheduler(b->scheduler) || a->real_count != b->real_count)
		return false;
	for (size_t i = 0; i < a->real_count && scheduler; i++) {
		const struct real_server *one = &a->reals[i], *two = &b->reals[i];

		if (one->port != two->port || !addr_equal(&one->addr, &two->addr) ||
		    scheduler->share(one) != scheduler->share(two))
			return false;
	}
	return true;
}

int ring_build(const struct service *service, size_t mh_size, struct ring *ret)
{
	const struct scheduler *scheduler = find_scheduler(service->scheduler);

	if (!scheduler)
		return -ENOTSUP;
	return scheduler->build(service, mh_size, ret);
}

void ring_free(struct ring *ring)
{
	free(ring->place);
	*ring = (struct ring){0};
}

uint32_t ring_mh_hash(uint32_t address, uint16_t port, uint32_t offset, uint64_t key)
{
	return hash_siphash(offset + port + address, key);
}

uint32_t ring_sh_hash(uint32_t address, uint16_t port, uint32_t offset)
{
	return hash_sh(address, port, offset);
}

uint32_t ring_fold(const struct xlb_addr *addr)
{
	return hash_fold(addr);
}
