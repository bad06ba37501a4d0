// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * maglev.c - the table of IPVS's scheduler mh, to the bit (net/netfilter/ipvs/ip_vs_mh.c of 64-bit kernels).
 *
 * Maglev (Eisenbud et al., NSDI 2016): every real server has an order of preference over all places, given by a first place
 * and a step; in turns each takes the next place of its order that is still free. A real server's turns per round are its
 * share of the weights. What makes it the kernel's table rather than any Maglev table: the hashes and keys, the order of the
 * list (newest first), shares from the last weight that was not 0, and shares cut to 6 bits (4093 places; the
 * kernel's rule for other sizes is kept).
 *
 * ring.c calls it for a service. With 65537 places and 100 real servers this is the longest computation of the daemon, hence
 * a bitmap that stays in the first-level cache, steps without a division, and a short cut for the last places. Which real servers are usable now is not
 * looked at: a weight of 0 keeps its places, the data plane checks.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/hash.h"
#include "xlbd/cleanup.h"
#include "xlbd/model/maglev.h"

/* One real server on its way through the places. */
struct walker {
	uint32_t place; /* the next of its order */
	uint32_t step;
	uint32_t turns; /* places per round, at least 1 */
	uint32_t owner; /* 1 + index of the real server */
};

/* Size is a prime: only then does every walker meet every place. */
bool maglev_size_is_valid(size_t size)
{
	if (size < 2 || size > XLB_RING_MAX)
		return false;
	for (size_t divisor = 2; divisor * divisor <= size; divisor++)
		if (size % divisor == 0)
			return false;
	return true;
}

static uint32_t greatest_common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static unsigned bit_length(uint32_t word)
{
	return word ? 32 - __builtin_clz(word) : 0;
}

/* Turns of a real server are last_weight / divisor >> shift, but at least one. divisor 0: nobody has a share. */
static void find_shares(const struct service *service, size_t size, uint32_t *ret_divisor,
                        unsigned *ret_shift)
{
	unsigned bits = bit_length(size) / 2, length;
	uint32_t divisor = 0, most = 0;

	for (size_t i = 0; i < service->real_count; i++) {
		int32_t weight = service->reals[i].last_weight;

		if (weight <= 0)
			continue;
		divisor = greatest_common_divisor(weight, divisor);
		most = (uint32_t)weight > most ? (uint32_t)weight : most;
	}
	length = divisor ? bit_length(most / divisor) : 0;
	*ret_divisor = divisor;
	*ret_shift = length > bits ? length - bits : 0;
}

/* Those with a share, in the order of the list. Returns how many. */
static size_t make_walkers(const struct service *service, size_t size, struct walker *walkers)
{
	uint32_t divisor;
	unsigned shift;
	size_t count = 0;

	find_shares(service, size, &divisor, &shift);
	for (size_t i = 0; i < service->real_count; i++) {
		const struct real_server *real = &service->reals[i];
		uint32_t name = hash_fold(&real->addr) + real->port, turns;

		if (real->last_weight <= 0)
			continue;
		turns = real->last_weight / divisor >> shift;
		walkers[count++] = (struct walker){
			.place = hash_siphash(name, HASH_MH_KEY1) % size,
			.step = hash_siphash(name, HASH_MH_KEY2) % (size - 1) + 1,
			.turns = turns ? turns : 1,
			.owner = i + 1,
		};
	}
	return count;
}

/* Takes the next free place of the walker's order. `taken` has at least one free. */
static uint32_t take_place(struct walker *walker, uint64_t *taken, uint32_t size)
{
	uint32_t place = walker->place;

	while (taken[place / 64] >> place % 64 & 1) {
		place += walker->step;
		place -= place >= size ? size : 0;
	}
	taken[place / 64] |= 1ull << place % 64;
	walker->place = place;
	return place;
}

/* The number that `step` must be multiplied with to give 1, modulo the prime `size`: step^(size - 2). */
static uint64_t inverse(uint64_t step, uint32_t size)
{
	uint64_t result = 1;

	for (uint32_t power = size - 2; power; power >>= 1) {
		if (power & 1)
			result = result * step % size;
		step = step * step % size;
	}
	return result;
}

/* Which of `count` free places comes first in the walker's order: the one that the fewest steps lead to. */
static size_t find_nearest(const struct walker *walker, const uint32_t *places, size_t count,
                           uint32_t size)
{
	uint64_t steps_per_place = inverse(walker->step, size), least = UINT64_MAX;
	size_t nearest = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t distance = places[i] + size - walker->place;
		uint64_t steps = distance * steps_per_place % size;

		if (steps >= least)
			continue;
		least = steps;
		nearest = i;
	}
	return nearest;
}

static size_t list_free(const uint64_t *taken, uint32_t size, uint32_t *places)
{
	size_t count = 0;

	for (uint32_t base = 0; base < size; base += 64) {
		for (uint64_t free = ~taken[base / 64]; free; free &= free - 1)
			if (base + __builtin_ctzll(free) < size)
				places[count++] = base + __builtin_ctzll(free);
	}
	return count;
}

/* Whose turn it is. */
struct round {
	struct walker *walkers;
	size_t count, now;
	uint32_t turn; /* places that walkers[now] has taken in this round */
};

static struct walker *next_turn(struct round *round)
{
	struct walker *walker = &round->walkers[round->now];

	if (++round->turn >= walker->turns) {
		round->turn = 0;
		round->now = round->now + 1 < round->count ? round->now + 1 : 0;
	}
	return walker;
}

/*
 * The last places are found the other way round: nearly half of all steps of a table would be spent on looking for the last
 * LAST_PLACES, while working out how far each of them is costs next to nothing.
 */
#define LAST_PLACES 64

static void take_all(struct round *round, uint64_t *taken, uint32_t size, uint16_t *place)
{
	uint32_t last[LAST_PLACES], left = size;
	size_t count;

	for (; left > LAST_PLACES; left--) {
		struct walker *walker = next_turn(round);

		place[take_place(walker, taken, size)] = walker->owner;
	}
	for (count = list_free(taken, size, last); count; count--) {
		struct walker *walker = next_turn(round);
		size_t nearest = find_nearest(walker, last, count, size);

		place[last[nearest]] = walker->owner;
		last[nearest] = last[count - 1];
	}
}

int maglev_fill(const struct service *service, size_t size, uint16_t *place)
{
	_cleanup_free_ struct walker *walkers = NULL;
	_cleanup_free_ uint64_t *taken = NULL;
	size_t count;

	if (!maglev_size_is_valid(size))
		return -EINVAL;
	if (service->real_count > size)
		return -E2BIG;
	walkers = calloc(service->real_count + 1, sizeof(*walkers));
	taken = calloc(size / 64 + 1, sizeof(*taken));
	if (!walkers || !taken)
		return -ENOMEM;
	count = make_walkers(service, size, walkers);
	if (!count)
		return -ENOENT;
	take_all(&(struct round){.walkers = walkers, .count = count}, taken, size, place);
	return 0;
}
