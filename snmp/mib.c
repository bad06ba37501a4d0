// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mib.c - the objects of XLB-MIB.txt, each a row here: number, type, field of the snapshot.
 *
 * This and XLB-MIB.txt are the same list twice; tests/system/test_snmp_mib.py walks every object
 * and compares them. A new object is a field in snapshot.h, a line here and a clause there. Numbers
 * that are missing are those of objects that the daemon cannot tell (yet); they stay reserved. Pure
 * data and three functions that build indexes; agent.c serves it.
 */
#include <arpa/inet.h>
#include <string.h>

#include "snmp/mib.h"
#include "xlbd/model/addr.h"

/* ---- indexes ---------------------------------------------------------------------------------- */

/* InetAddressType, InetAddress with its length in front, as INDEX clauses have it. */
static size_t put_addr(const struct xlb_addr *addr, uint32_t *to)
{
	bool ipv4 = addr_is_ipv4(addr);
	size_t length = ipv4 ? 4 : 16;
	const uint8_t *bytes = (const uint8_t *)addr + sizeof(*addr) - length;

	to[0] = ipv4 ? 1 : 2;
	to[1] = (uint32_t)length;
	for (size_t i = 0; i < length; i++)
		to[2 + i] = bytes[i];
	return 2 + length;
}

static size_t index_of_vip(const void *row, uint32_t ret[MIB_INDEX_MOST])
{
	const struct vip *vip = row;
	size_t length = put_addr(&vip->addr, ret);

	ret[length++] = vip->port;
	ret[length++] = vip->protocol;
	return length;
}

static size_t index_of_real(const void *row, uint32_t ret[MIB_INDEX_MOST])
{
	const struct real *real = row;
	size_t length = index_of_vip(real->vip, ret);

	length += put_addr(&real->addr, ret + length);
	ret[length++] = real->port;
	return length;
}

static size_t index_of_phase(const void *row, uint32_t ret[MIB_INDEX_MOST])
{
	const struct phase *phase = row;

	ret[0] = (uint32_t)phase->protocol;
	ret[1] = (uint32_t)phase->state;
	return 2;
}

static size_t index_of_device(const void *row, uint32_t ret[MIB_INDEX_MOST])
{
	ret[0] = (uint32_t)((const struct device *)row)->index;
	return 1;
}

static size_t index_of_queue(const void *row, uint32_t ret[MIB_INDEX_MOST])
{
	const struct queue *queue = row;

	ret[0] = (uint32_t)queue->device;
	ret[1] = (uint32_t)queue->number;
	return 2;
}

static size_t index_of_cpu(const void *row, uint32_t ret[MIB_INDEX_MOST])
{
	ret[0] = (uint32_t)((const struct cpu *)row)->number;
	return 1;
}

static size_t index_of_way(const void *row, uint32_t ret[MIB_INDEX_MOST])
{
	ret[0] = (uint32_t)((const struct way *)row)->number;
	return 1;
}

static size_t index_of_role(const void *row, uint32_t ret[MIB_INDEX_MOST])
{
	ret[0] = (uint32_t)((const struct role_row *)row)->number;
	return 1;
}

/* ---- tables ----------------------------------------------------------------------------------- */

static struct mib_rows rows_of_vips(const struct snapshot *snapshot)
{
	return (struct mib_rows){snapshot->vips, snapshot->vip_count};
}

static struct mib_rows rows_of_reals(const struct snapshot *snapshot)
{
	return (struct mib_rows){snapshot->reals, snapshot->real_count};
}

static struct mib_rows rows_of_phases(const struct snapshot *snapshot)
{
	return (struct mib_rows){snapshot->phases, snapshot->phase_count};
}

static struct mib_rows rows_of_devices(const struct snapshot *snapshot)
{
	return (struct mib_rows){snapshot->devices, snapshot->device_count};
}

static struct mib_rows rows_of_queues(const struct snapshot *snapshot)
{
	return (struct mib_rows){snapshot->queues, snapshot->queue_count};
}

static struct mib_rows rows_of_cpus(const struct snapshot *snapshot)
{
	return (struct mib_rows){snapshot->cpus, snapshot->cpu_count};
}

