// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resize.c - another size of the connection table, while packets use it: which step is next, and when.
 *
 * A BPF map cannot grow, so its connections move to another one (flows_move.c says why none is missed on the way). The stages:
 *
 *	rest    a size is asked for that the table does not have: make the new map and turn the pins over (table_pins.c), load a
 *	        program that looks in both. From here on the pins say that a change is under way.
 *	spread  put that program on every pinned link, also of devices that this daemon did not choose; wait until no packet is in
 *	        the former one. Before that nothing may move: the former program looks in the old table only.
 *	move    walk the old table, a few milliseconds at a time, until a walk finds nothing in it. Packets insert into
 *	        the new one only, so it stays empty. What finds no slot in the new one is served from the old one until it ends.
 *	forget  load a program that knows the new table only, put it on every link, wait; unpin the old table, which ends with that.
 *
 * A daemon that dies in any stage leaves a program on the links that serves all tables with connections in them. The next
 * one finds both pinned, loads the program for both and begins at `spread`; that repeats what was done, at no harm.
 * Both families change together; what is asked for meanwhile is looked at when the table is at rest again.
 *
 * A table becomes smaller only if it is empty: connections that do not fit would have to end. What cannot be done is said
 * once and not tried again until another size is asked for.
 *
 * Called by the daemon's loop. Relies on the lock on the pin folder: nobody else moves. Does not: choose devices, keep time.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "table.h"
#include "xlbd/dataplane/links.h"
#include "xlbd/dataplane/resize.h"
#include "xlbd/dataplane/table_pins.h"
#include "xlbd/log.h"

#define TOPIC        "connections"
#define MOVE_BUCKETS 256   /* between two looks at the clock: 0.3 ms when all are full */
#define MOVE_US      8000  /* of moving in one step */
#define SOON_MS      1     /* as soon as the loop has done other work */
#define PAUSE_MS     16    /* between steps of moving: a third of a core at most */
#define LEFT_MS      1000  /* until what found no slot is tried again */
#define TROUBLE_MS   10000 /* until what the kernel refused is tried again */

enum { NARROW, WIDE, WIDTHS };

static const struct {
	const char *map, *key, *family;
	size_t bucket_bytes;
} kind[WIDTHS] = {
	{"connections_narrow", "connections.ipv4", "IPv4", sizeof(struct narrow_bucket)},
	{"connections_wide", "connections.ipv6", "IPv6", sizeof(struct wide_bucket)},
};

enum stage { STAGE_REST, STAGE_SPREAD, STAGE_MOVE, STAGE_FORGET };

struct resize {
	struct dataplane *dataplane;
	enum stage stage;
	uint32_t wanted[WIDTHS]; /* bits; 0: as it is */
	struct flows_progress walk;
	uint64_t moved, left;
	bool told_left, forgetful; /* forgetful: the program without the old tables is loaded */
	int64_t began;             /* us */
};

static int64_t monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void get_tables(const struct resize *resize, struct flows_table table[WIDTHS],
                       struct flows_table old[WIDTHS])
{
	dataplane_tables(resize->dataplane, &table[NARROW], &table[WIDE]);
	dataplane_old_tables(resize->dataplane, &old[NARROW], &old[WIDE]);
}

static void begin(struct resize *resize)
{
	struct flows_table table[WIDTHS], old[WIDTHS];

	get_tables(resize, table, old);
	for (int i = 0; i < WIDTHS; i++)
		if (old[i].bits)
			log_notice(TOPIC,
			           "%s: moving from a table of %llu slots to one of %llu, under "
			           "traffic",
			           kind[i].family, (unsigned long long)table_capacity(old[i].bits),
			           (unsigned long long)table_capacity(table[i].bits));
	resize->stage = STAGE_SPREAD;
	resize->walk = (struct flows_progress){0};
	resize->moved = resize->left = 0;
	resize->told_left = resize->forgetful = false;
	resize->began = monotonic_us();
}

int resize_open(struct dataplane *dataplane, struct resize **ret)
{
	struct flows_table table[WIDTHS], old[WIDTHS];
	struct resize *resize = calloc(1, sizeof(*resize));

	if (!resize)
		return -ENOMEM;
	resize->dataplane = dataplane;
	get_tables(resize, table, old);
	if (old[NARROW].bits || old[WIDE].bits)
		begin(resize);
	*ret = resize;
	return 0;
}

