// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * history.c - tracks: one for each thing that has counters, fed once a second.
 *
 * A track is known by a key that outlives reloads (the address of a service, the number of a
 * verdict, the name of an instance), so a row keeps its history while it moves within the daemon's
 * lists, and for a while after it is gone: one that returns with smaller counters is seen to have
 * lost continuity. Rates are differences over the last ten samples; peaks are kept in slots of ten
 * seconds. A counter that goes backwards starts its track's samples again, so that no rate is
 * negative or absurd. main.c owns the one history there is. No clock, no I/O: the time is given.
 */
#include <stdbool.h>
#include <string.h>

#include <uthash.h>

#include "snmp/history.h"

enum kind {
	KIND_SYSTEM = 1,
	KIND_VIP,
	KIND_REAL,
	KIND_WAY,
	KIND_ROLE,
	KIND_DEVICE,
	KIND_QUEUE,
	KIND_CPU
};

struct sample {
	uint64_t at, packets, bytes, connections;
};

struct peak {
	uint64_t slot; /* time / 10 s */
	uint64_t highest;
};

struct track {
	UT_hash_handle hh;
	struct sample samples[HISTORY_WINDOW + 1]; /* the last first */
	unsigned count;
	struct peak peaks[HISTORY_PEAKS];
	uint64_t state, number, seen_at;
	uint64_t transitions, last_change, discontinuity, before;
	uint64_t turn; /* of the snapshot that it was last in */
	size_t length;
	char key[];
};

struct history {
	struct track *tracks;
	uint64_t turn, roles;
	uint64_t live_peak, rows, rows_changed, discontinuity;
	uint64_t role, takeovers, last_takeover, takeover_live;
};

struct history *history_new(void)
{
	return calloc(1, sizeof(struct history));
}

struct history *history_free(struct history *history)
{
	struct track *track, *next;

	if (!history)
		return NULL;
	HASH_ITER(hh, history->tracks, track, next) {
		HASH_DEL(history->tracks, track);
		free(track);
	}
	free(history);
	return NULL;
}

/* ---- one track -------------------------------------------------------------------------------- */

/* NULL: out of memory. */
static struct track *find_track(struct history *history, const char *key, size_t length)
{
	struct track *track;

	HASH_FIND(hh, history->tracks, key, length, track);
	if (track)
		return track;
	track = calloc(1, sizeof(*track) + length);
	if (!track)
		return NULL;
	memcpy(track->key, key, length);
	track->length = length;
	HASH_ADD_KEYPTR(hh, history->tracks, track->key, length, track);
	return track;
}

static uint64_t per_second(uint64_t before, uint64_t after, uint64_t milliseconds)
{
	return milliseconds ? (after - before) * 1000 / milliseconds : 0;
}

static void note_peak(struct track *track, uint64_t now, uint64_t rate)
{
	struct peak *peak = &track->peaks[now / 10000 % HISTORY_PEAKS];

	if (peak->slot != now / 10000)
		*peak = (struct peak){.slot = now / 10000};
	if (rate > peak->highest)
		peak->highest = rate;
}

static uint64_t highest_peak(const struct track *track, uint64_t now)
{
	uint64_t highest = 0;

	for (size_t i = 0; i < HISTORY_PEAKS; i++)
		if (track->peaks[i].slot + HISTORY_PEAKS > now / 10000 &&
		    track->peaks[i].highest > highest)
			highest = track->peaks[i].highest;
	return highest;
}

static bool goes_back(const struct sample *before, const struct sample *after)
{
	return after->packets < before->packets || after->bytes < before->bytes ||
	       after->connections < before->connections;
}

static void add_sample(struct track *track, const struct sample *sample)
{
	const struct sample *last = &track->samples[0];

	if (track->count == 0 || goes_back(last, sample)) {
		track->discontinuity = sample->at;
		track->count = 0;
	} else {
		note_peak(track, sample->at,
		          per_second(last->packets, sample->packets, sample->at - last->at));
		memmove(&track->samples[1], last, HISTORY_WINDOW * sizeof(*last));
	}
	track->samples[0] = *sample;
	if (track->count <= HISTORY_WINDOW)
		track->count++;
}