static struct mib_rows rows_of_ways(const struct snapshot *snapshot)
{
	return (struct mib_rows){snapshot->ways, snapshot->way_count};
}

static struct mib_rows rows_of_roles(const struct snapshot *snapshot)
{
	return (struct mib_rows){snapshot->roles, snapshot->role_count};
}

static const struct mib_object vip_columns[] = {
	{5, MIB_TEXT, offsetof(struct vip, name)},
	{6, MIB_INTEGER, offsetof(struct vip, state)},
	{7, MIB_TEXT, offsetof(struct vip, reason)},
	{8, MIB_INTEGER, offsetof(struct vip, forwarding)},
	{9, MIB_TEXT, offsetof(struct vip, scheduler)},
	{11, MIB_GAUGE, offsetof(struct vip, reals_total)},
	{12, MIB_GAUGE, offsetof(struct vip, reals_up)},
	{14, MIB_COUNTER64, offsetof(struct vip, held)},
	{15, MIB_COUNTER64, offsetof(struct vip, connections)},
	{16, MIB_COUNTER64, offsetof(struct vip, packets)},
	{17, MIB_COUNTER64, offsetof(struct vip, bytes)},
	{18, MIB_COUNTER64, offsetof(struct vip, dropped)},
	{19, MIB_COUNTER64, offsetof(struct vip, no_real)},
	{20, MIB_COUNTER64, offsetof(struct vip, trend.packets_rate)},
	{21, MIB_COUNTER64, offsetof(struct vip, trend.bits_rate)},
	{22, MIB_COUNTER64, offsetof(struct vip, trend.connections_rate)},
	{29, MIB_TIMESTAMP, offsetof(struct vip, trend.discontinuity)},
	{30, MIB_INTEGER, offsetof(struct vip, side)},
	{31, MIB_TEXT, offsetof(struct vip, instance)},
	{32, MIB_COUNTER64, offsetof(struct vip, active)},
	{33, MIB_COUNTER64, offsetof(struct vip, inactive)},
	{34, MIB_COUNTER64, offsetof(struct vip, passed)},
	{35, MIB_COUNTER64, offsetof(struct vip, refused)},
	{36, MIB_COUNTER64, offsetof(struct vip, trend.packets_peak)},
	{37, MIB_COUNTER64, offsetof(struct vip, trend.transitions)},
	{38, MIB_TIMESTAMP, offsetof(struct vip, trend.last_change)},
	{},
};

static const struct mib_object real_columns[] = {
	{4, MIB_TEXT, offsetof(struct real, name)},
	{5, MIB_INTEGER, offsetof(struct real, state)},
	{6, MIB_TEXT, offsetof(struct real, reason)},
	{7, MIB_UNSIGNED, offsetof(struct real, weight)},
	{10, MIB_COUNTER64, offsetof(struct real, held)},
	{11, MIB_COUNTER64, offsetof(struct real, connections)},
	{12, MIB_COUNTER64, offsetof(struct real, packets)},
	{13, MIB_COUNTER64, offsetof(struct real, bytes)},
	{14, MIB_COUNTER64, offsetof(struct real, trend.packets_rate)},
	{15, MIB_COUNTER64, offsetof(struct real, trend.bits_rate)},
	{16, MIB_INTEGER, offsetof(struct real, neighbour)},
	{17, MIB_COUNTER64, offsetof(struct real, trend.transitions)},
	{18, MIB_TIMESTAMP, offsetof(struct real, trend.last_change)},
	{19, MIB_TIMESTAMP, offsetof(struct real, trend.discontinuity)},
	{20, MIB_COUNTER64, offsetof(struct real, active)},
	{21, MIB_COUNTER64, offsetof(struct real, inactive)},
	{22, MIB_COUNTER64, offsetof(struct real, dropped)},
	{23, MIB_COUNTER64, offsetof(struct real, trend.connections_rate)},
	{24, MIB_INTEGER, offsetof(struct real, forwarding)},
	{25, MIB_INTEGER, offsetof(struct real, sorry)},
	{26, MIB_COUNTER64, offsetof(struct real, trend.packets_peak)},
	{},
};

