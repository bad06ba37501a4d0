/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * value.h - a field of a snapshot as net-snmp's variable.
 */
#ifndef XLB_SNMP_VALUE_H
#define XLB_SNMP_VALUE_H

#include "snmp/mib.h"

struct variable_list;

/* When snmpd's sysUpTime was 0, by the clock of agent_now(). Found once for each connection: a time must not move by a tick. */
uint64_t value_start(void);
/* data: the row, or the snapshot, that the object's offset belongs to. start: of value_start(). */
void value_put(struct variable_list *variable, const struct mib_object *object, const void *data,
               uint64_t start);

#endif
