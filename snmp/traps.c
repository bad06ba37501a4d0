// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * traps.c - which objects each notification of XLB-MIB carries, and how they are put together.
 *
 * The table below is the OBJECTS clauses of XLB-MIB.txt. An object is found in mib.c by its group
 * and number, its value in the row that the notice is about or in the snapshot; objects that have
 * no value (the daemon does not answer) are left out, except the state that says so. Where
 * notifications go is snmpd's to know (trap2sink, informsink). agent.c calls this.
 */
#include <string.h>

#include <net-snmp/net-snmp-config.h>

#include <net-snmp/net-snmp-includes.h>

#include <net-snmp/agent/net-snmp-agent-includes.h>

#include "snmp/mib.h"
#include "snmp/notices.h"
#include "snmp/traps.h"
#include "snmp/value.h"

enum from { FROM_END, FROM_SNAPSHOT, FROM_ROW, FROM_VIP_OF_ROW, FROM_DETAIL };

struct carried {
	enum from from;
	unsigned group, second,
		number; /* root.1.group[.second].number, or column `number` of a table */
};

#define DETAIL                        \
	{                             \
		FROM_DETAIL, 10, 0, 3 \
	}

static const struct carried carried[NOTICE_KINDS][8] = {
	[NOTICE_ROLE] = {{FROM_SNAPSHOT, 8, 1, 1},
                         {FROM_ROW, 8, 2, 2},
                         {FROM_ROW, 8, 2, 3},
                         {FROM_ROW, 8, 2, 7},
                         {FROM_SNAPSHOT, 4, 1, 1},
                         DETAIL},
	[NOTICE_REAL] = {{FROM_VIP_OF_ROW, 2, 1, 5},
                         {FROM_ROW, 3, 1, 4},
                         {FROM_ROW, 3, 1, 5},
                         {FROM_ROW, 3, 1, 7},
                         {FROM_VIP_OF_ROW, 2, 1, 12},
                         {FROM_VIP_OF_ROW, 2, 1, 11},
                         DETAIL},
	[NOTICE_VIP] = {{FROM_ROW, 2, 1, 5},
                        {FROM_ROW, 2, 1, 6},
                        {FROM_ROW, 2, 1, 30},
                        {FROM_ROW, 2, 1, 12},
                        {FROM_ROW, 2, 1, 11},
                        DETAIL},
	[NOTICE_HIGH] = {{FROM_SNAPSHOT, 4, 1, 1},
                         {FROM_SNAPSHOT, 4, 1, 2},
                         {FROM_SNAPSHOT, 4, 1, 4}},
	[NOTICE_NORMAL] = {{FROM_SNAPSHOT, 4, 1, 1},
                           {FROM_SNAPSHOT, 4, 1, 2},
                           {FROM_SNAPSHOT, 4, 1, 4}},
	[NOTICE_DATAPLANE] = {{FROM_SNAPSHOT, 1, 0, 3}, {FROM_SNAPSHOT, 1, 0, 4}, DETAIL},
	[NOTICE_CONFIG] = {{FROM_SNAPSHOT, 1, 0, 6}, DETAIL},
};

struct name {
	oid numbers[MAX_OID_LEN];
	size_t length;
};

struct making {
	netsnmp_variable_list *list;
	uint64_t start;
};

static void name_add(struct name *name, unsigned number)
{
	name->numbers[name->length++] = number;
}

static void add_scalar(struct making *making, struct name name, const struct carried *one,
                       const struct snapshot *snapshot)
{
	const struct mib_scalar *scalar = mib_scalars;

	while (scalar->group && !(scalar->group == one->group && scalar->within == one->second &&
	                          scalar->object.number == one->number))
		scalar++;
	if (!scalar->group)
		return;
	if (one->second)
		name_add(&name, one->second);
	name_add(&name, one->number);
	name_add(&name, 0);
	value_put(snmp_varlist_add_variable(&making->list, name.numbers, name.length, ASN_NULL,
	                                    NULL, 0),
	          &scalar->object, snapshot, making->start);
}

static void add_cell(struct making *making, struct name name, const struct carried *one,
                     const void *row)
{
	const struct mib_table *table = mib_tables;
	const struct mib_object *column;
	uint32_t index[MIB_INDEX_MOST];
	size_t length;

	while (table->name && !(table->group == one->group && table->table == one->second))
		table++;
	if (!table->name)
		return;
	for (column = table->columns; column->number && column->number != one->number; column++)
		;
	if (!column->number)
		return;
	name_add(&name, one->second);
	name_add(&name, 1);
	name_add(&name, one->number);
	length = table->index(row, index);
	for (size_t i = 0; i < length; i++)
		name_add(&name, index[i]);
	value_put(snmp_varlist_add_variable(&making->list, name.numbers, name.length, ASN_NULL,
	                                    NULL, 0),
	          column, row, making->start);
}

static void add_object(struct making *making, struct name name, const struct carried *one,
                       const struct notice *notice)
{
	/* what is left to say of a daemon that does not answer */
	static const struct snapshot none = {.mode = 1, .status = 6};

	name_add(&name, 1);
	name_add(&name, one->group);
	switch (one->from) {
	case FROM_SNAPSHOT:
		add_scalar(making, name, one, notice->snapshot ? notice->snapshot : &none);
		break;
	case FROM_ROW:
		add_cell(making, name, one, notice->row);
		break;
	case FROM_VIP_OF_ROW:
		add_cell(making, name, one, ((const struct real *)notice->row)->vip);
		break;
	case FROM_DETAIL:
		name_add(&name, one->number);
		name_add(&name, 0);
		snmp_varlist_add_variable(&making->list, name.numbers, name.length, ASN_OCTET_STR,
		                          notice->detail, strnlen(notice->detail, 255));
		break;
	case FROM_END:
		break;
	}
}

void traps_send(const oid *root, size_t root_length, const struct notice *notice, uint64_t start)
{
	static const oid trap_oid[] = {1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0};
	struct making making = {.start = start};
	struct name base = {.length = root_length}, kind;

	memcpy(base.numbers, root, root_length * sizeof(oid));
	kind = base;
	name_add(&kind, 0);
	name_add(&kind, notice->kind);
	snmp_varlist_add_variable(&making.list, trap_oid, OID_LENGTH(trap_oid), ASN_OBJECT_ID,
	                          kind.numbers, kind.length * sizeof(oid));
	for (size_t i = 0; i < ARRAY_SIZE(carried[0]); i++)
		add_object(&making, base, &carried[notice->kind][i], notice);
	send_v2trap(making.list);
	snmp_free_varbind(making.list);
}
