// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replica.c - the connection table as directors share it.
 *
 * Each slot has a shadow of 24 bytes: hash of the connection's key (names instead of ids, so that each director has the same), real
 * server, phase, local port and time as they were last told or heard, the owner that answers for it and the version of
 * its last writer. A pass over the table compares slot and shadow; equal ones cost some ns and no write. Who calls gives
 * each pass a number of buckets, so that a large table is gone through in steps of bounded time.
 *
 * Digests are kept while shadows change: for each owner 4,096 sums, a connection in the bucket that the top bits of its hash
 * name. They cover connections that are open (ESTABLISHED, UDP); closing ones end by themselves and would make two
 * healthy directors differ all the time. Because they follow the shadows, and shadows follow the stream, sender and receiver of
 * a stream have equal sums when the receiver has taken everything up to the sequence at which the sender looked.
 *
 * What is older never overwrites what is newer: a shadow's version is compared first. Of what was removed the version is
 * remembered for a while (tombstones), so that a late repair does not bring it back. Entries of the mapped table change by the
 * rules of bpf/table.h only, user space being the weaker side; a packet's change is never lost.
 *
 * Relies on flows_inside.h. Does not: know sequences, peers' names, messages.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "xlbd/dataplane/replica_inside.h"

/* ---- open and close --------------------------------------------------------------------------- */

int replica_open(struct flows *flows, unsigned tick_us, replica_name name, void *context,
                 struct replica **ret)
{
	_cleanup_(replica_closep) struct replica *replica = calloc(1, sizeof(*replica));

	if (!replica)
		return -ENOMEM;
	replica->flows = flows;
	replica->tick_us = tick_us;
	replica->name = name;
	replica->context = context;
	memset(replica->authority, REPLICA_NOBODY, sizeof(replica->authority));
	for (int i = 0; i < WIDTHS; i++) {
		if (!flows->table[i].word)
			continue;
		replica->shadow[i] =
			calloc(flows->table[i].buckets * TABLE_WAYS, sizeof(*replica->shadow[i]));
		replica->known[i] = calloc(flows->table[i].buckets, 1);
		if (!replica->shadow[i] || !replica->known[i])
			return -ENOMEM;
	}
	*ret = take_ptr(replica);
	return 0;
}

struct replica *replica_close(struct replica *replica)
{
	if (!replica)
		return NULL;
	for (int i = 0; i < WIDTHS; i++) {
		free(replica->shadow[i]);
		free(replica->known[i]);
	}
	free(replica);
	return NULL;
}

size_t replica_buckets(const struct replica *replica)
{
	return replica->flows->table[NARROW].buckets + replica->flows->table[WIDE].buckets;
}

void replica_set_authority(struct replica *replica, uint16_t service, uint8_t owner)
{
	replica->authority[service % XLB_IDS] = owner;
}

void replica_set_policy(struct replica *replica, uint16_t service, bool off, bool open_only)
{
	replica->policy[service % XLB_IDS] = (off ? POLICY_OFF : 0) | (open_only ? POLICY_OPEN : 0);
}

uint8_t replica_authority(const struct replica *replica, uint16_t service)
{
	return replica->authority[service % XLB_IDS];
}

/* ---- hashes ----------------------------------------------------------------------------------- */

static uint64_t mix_address(uint64_t hash, const struct xlb_addr *addr)
{
	hash = replica_mix(hash, (uint64_t)ntohl(addr->word[0]) << 32 | ntohl(addr->word[1]));
	return replica_mix(hash, (uint64_t)ntohl(addr->word[2]) << 32 | ntohl(addr->word[3]));
}

uint64_t replica_hash_name(const struct xlb_name *name)
{
	uint64_t hash = mix_address(0, &name->service.addr);

	hash = replica_mix(hash, (uint64_t)ntohs(name->service.port) << 8 | name->service.protocol);
	if (name->is_real) {
		hash = mix_address(hash, &name->real);
		hash = replica_mix(hash, (uint64_t)ntohs(name->real_port) | 1u << 16);
	}
	return hash ? hash : 1;
}

void replica_forget_names(struct replica *replica)
{
	/* of an id that is nobody's now the hash stays: shadows that the next pass clears were counted with it */
	for (int real = 0; real < 2; real++)
		for (uint16_t id = 1; id < replica->hash_end[real]; id++) {
			uint64_t hash = replica->hash[real][id]
			                        ? replica->name(replica->context, real, id)
			                        : 0;

			if (hash)
				replica->hash[real][id] = hash;
		}
}

/* ---- digests ----------------------------------------------------------------------------------- */

const uint64_t *replica_digests(const struct replica *replica, uint8_t owner)
{
	return replica->digest[owner % REPLICA_OWNERS];
}

uint64_t replica_digest_sum(const struct replica *replica, uint8_t owner)
{
	return replica->sum[owner % REPLICA_OWNERS];
}

