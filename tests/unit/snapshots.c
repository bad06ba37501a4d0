// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * snapshots.c - answers of the daemon, for the tests of snmp/.
 *
 * Written as the daemon writes them, so that a test says in one line what there is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tests/unit/snapshots.h"

struct snapshot *snapshot_of(const char *text)
{
	_cleanup_free_ char *json = strdup(text);
	struct snapshot *snapshot;
	json_error_t error;
	json_t *answer;

	for (char *at = json; *at; at++)
		if (*at == '\'')
			*at = '"';
	answer = json_loads(json, 0, &error);
	if (!answer)
		fail_msg("%s: %s", json, error.text);
	if (!json_object_get(answer, "ok"))
		json_object_set_new(answer, "ok", json_true());
	if (!json_object_get(answer, "vips"))
		json_object_set_new(answer, "vips", json_array());
	assert_int_equal(snapshot_read(answer, &snapshot), 0);
	return snapshot;
}

struct snapshot *snapshot_counts(const struct counts *counts)
{
	char text[1000];

	snprintf(text, sizeof(text),
	         "{'vips': [{'virtual': '192.0.2.1:80/tcp', 'in_force': true, 'side': 'xdp', "
	         "'reals': {'usable': %d, 'total': 1}, 'packets': %llu, 'bytes': %llu, "
	         "'connections': %llu}], "
	         "'reals': [{'vip': '192.0.2.1:80/tcp', 'address': '10.0.0.1', 'port': 80, "
	         "'real': '10.0.0.1:80', 'state': '%s', 'weight': 1, 'packets': %llu, "
	         "'connections': %llu}]}",
	         counts->usable, counts->packets, counts->packets * 100, counts->connections,
	         counts->real_state, counts->packets, counts->connections);
	return snapshot_of(text);
}
