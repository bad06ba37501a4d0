// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * notices.c - changes that are worth waking somebody for, and no more of them than can be read.
 *
 * history.c has seen which rows changed in this snapshot; here it is decided which of the changes
 * are told: real servers that came up or went down, virtual servers that lost their last real
 * server or have one again, roles, the connection table's marks, devices, a refused configuration,
 * a daemon that falls silent. What an operator did himself (a real server or a service added or
 * removed) is not told. Each kind has a bound per minute of its own, so that a flapping real
 * server hides no role change; what is over it is counted. main.c calls this after history_add().
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "snmp/notices.h"

struct notices {
	unsigned most;
	void (*tell)(void *context, const struct notice *notice);
	void *context;
	struct {
		uint64_t minute;
		unsigned count;
	} sent[NOTICE_KINDS];
	uint64_t suppressed, now;
	const struct snapshot *snapshot; /* while looking */
	bool looked, silent, high;
	size_t devices;
	char *rejected; /* what was said of the refused configuration; NULL: none is refused */
};

struct notices *notices_new(unsigned most, void (*tell)(void *context, const struct notice *notice),
                            void *context)
{
	struct notices *notices = calloc(1, sizeof(*notices));

	if (!notices)
		return NULL;
	notices->most = most;
	notices->tell = tell;
	notices->context = context;
	return notices;
}

struct notices *notices_free(struct notices *notices)
{
	if (notices)
		free(notices->rejected);
	free(notices);
	return NULL;
}

uint64_t notices_suppressed(const struct notices *notices)
{
	return notices->suppressed;
}

/* ---- telling ---------------------------------------------------------------------------------- */

static bool may_send(struct notices *notices, enum notice_kind kind)
{
	uint64_t minute = notices->now / 60000;

	if (notices->sent[kind].minute != minute) {
		notices->sent[kind].minute = minute;
		notices->sent[kind].count = 0;
	}
	if (notices->sent[kind].count >= notices->most) {
		notices->suppressed++;
		return false;
	}
	notices->sent[kind].count++;
	return true;
}

