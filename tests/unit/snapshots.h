/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshots.h - answers of the daemon, for the tests of snmp/.
 */
#ifndef TESTS_SNAPSHOTS_H
#define TESTS_SNAPSHOTS_H

#include "snmp/snapshot.h"

/* From JSON in which ' stands for "; "ok" and an empty "vips" are added where they are missing. Fails the test if it is none. */
struct snapshot *snapshot_of(const char *text);

/* One virtual server with one real server. */
struct counts {
	unsigned long long packets, connections;
	const char *real_state; /* "up", "down", "drained", "gone" */
	int usable;
};
struct snapshot *snapshot_counts(const struct counts *counts);

#endif