static const struct mib_object phase_columns[] = {
	{3, MIB_COUNTER64, offsetof(struct phase, current)},
	{},
};

static const struct mib_object device_columns[] = {
	{2, MIB_INTEGER, offsetof(struct device, mode)},
	{4, MIB_COUNTER64, offsetof(struct device, trend.packets_rate)},
	{7, MIB_TEXT, offsetof(struct device, name)},
	{8, MIB_TEXT, offsetof(struct device, problem)},
	{9, MIB_COUNTER64, offsetof(struct device, packets)},
	{10, MIB_COUNTER64, offsetof(struct device, bytes)},
	{11, MIB_COUNTER64, offsetof(struct device, trend.packets_peak)},
	{12, MIB_TIMESTAMP, offsetof(struct device, trend.discontinuity)},
	{},
};

static const struct mib_object queue_columns[] = {
	{2, MIB_COUNTER64, offsetof(struct queue, packets)},
	{3, MIB_COUNTER64, offsetof(struct queue, bytes)},
	{7, MIB_COUNTER64, offsetof(struct queue, trend.packets_rate)},
	{8, MIB_COUNTER64, offsetof(struct queue, trend.packets_peak)},
	{10, MIB_TIMESTAMP, offsetof(struct queue, trend.discontinuity)},
	{},
};

static const struct mib_object cpu_columns[] = {
	{2, MIB_COUNTER64, offsetof(struct cpu, seen)},
	{3, MIB_COUNTER64, offsetof(struct cpu, forwarded)},
	{4, MIB_COUNTER64, offsetof(struct cpu, passed)},
	{5, MIB_COUNTER64, offsetof(struct cpu, dropped)},
	{6, MIB_COUNTER64, offsetof(struct cpu, trend.packets_rate)},
	{7, MIB_COUNTER64, offsetof(struct cpu, trend.packets_peak)},
	{8, MIB_TIMESTAMP, offsetof(struct cpu, trend.discontinuity)},
	{},
};

static const struct mib_object way_columns[] = {
	{2, MIB_TEXT, offsetof(struct way, word)},
	{3, MIB_INTEGER, offsetof(struct way, action)},
	{4, MIB_COUNTER64, offsetof(struct way, packets)},
	{5, MIB_COUNTER64, offsetof(struct way, bytes)},
	{6, MIB_TIMESTAMP, offsetof(struct way, trend.last_change)},
	{7, MIB_COUNTER64, offsetof(struct way, trend.packets_rate)},
	{8, MIB_TEXT, offsetof(struct way, sentence)},
	{9, MIB_TIMESTAMP, offsetof(struct way, trend.discontinuity)},
	{},
};

static const struct mib_object role_columns[] = {
	{2, MIB_TEXT, offsetof(struct role_row, name)},
	{3, MIB_INTEGER, offsetof(struct role_row, role)},
	{5, MIB_COUNTER64, offsetof(struct role_row, trend.transitions)},
	{6, MIB_TIMESTAMP, offsetof(struct role_row, trend.last_change)},
	{7, MIB_INTEGER, offsetof(struct role_row, active)},
	{},
};

const struct mib_table mib_tables[] = {
	{"xlbVipTable", 2, 1, "isui", sizeof(struct vip), vip_columns, rows_of_vips, index_of_vip},
	{"xlbRealTable", 3, 1, "isuiisu", sizeof(struct real), real_columns, rows_of_reals,
         index_of_real},
	{"xlbConnStateTable", 4, 2, "ii", sizeof(struct phase), phase_columns, rows_of_phases,
         index_of_phase},
	{"xlbIfTable", 5, 1, "i", sizeof(struct device), device_columns, rows_of_devices,
         index_of_device},
	{"xlbIfQueueTable", 5, 2, "iu", sizeof(struct queue), queue_columns, rows_of_queues,
         index_of_queue},
	{"xlbCpuTable", 5, 3, "u", sizeof(struct cpu), cpu_columns, rows_of_cpus, index_of_cpu},
	{"xlbWayTable", 6, 1, "u", sizeof(struct way), way_columns, rows_of_ways, index_of_way},
	{"xlbHaInstTable", 8, 2, "u", sizeof(struct role_row), role_columns, rows_of_roles,
         index_of_role},
	{},
};

