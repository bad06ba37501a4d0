/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.h - the daemon's answer to `snapshot` as rows: what the tables of XLB-MIB show. Pure.
 *
 * Fields that are numbers are uint64_t, whatever their type in the MIB: a column is then a place in a row (mib.h). Those
 * below "from history" stay 0 until history_add() fills them.
 */
#ifndef XLB_SNMP_SNAPSHOT_H
#define XLB_SNMP_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"

/* XlbOperState */
enum oper_state {
	OPER_UNKNOWN = 1,
	OPER_UP,
	OPER_DEGRADED,
	OPER_DOWN,
	OPER_DRAINING,
	OPER_DISABLED
};

/* What history.c knows of a row. Times: CLOCK_BOOTTIME in ms, 0: never. */
struct trend {
	uint64_t packets_rate, bits_rate, connections_rate; /* per second, over ten */
	uint64_t packets_peak;                              /* highest second of five minutes */
	uint64_t transitions, last_change, discontinuity;
	uint64_t before; /* the state until last_change */
};

struct vip {
	struct xlb_addr addr;
	uint16_t port; /* host order */
	uint8_t protocol;
	const char *name, *printed, *reason, *scheduler, *instance;
	uint64_t state, side, forwarding;
	uint64_t reals_total, reals_up;
	uint64_t held, active, inactive, connections;
	uint64_t packets, bytes, dropped, passed, no_real, refused;
	struct trend trend; /* from history */
};

struct real {
	struct vip *vip; /* in the same snapshot; never NULL */
	struct xlb_addr addr;
	uint16_t port;
	const char *name, *reason;
	uint64_t state, weight, forwarding, sorry, neighbour;
	uint64_t held, active, inactive, connections;
	uint64_t packets, bytes, dropped;
	struct trend trend; /* from history */
};

struct way { /* out of the data plane: a verdict */
	uint64_t number, action;
	const char *word, *sentence;
	uint64_t packets, bytes;
	struct trend trend; /* from history; last_change: of the counter */
};

struct phase { /* connections by protocol and state */
	uint64_t protocol, state, current;
};

struct device {
	uint64_t index, mode;
	const char *name, *problem;
	uint64_t packets, bytes;
	struct trend trend; /* from history */
};

struct queue { /* of a device */
	uint64_t device, number, packets, bytes;
	struct trend trend; /* from history */
};

struct cpu {
	uint64_t number, seen, forwarded, passed, dropped;
	struct trend trend; /* from history */
};

struct role_row {
	uint64_t number; /* from history: index of the row */
	const char *name;
	uint64_t role, active;
	struct trend trend; /* from history */
};

struct snapshot {
	json_t *answer; /* owns every string */
	const char *version, *node, *reload_error, *problem;
	uint64_t mode, status, generation, since_change_ms, uptime_ms;
	uint64_t vip_count, real_count, problem_count;
	uint64_t forwarded, forwarded_bytes, passed, dropped, seen, seen_bytes, connections;
	uint64_t live, slots, used_percent, table_full;
	uint64_t role;
	struct vip *vips;
	struct real *reals;
	struct way *ways;
	struct phase *phases;
	struct device *devices;
	struct queue *queues;
	struct cpu *cpus;
	struct role_row *roles;
	size_t way_count, phase_count, device_count, queue_count, cpu_count, role_count;
	/* from history */
	struct trend seen_trend, forwarded_trend, passed_trend, dropped_trend;
	uint64_t live_peak, rows_changed, generation_changed, discontinuity, takeovers,
		last_takeover, takeover_live;
	uint64_t notify_most, notify_suppressed; /* the agent's own */
	uint64_t taken;                          /* CLOCK_BOOTTIME, ms */
};

/* Takes the answer over, whatever comes of it. -EPROTO: it is not what `snapshot` says; -ENOMEM. */
int snapshot_read(json_t *answer, struct snapshot **ret);
struct snapshot *snapshot_free(struct snapshot *snapshot); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct snapshot, snapshot_free)

#endif
