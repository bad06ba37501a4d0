// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_events.c - lines of keepalived's FIFOs, and real FIFOs full of anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "xlbd/keepalived/events.h"

/* ---- lines ------------------------------------------------------------------------------------ */

static void expect_kind(const char *line, enum event_kind kind)
{
	struct event_line parsed = {.kind = 99};

	assert_true(event_parse(line, &parsed));
	assert_int_equal(parsed.kind, kind);
}

static void lines_about_servers_ask_for_a_look(void **state)
{
	static const char *const lines[] = {
		"RS [127.0.0.11]:tcp:8080 [GRP]:0 UP",
		"VS [GRP]:0 UP",
		"RS [::1]:tcp:8080 [2001:db8::1]:tcp:443 UP",
		"RS [127.0.0.11]:none:0 FWM 9 DOWN",
		"VS FWM 9 DOWN",
		"VS [10.99.0.5]:tcp:0 DOWN",
		"RS [127.0.0.11]:tcp:8080 [MY GROUP]:0 UP",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		expect_kind(lines[i], EVENT_LVS);
}

static void expect_instance(const char *line, const char *name, enum vrrp_state vrrp_state,
                            unsigned priority)
{
	struct event_line parsed;

	assert_true(event_parse(line, &parsed));
	assert_int_equal(parsed.kind, EVENT_INSTANCE);
	assert_string_equal(parsed.instance, name);
	assert_int_equal(parsed.state, vrrp_state);
	assert_int_equal(parsed.priority, priority);
}

static void instances_have_names_with_blanks_and_quotes(void **state)
{
	(void)state;
	expect_instance("INSTANCE \"VI_1\" MASTER 150", "VI_1", VRRP_MASTER, 150);
	expect_instance("INSTANCE \"VI two\" BACKUP 100", "VI two", VRRP_BACKUP, 100);
	expect_instance("INSTANCE \"a \"b\" c\" FAULT 0", "a \"b\" c", VRRP_FAULT, 0);
	expect_instance("INSTANCE \"V2\" DELETED 10", "V2", VRRP_DELETED, 10);
	expect_instance("INSTANCE \"V2\" STOP 255", "V2", VRRP_STOP, 255);
}

static void priorities_and_groups_are_of_no_consequence(void **state)
{
	(void)state;
	expect_kind("INSTANCE \"V1\" BACKUP_PRIORITY 105", EVENT_NONE);
	expect_kind("INSTANCE \"V1\" MASTER_PRIORITY 105", EVENT_NONE);
	expect_kind("INSTANCE \"V1\" MASTER_RX_LOWER_PRI 150", EVENT_NONE);
	expect_kind("GROUP \"SG\" MASTER 0", EVENT_NONE);
}

static void garbage_is_recognised(void **state)
{
	char long_name[400];
	static const char *const lines[] = {
		"",
		" ",
		"VS",
		"VS ",
		"VS UP",
		"VS [GRP]:0 UP ",
		"VS [GRP]:0 SIDEWAYS",
		"RS [10.0.0.1]:tcp:80 UP",
		"RS",
		"vs [GRP]:0 UP",
		"INSTANCE",
		"INSTANCE VI_1 MASTER 150",
		"INSTANCE \"VI_1\"",
		"INSTANCE \"VI_1\" MASTER",
		"INSTANCE \"VI_1\" MASTER 256",
		"INSTANCE \"VI_1\" MASTER -1",
		"INSTANCE \"VI_1\" MASTER 1x",
		"INSTANCE \"VI_1\" MASTERS 1",
		"INSTANCE \"VI_1\"MASTER 1",
		"INSTANCE \"\" MASTER 1",
		"INSTANCE \"VI_1 MASTER 1",
		"GROUP \"SG\" MASTER",
	};
	struct event_line parsed = {.kind = 99};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(event_parse(lines[i], &parsed));
	snprintf(long_name, sizeof(long_name), "INSTANCE \"%0256d\" MASTER 1", 7);
	assert_false(event_parse(long_name, &parsed));
	assert_int_equal(parsed.kind, 99);
}

/* ---- FIFOs ------------------------------------------------------------------------------------ */

struct heard {
	struct event_base *base;
	struct events *events;
	char folder[64], lvs[96], vrrp[96];
	unsigned looks, changes;
	char name[64];
	enum vrrp_state state;
	int lvs_fd, vrrp_fd; /* what keepalived holds */
};

static void on_look(void *context)
{
	((struct heard *)context)->looks++;
}

static void on_instance(void *context, const char *name, enum vrrp_state vrrp_state)
{
	struct heard *heard = context;

	heard->changes++;
	snprintf(heard->name, sizeof(heard->name), "%s", name);
	heard->state = vrrp_state;
}

static int open_as_keepalived(const char *path)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);

	assert_true(fd >= 0);
	return fd;
}