/* ---- scalars ---------------------------------------------------------------------------------- */

const struct mib_scalar mib_scalars[] = {
	{1, 0, {1, MIB_TEXT, offsetof(struct snapshot, version)}},
	{1, 0, {2, MIB_TEXT, offsetof(struct snapshot, node)}},
	{1, 0, {3, MIB_INTEGER, offsetof(struct snapshot, mode)}},
	{1, 0, {4, MIB_INTEGER, offsetof(struct snapshot, status)}},
	{1, 0, {5, MIB_TIMESTAMP, offsetof(struct snapshot, discontinuity)}},
	{1, 0, {6, MIB_UNSIGNED, offsetof(struct snapshot, generation)}},
	{1, 0, {8, MIB_TIMESTAMP, offsetof(struct snapshot, generation_changed)}},
	{1, 0, {9, MIB_GAUGE, offsetof(struct snapshot, vip_count)}},
	{1, 0, {10, MIB_GAUGE, offsetof(struct snapshot, real_count)}},
	{1, 0, {11, MIB_TIMESTAMP, offsetof(struct snapshot, rows_changed)}},
	{1, 0, {12, MIB_COUNTER64, offsetof(struct snapshot, seen)}},
	{1, 0, {13, MIB_COUNTER64, offsetof(struct snapshot, seen_bytes)}},
	{1, 0, {14, MIB_COUNTER64, offsetof(struct snapshot, forwarded)}},
	{1, 0, {15, MIB_COUNTER64, offsetof(struct snapshot, forwarded_bytes)}},
	{1, 0, {16, MIB_COUNTER64, offsetof(struct snapshot, passed)}},
	{1, 0, {17, MIB_COUNTER64, offsetof(struct snapshot, dropped)}},
	{1, 0, {18, MIB_COUNTER64, offsetof(struct snapshot, connections)}},
	{1, 0, {19, MIB_COUNTER64, offsetof(struct snapshot, seen_trend.packets_rate)}},
	{1, 0, {20, MIB_COUNTER64, offsetof(struct snapshot, forwarded_trend.packets_rate)}},
	{1, 0, {21, MIB_COUNTER64, offsetof(struct snapshot, dropped_trend.packets_rate)}},
	{1, 0, {22, MIB_COUNTER64, offsetof(struct snapshot, seen_trend.connections_rate)}},
	{1, 0, {23, MIB_COUNTER64, offsetof(struct snapshot, seen_trend.packets_peak)}},
	{1, 0, {24, MIB_GAUGE, offsetof(struct snapshot, problem_count)}},
	{1, 0, {25, MIB_TEXT, offsetof(struct snapshot, problem)}},
	{4, 1, {1, MIB_COUNTER64, offsetof(struct snapshot, live)}},
	{4, 1, {2, MIB_COUNTER64, offsetof(struct snapshot, slots)}},
	{4, 1, {3, MIB_COUNTER64, offsetof(struct snapshot, live_peak)}},
	{4, 1, {4, MIB_GAUGE, offsetof(struct snapshot, used_percent)}},
	{4, 1, {7, MIB_COUNTER64, offsetof(struct snapshot, table_full)}},
	{8, 1, {1, MIB_INTEGER, offsetof(struct snapshot, role)}},
	{8, 1, {2, MIB_COUNTER64, offsetof(struct snapshot, takeovers)}},
	{8, 1, {3, MIB_TIMESTAMP, offsetof(struct snapshot, last_takeover)}},
	{8, 1, {5, MIB_COUNTER64, offsetof(struct snapshot, takeover_live)}},
	{10, 0, {1, MIB_UNSIGNED, offsetof(struct snapshot, notify_most)}},
	{10, 0, {2, MIB_COUNTER64, offsetof(struct snapshot, notify_suppressed)}},
	{},
};