struct resize *resize_close(struct resize *resize)
{
	free(resize);
	return NULL;
}

int resize_open_flows(struct dataplane *dataplane, struct flows **ret)
{
	_cleanup_(flows_closep) struct flows *flows = NULL;
	struct flows_table table[WIDTHS], old[WIDTHS];
	int r;

	dataplane_tables(dataplane, &table[NARROW], &table[WIDE]);
	dataplane_old_tables(dataplane, &old[NARROW], &old[WIDE]);
	r = flows_open(&table[NARROW], &table[WIDE], dataplane_control(dataplane), &flows);
	if (r < 0)
		return r;
	r = flows_attach(flows, old[NARROW].bits ? &old[NARROW] : NULL,
	                 old[WIDE].bits ? &old[WIDE] : NULL);
	if (r < 0)
		return r;
	*ret = take_ptr(flows);
	return 0;
}

void resize_want(struct resize *resize, uint64_t ipv4, uint64_t ipv6)
{
	resize->wanted[NARROW] = table_bits_for(ipv4);
	resize->wanted[WIDE] = table_bits_for(ipv6);
}

/* ---- rest ------------------------------------------------------------------------------------- */

/* True: the pins of this table have been turned over. */
static bool grow(struct resize *resize, struct flows *flows, int width, uint32_t bits)
{
	const char *folder = dataplane_pin_folder(resize->dataplane);
	uint32_t wanted = resize->wanted[width];
	int r;

	if (!folder || !wanted || wanted == bits)
		return false;
	resize->wanted[width] = 0;
	r = flows_may_resize(flows, width == WIDE, wanted, table_stash_bits(wanted));
	if (r == -ENOSPC) {
		log_warning(
			TOPIC,
			"'%s' asks for %llu slots, the %s table has %llu and connections in them: "
			"it becomes smaller only when it is empty, and stays as it is",
			kind[width].key, (unsigned long long)table_capacity(wanted),
			kind[width].family, (unsigned long long)table_capacity(bits));
		return false;
	}
	if (r >= 0)
		r = table_pins_grow(folder, kind[width].map, kind[width].bucket_bytes, wanted);
	if (r < 0)
		log_errno(r, TOPIC, "the %s table stays at %llu slots: cannot make one of %llu",
		          kind[width].family, (unsigned long long)table_capacity(bits),
		          (unsigned long long)table_capacity(wanted));
	return r >= 0;
}

static unsigned rest(struct resize *resize, struct flows **flows, uint64_t now)
{
	const char *folder = dataplane_pin_folder(resize->dataplane);
	struct flows_table table[WIDTHS], old[WIDTHS];
	bool grown[WIDTHS];

	(void)now;
	get_tables(resize, table, old);
	for (int i = 0; i < WIDTHS; i++)
		grown[i] = grow(resize, *flows, i, table[i].bits);
	if (!grown[NARROW] && !grown[WIDE])
		return 0;
	if (dataplane_reload(resize->dataplane, true) >= 0) {
		begin(resize);
		return SOON_MS;
	}
	log_error(TOPIC, "the connection table keeps its size");
	for (int i = 0; i < WIDTHS; i++)
		if (grown[i] && table_pins_undo(folder, kind[i].map) < 0)
			log_error(TOPIC, "'%s/%s_old' cannot be renamed back", folder, kind[i].map);
	return 0;
}

/* ---- spread ----------------------------------------------------------------------------------- */

/* The program that is loaded now, and no other, on every link. */
static int spread_program(struct resize *resize)
{
	const char *folder = dataplane_pin_folder(resize->dataplane);
	int r = links_replace(folder, dataplane_ingress_fd(resize->dataplane));

	if (r < 0)
		return log_errno(r, TOPIC, "cannot replace the program on the links in '%s'",
		                 folder);
	r = dataplane_synchronize(resize->dataplane);
	return r < 0 ? log_errno(r, TOPIC, "cannot wait for running programs") : 0;
}

static unsigned spread(struct resize *resize, struct flows **flows, uint64_t now)
{
	struct flows *both = NULL;
	int r = resize_open_flows(resize->dataplane, &both);

	(void)now;
	if (r < 0) {
		log_errno(r, TOPIC, "cannot map the connection tables");
		return TROUBLE_MS;
	}
	flows_close(*flows);
	*flows = both;
	if (spread_program(resize) < 0)
		return TROUBLE_MS;
	resize->stage = STAGE_MOVE;
	return SOON_MS;
}

