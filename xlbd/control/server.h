/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h - the control socket: one JSON object a line, question and answer.
 *
 * {"command": "status", ...} -> {"ok": true, ...} or {"ok": false, "error": "..."}. Requests are
 * bounded (64 KiB), so are clients (32) and what waits to be sent to one (a client that does not
 * read is dropped and counted).
 */
#ifndef XLBD_CONTROL_SERVER_H
#define XLBD_CONTROL_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "xlbd/cleanup.h"

struct event_base;
struct xlbd;
struct control; /* opaque */

/*
 * group: who besides root may connect (0660), NULL: nobody (0600). Only root and our own uid may
 * change things. Logs. SIGPIPE is ignored from then on, in the whole process. Defined in
 * commands.c, which knows the commands.
 */
int control_start(struct event_base *base, const char *path, const char *group, struct xlbd *xlbd,
                  struct control **ret);
struct control *control_stop(
	struct control *control); /* removes the socket; NULL is fine; returns NULL */
DEFINE_CLEANUP(struct control, control_stop)

struct control_counts {
	uint64_t requests, errors, dropped_clients, refused_clients;
};
void control_counts(const struct control *control, struct control_counts *ret);

/* ---- below: for commands.c and the tests ------------------------------------------------------ */

struct control_limits {
	size_t request;    /* bytes of one line, its end not counted */
	size_t queue;      /* bytes that wait for one client before it is asked no more */
	unsigned clients;  /* at once */
	unsigned reserved; /* of these, only for those who may change things */
	unsigned idle;     /* ms without a request, then it is told and dropped */
	unsigned stalled;  /* ms without taking what waits for it, then it is dropped */
};

struct control_command;

struct control_setup {
	const struct control_command *commands; /* up to the one without a name */
	void *context;                          /* handed to each */
	void (*release)(
		void *context);       /* at control_stop(), or when starting fails; NULL: nothing */
	struct control_limits limits; /* a 0: the default */
};

/*
 * As control_start(), for any table of commands. -EADDRINUSE: somebody listens there; -EEXIST: the
 * path is something else than a socket; -ESRCH: no such group; other -errno from the system.
 */
int control_listen(struct event_base *base, const char *path, const char *group,
                   const struct control_setup *setup, struct control **ret);

#endif
