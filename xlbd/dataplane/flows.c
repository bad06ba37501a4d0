// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flows.c - the connection table through its mapping: walk, expire, count, find, insert, move.
 *
 * The table lies in two BPF arrays (IPv4, and IPv6 with services of many ports), which packets change while we read. Everything here
 * follows the rules of bpf/table.h, as user space: a claim of ours gives way to any packet's. There is no lock and no
 * system call per entry. The caller holds the lock on the pin folder, so no other daemon writes.
 *
 * A sweep reads the mapping once, in order, a bucket at a time: a bucket without a live slot costs one load of each state word. It
 * decides on the word that it read; a packet that renews the connection in between makes the removal fail, and the slot is read
 * again. Counts are exact for a table at rest, and right to within what changes during the sweep otherwise.
 *
 * While a table changes its size there are two of a kind, `table` and `old`. Moves go from old to table only: into table first, then
 * out of old, so that whoever looks in table, old and table again never misses a connection. A packet may change the
 * word in old just behind our copy: then taking it out fails, and the change is carried over. If a key lives in both, the word in
 * `table` is right.
 *
 * Does not: know ids' names, log, keep time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "xlbd/dataplane/flows_inside.h"

#define BITS_MAX       24
#define REFRESH_SWEEPS 1024 /* until all free slots have been looked after: 36 hours are enough */

/* What one pass over the slots wants; a pass is one of the functions below that take it. */
struct pass {
	struct flows *flows;
	uint32_t now;
	const uint64_t *drop_service, *drop_real;
	struct flows_census *census;
	bool (*see)(void *context, const struct flow *flow);
	void *context;
};

/* ---- mappings --------------------------------------------------------------------------------- */

int flows_check_size(uint32_t bits, uint32_t stash_bits)
{
	return bits < 1 || bits > BITS_MAX || stash_bits > bits ? -EINVAL : 0;
}