/* Whether it was in the snapshot before; one that returns begins anew. */
static bool mark_seen(struct history *history, struct track *track, uint64_t now)
{
	bool known = track->turn && track->turn + 1 == history->turn;

	if (!known)
		track->count = 0;
	track->turn = history->turn;
	track->seen_at = now;
	return known;
}

static struct track *feed(struct history *history, const char *key, size_t length, uint64_t state,
                          const struct sample *sample, struct trend *ret)
{
	struct track *track = find_track(history, key, length);
	const struct sample *last, *first;
	uint64_t time;

	if (!track)
		return NULL;
	if (mark_seen(history, track, sample->at) && state != track->state) {
		track->last_change = sample->at;
		track->before = track->state;
		track->transitions +=
			key[0] == KIND_ROLE || state == OPER_UP || track->state == OPER_UP;
	}
	track->state = state;
	add_sample(track, sample);
	last = &track->samples[0];
	first = &track->samples[track->count - 1];
	time = last->at - first->at;
	*ret = (struct trend){
		.packets_rate = per_second(first->packets, last->packets, time),
		.bits_rate = per_second(first->bytes, last->bytes, time) * 8,
		.connections_rate = per_second(first->connections, last->connections, time),
		.packets_peak = highest_peak(track, sample->at),
		.transitions = track->transitions,
		.last_change = track->last_change,
		.discontinuity = track->discontinuity,
		.before = track->before,
	};
	return track;
}

/* ---- keys ------------------------------------------------------------------------------------- */

struct key {
	char bytes[300];
	size_t length;
};

static void key_add(struct key *key, const void *bytes, size_t length)
{
	if (length > sizeof(key->bytes) - key->length)
		length = sizeof(key->bytes) - key->length;
	memcpy(key->bytes + key->length, bytes, length);
	key->length += length;
}

static struct key key_of(enum kind kind)
{
	char byte = (char)kind;
	struct key key = {};

	key_add(&key, &byte, 1);
	return key;
}

static struct key key_of_vip(enum kind kind, const struct vip *vip)
{
	struct key key = key_of(kind);

	key_add(&key, &vip->addr, sizeof(vip->addr));
	key_add(&key, &vip->port, sizeof(vip->port));
	key_add(&key, &vip->protocol, sizeof(vip->protocol));
	return key;
}

static struct key key_of_real(const struct real *real)
{
	struct key key = key_of_vip(KIND_REAL, real->vip);

	key_add(&key, &real->addr, sizeof(real->addr));
	key_add(&key, &real->port, sizeof(real->port));
	return key;
}

static struct key key_of_number(enum kind kind, uint64_t number)
{
	struct key key = key_of(kind);

	key_add(&key, &number, sizeof(number));
	return key;
}

/* ---- a snapshot ------------------------------------------------------------------------------- */

static void feed_rows(struct history *history, struct snapshot *snapshot, uint64_t now)
{
	for (size_t i = 0; i < snapshot->vip_count; i++) {
		struct vip *vip = &snapshot->vips[i];
		struct key key = key_of_vip(KIND_VIP, vip);
		struct sample sample = {now, vip->packets, vip->bytes, vip->connections};

		feed(history, key.bytes, key.length, vip->state, &sample, &vip->trend);
	}
	for (size_t i = 0; i < snapshot->real_count; i++) {
		struct real *real = &snapshot->reals[i];
		struct key key = key_of_real(real);
		struct sample sample = {now, real->packets, real->bytes, real->connections};

		feed(history, key.bytes, key.length, real->state, &sample, &real->trend);
	}
	for (size_t i = 0; i < snapshot->way_count; i++) {
		struct way *way = &snapshot->ways[i];
		struct key key = key_of_number(KIND_WAY, way->number);
		struct sample sample = {now, way->packets, way->bytes, 0};

		/* the counter as its state: last_change is the time of the last packet */
		feed(history, key.bytes, key.length, way->packets, &sample, &way->trend);
	}
}

