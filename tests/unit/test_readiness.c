// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_readiness.c - what a service manager hears, on a real socket, by path and by abstract name.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "xlbd/readiness.h"

struct manager {
	int fd;
	char folder[40], name[80];
};

static void listen_on(struct manager *manager, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(manager->name, sizeof(manager->name), "%s", name);
	strcpy(address.sun_path, name);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(manager->fd, (struct sockaddr *)&address,
	                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
	                 0);
	setenv("NOTIFY_SOCKET", name, 1);
}

static int set_up(void **state)
{
	struct manager *manager = calloc(1, sizeof(*manager));
	char name[60];

	strcpy(manager->folder, "/tmp/test_readiness.XXXXXX");
	assert_non_null(mkdtemp(manager->folder));
	snprintf(name, sizeof(name), "%s/notify", manager->folder);
	listen_on(manager, name);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	*state = manager;
	return 0;
}

static int tear_down(void **state)
{
	struct manager *manager = *state;

	close(manager->fd);
	unlink(manager->name);
	rmdir(manager->folder);
	free(manager);
	return 0;
}

static void expect(struct manager *manager, const char *expected)
{
	char heard[600] = "";

	assert_true(recv(manager->fd, heard, sizeof(heard) - 1, 0) >= 0);
	assert_string_equal(heard, expected);
}

static void each_turn_of_the_daemons_life_is_a_datagram(void **state)
{
	struct manager *manager = *state;
	char heard[200] = "";

	readiness_ready("%d virtual servers", 3);
	expect(manager, "READY=1\nSTATUS=3 virtual servers");
	readiness_status("%s", "standby");
	expect(manager, "STATUS=standby");
	readiness_watchdog();
	expect(manager, "WATCHDOG=1");
	readiness_stopping();
	expect(manager, "STOPPING=1");
	readiness_reloading();
	assert_true(recv(manager->fd, heard, sizeof(heard) - 1, 0) > 0);
	assert_memory_equal(heard, "RELOADING=1\nMONOTONIC_USEC=", 27);
	assert_true(strtoll(heard + 27, NULL, 10) > 0);
}

static void a_newline_in_a_status_begins_no_other_word(void **state)
{
	readiness_status("%s", "bad\nREADY=1");
	expect(*state, "STATUS=bad READY=1");
}

static void a_long_status_is_cut(void **state)
{
	struct manager *manager = *state;
	char heard[600] = "";

	readiness_status("%0900d", 0);
	assert_int_equal(recv(manager->fd, heard, sizeof(heard), 0), 499);
}

static void an_abstract_socket_is_reached(void **state)
{
	struct manager *manager = *state;
	struct manager abstract;
	char name[60];

	snprintf(name, sizeof(name), "@test_readiness.%d", (int)getpid());
	listen_on(&abstract, name);
	readiness_stopping();
	expect(&abstract, "STOPPING=1");
	close(abstract.fd);
	assert_int_equal(recv(manager->fd, name, sizeof(name), 0), -1);
}

static void nobody_listening_is_no_harm(void **state)
{
	char name[300];

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	readiness_ready("%s", "alone");
	setenv("NOTIFY_SOCKET", "", 1);
	readiness_ready("%s", "alone");
	setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
	readiness_ready("%s", "alone");
	assert_int_equal(readiness_send("/nonexistent/notify", "READY=1"), -ENOENT);
	assert_int_equal(readiness_send("relative", "READY=1"), -EINVAL);
	assert_int_equal(readiness_send("@", "READY=1"), -EINVAL);
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(readiness_send(name, "READY=1"), -EINVAL);
}

static void the_watchdog_is_fed_twice_as_often_as_it_asks(void **state)
{
	char pid[20];

	(void)state;
	assert_int_equal(readiness_watchdog_period(), 0);
	setenv("WATCHDOG_USEC", "10000000", 1);
	assert_int_equal(readiness_watchdog_period(), 5000);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(readiness_watchdog_period(), 5000);
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(readiness_watchdog_period(), 0);
	unsetenv("WATCHDOG_PID");
	setenv("WATCHDOG_USEC", "soon", 1);
	assert_int_equal(readiness_watchdog_period(), 0);
	setenv("WATCHDOG_USEC", "-1", 1);
	assert_int_equal(readiness_watchdog_period(), 0);
	setenv("WATCHDOG_USEC", "0", 1);
	assert_int_equal(readiness_watchdog_period(), 0);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(each_turn_of_the_daemons_life_is_a_datagram),
		test(a_newline_in_a_status_begins_no_other_word),
		test(a_long_status_is_cut),
		test(an_abstract_socket_is_reached),
		test(nobody_listening_is_no_harm),
		test(the_watchdog_is_fed_twice_as_often_as_it_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
