// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gate.c - a director does not become MASTER before it holds the connections.
 *
 * keepalived decides who is MASTER; a returning director with the higher priority would take over at once, without a connection in its
 * table. So keepalived.conf may name a file (track_file, with a weight that takes the priority below everybody else's) in which
 * stands 1 from the daemon's start until its table equals that of the active peer, and then 0. It opens too if no peer is
 * heard for two seconds, for then there is nothing to fetch, and at a deadline in any case.
 *
 * A daemon that ends opens it; for one that is killed the unit does (ExecStopPost). It is closed again only by a start. Called by
 * sync.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xlbd/log.h"
#include "xlbd/sync/gate.h"

#define TOPIC    "gate"
#define ALONE_MS 2000

struct gate {
	char *path;
	int64_t began, deadline;
	enum gate_reason reason;
	int problem;
};

int gate_write(const char *path, bool is_open)
{
	_cleanup_close_ int fd = -1;

	if (!path)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd >= 0 && fchmod(fd, 0644) == 0 && write(fd, is_open ? "0\n" : "1\n", 2) == 2)
		return 0;
	return log_errno(-errno, TOPIC, "'%s' cannot be written", path);
}

int gate_new(const char *path, unsigned deadline_s, bool active, int64_t now_ms, struct gate **ret)
{
	_cleanup_(gate_freep) struct gate *gate = calloc(1, sizeof(*gate));

	if (!gate)
		return -ENOMEM;
	gate->began = now_ms;
	gate->deadline = now_ms + (int64_t)deadline_s * 1000;
	if (path) {
		gate->path = strdup(path);
		if (!gate->path)
			return -ENOMEM;
	}
	gate->reason = active ? GATE_ACTIVE : GATE_CLOSED;
	gate->problem = gate_write(gate->path, active);
	*ret = take_ptr(gate);
	return 0;
}

struct gate *gate_free(struct gate *gate)
{
	if (!gate)
		return NULL;
	if (!gate_is_open(gate))
		(void)gate_write(gate->path, true);
	free(gate->path);
	free(gate);
	return NULL;
}

void gate_tick(struct gate *gate, enum node_state state, int64_t now_ms)
{
	if (gate->reason != GATE_CLOSED)
		return;
	if (state == NODE_EQUAL)
		gate->reason = GATE_EQUAL;
	else if (now_ms >= gate->deadline)
		gate->reason = GATE_DEADLINE;
	else if (state == NODE_ALONE && now_ms - gate->began >= ALONE_MS)
		gate->reason = GATE_ALONE;
	if (gate->reason == GATE_CLOSED)
		return;
	gate->problem = gate_write(gate->path, true);
	if (gate->reason == GATE_DEADLINE)
		log_warning(TOPIC, "opened after %lld ms: %s", (long long)(now_ms - gate->began),
		            gate_reason_text(gate->reason));
	else
		log_notice(TOPIC, "opened after %lld ms: %s", (long long)(now_ms - gate->began),
		           gate_reason_text(gate->reason));
}

void gate_hold(struct gate *gate, bool closed)
{
	if (closed == (gate->reason == GATE_HELD))
		return;
	gate->reason = closed ? GATE_HELD : GATE_EQUAL;
	gate->problem = gate_write(gate->path, !closed);
	log_notice(TOPIC, "by hand: %s", gate_reason_text(gate->reason));
}

bool gate_is_open(const struct gate *gate)
{
	return gate->reason != GATE_CLOSED && gate->reason != GATE_HELD;
}

enum gate_reason gate_reason(const struct gate *gate)
{
	return gate->reason;
}

const char *gate_path(const struct gate *gate)
{
	return gate->path;
}

int gate_problem(const struct gate *gate)
{
	return gate->problem;
}

const char *gate_reason_text(enum gate_reason reason)
{
	static const char *const texts[] = {
		[GATE_CLOSED] = "closed: connections are still missing",
		[GATE_EQUAL] = "open: the connections of all peers are here",
		[GATE_ALONE] = "open: no peer was heard",
		[GATE_ACTIVE] = "open: was active when the daemon started",
		[GATE_HELD] = "closed by hand: another director takes over",
		[GATE_DEADLINE] = "open: the deadline came before the connections did",
	};

	return texts[reason];
}
