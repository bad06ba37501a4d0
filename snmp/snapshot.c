// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * snapshot.c - from the JSON of the control socket to rows with the values of XLB-MIB.
 *
 * Words of the daemon become the MIB's enumerations by the tables below; a word that is newer than
 * this program becomes unknown(1), a missing field 0: an older or newer daemon is shown as far as
 * it is understood. The answer is kept, because every string of the rows lies in it. Services
 * without an address (fwmark) have no index and are left out, and so are real servers of services
 * that are gone. Called once a second by main.c; allocates, but does no I/O and knows no clock.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "snmp/snapshot.h"
#include "xlbd/model/addr.h"

/* ---- words ------------------------------------------------------------------------------------ */

struct word {
	const char *word;
	uint64_t number;
};

static const struct word sides[] = {{"xdp", 1},      {"standby", 2},  {"ipvs", 3},
                                    {"draining", 4}, {"unserved", 5}, {}};
static const struct word methods[] = {{"direct", 1}, {"tunnel", 2}, {"nat", 3},
                                      {"local", 4},  {"mixed", 5},  {}};
static const struct word real_states[] = {{"up", OPER_UP},
                                          {"drained", OPER_DRAINING},
                                          {"down", OPER_DOWN},
                                          {"gone", OPER_DISABLED},
                                          {}};
static const struct word neighbours[] = {{"resolved", 2}, {"resolving", 3},   {"no route", 4},
                                         {"local", 5},    {"unsupported", 6}, {}};
static const struct word modes[] = {{"none", 1}, {"generic", 2}, {"native", 3}, {}};
static const struct word roles[] = {{"backup", 3}, {"master", 4},  {"fault", 5},
                                    {"stop", 6},   {"deleted", 7}, {}};
static const struct word actions[] = {{"forward", 1}, {"pass", 2}, {"drop", 3}, {}};
static const struct word phases[] = {{"SYN_RECV", 1},
                                     {"ESTABLISHED", 3},
                                     {"FIN_WAIT", 4},
                                     {"TIME_WAIT", 5},
                                     {"CLOSE", 6},
                                     {"UDP", 8},
                                     {}};