void replica_disown(struct replica *replica, uint8_t owner)
{
	for (int i = 0; i < WIDTHS; i++)
		for (size_t slot = 0; slot < replica->flows->table[i].buckets * TABLE_WAYS; slot++)
			if (replica->shadow[i][slot].owner == owner)
				replica->shadow[i][slot].owner = REPLICA_NOBODY;
	memset(replica->digest[owner], 0, sizeof(replica->digest[owner]));
	replica->sum[owner] = 0;
}

/* ---- passes ----------------------------------------------------------------------------------- */

/* One slot of a pass. */
struct visit {
	struct replica *replica;
	const struct replica_pass *pass;
	const uint8_t *map;
	struct replica_version since;
	unsigned half_open;
	int words;
	uint8_t owner;
	volatile __u64 *slot;
	struct shadow *shadow;
	__u64 key[TABLE_WIDE], state;
	uint64_t hash;
};

static inline bool in_map(const uint8_t *map, uint64_t hash)
{
	return map[hash >> 55] >> (hash >> 52 & 7) & 1;
}

static inline bool tell(const int words, struct visit *visit, uint8_t kind,
                        struct replica_version *ret_version)
{
	uint32_t now = (uint32_t)visit->pass->now;
	struct replica_flow told = {
		.kind = kind, .wide = words == TABLE_WIDE, .local_port = TABLE_PORT(visit->state)};

	if (!visit->pass->tell) {
		*ret_version = (struct replica_version){};
		return true;
	}
	flow_from(words, visit->key, visit->state, now, &told.flow);
	return visit->pass->tell(visit->pass->context, &told, ret_version);
}

/* Time enough since the last time we told that the connection is alive: a quarter of its timeout, and no hurry. */
static inline bool is_stale(const struct visit *visit)
{
	const struct xlb_control *control = visit->replica->flows->control;
	uint32_t wait = control->timeout[TABLE_PHASE(visit->state)] / 4 >> STAMP_SHIFT;
	uint16_t age = (uint16_t)(stamp_of(TABLE_TIME(visit->state)) - visit->shadow->stamp);

	return age > wait && age < 0x8000;
}

static inline uint8_t policy_of(const struct visit *visit)
{
	return visit->replica->policy[(uint16_t)visit->key[visit->words - 1] % XLB_IDS];
}

/* A connection that we answer for. False: no room. */
static inline bool scan_own(const int words, struct visit *visit)
{
	struct shadow *shadow = visit->shadow, fresh;
	struct replica_version version;
	bool known = same(shadow, visit->hash, visit->state);

	if (known && shadow->owner != REPLICA_SELF) {
		change_owner(visit->replica, shadow, REPLICA_SELF);
		shadow->phase &= PHASE_MASK;
		return true;
	}
	if (known && !is_stale(visit))
		return true;
	if (!known && TABLE_PHASE(visit->state) == XLB_PHASE_SYN) {
		if (!visit->half_open || policy_of(visit) & POLICY_OPEN)
			return true; /* later */
		visit->half_open--;
	}
	if (!tell(words, visit, REPLICA_IS, &version))
		return false;
	fresh = shadow_of(visit->hash, visit->state, REPLICA_SELF, version);
	set_shadow(visit->replica, shadow, &fresh);
	return true;
}

/* A connection that a peer answers for, or nobody. */
static inline void scan_other(struct visit *visit, uint8_t owner)
{
	struct shadow *shadow = visit->shadow, fresh;
	bool same_key = shadow->key == visit->hash;
	uint8_t offer = shadow->phase & OFFER_MASK;

	if (same(shadow, visit->hash, visit->state) && shadow->owner == owner)
		return;
	if (visit->pass->tell && (!same_key || shadow->owner == REPLICA_SELF))
		offer = OFFER_MASK;
	fresh = shadow_of(visit->hash, visit->state, owner,
	                  same_key ? shadow->version : (struct replica_version){});
	fresh.phase |= offer;
	fresh.stamp = same_key ? shadow->stamp : fresh.stamp;
	set_shadow(visit->replica, shadow, &fresh);
}

/* The connection of this shadow has left the slot; its key may still be there. False: no room to tell. */
static inline bool scan_gone(const int words, struct visit *visit)
{
	struct shadow *shadow = visit->shadow, none = {};
	struct replica_version version = shadow->version;

	for (int i = 0; i < words; i++)
		visit->key[i] = visit->slot[i];
	if (shadow->owner == REPLICA_SELF && is_open(shadow->phase) &&
	    hash_key(words, visit->replica, visit->key) == shadow->key) {
		visit->state = TABLE_STATE(shadow->phase & PHASE_MASK, visit->pass->now,
		                           shadow->port, shadow->real);
		if (!tell(words, visit, REPLICA_GONE, &version))
			return false;
	}
	bury(visit->replica, shadow->key, version);
	set_shadow(visit->replica, shadow, &none);
	return true;
}

