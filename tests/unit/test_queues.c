// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_queues.c - xlbd/queues.c: which of a driver's statistics are those of a receive queue.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "xlbd/cleanup.h"
#include "xlbd/queues.h"

static void names_of_usual_drivers_are_known(void **state)
{
	static const struct {
		const char *name;
		unsigned queue;
		enum queue_value value;
	} rows[] = {
		{"rx_queue_0_xdp_packets", 0, QUEUE_PACKETS},
		{"rx_queue_12_bytes", 12, QUEUE_BYTES},
		{"rx_queue_3_packets", 3, QUEUE_PACKETS},
		{"rx-7.packets", 7, QUEUE_PACKETS},
		{"rx-7.rx_bytes", 7, QUEUE_BYTES},
		{"rx11_packets", 11, QUEUE_PACKETS},
		{"queue_2_rx_cnt", 2, QUEUE_PACKETS},
		{"queue_2_rx_bytes", 2, QUEUE_BYTES},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum queue_value value = QUEUE_VALUES;
		unsigned queue = 99;

		assert_true(queues_name(rows[i].name, &queue, &value) > 0);
		assert_int_equal(queue, rows[i].queue);
		assert_int_equal(value, rows[i].value);
	}
}

static void other_names_are_left_alone(void **state)
{
	static const char *const names[] = {
		"",
		"rx_packets",
		"tx_queue_0_packets",
		"peer_ifindex",
		"rx_queue_0_drops",
		"rx_queue_0_packets_total",
		"rx_queue_",
		"rx_queue_0_xdp_tx",
		"rx_queue_x_packets",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		enum queue_value value;
		unsigned queue;

		assert_int_equal(queues_name(names[i], &queue, &value), 0);
	}
}

static void all_packets_are_preferred_to_those_that_xdp_saw(void **state)
{
	enum queue_value value;
	unsigned queue;

	(void)state;
	assert_true(queues_name("rx_queue_0_packets", &queue, &value) >
	            queues_name("rx_queue_0_xdp_packets", &queue, &value));
}

static void a_device_is_found_by_its_whole_name(void **state)
{
	struct queue_counts counts = {};

	(void)state;
	assert_true(queues_device_line("  eth0: 1000   20 0 0 0", "eth0", &counts));
	assert_int_equal(counts.bytes, 1000);
	assert_int_equal(counts.packets, 20);
	assert_true(queues_device_line("eth0:1000 20 0", "eth0", &counts));
	assert_false(queues_device_line("  eth01: 1000 20", "eth0", &counts));
	assert_false(queues_device_line("  eth0: nothing", "eth0", &counts));
	assert_false(queues_device_line(" face |bytes packets", "eth0", &counts));
}

static void loopback_is_counted_and_has_no_queues(void **state)
{
	struct queue_counts counts = {}, queues[QUEUES_MOST];

	(void)state;
	assert_true(queues_device("lo", &counts));
	assert_false(queues_device("no-such-device", &counts));
	assert_int_equal(queues_read("lo", queues), 0);
	assert_int_equal(queues_read("no-such-device", queues), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_usual_drivers_are_known),
		cmocka_unit_test(other_names_are_left_alone),
		cmocka_unit_test(all_packets_are_preferred_to_those_that_xdp_saw),
		cmocka_unit_test(a_device_is_found_by_its_whole_name),
		cmocka_unit_test(loopback_is_counted_and_has_no_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
