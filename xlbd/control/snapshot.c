// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * snapshot.c - `snapshot`: what `status`, `vip`, `real` and `drops` would say, all of one moment.
 *
 * For programs that collect figures (xlb-snmp, xlbctl metrics): with one question a second the
 * figures of a virtual server and of its real servers belong together, and the daemon's loop is
 * held once. The fields are those of the four commands, documented there, so that no collector can
 * ever disagree with xlbctl; only here are "interfaces" (what each device, and each of its receive
 * queues, received) and "cpus" (what the program did on each).
 */
#include <errno.h>
#include <string.h>

#include "xlbd/control/answer.h"
#include "xlbd/control/commands.h"
#include "xlbd/control/show.h"
#include "xlbd/control/show_services.h"
#include "xlbd/control/snapshot.h"
#include "xlbd/queues.h"
#include "xlbd/xlbd.h"

/* ---- interfaces ------------------------------------------------------------------------------- */

static json_t *queues_value(const char *device)
{
	_cleanup_free_ struct queue_counts *counts = calloc(QUEUES_MOST, sizeof(*counts));
	size_t count = counts ? queues_read(device, counts) : 0;
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		if (counts[i].known)
			json_array_append_new(list,
			                      json_pack("{s:I, s:I, s:I}", "queue", (json_int_t)i,
			                                "packets", (json_int_t)counts[i].packets,
			                                "bytes", (json_int_t)counts[i].bytes));
	return list;
}

static int show_interfaces(struct control_call *call)
{
	const struct xlbd *xlbd = call_xlbd(call);
	json_t *list = json_array();

	for (size_t i = 0; i < xlbd->device_count; i++) {
		const struct xlbd_device *device = &xlbd->device[i];
		struct queue_counts counts = {};

		queues_device(device->name, &counts);
		json_array_append_new(list,
		                      json_pack("{s:s, s:I, s:I, s:I, s:o}", "name", device->name,
		                                "ifindex", (json_int_t)device->ifindex, "packets",
		                                (json_int_t)counts.packets, "bytes",
		                                (json_int_t)counts.bytes, "queues",
		                                queues_value(device->name)));
	}
	return json_object_set_new(call->answer, "interfaces", list);
}

/* ---- processors ------------------------------------------------------------------------------- */

struct done { /* packets */
	uint64_t forwarded, passed, dropped;
};

static void add_verdict(struct done *done, const struct xlb_verdict_counters *counted, size_t cpus,
                        const char *action)
{
	for (size_t cpu = 0; cpu < cpus; cpu++) {
		if (strcmp(action, "forward") == 0)
			done[cpu].forwarded += counted[cpu].packets;
		else if (strcmp(action, "drop") == 0)
			done[cpu].dropped += counted[cpu].packets;
		else
			done[cpu].passed += counted[cpu].packets;
	}
}

/* Of those that have ever seen a packet. */
static json_t *cpus_value(const struct done *done, size_t cpus)
{
	json_t *list = json_array();

	for (size_t cpu = 0; cpu < cpus; cpu++)
		if (done[cpu].forwarded || done[cpu].passed || done[cpu].dropped)
			json_array_append_new(
				list, json_pack("{s:I, s:I, s:I, s:I}", "cpu", (json_int_t)cpu,
			                        "forwarded", (json_int_t)done[cpu].forwarded,
			                        "passed", (json_int_t)done[cpu].passed, "dropped",
			                        (json_int_t)done[cpu].dropped));
	return list;
}

static int show_cpus(struct control_call *call)
{
	const struct xlbd *xlbd = call_xlbd(call);
	size_t cpus = xlbd->counters ? counters_cpus(xlbd->counters) : 0;
	_cleanup_free_ struct done *done = calloc(cpus + 1, sizeof(*done));
	_cleanup_free_ struct xlb_verdict_counters *counted = calloc(cpus + 1, sizeof(*counted));

	if (!done || !counted)
		return -ENOMEM;
	for (int v = XLB_CONTINUE + 1; cpus && v < XLB_VERDICT_COUNT; v++) {
		enum xlb_verdict verdict = (enum xlb_verdict)v;

		if (verdict_action(verdict) &&
		    counters_verdict_by_cpu(xlbd->counters, verdict, counted) == 0)
			add_verdict(done, counted, cpus, verdict_action(verdict));
	}
	return json_object_set_new(call->answer, "cpus", cpus_value(done, cpus));
}

int show_snapshot(struct control_call *call)
{
	static int (*const parts[])(struct control_call *) = {
		show_status, show_vip, show_real, show_drops, show_interfaces, show_cpus,
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int r = parts[i](call);

		if (r < 0)
			return r;
	}
	return 0;
}