static void start(struct heard *heard)
{
	const struct events_callbacks callbacks = {heard, on_look, on_instance};

	*heard = (struct heard){.folder = "/tmp/test_events.XXXXXX"};
	assert_non_null(mkdtemp(heard->folder));
	snprintf(heard->lvs, sizeof(heard->lvs), "%s/lvs.fifo", heard->folder);
	snprintf(heard->vrrp, sizeof(heard->vrrp), "%s/vrrp.fifo", heard->folder);
	heard->base = event_base_new();
	assert_non_null(heard->base);
	assert_int_equal(
		events_start(heard->base, heard->lvs, heard->vrrp, &callbacks, &heard->events), 0);
	heard->lvs_fd = open_as_keepalived(heard->lvs);
	heard->vrrp_fd = open_as_keepalived(heard->vrrp);
}

static void stop(struct heard *heard)
{
	struct stat status;

	heard->events = events_stop(heard->events);
	event_base_free(heard->base);
	close(heard->lvs_fd);
	close(heard->vrrp_fd);
	assert_int_equal(lstat(heard->lvs, &status), 0); /* the FIFOs stay */
	unlink(heard->lvs);
	unlink(heard->vrrp);
	assert_int_equal(rmdir(heard->folder), 0);
}

static void say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* All that is readable now. */
static void run(struct heard *heard)
{
	for (int i = 0; i < 4; i++)
		event_base_loop(heard->base, EVLOOP_NONBLOCK);
}

static struct events_counts counts(const struct heard *heard)
{
	struct events_counts now;

	events_counts(heard->events, &now);
	return now;
}