static void tell(struct notices *notices, enum notice_kind kind, const void *row,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static void tell(struct notices *notices, enum notice_kind kind, const void *row,
                 const char *format, ...)
{
	char detail[256];
	struct notice notice = {kind, notices->snapshot, row, detail};
	va_list arguments;

	if (!may_send(notices, kind))
		return;
	va_start(arguments, format);
	vsnprintf(detail, sizeof(detail), format, arguments);
	va_end(arguments);
	notices->tell(notices->context, &notice);
}

static const char *or_nothing(const char *text)
{
	return text ? text : "";
}

/* ---- what is looked at ------------------------------------------------------------------------ */

static bool just_changed(const struct notices *notices, const struct trend *trend)
{
	return trend->last_change == notices->snapshot->taken;
}

static const char *state_name(uint64_t state)
{
	static const char *const names[] = {"",     "unknown",  "up",     "degraded",
	                                    "down", "draining", "removed"};

	return state < ARRAY_SIZE(names) ? names[state] : "";
}

static void look_at_reals(struct notices *notices)
{
	for (size_t i = 0; i < notices->snapshot->real_count; i++) {
		const struct real *real = &notices->snapshot->reals[i];

		if (!just_changed(notices, &real->trend) || real->state == OPER_DISABLED ||
		    real->trend.before == OPER_DISABLED)
			continue;
		tell(notices, NOTICE_REAL, real,
		     "real server %s of %s is %s, %llu of %llu are usable%s%s",
		     or_nothing(real->name), real->vip->name, state_name(real->state),
		     (unsigned long long)real->vip->reals_up,
		     (unsigned long long)real->vip->reals_total, *real->reason ? ": " : "",
		     real->reason);
	}
}

static void look_at_vips(struct notices *notices)
{
	for (size_t i = 0; i < notices->snapshot->vip_count; i++) {
		const struct vip *vip = &notices->snapshot->vips[i];

		if (!just_changed(notices, &vip->trend) ||
		    (vip->state != OPER_DOWN && vip->trend.before != OPER_DOWN))
			continue;
		tell(notices, NOTICE_VIP, vip, "virtual server %s (%s) is %s%s%s", vip->name,
		     vip->printed, state_name(vip->state), *vip->reason ? ": " : "", vip->reason);
	}
}

static void look_at_roles(struct notices *notices)
{
	static const char *const words[] = {"",       "unknown", "init", "BACKUP",
	                                    "MASTER", "FAULT",   "STOP", "DELETED"};

	for (size_t i = 0; i < notices->snapshot->role_count; i++) {
		const struct role_row *role = &notices->snapshot->roles[i];

		if (just_changed(notices, &role->trend))
			tell(notices, NOTICE_ROLE, role,
			     "VRRP instance %s is %s, its addresses are %s here",
			     or_nothing(role->name), words[role->role % ARRAY_SIZE(words)],
			     role->active == 1 ? "owned" : "not owned");
	}
}

static void look_at_table(struct notices *notices)
{
	uint64_t percent = notices->snapshot->used_percent;
	bool was = notices->high;

	notices->high = percent >= (was ? NOTICE_TABLE_NORMAL : NOTICE_TABLE_HIGH);
	if (notices->high && !was)
		tell(notices, NOTICE_HIGH, NULL, "connection table %llu %% full",
		     (unsigned long long)percent);
	else if (was && !notices->high)
		tell(notices, NOTICE_NORMAL, NULL, "connection table %llu %% full",
		     (unsigned long long)percent);
}

static void look_at_devices(struct notices *notices)
{
	static const char *const words[] = {"", "detached", "generic", "native", "offloaded"};
	const struct snapshot *snapshot = notices->snapshot;

	for (size_t i = 0; i < snapshot->device_count; i++) {
		const struct device *device = &snapshot->devices[i];

		if (just_changed(notices, &device->trend))
			tell(notices, NOTICE_DATAPLANE, NULL, "XDP program on %s: %s%s%s",
			     or_nothing(device->name), words[device->mode % ARRAY_SIZE(words)],
			     device->problem ? ": " : "", or_nothing(device->problem));
	}
	if (notices->looked && snapshot->device_count != notices->devices)
		tell(notices, NOTICE_DATAPLANE, NULL,
		     "XDP program on %zu interface%s, before on %zu", snapshot->device_count,
		     snapshot->device_count == 1 ? "" : "s", notices->devices);
	notices->devices = snapshot->device_count;
}

static void look_at_configuration(struct notices *notices)
{
	const char *error = notices->snapshot->reload_error;

	if (error && notices->rejected && strcmp(error, notices->rejected) == 0)
		return;
	free(notices->rejected);
	notices->rejected = error ? strdup(error) : NULL;
	if (error && notices->looked)
		tell(notices, NOTICE_CONFIG, NULL, "%s", error);
}

void notices_look(struct notices *notices, const struct snapshot *snapshot)
{
	static void (*const looks[])(struct notices *) = {
		look_at_roles, look_at_devices, look_at_vips,
		look_at_reals, look_at_table,   look_at_configuration,
	};

	notices->snapshot = snapshot;
	notices->now = snapshot->taken;
	if (notices->silent)
		tell(notices, NOTICE_DATAPLANE, NULL, "xlbd answers again");
	notices->silent = false;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
		looks[i](notices);
	notices->looked = true;
	notices->snapshot = NULL;
}

void notices_silence(struct notices *notices, const char *why, uint64_t now)
{
	notices->now = now;
	if (!notices->silent && notices->looked)
		tell(notices, NOTICE_DATAPLANE, NULL,
		     "xlbd does not answer (%s); packets go on without it", why);
	notices->silent = notices->looked;
}
