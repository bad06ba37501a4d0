/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gate.h - may keepalived make this director MASTER? A file with a number that its track_file reads: 1 no, 0 yes.
 */
#ifndef XLBD_SYNC_GATE_H
#define XLBD_SYNC_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "xlbd/cleanup.h"
#include "xlbd/sync/node.h"

struct gate; /* opaque */

enum gate_reason { GATE_CLOSED, GATE_EQUAL, GATE_ALONE, GATE_DEADLINE, GATE_ACTIVE, GATE_HELD };

/*
 * Closed, unless this director is active already (the daemon alone was restarted). path NULL: there is no file, only the answer.
 * -ENOMEM; a file that cannot be written is logged.
 */
int gate_new(const char *path, unsigned deadline_s, bool active, int64_t now_ms, struct gate **ret);
/* Leaves it open: a daemon that is gone must not hold a director back. */
struct gate *gate_free(struct gate *gate);
DEFINE_CLEANUP(struct gate, gate_free)
/* The file alone; NULL: nothing. 0 or -errno, logged. */
int gate_write(const char *path, bool open);

/* Once opened it stays so: what is missing later is not for an election to decide. */
void gate_tick(struct gate *gate, enum node_state state, int64_t now_ms);
/* By hand: closed whatever the tables say, until it is released. */
void gate_hold(struct gate *gate, bool closed);
bool gate_is_open(const struct gate *gate);
enum gate_reason gate_reason(const struct gate *gate);
const char *gate_path(const struct gate *gate);
int gate_problem(const struct gate *gate); /* -errno of the last write; 0 */
const char *gate_reason_text(enum gate_reason reason);

#endif
