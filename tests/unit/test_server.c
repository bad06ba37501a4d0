// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_server.c - the control socket under good and bad clients: a real event loop, a real socket,
 * real processes.
 *
 * The server runs in this process, on a loop that the test turns; clients are descriptors of the
 * same process, or a child where another uid or a blocking write is needed. Commands are the test's
 * own: what the daemon's say is not the matter here.
 */
#define _GNU_SOURCE /* setgroups */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>
#include <event2/event.h>

#include "xlbd/control/command.h"
#include "xlbd/control/server.h"

#define MIB (1024 * 1024)

struct world {
	struct event_base *base;
	struct control *control;
	char folder[64], path[80];
	unsigned made; /* items that streams have made */
	unsigned released;
	unsigned changed;
};

/* ---- commands --------------------------------------------------------------------------------- */

static int run_echo(struct control_call *call)
{
	return json_object_set(call->answer, "text", json_object_get(call->request, "text"));
}

static int run_change(struct control_call *call)
{
	((struct world *)call->context)->changed++;
	return 0;
}

static int run_fail(struct control_call *call)
{
	(void)call;
	return -ENODEV;
}

struct many {
	struct world *world;
	json_int_t left;
};

static json_t *next_many(void *state)
{
	struct many *many = state;

	if (many->left-- == 0)
		return NULL;
	many->world->made++;
	return json_pack("{s:I, s:s}", "left", many->left, "pad",
	                 "0123456789012345678901234567890123456789012345678901234567890123456789");
}

static void release_many(void *state)
{
	((struct many *)state)->world->released++;
	free(state);
}

static int run_many(struct control_call *call)
{
	struct many *many = calloc(1, sizeof(*many));

	many->world = call->context;
	many->left = control_integer(call, "count", 10);
	call->stream =
		(struct control_stream){.next = next_many, .release = release_many, .state = many};
	return 0;
}

static const struct control_command commands[] = {
	{.name = "echo", .argument = {{"text", 's', true}}, .run = run_echo},
	{.name = "change", .changes = true, .run = run_change},
	{.name = "fail", .run = run_fail},
	{.name = "many", .argument = {{"count", 'i', false}}, .run = run_many},
	{},
};

/* ---- the world -------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void turn(struct world *world)
{
	struct timeval soon = {.tv_usec = 2000};

	event_base_loopexit(world->base, &soon);
	event_base_loop(world->base, EVLOOP_ONCE);
}

static void start(struct world *world, const struct control_limits *limits)
{
	struct control_setup setup = {.commands = commands, .context = world};

	if (limits)
		setup.limits = *limits;
	assert_int_equal(control_listen(world->base, world->path, NULL, &setup, &world->control),
	                 0);
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	strcpy(world->folder, "/tmp/test_server.XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	chmod(world->folder, 0755);
	snprintf(world->path, sizeof(world->path), "%s/control", world->folder);
	world->base = event_base_new();
	assert_non_null(world->base);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	control_stop(world->control);
	event_base_free(world->base);
	unlink(world->path);
	rmdir(world->folder);
	free(world);
	return 0;
}

static int dial_path(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0) {
		close(fd);
		return -errno;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static int dial(const struct world *world)
{
	int fd = dial_path(world->path);

	assert_true(fd >= 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* Turns the loop until the client has a whole line (returned, to be freed), or the end of the connection (NULL). */
static char *hear(struct world *world, int fd)
{
	int64_t end = now_ms() + 5000;
	char *line = calloc(1, MIB);
	size_t used = 0;

	while (now_ms() < end) {
		ssize_t got = read(fd, line + used, 1);

		if (got == 1 && line[used++] == '\n') {
			line[used - 1] = '\0';
			return line;
		}
		if (got == 0 || (got < 0 && errno != EAGAIN)) {
			free(line);
			return NULL;
		}
		if (got < 0)
			turn(world);
	}
	fail_msg("nothing heard within 5 s");
	return NULL;
}

static void expect(struct world *world, int fd, const char *expected)
{
	char *line = hear(world, fd);

	assert_non_null(line);
	assert_string_equal(line, expected);
	free(line);
}

static void expect_end(struct world *world, int fd)
{
	char *line = hear(world, fd);

	assert_null(line);
	close(fd);
}

static struct control_counts counts_of(const struct world *world)
{
	struct control_counts counts;