static inline bool scan_slot(const int words, struct visit *visit)
{
	__u64 word = visit->slot[words];
	uint8_t owner;

	if (!TABLE_LIVE(word))
		return !visit->shadow->key || TABLE_PHASE(word) != XLB_PHASE_FREE ||
		       scan_gone(words, visit);
	if (!read_slot(words, visit->slot, visit->key, &visit->state))
		return true;
	visit->hash = hash_key(words, visit->replica, visit->key);
	owner = visit->replica->authority[(uint16_t)visit->key[words - 1] % XLB_IDS];
	if (!visit->hash || policy_of(visit) & POLICY_OFF)
		return true;
	if (owner == REPLICA_SELF)
		return scan_own(words, visit);
	scan_other(visit, owner);
	return true;
}

/* A live slot in one of the buckets. */
static inline bool read_wanted(const int words, struct visit *visit)
{
	if (!TABLE_LIVE(visit->slot[words]) ||
	    !read_slot(words, visit->slot, visit->key, &visit->state))
		return false;
	visit->hash = hash_key(words, visit->replica, visit->key);
	return visit->hash && in_map(visit->map, visit->hash);
}

static inline bool tell_slot(const int words, struct visit *visit)
{
	uint16_t service;

	if (!read_wanted(words, visit))
		return true;
	service = (uint16_t)visit->key[words - 1] % XLB_IDS;
	if (visit->replica->authority[service] != REPLICA_SELF)
		return true;
	if (!same(visit->shadow, visit->hash, visit->state) || visit->shadow->owner != REPLICA_SELF)
		return scan_own(words, visit);
	if (!tell(words, visit, REPLICA_IS, &visit->shadow->version))
		return false;
	visit->shadow->stamp = stamp_of(TABLE_TIME(visit->state));
	return true;
}

static inline bool purge_slot(const int words, struct visit *visit)
{
	struct shadow *shadow = visit->shadow, none = {};
	struct replica_version ignored;

	if (shadow->owner != visit->owner || !read_wanted(words, visit) ||
	    shadow->key != visit->hash || !is_newer(visit->since, shadow->version))
		return true;
	if (shadow->phase & OFFER_MASK) {
		if (!tell(words, visit, REPLICA_OFFERED, &ignored))
			return false;
		shadow->phase -= OFFER_ONCE;
		return true;
	}
	if (!table_free(&visit->slot[words], &visit->state, (uint32_t)visit->pass->now))
		return true;
	bury(visit->replica, shadow->key, visit->since);
	set_shadow(visit->replica, shadow, &none);
	return true;
}

typedef bool (*visit_slot)(const int words, struct visit *visit);

static inline __attribute__((always_inline)) bool walk_bucket(const int words, struct visit *visit,
                                                              size_t bucket, visit_slot each)
{
	const int width = words == TABLE_WIDE;
	const struct mapping *mapping = &visit->replica->flows->table[width];

	visit->words = words;
	/* nothing there and nothing known: the shadows, which are longer than the bucket, need not be touched */
	if (!visit->replica->known[width][bucket] &&
	    !has_live(words, mapping->word + bucket * TABLE_WAYS * (size_t)(words + 1)))
		return true;
	for (size_t way = 0; way < TABLE_WAYS; way++) {
		size_t slot = bucket * TABLE_WAYS + way;

		visit->slot = mapping->word + slot * (words + 1);
		visit->shadow = &visit->replica->shadow[width][slot];
		if (!each(words, visit))
			return false;
	}
	return true;
}

static inline __attribute__((always_inline)) bool walk(struct visit *visit,
                                                       struct replica_cursor *cursor,
                                                       size_t buckets, visit_slot each)
{
	const size_t narrow = visit->replica->flows->table[NARROW].buckets;
	const size_t all = replica_buckets(visit->replica);

	for (; buckets > 0 && cursor->bucket < all; buckets--, cursor->bucket++)
		if (cursor->bucket < narrow
		            ? !walk_bucket(TABLE_NARROW, visit, cursor->bucket, each)
		            : !walk_bucket(TABLE_WIDE, visit, cursor->bucket - narrow, each))
			return false;
	if (cursor->bucket < all)
		return false;
	cursor->bucket = 0;
	return true;
}

bool replica_scan(struct replica *replica, struct replica_cursor *cursor, size_t buckets,
                  unsigned half_open, const struct replica_pass *pass)
{
	struct visit visit = {.replica = replica, .pass = pass, .half_open = half_open};

	return walk(&visit, cursor, buckets, scan_slot);
}

bool replica_tell_all(struct replica *replica, struct replica_cursor *cursor, size_t buckets,
                      const uint8_t map[REPLICA_MAP], const struct replica_pass *pass)
{
	struct visit visit = {.replica = replica, .pass = pass, .map = map, .half_open = ~0u};

	return walk(&visit, cursor, buckets, tell_slot);
}

bool replica_purge(struct replica *replica, struct replica_cursor *cursor, size_t buckets,
                   const uint8_t map[REPLICA_MAP], uint8_t owner, struct replica_version since,
                   const struct replica_pass *pass)
{
	struct visit visit = {
		.replica = replica, .pass = pass, .map = map, .owner = owner, .since = since};

	return walk(&visit, cursor, buckets, purge_slot);
}