static uint64_t number_of(const struct word *words, const char *word, uint64_t otherwise)
{
	for (; word && words->word; words++)
		if (strcasecmp(words->word, word) == 0)
			return words->number;
	return otherwise;
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static uint64_t integer_of(const json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 ? (uint64_t)value : 0;
}

static uint64_t word_of(const json_t *object, const char *name, const struct word *words)
{
	return number_of(words, text_of(object, name), 1);
}

/* Its elements, and room for as many rows of this size. */
static size_t room_for(const json_t *list, size_t size, void *rows)
{
	size_t count = json_array_size(list);

	if (count)
		*(void **)rows = calloc(count, size);
	return *(void **)rows ? count : 0;
}

/* ---- services --------------------------------------------------------------------------------- */

static uint64_t state_of_vip(const json_t *value, const struct vip *vip)
{
	if (!json_is_true(json_object_get(value, "in_force")) || vip->side == 5 ||
	    vip->reals_up == 0)
		return OPER_DOWN;
	if (vip->side == 4)
		return OPER_DRAINING;
	return vip->reals_up < vip->reals_total ? OPER_DEGRADED : OPER_UP;
}

static const char *reason_of_vip(const json_t *value, const struct vip *vip)
{
	const char *reason = text_of(value, "reason");

	if (reason)
		return reason;
	if (!json_is_true(json_object_get(value, "in_force")))
		return "declared in keepalived.conf, not in force";
	if (vip->reals_up == 0)
		return "no real server is usable";
	return vip->state == OPER_DEGRADED ? "some real servers are not usable" : "";
}

static bool read_vip(const json_t *value, struct vip *vip)
{
	const char *printed = text_of(value, "virtual");
	const json_t *reals = json_object_get(value, "reals");

	if (!printed || !endpoint_parse(printed, &vip->addr, &vip->port, &vip->protocol) ||
	    !vip->protocol)
		return false;
	vip->printed = printed;
	vip->name = text_of(value, "name") ? text_of(value, "name") : printed;
	vip->scheduler = text_of(value, "scheduler");
	vip->instance = text_of(value, "instance");
	vip->side = word_of(value, "side", sides);
	vip->forwarding = number_of(methods, text_of(value, "method"), 6);
	vip->reals_total = integer_of(reals, "total");
	vip->reals_up = integer_of(reals, "usable");
	vip->state = state_of_vip(value, vip);
	vip->reason = reason_of_vip(value, vip);
	vip->held = integer_of(value, "held");
	vip->active = integer_of(value, "active");
	vip->inactive = integer_of(value, "inactive");
	vip->connections = integer_of(value, "connections");
	vip->packets = integer_of(value, "packets");
	vip->bytes = integer_of(value, "bytes");
	vip->dropped = integer_of(value, "dropped");
	vip->passed = integer_of(value, "passed");
	vip->no_real = integer_of(value, "no_real");
	vip->refused = integer_of(value, "refused");
	return true;
}

static void read_vips(struct snapshot *snapshot)
{
	const json_t *list = json_object_get(snapshot->answer, "vips"), *value;
	size_t room = room_for(list, sizeof(struct vip), &snapshot->vips), i;

	json_array_foreach(list, i, value)
		if (i < room && read_vip(value, &snapshot->vips[snapshot->vip_count]))
			snapshot->vip_count++;
}

/* Real servers come in the order of their services: the one after the last is looked at first. */
static struct vip *find_vip(const struct snapshot *snapshot, const char *printed, size_t *hint)
{
	for (size_t i = 0; printed && i < snapshot->vip_count; i++) {
		size_t at = (*hint + i) % snapshot->vip_count;

		if (strcmp(snapshot->vips[at].printed, printed) == 0) {
			*hint = at;
			return &snapshot->vips[at];
		}
	}
	return NULL;
}

static const char *reason_of_real(const struct real *real)
{
	switch (real->state) {
	case OPER_DOWN:
		return "keepalived's checker has taken it out";
	case OPER_DRAINING:
		return "weight 0";
	case OPER_DISABLED:
		return "removed; its connections end";
	}
	return real->neighbour == 2 || real->neighbour == 1 ? "" : "its next hop is not resolved";
}

static bool read_real(const json_t *value, struct real *real)
{
	const char *address = text_of(value, "address");

	if (!address || !addr_parse(address, &real->addr))
		return false;
	real->port = (uint16_t)integer_of(value, "port");
	real->name = text_of(value, "real");
	real->state = word_of(value, "state", real_states);
	real->weight = integer_of(value, "weight");
	real->forwarding = number_of(methods, text_of(value, "method"), 6);
	real->sorry = json_is_true(json_object_get(value, "sorry")) ? 1 : 2;
	real->neighbour = word_of(json_object_get(value, "next_hop"), "state", neighbours);
	real->reason = reason_of_real(real);
	real->active = integer_of(value, "active");
	real->inactive = integer_of(value, "inactive");
	real->held = real->active + real->inactive;
	real->connections = integer_of(value, "connections");
	real->packets = integer_of(value, "packets");
	real->bytes = integer_of(value, "bytes");
	real->dropped = integer_of(value, "dropped");
	return true;
}

static void read_reals(struct snapshot *snapshot)
{
	const json_t *list = json_object_get(snapshot->answer, "reals"), *value;
	size_t room = room_for(list, sizeof(struct real), &snapshot->reals), hint = 0, i;

	json_array_foreach(list, i, value) {
		struct real *real = &snapshot->reals[snapshot->real_count];
		struct vip *vip = find_vip(snapshot, text_of(value, "vip"), &hint);

		if (i >= room || !vip || !read_real(value, real))
			continue;
		real->vip = vip;
		snapshot->real_count++;
	}
}

/* ---- the data plane as a whole ---------------------------------------------------------------- */

/* The totals are sums of the ways, not those of `status`, which were read a moment earlier: they must add up. */
static void add_way(struct snapshot *snapshot, const struct way *way)
{
	snapshot->seen += way->packets;
	snapshot->seen_bytes += way->bytes;
	if (way->action == 1) {
		snapshot->forwarded += way->packets;
		snapshot->forwarded_bytes += way->bytes;
	} else if (way->action == 2) {
		snapshot->passed += way->packets;
	} else {
		snapshot->dropped += way->packets;
	}
}

static void read_ways(struct snapshot *snapshot)
{
	const json_t *list = json_object_get(snapshot->answer, "verdicts"), *value;
	size_t room = room_for(list, sizeof(struct way), &snapshot->ways), i;

	json_array_foreach(list, i, value) {
		struct way *way;

		if (i >= room)
			return;
		way = &snapshot->ways[snapshot->way_count++];
		way->number = integer_of(value, "number");
		way->word = text_of(value, "word");
		way->sentence = text_of(value, "sentence");
		way->action = word_of(value, "action", actions);
		way->packets = integer_of(value, "packets");
		way->bytes = integer_of(value, "bytes");
		add_way(snapshot, way);
		if (way->word && strcmp(way->word, "table-full") == 0)
			snapshot->table_full = way->packets;
	}
}

static void read_connections(struct snapshot *snapshot)
{
	const json_t *value = json_object_get(snapshot->answer, "connections"), *count;
	json_t *states = json_object_get(value, "states");
	const char *word;

	snapshot->live = integer_of(value, "live");
	snapshot->slots = integer_of(value, "slots");
	snapshot->used_percent = snapshot->slots ? snapshot->live * 100 / snapshot->slots : 0;
	snapshot->phases = calloc(json_object_size(states) + 1, sizeof(struct phase));
	if (!snapshot->phases)
		return;
	json_object_foreach(states, word, count) {
		struct phase *phase = &snapshot->phases[snapshot->phase_count++];

		phase->state = number_of(phases, word, 9);
		phase->protocol = phase->state == 8 ? IPPROTO_UDP : IPPROTO_TCP;
		phase->current = (uint64_t)json_integer_value(count);
	}
}

static void read_devices(struct snapshot *snapshot)
{
	const json_t *list = json_object_get(snapshot->answer, "devices"), *value;
	size_t room = room_for(list, sizeof(struct device), &snapshot->devices), i;

	snapshot->mode = 1;
	json_array_foreach(list, i, value) {
		struct device *device;

		if (i >= room)
			return;
		device = &snapshot->devices[snapshot->device_count++];
		device->index = integer_of(value, "ifindex");
		device->name = text_of(value, "name");
		device->problem = text_of(value, "problem");
		device->mode = word_of(value, "mode", modes);
		snapshot->mode = i == 0 || snapshot->mode == device->mode ? device->mode : 5;
	}
}

static void read_queues_of(struct snapshot *snapshot, uint64_t device, const json_t *list)
{
	const json_t *value;
	size_t i;

	json_array_foreach(list, i, value)
		snapshot->queues[snapshot->queue_count++] = (struct queue){
			.device = device,
			.number = integer_of(value, "queue"),
			.packets = integer_of(value, "packets"),
			.bytes = integer_of(value, "bytes"),
		};
}

/* What the devices received; they themselves are known by then. */
static void read_interfaces(struct snapshot *snapshot)
{
	const json_t *list = json_object_get(snapshot->answer, "interfaces"), *value;
	size_t queues = 0, i;

	json_array_foreach(list, i, value)
		queues += json_array_size(json_object_get(value, "queues"));
	snapshot->queues = calloc(queues + 1, sizeof(struct queue));
	json_array_foreach(list, i, value) {
		uint64_t index = integer_of(value, "ifindex");

		for (size_t d = 0; d < snapshot->device_count; d++) {
			if (snapshot->devices[d].index != index)
				continue;
			snapshot->devices[d].packets = integer_of(value, "packets");
			snapshot->devices[d].bytes = integer_of(value, "bytes");
		}
		if (snapshot->queues)
			read_queues_of(snapshot, index, json_object_get(value, "queues"));
	}
}

static void read_cpus(struct snapshot *snapshot)
{
	const json_t *list = json_object_get(snapshot->answer, "cpus"), *value;
	size_t room = room_for(list, sizeof(struct cpu), &snapshot->cpus), i;

	json_array_foreach(list, i, value) {
		struct cpu *cpu;

		if (i >= room)
			return;
		cpu = &snapshot->cpus[snapshot->cpu_count++];
		cpu->number = integer_of(value, "cpu");
		cpu->forwarded = integer_of(value, "forwarded");
		cpu->passed = integer_of(value, "passed");
		cpu->dropped = integer_of(value, "dropped");
		cpu->seen = cpu->forwarded + cpu->passed + cpu->dropped;
	}
}

static void read_roles(struct snapshot *snapshot)
{
	const json_t *list = json_object_get(snapshot->answer, "roles"), *value;
	size_t room = room_for(list, sizeof(struct role_row), &snapshot->roles), i;

	snapshot->role = 1;
	json_array_foreach(list, i, value) {
		struct role_row *role;

		if (i >= room)
			return;
		role = &snapshot->roles[snapshot->role_count++];
		role->name = text_of(value, "instance");
		role->role = word_of(value, "state", roles);
		role->active = json_is_true(json_object_get(value, "active")) ? 1 : 2;
		if (role->active == 1)
			snapshot->role = 4;
		else if (snapshot->role != 4)
			snapshot->role = role->role == 5 && snapshot->role != 3 ? 5 : 3;
	}
}

static void read_system(struct snapshot *snapshot)
{
	const json_t *answer = snapshot->answer;
	const json_t *problems = json_object_get(answer, "problems");
	bool healthy = json_is_true(json_object_get(answer, "healthy"));

	snapshot->version = text_of(answer, "version");
	snapshot->node = text_of(answer, "host");
	snapshot->reload_error = text_of(answer, "reload_error");
	snapshot->problem_count = json_array_size(problems);
	snapshot->problem = text_of(json_array_get(problems, 0), "text");
	snapshot->status = healthy ? 2 : 3;
	snapshot->generation = integer_of(answer, "generation");
	snapshot->since_change_ms = integer_of(answer, "changed_ms");
	snapshot->uptime_ms = integer_of(answer, "uptime_ms");
}

int snapshot_read(json_t *answer, struct snapshot **ret)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot) {
		json_decref(answer);
		return -ENOMEM;
	}
	snapshot->answer = answer;
	if (!json_is_true(json_object_get(answer, "ok")) ||
	    !json_is_array(json_object_get(answer, "vips")))
		return -EPROTO;
	read_system(snapshot);
	read_vips(snapshot);
	read_reals(snapshot);
	read_ways(snapshot);
	read_connections(snapshot);
	read_devices(snapshot);
	read_interfaces(snapshot);
	read_cpus(snapshot);
	read_roles(snapshot);
	for (size_t i = 0; i < snapshot->vip_count; i++)
		snapshot->connections += snapshot->vips[i].connections;
	*ret = take_ptr(snapshot);
	return 0;
}

struct snapshot *snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return NULL;
	free(snapshot->vips);
	free(snapshot->reals);
	free(snapshot->ways);
	free(snapshot->phases);
	free(snapshot->devices);
	free(snapshot->queues);
	free(snapshot->cpus);
	free(snapshot->roles);
	json_decref(snapshot->answer);
	free(snapshot);
	return NULL;
}