	control_counts(world->control, &counts);
	return counts;
}

/* ---- what is asked ---------------------------------------------------------------------------- */

static void a_line_is_answered_with_a_line(void **state)
{
	struct world *world = *state;
	int fd;

	start(world, NULL);
	fd = dial(world);
	say(fd, "{\"command\":\"echo\",\"text\":\"a\"}\n\n{\"command\":\"echo\",");
	expect(world, fd, "{\"ok\":true,\"schema\":1,\"text\":\"a\"}");
	say(fd, "\"text\":\"b\"}\n");
	expect(world, fd, "{\"ok\":true,\"schema\":1,\"text\":\"b\"}");
	assert_int_equal(counts_of(world).requests, 2);
	assert_int_equal(counts_of(world).errors, 0);
	close(fd);
}

static void empty_lines_are_no_requests(void **state)
{
	struct world *world = *state;
	int fd;

	start(world, NULL);
	fd = dial(world);
	say(fd, "\n \r\n\t\n{\"command\":\"echo\",\"text\":\"a\"}\n");
	expect(world, fd, "{\"ok\":true,\"schema\":1,\"text\":\"a\"}");
	assert_int_equal(counts_of(world).requests, 1);
	close(fd);
}

static void requests_in_one_write_are_answered_in_order(void **state)
{
	struct world *world = *state;
	char text[16000] = "", expected[64];
	int fd;

	start(world, NULL);
	fd = dial(world);
	for (int i = 0; i < 300; i++)
		sprintf(text + strlen(text), "{\"command\":\"echo\",\"text\":\"%d\"}\n", i);
	say(fd, text);
	for (int i = 0; i < 300; i++) {
		sprintf(expected, "{\"ok\":true,\"schema\":1,\"text\":\"%d\"}", i);
		expect(world, fd, expected);
	}
	close(fd);
}

static void the_last_line_may_lack_its_end(void **state)
{
	struct world *world = *state;
	int fd;

	start(world, NULL);
	fd = dial(world);
	say(fd, "{\"command\":\"echo\",\"text\":\"a\"}\n{\"command\":\"echo\",\"text\":\"b\"}");
	shutdown(fd, SHUT_WR);
	expect(world, fd, "{\"ok\":true,\"schema\":1,\"text\":\"a\"}");
	expect(world, fd, "{\"ok\":true,\"schema\":1,\"text\":\"b\"}");
	expect_end(world, fd);
}

static void what_is_wrong_is_said_and_the_client_stays(void **state)
{
	static const struct {
		const char *request, *code, *error;
	} rows[] = {
		{"garbage\n", "EINVAL", "not JSON: '[' or '{' expected near 'garbage' (column 7)"},
		{"\xff\xfe\n", "EINVAL", "not JSON: unable to decode byte 0xff (column 0)"},
		{"[1]\n", "EINVAL", "not a JSON object"},
		{"{}\n", "EINVAL", "no \"command\" in the request"},
		{"{\"command\":7}\n", "EINVAL", "no \"command\" in the request"},
		{"{\"command\":\"nothing\"}\n", "ENOENT", "no such command: 'nothing'"},
		{"{\"command\":\"echo\"}\n", "EINVAL", "'echo' needs 'text'"},
		{"{\"command\":\"echo\",\"text\":1}\n", "EINVAL",
	         "'text' of 'echo' must be a string"},
		{"{\"command\":\"echo\",\"test\":\"a\"}\n", "EINVAL", "'echo' takes no 'test'"},
		{"{\"command\":\"fail\"}\n", "ENODEV", "No such device"},
		{"{\"command\":\"a\",\"command\":\"b\"}\n", "EINVAL", NULL},
	};
	struct world *world = *state;
	int fd;

	start(world, NULL);
	fd = dial(world);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *line;
		json_t *answer;

		say(fd, rows[i].request);
		line = hear(world, fd);
		assert_non_null(line);
		answer = json_loads(line, 0, NULL);
		assert_true(json_is_false(json_object_get(answer, "ok")));
		assert_string_equal(json_string_value(json_object_get(answer, "code")),
		                    rows[i].code);
		if (rows[i].error)
			assert_string_equal(json_string_value(json_object_get(answer, "error")),
			                    rows[i].error);
		json_decref(answer);
		free(line);
	}
	assert_int_equal(counts_of(world).errors, ARRAY_SIZE(rows));
	say(fd, "{\"command\":\"echo\",\"text\":\"a\"}\n");
	expect(world, fd, "{\"ok\":true,\"schema\":1,\"text\":\"a\"}");
	close(fd);
}

