// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_snapshot.c - snmp/snapshot.c: the daemon's answers as rows, also those that nobody expects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>

#include "tests/unit/snapshots.h"
#include "xlbd/model/addr.h"

static void a_service_keeps_every_figure(void **state)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot = snapshot_of(
		"{'vips': [{'name': 'web', 'virtual': '[2001:db8::1]:443/tcp', 'in_force': true, "
		"'side': 'xdp', 'method': 'tunnel', 'scheduler': 'mh', 'held': 1, 'active': 2, "
		"'inactive': 3, 'connections': 4, 'packets': 9007199254740993, 'bytes': 6, "
		"'dropped': 7, 'passed': 8, 'no_real': 9, 'refused': 10, "
		"'reals': {'usable': 1, 'total': 2}}]}");
	const struct vip *vip = snapshot->vips;

	(void)state;
	assert_int_equal(snapshot->vip_count, 1);
	assert_string_equal(vip->name, "web");
	assert_int_equal(vip->port, 443);
	assert_int_equal(vip->protocol, IPPROTO_TCP);
	assert_false(addr_is_ipv4(&vip->addr));
	assert_int_equal(vip->state, OPER_DEGRADED);
	assert_int_equal(vip->forwarding, 2);
	assert_int_equal(vip->packets, 9007199254740993); /* more than a double holds */
	assert_int_equal(vip->held + vip->active + vip->inactive + vip->connections, 10);
	assert_int_equal(vip->dropped + vip->passed + vip->no_real + vip->refused, 34);
}

static void the_state_of_a_service_follows_from_its_real_servers_and_its_side(void **state)
{
	static const struct {
		const char *in_force, *side;
		int usable, total;
		enum oper_state expected;
	} rows[] = {
		{"true", "xdp", 2, 2, OPER_UP},
		{"true", "standby", 2, 2, OPER_UP},
		{"true", "ipvs", 2, 2, OPER_UP},
		{"true", "xdp", 1, 2, OPER_DEGRADED},
		{"true", "xdp", 0, 2, OPER_DOWN},
		{"true", "unserved", 2, 2, OPER_DOWN},
		{"true", "draining", 2, 2, OPER_DRAINING},
		{"false", "ipvs", 2, 2, OPER_DOWN},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(snapshot_freep) struct snapshot *snapshot = NULL;
		char text[300];

		snprintf(text, sizeof(text),
		         "{'vips': [{'virtual': '192.0.2.1:53/udp', 'in_force': %s, 'side': '%s', "
		         "'reals': {'usable': %d, 'total': %d}}]}",
		         rows[i].in_force, rows[i].side, rows[i].usable, rows[i].total);
		snapshot = snapshot_of(text);
		assert_int_equal(snapshot->vips[0].state, rows[i].expected);
		assert_non_null(snapshot->vips[0].reason);
	}
}

static void real_servers_find_their_service_in_any_order(void **state)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot = snapshot_of(
		"{'vips': [{'virtual': '192.0.2.1:1/tcp'}, {'virtual': '192.0.2.1:2/tcp'}],"
		" 'reals': [{'vip': '192.0.2.1:2/tcp', 'address': '10.0.0.2', 'port': 2},"
		"           {'vip': '192.0.2.1:1/tcp', 'address': '10.0.0.1', 'port': 1},"
		"           {'vip': '192.0.2.9:1/tcp', 'address': '10.0.0.1', 'port': 1},"
		"           {'vip': '192.0.2.1:2/tcp', 'address': 'nonsense', 'port': 1}]}");

	(void)state;
	assert_int_equal(snapshot->real_count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(snapshot->reals[i].vip->port, snapshot->reals[i].port);
}

static void what_has_no_address_is_left_out(void **state)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot =
		snapshot_of("{'vips': [{'virtual': 'fwmark 7'}, {'virtual': 5}, 3, null, {}, "
	                    "{'virtual': '192.0.2.1:80'}, {'virtual': '192.0.2.1:80/tcp'}]}");

	(void)state;
	assert_int_equal(snapshot->vip_count, 1);
	assert_string_equal(snapshot->vips[0].name, "192.0.2.1:80/tcp");
}

static void fields_of_another_type_count_as_missing(void **state)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot = snapshot_of(
		"{'version': 1, 'host': [], 'connections': 'many', 'devices': {}, 'roles': 4,"
		" 'verdicts': [7, {'number': 'one'}], 'cpus': 'all', 'problems': {'a': 1},"
		" 'interfaces': [{'ifindex': 1, 'queues': [3, {}]}, 'eth0'], 'packets': -1,"
		" 'vips': [{'virtual': '192.0.2.1:80/tcp', 'packets': -5, 'reals': 3}]}");

	(void)state;
	assert_null(snapshot->version);
	assert_int_equal(snapshot->vips[0].packets, 0);
	assert_int_equal(snapshot->queue_count, 2);
	assert_int_equal(snapshot->mode, 1);
}

static void a_refusal_is_no_snapshot(void **state)
{
	static const char *const texts[] = {"{\"ok\": false, \"vips\": []}", "{\"ok\": true}", "{}",
	                                    "{\"ok\": true, \"vips\": 1}"};
	struct snapshot *snapshot = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(snapshot_read(json_loads(texts[i], 0, NULL), &snapshot), -EPROTO);
	assert_null(snapshot);
}

static void packets_are_the_sum_of_all_ways_out(void **state)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot = snapshot_of(
		"{'verdicts': [{'number': 1, 'word': 'sent', 'action': 'forward', 'packets': 5, "
		"'bytes': 50}, {'number': 12, 'word': 'table-full', 'action': 'pass', 'packets': "
		"7}]}");

	(void)state;
	assert_int_equal(snapshot->seen, 12);
	assert_int_equal(snapshot->seen_bytes, 50);
	assert_int_equal(snapshot->forwarded, 5);
	assert_int_equal(snapshot->forwarded_bytes, 50);
	assert_int_equal(snapshot->passed, 7);
	assert_int_equal(snapshot->dropped, 0);
	assert_int_equal(snapshot->table_full, 7);
	assert_int_equal(snapshot->ways[1].action, 2);
}

static void modes_that_differ_are_mixed_and_any_owner_is_master(void **state)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot = snapshot_of(
		"{'devices': [{'ifindex': 1, 'mode': 'native'}, {'ifindex': 2, 'mode': 'generic'},"
		" {'ifindex': 3, 'mode': 'generic'}],"
		" 'roles': [{'instance': 'a', 'state': 'BACKUP', 'active': false},"
		" {'instance': 'b', 'state': 'MASTER', 'active': true},"
		" {'instance': 'c', 'state': 'FAULT', 'active': false}]}");

	(void)state;
	assert_int_equal(snapshot->mode, 5);
	assert_int_equal(snapshot->role, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_keeps_every_figure),
		cmocka_unit_test(the_state_of_a_service_follows_from_its_real_servers_and_its_side),
		cmocka_unit_test(real_servers_find_their_service_in_any_order),
		cmocka_unit_test(what_has_no_address_is_left_out),
		cmocka_unit_test(fields_of_another_type_count_as_missing),
		cmocka_unit_test(a_refusal_is_no_snapshot),
		cmocka_unit_test(packets_are_the_sum_of_all_ways_out),
		cmocka_unit_test(modes_that_differ_are_mixed_and_any_owner_is_master),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
