/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mib.h - XLB-MIB as data: which object is where, of which type, and which field of a snapshot it shows.
 */
#ifndef XLB_SNMP_MIB_H
#define XLB_SNMP_MIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snmp/snapshot.h"

#define MIB_INDEX_MOST 48 /* sub-identifiers of an index */

enum mib_type {
	MIB_TEXT = 1, /* const char *; NULL: "" */
	MIB_INTEGER,  /* all others: uint64_t */
	MIB_UNSIGNED, /* capped at 2^32-1, as Gauge32 and Unsigned32 are */
	MIB_GAUGE,
	MIB_COUNTER64, /* Counter64 and CounterBasedGauge64 */
	MIB_TIMESTAMP, /* CLOCK_BOOTTIME in ms -> sysUpTime then */
};

struct mib_object {
	unsigned number; /* of the column, or of the scalar */
	enum mib_type type;
	size_t offset;
};

struct mib_rows { /* of one table in one snapshot */
	const void *rows;
	size_t count;
};

struct mib_table {
	const char *name;
	unsigned group, table; /* root.1.group.table */
	const char
		*index_types; /* a letter for each: 'i' INTEGER, 'u' Unsigned32, 's' OCTET STRING */
	size_t row_size;
	const struct mib_object *columns; /* in rising order, up to number 0 */
	struct mib_rows (*rows)(const struct snapshot *snapshot);
	size_t (*index)(const void *row, uint32_t ret[MIB_INDEX_MOST]); /* sub-identifiers of it */
};

struct mib_scalar {
	unsigned group, within; /* root.1.group[.within].number.0; within 0: none */
	struct mib_object object;
};

extern const struct mib_table mib_tables[]; /* up to the one without a name */
extern const struct mib_scalar
	mib_scalars[]; /* in rising order, up to group 0; of struct snapshot */

#endif
