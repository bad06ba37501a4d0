/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replica_inside.h - shadows, hashes and digests: what replica.c (passes) and replica_apply.c (what peers tell) share. For nobody
 * else.
 */
#ifndef XLBD_DATAPLANE_REPLICA_INSIDE_H
#define XLBD_DATAPLANE_REPLICA_INSIDE_H

#include "xlbd/dataplane/flows_inside.h"
#include "xlbd/dataplane/replica.h"

#define TOMBSTONES  16384u
#define STAMP_SHIFT 4     /* times of shadows are in units of 16 ticks */
#define OFFER_ONCE  0x10u /* how often we still offer it to who answers for it now */
#define OFFER_MASK  0x30u
#define PHASE_MASK  0x0fu
#define POLICY_OFF  1u
#define POLICY_OPEN 2u

struct shadow {
	uint64_t key; /* hash; 0: nothing is known of this slot */
	struct replica_version version;
	uint16_t stamp, port, real;
	uint8_t phase; /* and OFFER_MASK: we answered for it before its owner did */
	uint8_t owner;
};
_Static_assert(sizeof(struct shadow) == 24, "a quarter of a line and a half");

struct tombstone {
	uint64_t key;
	struct replica_version version;
};

struct replica {
	struct flows *flows;
	unsigned tick_us;
	replica_name name;
	void *context;
	struct shadow *shadow[WIDTHS];
	uint8_t *known[WIDTHS]; /* a byte a bucket: which of its shadows have a key, a bit each */
	uint64_t hash[2][XLB_IDS]; /* of services' and real servers' names, as far as asked for */
	uint16_t hash_end[2];      /* above the highest id that was asked for */
	uint8_t authority[XLB_IDS], policy[XLB_IDS];
	uint64_t digest[REPLICA_OWNERS][REPLICA_BUCKETS];
	uint64_t sum[REPLICA_OWNERS];
	struct tombstone tombstone[TOMBSTONES];
};

/* ---- hashes ----------------------------------------------------------------------------------- */

static inline uint64_t hash_of(struct replica *replica, bool real, uint16_t id)
{
	uint64_t *hash = &replica->hash[real][id % XLB_IDS];

	if (!*hash) {
		*hash = replica->name(replica->context, real, id);
		if (id >= replica->hash_end[real])
			replica->hash_end[real] = (uint16_t)(id + 1);
	}
	return *hash;
}

/* The key with its service's name in the place of the id; 0: the service has no name. */
static inline uint64_t hash_key(const int words, struct replica *replica, const __u64 *key)
{
	uint64_t ports = key[words - 1], hash = hash_of(replica, false, (uint16_t)ports), both;
	uint16_t client_port = ntohs((uint16_t)(ports >> 16));

	if (!hash)
		return 0;
	if (words == TABLE_NARROW) {
		hash = replica_mix(hash,
		                   (uint64_t)ntohl((uint32_t)(ports >> 32)) << 16 | client_port);
		return hash ? hash : 1;
	}
	for (int i = 0; i < 2; i++) {
		both = (uint64_t)ntohl((uint32_t)key[i]) << 32 | ntohl((uint32_t)(key[i] >> 32));
		hash = replica_mix(hash, both);
	}
	hash = replica_mix(hash, (uint64_t)ntohs((uint16_t)(ports >> 48)) << 16 | client_port);
	return hash ? hash : 1;
}

/* ---- shadows and digests ---------------------------------------------------------------------- */

static inline bool is_open(uint8_t phase)
{
	phase &= PHASE_MASK;
	return phase == XLB_PHASE_ESTABLISHED || phase == XLB_PHASE_DATAGRAM;
}

static inline void count_shadow(struct replica *replica, const struct shadow *shadow, bool in)
{
	uint64_t value;

	if (!shadow->key || shadow->owner >= REPLICA_OWNERS || !is_open(shadow->phase))
		return;
	value = replica_mix(shadow->key, hash_of(replica, true, shadow->real));
	value = replica_mix(value, shadow->port);
	value = in ? value : -value;
	replica->digest[shadow->owner][shadow->key >> 52] += value;
	replica->sum[shadow->owner] += value;
}

static inline void set_shadow(struct replica *replica, struct shadow *shadow,
                              const struct shadow *fresh)
{
	const int width =
		replica->shadow[WIDE] && shadow >= replica->shadow[WIDE] &&
		shadow < replica->shadow[WIDE] + replica->flows->table[WIDE].buckets * TABLE_WAYS;
	size_t slot = (size_t)(shadow - replica->shadow[width]);
	uint8_t *known = &replica->known[width][slot / TABLE_WAYS];
	uint8_t bit = (uint8_t)(1u << slot % TABLE_WAYS);

	count_shadow(replica, shadow, false);
	*shadow = *fresh;
	count_shadow(replica, shadow, true);
	*known = fresh->key ? *known | bit : *known & (uint8_t)~bit;
}

static inline void change_owner(struct replica *replica, struct shadow *shadow, uint8_t owner)
{
	count_shadow(replica, shadow, false);
	shadow->owner = owner;
	count_shadow(replica, shadow, true);
}

static inline uint16_t stamp_of(uint64_t time)
{
	return (uint16_t)(time >> STAMP_SHIFT);
}

static inline struct shadow shadow_of(uint64_t key, __u64 state, uint8_t owner,
                                      struct replica_version version)
{
	return (struct shadow){.key = key,
	                       .version = version,
	                       .stamp = stamp_of(TABLE_TIME(state)),
	                       .port = TABLE_PORT(state),
	                       .real = TABLE_REAL(state),
	                       .phase = (uint8_t)TABLE_PHASE(state),
	                       .owner = owner};
}

static inline bool same(const struct shadow *shadow, uint64_t key, __u64 state)
{
	return shadow->key == key && shadow->real == TABLE_REAL(state) &&
	       (shadow->phase & PHASE_MASK) == TABLE_PHASE(state) &&
	       shadow->port == TABLE_PORT(state);
}

static inline bool is_newer(struct replica_version version, struct replica_version than)
{
	if (version.term != than.term)
		return (int32_t)(version.term - than.term) > 0;
	return (int32_t)(version.sequence - than.sequence) > 0;
}

static inline struct tombstone *tombstone_of(struct replica *replica, uint64_t key)
{
	return &replica->tombstone[key & (TOMBSTONES - 1)];
}

static inline void bury(struct replica *replica, uint64_t key, struct replica_version version)
{
	struct tombstone *tombstone = tombstone_of(replica, key);

	if (tombstone->key != key || is_newer(version, tombstone->version))
		*tombstone = (struct tombstone){.key = key, .version = version};
}

#endif