static void fifos_are_ours_alone_and_large(void **state)
{
	struct heard heard;
	struct stat status;

	(void)state;
	start(&heard);
	assert_int_equal(lstat(heard.lvs, &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_true(fcntl(heard.lvs_fd, 1032 /* F_GETPIPE_SZ */) >= 1 << 20);
	stop(&heard);
}

static void many_lines_in_one_read_are_one_look(void **state)
{
	struct heard heard;

	(void)state;
	start(&heard);
	for (int i = 0; i < 100; i++)
		say(heard.lvs_fd, "RS [10.0.0.1]:tcp:80 [192.0.2.1]:tcp:80 UP\n");
	run(&heard);
	assert_int_equal(counts(&heard).lines, 100);
	assert_int_equal(heard.looks, 1);
	say(heard.vrrp_fd, "INSTANCE \"VI two\" MASTER 150\nGROUP \"SG\" MASTER 0\n");
	run(&heard);
	assert_int_equal(heard.changes, 1);
	assert_string_equal(heard.name, "VI two");
	assert_int_equal(heard.state, VRRP_MASTER);
	assert_int_equal(heard.looks, 1);
	assert_int_equal(counts(&heard).garbage, 0);
	stop(&heard);
}

static void a_line_may_come_in_pieces(void **state)
{
	static const char line[] = "INSTANCE \"VI_1\" FAULT 9\n";
	struct heard heard;

	(void)state;
	start(&heard);
	for (size_t i = 0; line[i]; i++) {
		assert_int_equal(heard.changes, 0);
		assert_int_equal(write(heard.vrrp_fd, line + i, 1), 1);
		run(&heard);
	}
	assert_int_equal(heard.changes, 1);
	assert_int_equal(heard.state, VRRP_FAULT);
	stop(&heard);
}

static void a_writer_that_vanishes_leaves_its_lines(void **state)
{
	struct heard heard;

	(void)state;
	start(&heard);
	say(heard.lvs_fd, "VS [192.0.2.1]:tcp:80 DOWN\nVS [192.0");
	close(heard.lvs_fd);
	run(&heard);
	assert_int_equal(heard.looks, 1);
	heard.lvs_fd = open_as_keepalived(heard.lvs);
	say(heard.lvs_fd, ".2.2]:tcp:80 UP\nVS [192.0.2.3]:tcp:80 UP\n");
	run(&heard);
	assert_int_equal(heard.looks, 2);
	assert_int_equal(counts(&heard).lines, 3);
	stop(&heard);
}

static void overlong_and_binary_lines_are_counted_and_forgotten(void **state)
{
	static char block[4096];
	struct heard heard;

	(void)state;
	start(&heard);
	memset(block, 'x', sizeof(block));
	assert_int_equal(write(heard.lvs_fd, block, 4095), 4095); /* just fits */
	say(heard.lvs_fd, "\n");
	assert_int_equal(write(heard.lvs_fd, block, 4096), 4096); /* just not */
	say(heard.lvs_fd, "\nVS [192.0.2.1]:tcp:80 UP\n");
	assert_int_equal(write(heard.lvs_fd, "VS [A]:0\0 UP\n", 13), 13);
	run(&heard);
	assert_int_equal(counts(&heard).overlong, 1);
	assert_int_equal(counts(&heard).garbage, 2);
	assert_int_equal(counts(&heard).lines, 1);
	assert_int_equal(heard.looks, 1);
	stop(&heard);
}

static void ten_megabytes_of_garbage_change_nothing(void **state)
{
	static char block[65536];
	struct heard heard;
	unsigned seed = 1;

	(void)state;
	start(&heard);
	for (int i = 0; i < 160; i++) {
		for (size_t j = 0; j < sizeof(block); j++)
			block[j] = (char)(rand_r(&seed) >> 7);
		assert_int_equal(write(heard.lvs_fd, block, sizeof(block)), sizeof(block));
		run(&heard);
	}
	assert_int_equal(heard.looks, 0);
	assert_int_equal(heard.changes, 0);
	assert_int_equal(counts(&heard).lines, 0);
	assert_true(counts(&heard).garbage > 10000);
	say(heard.lvs_fd, "\nVS [192.0.2.1]:tcp:80 UP\n");
	run(&heard);
	assert_int_equal(heard.looks, 1);
	stop(&heard);
}

static void a_fifo_made_anew_is_found_within_a_second(void **state)
{
	struct heard heard;

	(void)state;
	start(&heard);
	say(heard.lvs_fd, "VS [192.0.2.1]:tcp:80 UP\n"); /* unread when it goes */
	assert_int_equal(unlink(heard.lvs), 0);
	assert_int_equal(mkfifo(heard.lvs, 0600), 0);
	close(heard.lvs_fd);
	heard.lvs_fd = open_as_keepalived(heard.lvs);
	say(heard.lvs_fd, "VS [192.0.2.2]:tcp:80 UP\n");
	while (counts(&heard).lines < 2)
		event_base_loop(heard.base, EVLOOP_ONCE);
	assert_int_equal(heard.looks, 2);
	stop(&heard);
}

static void what_is_no_fifo_is_refused(void **state)
{
	const struct events_callbacks callbacks = {};
	char path[] = "/tmp/test_events_file.XXXXXX", link[64];
	struct events *events = (struct events *)1;
	struct event_base *base = event_base_new();
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(events_start(base, path, NULL, &callbacks, &events), -ENOTSUP);
	snprintf(link, sizeof(link), "%s.link", path);
	assert_int_equal(symlink("/nowhere", link), 0);
	assert_int_equal(events_start(base, NULL, link, &callbacks, &events), -ENOTSUP);
	assert_int_equal(events_start(base, "/nowhere/at/all", NULL, &callbacks, &events), -ENOENT);
	assert_ptr_equal(events, (struct events *)1);
	unlink(link);
	unlink(path);
	event_base_free(base);
}

static void one_fifo_or_none_will_do(void **state)
{
	const struct events_callbacks callbacks = {};
	struct event_base *base = event_base_new();
	struct events *events = NULL;

	(void)state;
	assert_int_equal(events_start(base, NULL, NULL, &callbacks, &events), 0);
	assert_null(events_stop(events));
	assert_null(events_stop(NULL));
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_about_servers_ask_for_a_look),
		cmocka_unit_test(instances_have_names_with_blanks_and_quotes),
		cmocka_unit_test(priorities_and_groups_are_of_no_consequence),
		cmocka_unit_test(garbage_is_recognised),
		cmocka_unit_test(fifos_are_ours_alone_and_large),
		cmocka_unit_test(many_lines_in_one_read_are_one_look),
		cmocka_unit_test(a_line_may_come_in_pieces),
		cmocka_unit_test(a_writer_that_vanishes_leaves_its_lines),
		cmocka_unit_test(overlong_and_binary_lines_are_counted_and_forgotten),
		cmocka_unit_test(ten_megabytes_of_garbage_change_nothing),
		cmocka_unit_test(a_fifo_made_anew_is_found_within_a_second),
		cmocka_unit_test(what_is_no_fifo_is_refused),
		cmocka_unit_test(one_fifo_or_none_will_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