/* ---- move ------------------------------------------------------------------------------------- */

static unsigned end_walk(struct resize *resize)
{
	const bool found = resize->walk.moved || resize->walk.left;

	resize->moved += resize->walk.moved;
	resize->left = resize->walk.left;
	resize->walk = (struct flows_progress){0};
	if (!found) {
		resize->stage = STAGE_FORGET;
		return SOON_MS;
	}
	if (!resize->left)
		return PAUSE_MS;
	if (!resize->told_left)
		log_info(TOPIC,
		         "%llu connections find no slot in the new table (yet): served from "
		         "the old one",
		         (unsigned long long)resize->left);
	resize->told_left = true;
	return LEFT_MS;
}

static unsigned move(struct resize *resize, struct flows **flows, uint64_t now)
{
	int64_t begun = monotonic_us();

	do {
		if (flows_move(*flows, now, MOVE_BUCKETS, &resize->walk))
			return end_walk(resize);
	} while (monotonic_us() - begun < MOVE_US);
	return PAUSE_MS;
}

/* ---- forget ----------------------------------------------------------------------------------- */

static void end(struct resize *resize)
{
	struct flows_table table[WIDTHS], old[WIDTHS];

	get_tables(resize, table, old);
	log_notice(TOPIC, "%llu connections moved in %lld ms; %llu slots for IPv4, %llu for IPv6",
	           (unsigned long long)resize->moved,
	           (long long)(monotonic_us() - resize->began) / 1000,
	           (unsigned long long)table_capacity(table[NARROW].bits),
	           (unsigned long long)table_capacity(table[WIDE].bits));
	resize->stage = STAGE_REST;
}

static unsigned forget(struct resize *resize, struct flows **flows, uint64_t now)
{
	const char *folder = dataplane_pin_folder(resize->dataplane);
	int r = 0;

	(void)now;
	if (!resize->forgetful && dataplane_reload(resize->dataplane, false) < 0)
		return TROUBLE_MS;
	resize->forgetful = true;
	if (spread_program(resize) < 0)
		return TROUBLE_MS;
	flows_detach(*flows);
	for (int i = 0; i < WIDTHS && r >= 0; i++)
		r = table_pins_drop_old(folder, kind[i].map);
	if (r < 0) {
		log_errno(r, TOPIC, "cannot unpin the old table in '%s'", folder);
		return TROUBLE_MS;
	}
	end(resize);
	return SOON_MS;
}

/* ---- all -------------------------------------------------------------------------------------- */

unsigned resize_step(struct resize *resize, struct flows **flows, uint64_t now)
{
	static unsigned (*const steps[])(struct resize *, struct flows **, uint64_t) = {
		[STAGE_REST] = rest,
		[STAGE_SPREAD] = spread,
		[STAGE_MOVE] = move,
		[STAGE_FORGET] = forget,
	};

	return steps[resize->stage](resize, flows, now);
}

static const char *const stage_name[] = {[STAGE_REST] = "rest",
                                         [STAGE_SPREAD] = "spread",
                                         [STAGE_MOVE] = "move",
                                         [STAGE_FORGET] = "forget"};

bool resize_progress(const struct resize *resize, struct resize_progress *ret)
{
	struct flows_table table[WIDTHS], old[WIDTHS];
	uint64_t buckets = 0;

	if (resize->stage == STAGE_REST)
		return false;
	get_tables(resize, table, old);
	*ret = (struct resize_progress){.stage = stage_name[resize->stage],
	                                .moved = resize->moved + resize->walk.moved,
	                                .left = resize->left};
	for (int i = 0; i < WIDTHS; i++) {
		ret->slots_to += table_capacity(table[i].bits);
		ret->slots_from += table_capacity(old[i].bits ? old[i].bits : table[i].bits);
		buckets += old[i].bits ? table_entries(old[i].bits) : 0;
	}
	if (resize->stage == STAGE_FORGET)
		ret->percent = 100;
	else if (buckets)
		ret->percent = (unsigned)(resize->walk.bucket * 100 / buckets);
	return true;
}