static int map_table(const struct flows_table *from, size_t bucket_bytes, struct mapping *ret)
{
	struct mapping mapping = {};
	void *memory;
	int r;

	if (!from)
		return 0;
	r = flows_check_size(from->bits, from->stash_bits);
	if (r < 0)
		return r;
	mapping.bits = from->bits;
	mapping.stash_bits = from->stash_bits;
	mapping.buckets = ((size_t)1 << from->bits) + ((size_t)1 << from->stash_bits);
	mapping.bytes = mapping.buckets * bucket_bytes;
	memory = mmap(NULL, mapping.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, from->fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	mapping.word = memory;
	*ret = mapping;
	return 0;
}

static void unmap_table(struct mapping *mapping)
{
	if (mapping->word)
		munmap((void *)mapping->word, mapping->bytes);
	*mapping = (struct mapping){};
}

/* Claims of a daemon that was killed in the middle of an insertion: nobody else may end them. */
static void free_stale_claims(const int words, struct mapping *mapping)
{
	for (size_t i = 0; i < mapping->buckets * TABLE_WAYS; i++) {
		volatile __u64 *word = mapping->word + i * (words + 1) + words;
		__u64 state = *word;

		/* a packet may be revoking it right now, hence swap and again */
		while (!TABLE_LIVE(state) && TABLE_PHASE(state) != XLB_PHASE_FREE &&
		       state & TABLE_BY_USER) {
			__u64 freed = TABLE_FREED(TABLE_TIME(state));
			__u64 seen = table_swap(word, state, freed);

			state = seen == state ? freed : seen;
		}
	}
}

static int map_both(const struct flows_table *ipv4, const struct flows_table *ipv6,
                    struct mapping mapping[WIDTHS])
{
	int r = map_table(ipv4, sizeof(struct narrow_bucket), &mapping[NARROW]);

	if (r < 0)
		return r;
	r = map_table(ipv6, sizeof(struct wide_bucket), &mapping[WIDE]);
	if (r < 0) {
		unmap_table(&mapping[NARROW]);
		return r;
	}
	free_stale_claims(TABLE_NARROW, &mapping[NARROW]);
	free_stale_claims(TABLE_WIDE, &mapping[WIDE]);
	return 0;
}

int flows_open(const struct flows_table *ipv4, const struct flows_table *ipv6,
               const struct xlb_control *control, struct flows **ret)
{
	_cleanup_(flows_closep) struct flows *flows = calloc(1, sizeof(*flows));
	int r;

	if (!flows)
		return -ENOMEM;
	flows->control = control;
	r = map_both(ipv4, ipv6, flows->table);
	if (r < 0)
		return r;
	*ret = take_ptr(flows);
	return 0;
}

struct flows *flows_close(struct flows *flows)
{
	if (!flows)
		return NULL;
	flows_detach(flows);
	unmap_table(&flows->table[NARROW]);
	unmap_table(&flows->table[WIDE]);
	free(flows);
	return NULL;
}

int flows_attach(struct flows *flows, const struct flows_table *old_ipv4,
                 const struct flows_table *old_ipv6)
{
	flows_detach(flows);
	if ((old_ipv4 && !flows->table[NARROW].word) || (old_ipv6 && !flows->table[WIDE].word))
		return -EINVAL;
	return map_both(old_ipv4, old_ipv6, flows->old);
}

void flows_detach(struct flows *flows)
{
	unmap_table(&flows->old[NARROW]);
	unmap_table(&flows->old[WIDE]);
}

/* ---- finding ----------------------------------------------------------------------------------- */

bool flows_look(struct flows *flows, uint64_t now, const struct flow *who, bool ipv6_table,
                struct flow *ret)
{
	struct wide_key key = key_of(who, ipv6_table);
	volatile __u64 *word;
	__u64 state;

	if (ipv6_table ? !look(TABLE_WIDE, flows, key.word, &word, &state)
	               : !look(TABLE_NARROW, flows, key.word, &word, &state))
		return false;
	if (ipv6_table)
		flow_from(TABLE_WIDE, key.word, state, (uint32_t)now, ret);
	else
		flow_from(TABLE_NARROW, key.word, state, (uint32_t)now, ret);
	return true;
}

bool flows_find(struct flows *flows, uint64_t now, const struct xlb_addr *client,
                uint16_t client_port, uint16_t service, bool ipv6_table, struct flow *ret)
{
	const struct flow who = {.client = *client, .client_port = client_port, .service = service};

	return flows_look(flows, now, &who, ipv6_table, ret);
}

static bool in_set(const uint64_t *bitmap, uint16_t id)
{
	return bitmap && bitmap[id % XLB_IDS / 64] >> id % 64 & 1;
}

/* ---- the sweep -------------------------------------------------------------------------------- */

static inline bool is_expired(const struct pass *pass, __u64 state)
{
	return TABLE_EXPIRED(state, pass->now, pass->flows->control->timeout[TABLE_PHASE(state)]);
}

static inline bool is_dropped(const struct pass *pass, uint16_t service, __u64 state)
{
	return in_set(pass->drop_service, service) || in_set(pass->drop_real, TABLE_REAL(state));
}

static inline void count(struct flows_census *census, uint16_t service, __u64 state)
{
	const uint32_t phase = TABLE_PHASE(state);
	const bool active = phase == XLB_PHASE_SYN || phase == XLB_PHASE_ESTABLISHED ||
	                    phase == XLB_PHASE_SYN_SENT;

	census->by_phase[phase]++;
	(active ? census->active : census->inactive)[TABLE_REAL(state) % XLB_IDS]++;
	census->service[service % XLB_IDS]++;
}

/* A slot that is to be freed, or changed while it was read. */
static inline void settle_slot(const int words, const struct pass *pass, volatile __u64 *slot)
{
	__u64 key[TABLE_WIDE], state;

	for (int attempt = 0; attempt < 4 && read_slot(words, slot, key, &state); attempt++) {
		uint16_t service = (uint16_t)key[words - 1];

		if (!is_expired(pass, state) && !is_dropped(pass, service, state)) {
			count(pass->census, service, state);
			return;
		}
		if (table_free(&slot[words], &state, pass->now)) {
			pass->census->expired++;
			return;
		}
	}
}

static inline void sweep_slot(const int words, const struct pass *pass, volatile __u64 *slot)
{
	__u64 state = slot[words], ports = table_load(&slot[words - 1], table_behind(state));
	__u64 again = table_load(&slot[words], table_behind(ports));

	if (state != again || !TABLE_LIVE(state) || is_expired(pass, state) ||
	    is_dropped(pass, (uint16_t)ports, state))
		settle_slot(words, pass, slot);
	else
		count(pass->census, (uint16_t)ports, state);
}

/*
 * The clock's time goes round, so a slot that stays free for three days would look newer than the clock for its last 256
 * ticks, and nobody could take it: a minute of refusals in a quiet table. So the time of free slots follows at half of the way; each
 * sweep looks after its share of the buckets.
 */
static inline void refresh_free(const int words, const struct pass *pass, struct mapping *mapping)
{
	const size_t share = mapping->buckets / REFRESH_SWEEPS + 1;

	for (size_t i = 0; i < share * TABLE_WAYS; i++, mapping->refreshed++) {
		size_t slot = mapping->refreshed % (mapping->buckets * TABLE_WAYS);
		volatile __u64 *word = mapping->word + slot * (words + 1) + words;
		__u64 state = *word;
		uint32_t age = TABLE_AGE(state, pass->now);

		/* almost a round: freed after we had read the clock and were stopped */
		if (TABLE_PHASE(state) == XLB_PHASE_FREE && state && age >= TABLE_TICKS / 2 &&
		    age < TABLE_TICKS - TABLE_TICKS / 16)
			(void)table_swap(word, state, TABLE_FREED(pass->now - TABLE_TICKS / 4));
	}
}

/* Which slots are live, a bit each: one branch a bucket, for which slots these are cannot be foreseen. */
static inline unsigned live_ways(const int words, const volatile __u64 *bucket)
{
	const int slot = words + 1;

	return (unsigned)TABLE_LIVE(bucket[words]) | TABLE_LIVE(bucket[slot + words]) << 1 |
	       TABLE_LIVE(bucket[2 * slot + words]) << 2 |
	       TABLE_LIVE(bucket[3 * slot + words]) << 3;
}

static inline void sweep_table(const int words, const struct pass *pass, struct mapping *mapping)
{
	const size_t bucket_words = TABLE_WAYS * (words + 1);
	volatile __u64 *bucket = mapping->word, *end = bucket + mapping->buckets * bucket_words;

	if (!mapping->word)
		return;
	pass->census->slots += mapping->buckets * TABLE_WAYS;
	for (; bucket < end; bucket += bucket_words)
		for (unsigned live = live_ways(words, bucket); live; live &= live - 1)
			sweep_slot(words, pass, bucket + __builtin_ctz(live) * (words + 1));
	refresh_free(words, pass, mapping);
}

void flows_sweep(struct flows *flows, uint64_t now, const uint64_t *drop_service,
                 const uint64_t *drop_real, struct flows_census *census)
{
	const struct pass pass = {.flows = flows,
	                          .now = (uint32_t)now,
	                          .drop_service = drop_service,
	                          .drop_real = drop_real,
	                          .census = census};

	memset(census, 0, sizeof(*census));
	sweep_table(TABLE_NARROW, &pass, &flows->old[NARROW]);
	sweep_table(TABLE_NARROW, &pass, &flows->table[NARROW]);
	sweep_table(TABLE_WIDE, &pass, &flows->old[WIDE]);
	sweep_table(TABLE_WIDE, &pass, &flows->table[WIDE]);
	for (int phase = XLB_PHASE_SYN; phase < XLB_PHASES; phase++)
		census->live += census->by_phase[phase];
}

/* ---- the walk --------------------------------------------------------------------------------- */

static inline bool walk_table(const int words, const struct pass *pass,
                              const struct mapping *mapping)
{
	for (size_t i = 0; i < mapping->buckets * TABLE_WAYS; i++) {
		__u64 key[TABLE_WIDE], state;
		struct flow flow;

		if (!read_slot(words, mapping->word + i * (words + 1), key, &state))
			continue;
		flow_from(words, key, state, pass->now, &flow);
		if (!pass->see(pass->context, &flow))
			return false;
	}
	return true;
}

void flows_walk(struct flows *flows, uint64_t now,
                bool (*see)(void *context, const struct flow *flow), void *context)
{
	const struct pass pass = {
		.flows = flows, .now = (uint32_t)now, .see = see, .context = context};

	(void)(walk_table(TABLE_NARROW, &pass, &flows->old[NARROW]) &&
	       walk_table(TABLE_NARROW, &pass, &flows->table[NARROW]) &&
	       walk_table(TABLE_WIDE, &pass, &flows->old[WIDE]) &&
	       walk_table(TABLE_WIDE, &pass, &flows->table[WIDE]));
}

/* ---- insertion -------------------------------------------------------------------------------- */

static const int insert_errors[] = {
	[TABLE_REFUSED] = -ENOSPC,
	[TABLE_FOUND] = -EEXIST,
	[TABLE_INSERTED] = 0,
	[TABLE_BUSY] = -EAGAIN,
};

static inline int insert(const int words, struct flows *flows, struct table_try *attempt)
{
	volatile __u64 *slot;
	__u64 state;

	if (!flows->table[words == TABLE_WIDE].word)
		return -EINVAL;
	if (look(words, flows, attempt->key, &slot, &state))
		return -EEXIST;
	return insert_errors[put(words, flows, attempt, &slot)];
}

int flows_insert(struct flows *flows, uint64_t now, const struct flow *flow, bool ipv6_table)
{
	struct wide_key key = key_of(flow, ipv6_table);
	struct table_try attempt = {
		.key = {key.word[0], key.word[1], key.word[2]},
		.fresh = TABLE_STATE(flow->phase, now, 0, flow->real),
		.who = TABLE_USER,
		.now = (uint32_t)now,
	};

	return ipv6_table ? insert(TABLE_WIDE, flows, &attempt)
	                  : insert(TABLE_NARROW, flows, &attempt);
}

/* ---- names ------------------------------------------------------------------------------------ */

const char *phase_name(uint8_t phase)
{
	static const char *const names[XLB_PHASES] = {
		[XLB_PHASE_FREE] = "NONE",
		[XLB_PHASE_SYN] = "SYN_RECV",
		[XLB_PHASE_ESTABLISHED] = "ESTABLISHED",
		[XLB_PHASE_FIN_WAIT] = "FIN_WAIT",
		[XLB_PHASE_CLOSE] = "CLOSE",
		[XLB_PHASE_DATAGRAM] = "UDP",
		[XLB_PHASE_TIME_WAIT] = "TIME_WAIT",
		[XLB_PHASE_CLOSE_WAIT] = "CLOSE_WAIT",
		[XLB_PHASE_SYN_SENT] = "SYN_SENT",
	};

	return phase < XLB_PHASES && names[phase] ? names[phase] : "ERR!";
}