static void feed_hardware(struct history *history, struct snapshot *snapshot, uint64_t now)
{
	for (size_t i = 0; i < snapshot->device_count; i++) {
		struct device *device = &snapshot->devices[i];
		struct key key = key_of_number(KIND_DEVICE, device->index);
		struct sample sample = {now, device->packets, device->bytes, 0};

		feed(history, key.bytes, key.length, device->mode, &sample, &device->trend);
	}
	for (size_t i = 0; i < snapshot->queue_count; i++) {
		struct queue *queue = &snapshot->queues[i];
		struct key key = key_of_number(KIND_QUEUE, queue->device);
		struct sample sample = {now, queue->packets, queue->bytes, 0};

		key_add(&key, &queue->number, sizeof(queue->number));
		feed(history, key.bytes, key.length, 0, &sample, &queue->trend);
	}
	for (size_t i = 0; i < snapshot->cpu_count; i++) {
		struct cpu *cpu = &snapshot->cpus[i];
		struct key key = key_of_number(KIND_CPU, cpu->number);
		struct sample sample = {now, cpu->seen, 0, 0};

		feed(history, key.bytes, key.length, 0, &sample, &cpu->trend);
	}
}

static void feed_roles(struct history *history, struct snapshot *snapshot, uint64_t now)
{
	for (size_t i = 0; i < snapshot->role_count; i++) {
		struct role_row *role = &snapshot->roles[i];
		struct key key = key_of(KIND_ROLE);
		struct sample sample = {.at = now};
		struct track *track;

		key_add(&key, role->name ? role->name : "", role->name ? strlen(role->name) : 0);
		/* its state is both: what keepalived says, and what is */
		track = feed(history, key.bytes, key.length, role->role * 2 + role->active, &sample,
		             &role->trend);
		if (track && !track->number)
			track->number = ++history->roles;
		role->number = track ? track->number : 0;
	}
	if (snapshot->role == 4 && history->role && history->role != 4) {
		history->takeovers++;
		history->last_takeover = now;
		history->takeover_live = snapshot->live;
	}
	history->role = snapshot->role;
}

static void feed_totals(struct history *history, struct snapshot *snapshot, uint64_t now)
{
	struct {
		uint64_t packets, bytes, connections;
		struct trend *ret;
	} totals[] = {
		{snapshot->seen, snapshot->seen_bytes, snapshot->connections,
	         &snapshot->seen_trend},
		{snapshot->forwarded, snapshot->forwarded_bytes, 0, &snapshot->forwarded_trend},
		{snapshot->passed, 0, 0, &snapshot->passed_trend},
		{snapshot->dropped, 0, 0, &snapshot->dropped_trend},
	};

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		struct key key = key_of_number(KIND_SYSTEM, i);
		struct sample sample = {now, totals[i].packets, totals[i].bytes,
		                        totals[i].connections};

		feed(history, key.bytes, key.length, 0, &sample, totals[i].ret);
		if (totals[i].ret->discontinuity > history->discontinuity)
			history->discontinuity = totals[i].ret->discontinuity;
	}
	if (snapshot->live > history->live_peak || history->discontinuity == now)
		history->live_peak = snapshot->live;
}

/* Forgets what has been gone for long; counts the rows that are there. */
static uint64_t sweep(struct history *history, uint64_t now, bool *ret_changed)
{
	struct track *track, *next;
	uint64_t rows = 0;

	HASH_ITER(hh, history->tracks, track, next) {
		bool row = track->key[0] == KIND_VIP || track->key[0] == KIND_REAL;

		if (track->turn == history->turn) {
			rows += row;
			*ret_changed = *ret_changed ||
			               (row && track->count == 1 && track->discontinuity == now);
		} else if (now - track->seen_at > HISTORY_KEEP_MS) {
			HASH_DEL(history->tracks, track);
			free(track);
		}
	}
	return rows;
}

void history_add(struct history *history, struct snapshot *snapshot, uint64_t now)
{
	bool changed = false;
	uint64_t rows;

	history->turn++;
	feed_rows(history, snapshot, now);
	feed_hardware(history, snapshot, now);
	feed_roles(history, snapshot, now);
	feed_totals(history, snapshot, now);
	rows = sweep(history, now, &changed);
	if (changed || rows != history->rows)
		history->rows_changed = now;
	history->rows = rows;
	snapshot->taken = now;
	snapshot->live_peak = history->live_peak;
	snapshot->rows_changed = history->rows_changed;
	snapshot->generation_changed =
		now > snapshot->since_change_ms ? now - snapshot->since_change_ms : 1;
	snapshot->discontinuity = history->discontinuity;
	snapshot->takeovers = history->takeovers;
	snapshot->last_takeover = history->last_takeover;
	snapshot->takeover_live = history->takeover_live;
}
