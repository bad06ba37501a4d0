// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_wire.c - messages of xlbd-sync: what was put comes out, at the places that xlbd-sync(7) names, and nonsense is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "xlbd/sync/wire.h"

static void a_header_has_its_fields_where_the_manual_says(void **state)
{
	const struct wire_header header = {.type = WIRE_NAMES,
	                                   .key = 5,
	                                   .channel = WIRE_ASIDE,
	                                   .cluster = 0x0102,
	                                   .sender = 0x0304,
	                                   .flags = 0x0506,
	                                   .epoch = 0x1112131415161718,
	                                   .sequence = 0x2122232425262728,
	                                   .term = 0x31323334};
	static const uint8_t expected[WIRE_HEADER] =
		"XS\x01\x03\x01\x02\x03\x04\x11\x12\x13\x14\x15\x16\x17\x18\x21\x22\x23\x24\x25\x26"
		"\x27\x28"
		"\x31\x32\x33\x34\x05\x01\x05\x06";
	uint8_t bytes[WIRE_HEADER + WIRE_TAG] = {};
	struct wire_header found = {};

	(void)state;
	wire_put_header(&header, bytes);
	assert_memory_equal(bytes, expected, WIRE_HEADER);
	assert_int_equal(wire_get_header(bytes, sizeof(bytes), &found), 0);
	memset(bytes, 0, sizeof(bytes));
	wire_put_header(&found, bytes);
	assert_memory_equal(bytes, expected, WIRE_HEADER);
}

static void what_is_no_message_is_refused(void **state)
{
	struct wire_header header = {.type = WIRE_NAMES}, found;
	uint8_t bytes[WIRE_MESSAGE_MAX + 1] = {};

	(void)state;
	wire_put_header(&header, bytes);
	assert_int_equal(wire_get_header(bytes, WIRE_HEADER + WIRE_TAG - 1, &found), -EBADMSG);
	assert_int_equal(wire_get_header(bytes, WIRE_MESSAGE_MAX + 1, &found), -EBADMSG);
	bytes[29] = WIRE_CHANNELS;
	assert_int_equal(wire_get_header(bytes, 100, &found), -EBADMSG);
	bytes[2] = WIRE_VERSION + 1;
	assert_int_equal(wire_get_header(bytes, 100, &found), -EPROTONOSUPPORT);
	bytes[0] = 'Y';
	assert_int_equal(wire_get_header(bytes, 100, &found), -EBADMSG);
}

static struct wire_flow make_flow(uint8_t type)
{
	struct wire_flow flow = {.client_port = 1234,
	                         .service = 7,
	                         .real = 8,
	                         .idle = 900,
	                         .phase = XLB_PHASE_ESTABLISHED,
	                         .kind = WIRE_OFFERED};

	for (int i = 0; i < 16; i++)
		flow.client.byte[i] = (uint8_t)(i + 1);
	if (type == WIRE_FLOWS4) {
		memset(flow.client.byte, 0, 10);
		flow.client.byte[10] = flow.client.byte[11] = 0xff;
	} else {
		flow.virtual_port = 443;
	}
	if (type != WIRE_FLOWS6)
		flow.local_port = 4321;
	return flow;
}

static void a_connection_comes_out_as_it_was_put_in_16_28_or_30_bytes(void **state)
{
	static const struct {
		uint8_t type;
		size_t size;
	} rows[] = {{WIRE_FLOWS4, 16}, {WIRE_FLOWS6, 28}, {WIRE_LONG_FLOWS6, 30}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_flow flow = make_flow(rows[i].type), found = {};
		uint8_t bytes[40] = {};

		assert_int_equal(wire_flow_size(rows[i].type), rows[i].size);
		assert_int_equal(wire_put_flow(&flow, rows[i].type, bytes), rows[i].size);
		assert_int_equal(wire_get_flow(bytes, rows[i].type, &found), 0);
		assert_memory_equal(&found, &flow, sizeof(flow));
	}
	assert_int_equal(wire_flow_size(WIRE_HEARTBEAT), 0);
}

static void a_connection_in_no_phase_or_of_nobody_is_refused(void **state)
{
	struct wire_flow flow = make_flow(WIRE_FLOWS4), found;
	uint8_t bytes[16];

	(void)state;
	wire_put_flow(&flow, WIRE_FLOWS4, bytes);
	for (int phase = 0; phase < 16; phase++) {
		bytes[14] = (uint8_t)(phase << 4);
		assert_int_equal(wire_get_flow(bytes, WIRE_FLOWS4, &found),
		                 phase >= XLB_PHASE_SYN && phase <= XLB_PHASE_LAST ? 0 : -EBADMSG);
	}
	bytes[14] = XLB_PHASE_ESTABLISHED << 4 | WIRE_KINDS;
	assert_int_equal(wire_get_flow(bytes, WIRE_FLOWS4, &found), -EBADMSG);
	flow.real = 0;
	wire_put_flow(&flow, WIRE_FLOWS4, bytes);
	assert_int_equal(wire_get_flow(bytes, WIRE_FLOWS4, &found), -EBADMSG);
}

