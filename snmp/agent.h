/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent.h - XLB-MIB as a subtree of snmpd, over AgentX; and the loop that this program runs in.
 */
#ifndef XLB_SNMP_AGENT_H
#define XLB_SNMP_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "xlbd/cleanup.h"

#define AGENT_ROOT ".1.3.6.1.4.1.8072.9999.9999.7947" /* XLB-MIB.txt: netSnmpPlaypen 7947 */

struct agent; /* opaque; net-snmp has globals of its own, so there is one in a process */
struct notice;
struct snapshot;

/*
 * Connects to snmpd now, or as soon as it is there. agentx: address of its AgentX socket, NULL: net-snmp's usual one. root:
 * where XLB-MIB lies, as numbers. -EINVAL: not an OID. Logs.
 */
int agent_open(const char *agentx, const char *root, struct agent **ret);
struct agent *agent_close(struct agent *agent); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct agent, agent_close)

/* From now on these rows are shown (borrowed until the next call; NULL: the daemon does not answer). */
void agent_show(struct agent *agent, const struct snapshot *snapshot);
/* Hands it to snmpd; nothing happens while there is none. */
void agent_notify(struct agent *agent, const struct notice *notice);
void agent_count_notices(struct agent *agent, uint64_t most, uint64_t suppressed);
bool agent_connected(const struct agent *agent);

struct agent_callbacks {
	void *context;
	void (*second)(void *context);   /* once a second */
	void (*readable)(void *context); /* the descriptor of agent_watch() */
};
/* -1: none. Must be told before the descriptor is closed or right after, in the same callback. */
void agent_watch(struct agent *agent, int fd);
void agent_run(struct agent *agent, const struct agent_callbacks *callbacks,
               const volatile int *stop);

uint64_t agent_now(void); /* CLOCK_BOOTTIME, ms: the clock of all times in snapshots */

#endif
