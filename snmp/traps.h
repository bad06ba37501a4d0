/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * traps.h - a notice as an SNMPv2 notification.
 */
#ifndef XLB_SNMP_TRAPS_H
#define XLB_SNMP_TRAPS_H

#include <net-snmp/net-snmp-config.h>

#include <net-snmp/net-snmp-includes.h>

struct notice;

/* Hands it to snmpd, which knows where to send it; nothing happens while there is no snmpd. start: of value_start(). */
void traps_send(const oid *root, size_t root_length, const struct notice *notice, uint64_t start);

#endif