static void a_name_comes_out_as_it_was_put(void **state)
{
	const struct wire_name name = {.is_real = true,
	                               .flags = WIRE_NAME_ACTIVE,
	                               .protocol = 6,
	                               .number = 300,
	                               .service = 400,
	                               .port = 80,
	                               .addr.byte = {1, 2, 3}};
	struct wire_name found = {};
	uint8_t bytes[WIRE_NAME];

	(void)state;
	assert_int_equal(wire_put_name(&name, bytes), WIRE_NAME);
	assert_int_equal(wire_get_name(bytes, &found), 0);
	/* field by field: what lies between them is anybody's */
	assert_true(found.is_real);
	assert_int_equal(found.flags, name.flags);
	assert_int_equal(found.protocol, name.protocol);
	assert_int_equal(found.number, name.number);
	assert_int_equal(found.service, name.service);
	assert_int_equal(found.port, name.port);
	assert_memory_equal(&found.addr, &name.addr, sizeof(name.addr));
	bytes[2] = bytes[3] = 0;
	assert_int_equal(wire_get_name(bytes, &found), -EBADMSG);
	bytes[0] = 2;
	assert_int_equal(wire_get_name(bytes, &found), -EBADMSG);
}

static void counts_are_not_believed(void **state)
{
	struct wire_heart heart = {.peers = 65535}, found;
	struct wire_missing missing = {.count = 2, .range = {{1, 2}, {3, 4}}}, asked;
	uint8_t bytes[16 + 16 * WIRE_RANGES_MAX] = {};
	struct wire_range range;

	(void)state;
	wire_put_heart(&heart, bytes);
	assert_int_equal(wire_get_heart(bytes, sizeof(bytes), &found), -EBADMSG);
	assert_int_equal(wire_get_heart(bytes, WIRE_HEART - 1, &found), -EBADMSG);
	assert_int_equal(wire_put_missing(&missing, bytes), 48);
	assert_int_equal(wire_get_missing(bytes, 48, &asked), 0);
	assert_int_equal(asked.range[1].last, 4);
	assert_int_equal(wire_get_missing(bytes, 47, &asked), -EBADMSG);
	bytes[2] = 0xff;
	assert_int_equal(wire_get_missing(bytes, 48, &asked), -EBADMSG);
	wire_put_range(&(struct wire_range){5, 4}, bytes);
	assert_int_equal(wire_get_range(bytes, &range), -EBADMSG);
	wire_put_range(&(struct wire_range){0, 4}, bytes);
	assert_int_equal(wire_get_range(bytes, &range), -EBADMSG);
}

static void hearts_and_requests_come_out_as_they_were_put(void **state)
{
	const struct wire_heart heart = {.highest = 1,
	                                 .sum = 2,
	                                 .term_heard = 3,
	                                 .configuration = 4,
	                                 .clock = 5,
	                                 .version_min = 1,
	                                 .version_max = 2,
	                                 .flags = 1,
	                                 .capabilities = 6,
	                                 .keys = 7,
	                                 .connections = 8,
	                                 .names = 9,
	                                 .peers = 1};
	const struct wire_heart_peer peer = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	const struct wire_want_message want = {.node = 1,
	                                       .what = 2,
	                                       .term = 3,
	                                       .epoch = 4,
	                                       .map = {[0] = 1, [WIRE_MAP - 1] = 0x80}};
	uint8_t bytes[1000] = {};
	struct wire_heart found = {};
	struct wire_heart_peer found_peer = {};
	struct wire_want_message wanted = {};

	(void)state;
	assert_int_equal(wire_put_heart(&heart, bytes), WIRE_HEART);
	assert_int_equal(wire_put_heart_peer(&peer, bytes + WIRE_HEART), WIRE_HEART_PEER);
	assert_int_equal(wire_get_heart(bytes, WIRE_HEART + WIRE_HEART_PEER, &found), 0);
	assert_memory_equal(&found, &heart, sizeof(heart));
	wire_get_heart_peer(bytes + WIRE_HEART, &found_peer);
	assert_memory_equal(&found_peer, &peer, sizeof(peer));
	assert_int_equal(wire_put_want(&want, bytes), 16 + WIRE_MAP);
	assert_int_equal(wire_get_want(bytes, 16 + WIRE_MAP, &wanted), 0);
	assert_memory_equal(&wanted, &want, sizeof(want));
	assert_int_equal(wire_get_want(bytes, 15 + WIRE_MAP, &wanted), -EBADMSG);
}

static void types_have_names(void **state)
{
	(void)state;
	assert_string_equal(wire_type_name(WIRE_FLOWS4), "FLOWS4");
	assert_string_equal(wire_type_name(WIRE_LOST), "LOST");
	assert_null(wire_type_name(0));
	assert_null(wire_type_name(255));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_has_its_fields_where_the_manual_says),
		cmocka_unit_test(what_is_no_message_is_refused),
		cmocka_unit_test(a_connection_comes_out_as_it_was_put_in_16_28_or_30_bytes),
		cmocka_unit_test(a_connection_in_no_phase_or_of_nobody_is_refused),
		cmocka_unit_test(a_name_comes_out_as_it_was_put),
		cmocka_unit_test(counts_are_not_believed),
		cmocka_unit_test(hearts_and_requests_come_out_as_they_were_put),
		cmocka_unit_test(types_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