/* ---- bounds ----------------------------------------------------------------------------------- */

/* Writes `size` bytes without a newline, as far as it is let; exits 0 if it was told why not. */
static void flood(const char *path, size_t size)
{
	int fd = dial_path(path);
	char block[4096], answer[500];
	ssize_t got;

	if (fd < 0)
		_exit(2);
	fcntl(fd, F_SETFL, 0);
	memset(block, 'x', sizeof(block));
	for (size_t sent = 0; sent < size; sent += sizeof(block))
		if (send(fd, block, sizeof(block), MSG_NOSIGNAL) < 0)
			break;
	got = read(fd, answer, sizeof(answer) - 1);
	if (got <= 0)
		_exit(3);
	answer[got] = '\0';
	_exit(strstr(answer, "request longer than 65536 bytes") ? 0 : 4);
}

static void ten_megabytes_without_a_newline_are_told_and_dropped(void **state)
{
	struct world *world = *state;
	int64_t end = now_ms() + 5000;
	int status = -1;
	pid_t child;

	start(world, NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		flood(world->path, 10 * MIB);
	while (waitpid(child, &status, WNOHANG) == 0 && now_ms() < end)
		turn(world);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(counts_of(world).errors, 1);
	assert_int_equal(counts_of(world).requests, 0);
}

static void a_request_of_exactly_the_limit_is_answered(void **state)
{
	struct world *world = *state;
	struct control_limits limits = {.request = 40};
	int fd;

	start(world, &limits);
	fd = dial(world);
	say(fd, "{\"command\":\"echo\",\"text\":\"0123456789ab\"}\n"); /* 40 and its end */
	expect(world, fd, "{\"ok\":true,\"schema\":1,\"text\":\"0123456789ab\"}");
	say(fd, "{\"command\":\"echo\",\"text\":\"0123456789abc\"}\n");
	expect(world, fd,
	       "{\"ok\":false,\"schema\":1,\"code\":\"EMSGSIZE\","
	       "\"error\":\"request longer than 40 bytes\"}");
	expect_end(world, fd);
}

static void who_says_nothing_is_told_and_dropped(void **state)
{
	struct world *world = *state;
	struct control_limits limits = {.idle = 50};
	int fd;

	start(world, &limits);
	fd = dial(world);
	expect(world, fd,
	       "{\"ok\":false,\"schema\":1,\"code\":\"ETIMEDOUT\","
	       "\"error\":\"nothing was asked for a long time\"}");
	expect_end(world, fd);
	assert_int_equal(counts_of(world).dropped_clients, 1);
}

static void who_does_not_read_is_dropped_and_harms_nobody(void **state)
{
	struct world *world = *state;
	struct control_limits limits = {.stalled = 100, .queue = 10000};
	int64_t end = now_ms() + 5000;
	int slow, other;

	start(world, &limits);
	slow = dial(world);
	say(slow, "{\"command\":\"many\",\"count\":10000000}\n");
	other = dial(world);
	for (int i = 0; i < 20; i++) {
		say(other, "{\"command\":\"echo\",\"text\":\"a\"}\n");
		expect(world, other, "{\"ok\":true,\"schema\":1,\"text\":\"a\"}");
	}
	while (counts_of(world).dropped_clients == 0 && now_ms() < end)
		turn(world);
	assert_int_equal(counts_of(world).dropped_clients, 1);
	assert_int_equal(world->released, 1);
	/* no more was made than the socket's buffer and the queue hold */
	assert_in_range(world->made, 1, 20000);
	say(other, "{\"command\":\"echo\",\"text\":\"b\"}\n");
	expect(world, other, "{\"ok\":true,\"schema\":1,\"text\":\"b\"}");
	close(slow);
	close(other);
}

static void who_asks_without_reading_is_asked_to_wait(void **state)
{
	static const char request[] = "{\"command\":\"many\",\"count\":100}\n";
	struct world *world = *state;
	struct control_limits limits = {.stalled = 100, .queue = 10000};
	int64_t end = now_ms() + 5000;
	unsigned sent = 0;
	int fd;

	start(world, &limits);
	fd = dial(world);
	while (counts_of(world).dropped_clients == 0 && now_ms() < end) {
		while (send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
			sent++;
		turn(world);
	}
	assert_int_equal(counts_of(world).dropped_clients, 1);
	assert_true(sent > counts_of(world).requests);
	assert_in_range(world->made, 1, 20000);
	close(fd);
}

static void the_thirty_third_client_is_refused_until_one_goes(void **state)
{
	struct world *world = *state;
	int fd[32], late;

	start(world, NULL);
	for (int i = 0; i < 32; i++) {
		fd[i] = dial(world);
		say(fd[i], "{\"command\":\"echo\",\"text\":\"a\"}\n");
		expect(world, fd[i], "{\"ok\":true,\"schema\":1,\"text\":\"a\"}");
	}
	late = dial(world);
	expect(world, late,
	       "{\"ok\":false,\"schema\":1,\"code\":\"EBUSY\","
	       "\"error\":\"too many clients are connected\"}");
	expect_end(world, late);
	assert_int_equal(counts_of(world).refused_clients, 1);
	close(fd[7]);
	turn(world);
	fd[7] = dial(world);
	say(fd[7], "{\"command\":\"echo\",\"text\":\"b\"}\n");
	expect(world, fd[7], "{\"ok\":true,\"schema\":1,\"text\":\"b\"}");
	for (int i = 0; i < 32; i++)
		close(fd[i]);
}

static void a_long_answer_comes_whole_and_ends(void **state)
{
	struct world *world = *state;
	struct control_limits limits = {.queue = 1000};
	unsigned items = 0;
	bool ended = false;
	int fd;

	start(world, &limits);
	fd = dial(world);
	say(fd, "{\"command\":\"many\",\"count\":5000}\n{\"command\":\"echo\",\"text\":\"a\"}\n");
	while (!ended) {
		char *line = hear(world, fd);

		assert_non_null(line);
		ended = strcmp(line, "{\"ok\":true,\"schema\":1,\"end\":true}") == 0;
		items += strncmp(line, "{\"item\":", 8) == 0;
		free(line);
	}
	assert_int_equal(items, 5000);
	assert_int_equal(world->released, 1);
	expect(world, fd, "{\"ok\":true,\"schema\":1,\"text\":\"a\"}");
	close(fd);
}

static void a_client_that_goes_in_the_middle_releases_its_answer(void **state)
{
	struct world *world = *state;
	int64_t end = now_ms() + 5000;
	int fd;

	start(world, NULL);
	fd = dial(world);
	say(fd, "{\"command\":\"many\",\"count\":10000000}\n");
	free(hear(world, fd));
	close(fd);
	while (world->released == 0 && now_ms() < end)
		turn(world);
	assert_int_equal(world->released, 1);
}

/* ---- who may ---------------------------------------------------------------------------------- */

/* Runs `request` as uid 65534 and returns whether the answer holds `expected`. */
static bool stranger_hears(struct world *world, const char *request, const char *expected)
{
	int64_t end = now_ms() + 5000;
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		char answer[500] = "";
		int fd;

		if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
			_exit(5);
		fd = dial_path(world->path);
		if (fd < 0)
			_exit(fd == -EACCES ? 6 : 7);
		fcntl(fd, F_SETFL, 0);
		/* it may have been turned away already: then only the answer is there */
		(void)!write(fd, request, strlen(request));
		if (read(fd, answer, sizeof(answer) - 1) <= 0)
			_exit(8);
		_exit(strstr(answer, expected) ? 0 : 9);
	}
	while (waitpid(child, &status, WNOHANG) == 0 && now_ms() < end)
		turn(world);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void only_root_and_our_own_user_may_change_things(void **state)
{
	struct world *world = *state;
	int fd;

	start(world, NULL);
	fd = dial(world);
	say(fd, "{\"command\":\"change\"}\n");
	expect(world, fd, "{\"ok\":true,\"schema\":1}");
	assert_int_equal(world->changed, 1);
	close(fd);
	if (geteuid() != 0) {
		print_message("not root: the stranger's part is left out\n");
		return;
	}
	chmod(world->path, 0666);
	assert_true(stranger_hears(world, "{\"command\":\"echo\",\"text\":\"a\"}\n", "\"a\""));
	assert_true(stranger_hears(world, "{\"command\":\"change\"}\n",
	                           "'change' is for root and the daemon's own user, "
	                           "not for uid 65534"));
	assert_int_equal(world->changed, 1);
}

static void the_last_places_are_for_those_who_may_change(void **state)
{
	struct world *world = *state;
	struct control_limits limits = {.clients = 3, .reserved = 3};
	int fd;

	if (geteuid() != 0)
		skip();
	start(world, &limits);
	chmod(world->path, 0666);
	assert_true(stranger_hears(world, "{\"command\":\"echo\",\"text\":\"a\"}\n",
	                           "the last places are root's"));
	fd = dial(world);
	say(fd, "{\"command\":\"change\"}\n");
	expect(world, fd, "{\"ok\":true,\"schema\":1}");
	close(fd);
}

static void the_socket_is_ours_alone_unless_a_group_is_named(void **state)
{
	struct world *world = *state;
	struct control_setup setup = {.commands = commands, .context = world};
	struct group *own = getgrgid(getegid());
	struct stat status;

	start(world, NULL);
	assert_int_equal(stat(world->path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	world->control = control_stop(world->control);
	assert_int_equal(access(world->path, F_OK), -1);

	assert_int_equal(
		control_listen(world->base, world->path, "no-such-group", &setup, &world->control),
		-ESRCH);
	assert_int_equal(access(world->path, F_OK), -1);

	assert_non_null(own);
	assert_int_equal(
		control_listen(world->base, world->path, own->gr_name, &setup, &world->control), 0);
	assert_int_equal(stat(world->path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0660);
	assert_int_equal(status.st_gid, own->gr_gid);
}

/* ---- the socket's file ------------------------------------------------------------------------ */

static void a_stale_socket_is_replaced_a_live_one_is_not(void **state)
{
	struct world *world = *state;
	struct control_setup setup = {.commands = commands, .context = world};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct control *second = NULL;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(name.sun_path, world->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd); /* as a daemon leaves it that was killed */
	start(world, NULL);
	assert_int_equal(control_listen(world->base, world->path, NULL, &setup, &second),
	                 -EADDRINUSE);
	assert_null(second);
	fd = dial(world);
	say(fd, "{\"command\":\"echo\",\"text\":\"a\"}\n");
	expect(world, fd, "{\"ok\":true,\"schema\":1,\"text\":\"a\"}");
	close(fd);
}

static void what_is_no_socket_stays(void **state)
{
	struct world *world = *state;
	struct control_setup setup = {.commands = commands, .context = world};
	int fd = open(world->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(control_listen(world->base, world->path, NULL, &setup, &world->control),
	                 -EEXIST);
	assert_int_equal(access(world->path, F_OK), 0);
}

static void a_successors_socket_is_left_alone(void **state)
{
	struct world *world = *state;
	struct world successor = *world;

	start(world, NULL);
	unlink(world->path);
	start(&successor, NULL);
	world->control = control_stop(world->control);
	assert_int_equal(access(world->path, F_OK), 0);
	control_stop(successor.control);
	assert_int_equal(access(world->path, F_OK), -1);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(a_line_is_answered_with_a_line),
		test(empty_lines_are_no_requests),
		test(requests_in_one_write_are_answered_in_order),
		test(the_last_line_may_lack_its_end),
		test(what_is_wrong_is_said_and_the_client_stays),
		test(ten_megabytes_without_a_newline_are_told_and_dropped),
		test(a_request_of_exactly_the_limit_is_answered),
		test(who_says_nothing_is_told_and_dropped),
		test(who_does_not_read_is_dropped_and_harms_nobody),
		test(who_asks_without_reading_is_asked_to_wait),
		test(the_thirty_third_client_is_refused_until_one_goes),
		test(a_long_answer_comes_whole_and_ends),
		test(a_client_that_goes_in_the_middle_releases_its_answer),
		test(only_root_and_our_own_user_may_change_things),
		test(the_last_places_are_for_those_who_may_change),
		test(the_socket_is_ours_alone_unless_a_group_is_named),
		test(a_stale_socket_is_replaced_a_live_one_is_not),
		test(what_is_no_socket_stays),
		test(a_successors_socket_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
