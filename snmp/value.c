// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * value.c - numbers, texts and times of a snapshot in the types of SNMP.
 *
 * The one place where a time of our clock becomes sysUpTime: snmpd's, which it told when it was
 * connected to, so that the same event keeps its place when snmpd restarts. Used by agent.c for
 * answers and by traps.c for notifications.
 */
#include <string.h>
#include <time.h>

#include <net-snmp/net-snmp-config.h>

#include <net-snmp/net-snmp-includes.h>

#include <net-snmp/agent/net-snmp-agent-includes.h>

#include "snmp/agent.h"
#include "snmp/value.h"

uint64_t agent_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t value_start(void)
{
	uint64_t now = agent_now(), uptime = netsnmp_get_agent_uptime() * 10;

	return now > uptime ? now - uptime : 0;
}

/* What happened before snmpd started is told as 0, as SNMPv2-TC wants it. */
static uint64_t ticks_of(uint64_t at, uint64_t start)
{
	return at > start ? (at - start) / 10 : 0;
}

static void put_number(netsnmp_variable_list *variable, u_char type, uint64_t value)
{
	uint32_t number = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;

	if (type == ASN_INTEGER)
		snmp_set_var_typed_integer(variable, type, (long)number);
	else
		snmp_set_var_typed_value(variable, type, &number, sizeof(number));
}

void value_put(struct variable_list *variable, const struct mib_object *object, const void *data,
               uint64_t start)
{
	const void *field = (const char *)data + object->offset;
	uint64_t number = object->type == MIB_TEXT ? 0 : *(const uint64_t *)field;
	struct counter64 wide = {.high = number >> 32, .low = number & UINT32_MAX};
	const char *text;

	switch (object->type) {
	case MIB_TEXT:
		text = *(const char *const *)field ? *(const char *const *)field : "";
		snmp_set_var_typed_value(variable, ASN_OCTET_STR, text, strnlen(text, 255));
		break;
	case MIB_INTEGER:
		put_number(variable, ASN_INTEGER, number);
		break;
	case MIB_UNSIGNED:
	case MIB_GAUGE:
		put_number(variable, ASN_GAUGE, number);
		break;
	case MIB_COUNTER64:
		snmp_set_var_typed_value(variable, ASN_COUNTER64, &wide, sizeof(wide));
		break;
	case MIB_TIMESTAMP:
		put_number(variable, ASN_TIMETICKS, ticks_of(number, start));
		break;
	}
}
