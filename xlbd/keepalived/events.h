/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.h - the two FIFOs that keepalived writes: "look now", and the state of VRRP instances.
 *
 * xlbd creates the FIFOs itself and holds them open read-write: keepalived then neither unlinks them at a reload nor
 * loses lines while xlbd restarts (reference: events.md section 3). Lines are hints; nothing depends on them.
 */
#ifndef XLBD_KEEPALIVED_EVENTS_H
#define XLBD_KEEPALIVED_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlbd/cleanup.h"

struct event_base;
struct events; /* opaque */

enum vrrp_state { VRRP_UNKNOWN, VRRP_MASTER, VRRP_BACKUP, VRRP_FAULT, VRRP_STOP, VRRP_DELETED };

/* One line, parsed. Pure; used by the FIFOs and by the notify script's `xlbctl role`. */
enum event_kind {
	EVENT_NONE,     /* not understood, or of no consequence (priorities, groups) */
	EVENT_LVS,      /* VS or RS line: read the table */
	EVENT_INSTANCE, /* VRRP instance changed its state */
};
struct event_line {
	enum event_kind kind;
	char instance[256]; /* EVENT_INSTANCE: its name */
	enum vrrp_state state;
	uint8_t priority;
};
bool event_parse(const char *line, struct event_line *ret); /* false: garbage */

struct events_callbacks { /* none of them may call events_stop() */
	void *context;
	void (*look)(void *context); /* at most once per read() of the FIFO */
	void (*instance)(void *context, const char *name, enum vrrp_state state);
};
struct events_counts {
	uint64_t lines, garbage, overlong; /* understood; not; longer than any of keepalived's */
};

/*
 * Creates (if needed) and opens both FIFOs; a path may be NULL. Sets the pipe to 1 MiB, reads without blocking.
 * -ENOTSUP: the path exists and is not a FIFO; other -errno from the system. Logs.
 */
int events_start(struct event_base *base, const char *lvs_fifo, const char *vrrp_fifo,
                 const struct events_callbacks *callbacks, struct events **ret);
struct events *events_stop(
	struct events *events); /* the FIFOs stay where they are; NULL is fine; returns NULL */
DEFINE_CLEANUP(struct events, events_stop)
void events_counts(const struct events *events, struct events_counts *ret);

#endif
