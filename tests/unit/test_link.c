// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_link.c - snmp/link.c against a socket of the test's own: answers in pieces, silence, a daemon that goes away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "snmp/link.h"

struct scene {
	char folder[32], path[64];
	int listener, peer;
	struct link *link;
};

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	strcpy(scene->folder, "/tmp/xlb-link-XXXXXX");
	assert_non_null(mkdtemp(scene->folder));
	snprintf(scene->path, sizeof(scene->path), "%s/control", scene->folder);
	strcpy(name.sun_path, scene->path);
	scene->peer = -1;
	scene->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(scene->listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(scene->listener, 4), 0);
	scene->link = link_new(scene->path);
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	link_free(scene->link);
	close_fd(&scene->peer);
	close_fd(&scene->listener);
	unlink(scene->path);
	rmdir(scene->folder);
	free(scene);
	return 0;
}

/* The daemon takes the question. */
static void accept_question(struct scene *scene)
{
	char line[100] = "";

	if (scene->peer < 0)
		scene->peer = accept(scene->listener, NULL, NULL);
	assert_true(recv(scene->peer, line, sizeof(line) - 1, 0) > 0);
	assert_string_equal(line, "{\"command\":\"snapshot\"}\n");
}

static void say(struct scene *scene, const char *text)
{
	assert_int_equal(send(scene->peer, text, strlen(text), 0), strlen(text));
}

static void an_answer_may_come_in_pieces(void **state)
{
	struct scene *scene = *state;
	json_t *answer = NULL;

	assert_int_equal(link_ask(scene->link, "snapshot", 0), 0);
	accept_question(scene);
	assert_int_equal(link_read(scene->link, &answer), 0);
	say(scene, "{\"a\":");
	assert_int_equal(link_read(scene->link, &answer), 0);
	say(scene, "1}\n");
	assert_int_equal(link_read(scene->link, &answer), 1);
	assert_int_equal(json_integer_value(json_object_get(answer, "a")), 1);
	json_decref(answer);
	assert_int_equal(link_ask(scene->link, "snapshot", 1000), 0);
	accept_question(scene);
}

static void no_second_question_before_the_answer(void **state)
{
	struct scene *scene = *state;
	char line[100];

	assert_int_equal(link_ask(scene->link, "snapshot", 0), 0);
	accept_question(scene);
	assert_int_equal(link_ask(scene->link, "snapshot", 1000), 0);
	assert_int_equal(recv(scene->peer, line, sizeof(line), MSG_DONTWAIT), -1);
	assert_int_equal(link_ask(scene->link, "snapshot", LINK_PATIENCE + 1), -ETIMEDOUT);
	assert_int_equal(link_fd(scene->link), -1);
	assert_int_equal(link_ask(scene->link, "snapshot", LINK_PATIENCE + 2), 0);
}

static void a_daemon_that_goes_away_is_found_again(void **state)
{
	struct scene *scene = *state;
	json_t *answer = NULL;

	assert_int_equal(link_ask(scene->link, "snapshot", 0), 0);
	accept_question(scene);
	say(scene, "{\"half\":");
	close_fd(&scene->peer);
	assert_int_equal(link_read(scene->link, &answer), -EPIPE);
	assert_int_equal(link_fd(scene->link), -1);
	assert_int_equal(link_ask(scene->link, "snapshot", 1000), 0);
	accept_question(scene);
	say(scene, "{\"b\":2}\n");
	assert_int_equal(link_read(scene->link, &answer), 1);
	assert_int_equal(json_integer_value(json_object_get(answer, "b")), 2);
	json_decref(answer);
}

static void no_daemon_is_said_without_waiting(void **state)
{
	struct scene *scene = *state;

	close_fd(&scene->listener);
	assert_int_equal(link_ask(scene->link, "snapshot", 0), -ECONNREFUSED);
	unlink(scene->path);
	assert_int_equal(link_ask(scene->link, "snapshot", 0), -ENOENT);
}

static void a_daemon_that_accepts_nobody_is_not_waited_for(void **state)
{
	struct scene *scene = *state;
	struct link *others[16] = {};
	int r = 0;
	size_t i;

	for (i = 0; r == 0 && i < ARRAY_SIZE(others); i++) {
		others[i] = link_new(scene->path);
		r = link_ask(others[i], "snapshot", 0);
	}
	assert_int_equal(r, -EAGAIN);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		link_free(others[i]);
}

static void what_is_no_object_closes_the_connection(void **state)
{
	static const char *const answers[] = {"nonsense\n", "[1]\n", "\n", "{\"a\":1\n"};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		json_t *answer = NULL;

		assert_int_equal(link_ask(scene->link, "snapshot", 0), 0);
		accept_question(scene);
		say(scene, answers[i]);
		assert_int_equal(link_read(scene->link, &answer), -EPROTO);
		assert_null(answer);
		close_fd(&scene->peer);
	}
}

static void an_answer_may_be_long(void **state)
{
	struct scene *scene = *state;
	json_t *answer = NULL;
	int r = 0;

	assert_int_equal(link_ask(scene->link, "snapshot", 0), 0);
	accept_question(scene);
	say(scene, "{\"a\":\"");
	for (unsigned i = 0; i < 1000; i++) {
		char block[1001] = "";

		memset(block, 'x', 1000);
		say(scene, block);
		assert_int_equal(link_read(scene->link, &answer), 0);
	}
	say(scene, "\"}\n");
	r = link_read(scene->link, &answer);
	assert_int_equal(r, 1);
	assert_int_equal(json_string_length(json_object_get(answer, "a")), 1000000);
	json_decref(answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(an_answer_may_come_in_pieces),
		TEST(no_second_question_before_the_answer),
		TEST(a_daemon_that_goes_away_is_found_again),
		TEST(no_daemon_is_said_without_waiting),
		TEST(a_daemon_that_accepts_nobody_is_not_waited_for),
		TEST(what_is_no_object_closes_the_connection),
		TEST(an_answer_may_be_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
