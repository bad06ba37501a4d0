// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_loader.c - what a daemon leaves pinned and the next one takes over: the heart of the one before.
 *
 * In network and mount namespaces of our own, pins in a bpffs of our own. A daemon that was away is one whose heartbeat is set back
 * by hand in the pinned control block.
 */
#define _GNU_SOURCE /* unshare() */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "xlbd/dataplane/heartbeat.h"
#include "xlbd/dataplane/loader.h"

#define SILENCE_MS 5000

static char bpffs[64], pins[80];

static struct dataplane *open_dataplane(void)
{
	const struct dataplane_options options = {.pin_folder = pins,
	                                          .connections_ipv4 = 2000,
	                                          .connections_ipv6 = 2000,
	                                          .silence_ms = SILENCE_MS};
	struct dataplane *dataplane = NULL;
	int r = dataplane_open(&options, &dataplane);

	if (r == -EPERM) {
		puts("SKIP: no right to load BPF programs (CAP_BPF, CAP_NET_ADMIN)");
		exit(77);
	}
	assert_int_equal(r, 0);
	return dataplane;
}

/* A daemon that beat for the last time so many ticks ago, and is gone. Returns the tick of that beat. */
static uint64_t leave_behind(unsigned ticks_ago)
{
	struct dataplane *dataplane = open_dataplane();
	uint64_t last = dataplane_now(dataplane) - ticks_ago;

	dataplane_control(dataplane)->heartbeat = last;
	dataplane_close(dataplane);
	return last;
}

static void a_heart_that_still_beats_goes_on_while_the_next_daemon_loads(void **state)
{
	uint64_t last = leave_behind(3), beat;
	struct dataplane *dataplane = open_dataplane();

	(void)state;
	beat = dataplane_control(dataplane)->heartbeat;
	assert_true(beat > last && beat <= dataplane_now(dataplane));
	assert_true(dataplane_keep_heart(dataplane));
	dataplane_close(dataplane);
}

static void a_heart_that_has_fallen_silent_stays_silent_until_the_daemon_has_looked(void **state)
{
	uint64_t last = leave_behind(SILENCE_MS / 200 + 2);
	struct dataplane *dataplane = open_dataplane();

	(void)state;
	assert_int_equal(dataplane_control(dataplane)->heartbeat, last);
	assert_false(dataplane_keep_heart(dataplane));
	assert_int_equal(dataplane_control(dataplane)->heartbeat, last);
	assert_int_equal(dataplane_heartbeat(dataplane), 0);
	assert_true(dataplane_control(dataplane)->heartbeat > last);
	dataplane_close(dataplane);
}

static void new_maps_have_no_heart_to_keep(void **state)
{
	struct dataplane *dataplane = open_dataplane();

	(void)state;
	assert_int_equal(dataplane_control(dataplane)->heartbeat, 0);
	assert_false(dataplane_keep_heart(dataplane));
	dataplane_close(dataplane);
}

static void the_tick_is_the_same_with_and_without_the_program(void **state)
{
	struct dataplane *dataplane = open_dataplane();
	struct tick tick;
	uint64_t before = dataplane_now(dataplane), alone, after;

	(void)state;
	assert_int_equal(clock_measure(&tick), 0);
	assert_int_equal(clock_now(&tick, &alone), 0);
	after = dataplane_now(dataplane);
	assert_true(before <= alone && alone <= after);
	dataplane_close(dataplane);
}

static void silence_is_counted_as_packets_count_it(void **state)
{
	(void)state;
	assert_false(heartbeat_counts(0, 20, 5));
	assert_true(heartbeat_counts(100, 20, 120));
	assert_false(heartbeat_counts(100, 20, 121));
	assert_true(heartbeat_counts(100, 20, 99)); /* another CPU's clock */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_maps_have_no_heart_to_keep),
		cmocka_unit_test(a_heart_that_still_beats_goes_on_while_the_next_daemon_loads),
		cmocka_unit_test(
			a_heart_that_has_fallen_silent_stays_silent_until_the_daemon_has_looked),
		cmocka_unit_test(the_tick_is_the_same_with_and_without_the_program),
		cmocka_unit_test(silence_is_counted_as_packets_count_it),
	};
	int failed;

	snprintf(bpffs, sizeof(bpffs), "/tmp/xlbd-loader-XXXXXX");
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || !mkdtemp(bpffs) ||
	    mount("bpf", bpffs, "bpf", 0, NULL) < 0) {
		printf("SKIP: no namespaces and bpffs of our own: %s\n", strerror(errno));
		return 77;
	}
	snprintf(pins, sizeof(pins), "%s/xlbd", bpffs);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	umount2(bpffs, MNT_DETACH);
	rmdir(bpffs);
	return failed;
}
