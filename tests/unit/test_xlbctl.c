// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_xlbctl.c - the program as it is called: exit status, what goes to stdout, completion in
 * bash.
 *
 * Runs the built xlbctl against a control server in a child process. The server is the daemon's
 * (control/server.c); its answers are few and fixed, because what matters here is the command line.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "xlbd/control/command.h"
#include "xlbd/control/server.h"

/* ---- the server ------------------------------------------------------------------------------- */

static int answer_with(struct control_call *call, const char *text)
{
	json_object_update_new(call->answer, json_loads(text, 0, NULL));
	return 0;
}

static int run_status(struct control_call *call)
{
	return answer_with(call, "{\"healthy\":false,\"problems\":[],\"roles\":["
	                         "{\"instance\":\"VI_1\"},{\"instance\":\"VI_2\"}]}");
}

static int run_vip(struct control_call *call)
{
	const char *vip = control_text(call, "vip");

	if (vip && strcmp(vip, "web") != 0)
		return control_fail(call, -ENOENT, "no virtual server '%s'", vip);
	return answer_with(
		call, "{\"vips\":[{\"name\":\"web\",\"virtual\":\"192.0.2.1:80/tcp\",\"in_force\":"
		      "true,\"side\":\"xdp\",\"reals\":{\"usable\":1,\"total\":1}},"
		      "{\"name\":null,\"virtual\":\"[2001:db8::1]:53/udp\",\"in_force\":true,"
		      "\"side\":\"xdp\",\"reals\":{\"usable\":1,\"total\":1}}]}");
}

static int run_real(struct control_call *call)
{
	return answer_with(call, "{\"reals\":[{\"real\":\"10.0.0.1:80\"}]}");
}

static json_t *next_item(void *state)
{
	return (*(int *)state)-- > 0 ? json_pack("{s:s}", "client", "198.51.100.7:1") : NULL;
}

static int run_conn(struct control_call *call)
{
	int *left = malloc(sizeof(*left));

	*left = (int)control_integer(call, "limit", 2);
	call->stream = (struct control_stream){.next = next_item, .release = free, .state = left};
	return answer_with(call, "{\"shown\":2,\"matched\":2}");
}

static int run_nothing(struct control_call *call)
{
	(void)call;
	return 0;
}

static const struct control_command commands[] = {
	{.name = "status", .run = run_status},
	{.name = "vip", .argument = {{"vip", 's', false}}, .run = run_vip},
	{.name = "real", .argument = {{"vip", 's', false}}, .run = run_real},
	{.name = "conn",
         .argument = {{"client", 's', false}, {"state", 's', false}, {"limit", 'i', false}},
         .run = run_conn},
	{.name = "bypass",
         .argument = {{"on", 'b', true}, {"vip", 's', false}},
         .run = run_nothing},
	{.name = "role",
         .argument = {{"instance", 's', true}, {"state", 's', true}},
         .run = run_nothing},
	{.name = "version", .run = run_nothing},
	{},
};

struct world {
	char folder[60], path[80];
	pid_t server;
};

static void serve(const char *path, int ready)
{
	struct control_setup setup = {.commands = commands};
	struct control *control;
	struct event_base *base = event_base_new();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (control_listen(base, path, NULL, &setup, &control) < 0)
		_exit(1);
	if (write(ready, "x", 1) != 1)
		_exit(1);
	event_base_dispatch(base);
	_exit(0);
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	int ready[2];
	char byte;

	strcpy(world->folder, "/tmp/test_xlbctl.XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	snprintf(world->path, sizeof(world->path), "%s/control", world->folder);
	assert_int_equal(pipe(ready), 0);
	world->server = fork();
	if (world->server == 0)
		serve(world->path, ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	kill(world->server, SIGKILL);
	waitpid(world->server, NULL, 0);
	unlink(world->path);
	rmdir(world->folder);
	free(world);
	return 0;
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* Runs a command of the shell in which $X is xlbctl with the server's socket; its status and stdout (a static buffer). */
static const char *shell(const struct world *world, int *status, const char *command)
{
	static char output[20000];
	const char *build = getenv("top_builddir"), *source = getenv("top_srcdir");
	char line[3000];
	size_t length;
	FILE *pipe;

	snprintf(line, sizeof(line),
	         "PATH=%s/xlbd/ctl:$PATH; S=%s; X=\"xlbctl -s $S\"; "
	         "C=%s/xlbd/ctl/completion/xlbctl; "
	         "%s",
	         build ? build : ".", world->path, source ? source : ".", command);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	length = fread(output, 1, sizeof(output) - 1, pipe);
	output[length] = '\0';
	*status = WEXITSTATUS(pclose(pipe));
	return output;
}

static void expect(const struct world *world, const char *command, int status, const char *output)
{
	int got;
	const char *shown = shell(world, &got, command);

	if (output)
		assert_string_equal(shown, output);
	if (got != status)
		fail_msg("%s: status %d, not %d", command, got, status);
}

static void the_exit_status_says_what_happened(void **state)
{
	static const struct {
		const char *command;
		int status;
	} rows[] = {
		{"$X vip", 0},
		{"$X vip web", 0},
		{"$X vip nothing 2>&1", 1},
		{"$X status", 2},
		{"$X -j status", 2},
		{"xlbctl -s /nonexistent status 2>&1", 3},
		{"$X 2>&1", 1},
		{"$X nonsense 2>&1", 1},
		{"$X vip a b 2>&1", 1},
		{"$X explain 1.2.3.4:5 2>&1", 1},
		{"$X vip -a 2>&1", 1},
		{"$X drops -l 5 2>&1", 1},
		{"$X vip --nonsense 2>&1", 1},
		{"$X vip -w soon 2>&1", 1},
		{"$X vip -w0 2>&1", 1},
		{"$X bypass maybe 2>&1", 1},
		{"$X bypass on", 0},
		{"$X bypass off web", 0},
		{"$X conn speed=9 2>&1", 1},
		{"$X conn -l many 2>&1", 1},
		{"$X role VI_1 MASTER", 0},
		{"$X vip $(printf '\\377') 2>&1", 1},
		{"$X version", 0},
		{"xlbctl --version", 0},
		{"xlbctl help", 0},
		{"xlbctl help vip", 0},
		{"xlbctl vip --help", 0},
		{"xlbctl help nonsense 2>&1", 1},
		{"$X vip >/dev/full", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect(*state, rows[i].command, rows[i].status, NULL);
}

static void what_is_wrong_is_one_line_on_stderr(void **state)
{
	expect(*state, "$X vip nothing 2>&1", 1, "xlbctl: no virtual server 'nothing'\n");
	expect(*state, "$X vip nothing 2>/dev/null", 1, "");
	expect(*state, "xlbctl -s /nonexistent vip 2>&1", 3,
	       "xlbctl: cannot ask the daemon at /nonexistent: is xlbd running?\n");
	expect(*state, "$X vip -a 2>&1", 1, "xlbctl: 'vip' takes no -a\n");
	expect(*state, "$X conn speed=9 2>&1", 1,
	       "xlbctl: 'speed=9' is no filter (client=, vip=, real=, state=)\n");
}

static void json_comes_as_it_is(void **state)
{
	expect(*state, "$X -j real", 0,
	       "{\"ok\": true, \"schema\": 1, \"reals\": [{\"real\": \"10.0.0.1:80\"}]}\n");
	expect(*state, "$X real -j", 0,
	       "{\"ok\": true, \"schema\": 1, \"reals\": [{\"real\": \"10.0.0.1:80\"}]}\n");
	expect(*state, "$X -j conn", 0,
	       "{\"client\":\"198.51.100.7:1\"}\n{\"client\":\"198.51.100.7:1\"}\n"
	       "{\"ok\": true, \"schema\": 1, \"shown\": 2, \"matched\": 2, \"end\": true}\n");
	expect(*state, "$X -j vip nothing 2>/dev/null", 1,
	       "{\"ok\": false, \"schema\": 1, \"code\": \"ENOENT\", "
	       "\"error\": \"no virtual server 'nothing'\"}\n");
}

static void watching_shows_rates_from_the_second_time_on(void **state)
{
	expect(*state, "timeout 1 $X vip -w 0.3 | sed -n 's/.*  REALS  \\(.*\\)$/\\1/p' | head -2",
	       0, "OPEN  CONNS  PACKETS  BYTES  SIDE\nOPEN  NEW/s  PACKETS/s  BIT/s  SIDE\n");
}

static void words_are_completed_from_the_table_and_the_daemon(void **state)
{
	static const struct {
		const char *words, *candidates;
	} rows[] = {
		{"s", "status\nsync\n"},
		{"sync r", "resync\nrekey\n"},
		{"ver", "version\n"},
		{"vip ''", "192.0.2.1:80/tcp\nweb\n[2001:db8::1]:53/udp\n"},
		{"vip w", "web\n"},
		{"vip web ''", ""},
		{"bypass ''", "on\noff\n"},
		{"bypass on we", "web\n"},
		{"conn ''", "client=\nvip=\nreal=\nstate=\n"},
		{"conn client=1.2.3.4 state=E", "state=ESTABLISHED\n"},
		{"conn vip=w", "vip=web\n"},
		{"conn real=", "real=10.0.0.1:80\n"},
		{"explain 1.2.3.4:5 192", "192.0.2.1:80/tcp\n"},
		{"role ''", "VI_1\nVI_2\n"},
		{"role VI_1 B", "BACKUP\n"},
		{"vip --w", "--watch\n"},
		{"drops --a", "--all\n"},
		{"vip --a", ""},
		{"help dr", "drops\n"},
		{"nonsense ''", ""},
		{"--socket ''", ""},
		{"check /etc/ho", ""},
	};
	char command[300];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(command, sizeof(command), "$X complete -- %s", rows[i].words);
		expect(*state, command, 0, rows[i].candidates);
	}
	/* no daemon: nothing is offered, nothing is said */
	expect(*state, "xlbctl -s /nonexistent complete -- vip '' 2>&1", 0, "");
}

static void bash_completes(void **state)
{
	static const struct {
		const char *line, *reply;
	} rows[] = {
		{"xlbctl dr", "drops\n"},
		{"xlbctl -s $S vip w", "web\n"},
		{"xlbctl -s $S vip 192.0.2.1:8", "80/tcp\n"}, /* what follows the colon */
		{"xlbctl -s $S conn ", "client=\nvip=\nreal=\nstate=\n"},
		{"xlbctl -s $S conn state=FI", "FIN_WAIT\n"},
		{"xlbctl -s $S conn vip=[2001:d", "db8::1]:53/udp\n"},
		{"xlbctl check /no", "\n"}, /* left to bash: a file */
	};
	char command[600];

	if (system("command -v bash >/dev/null") != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(command, sizeof(command),
		         "export S; bash -c '. \"$0\"; COMP_LINE=\"%s\"; COMP_POINT=${#COMP_LINE}; "
		         "_xlbctl; printf \"%%s\\n\" \"${COMPREPLY[@]}\"' $C",
		         rows[i].line);
		expect(*state, command, 0, rows[i].reply);
	}
	expect(*state, "bash -c '. \"$0\"; complete -p xlbctl' $C", 0,
	       "complete -o default -F _xlbctl xlbctl\n");
}

static void check_finds_mistakes_without_a_daemon(void **state)
{
	struct world *world = *state;
	int status;
	const char *shown;

	shown = shell(
		world, &status,
		"cd ${S%/control}; printf 'virtual_server 192.0.2.1 80 {\\n    lb_algo lblc\\n"
		"    lb_kind DR\\n    protocol TCP\\n    real_server 10.0.0.1 80 {\\n    }\\n}\\n' "
		">k.conf; printf 'nonsense: 1\\n' >x.yaml; "
		"xlbctl -s /nonexistent check -c /dev/null k.conf; echo $?; "
		"xlbctl -j check x.yaml; echo $?; xlbctl check missing.conf -c /dev/null; "
		"echo $?; rm k.conf x.yaml");
	assert_int_equal(status, 0);
	assert_non_null(strstr(shown, "k.conf:1: warning: virtual server 192.0.2.1:80/tcp is not "
	                              "forwarded by XDP: "));
	assert_non_null(strstr(shown, "0 errors, 1 warning. Nothing was changed.\n0\n"));
	assert_non_null(strstr(shown, "\"errors\":1"));
	assert_non_null(strstr(shown, "x.yaml"));
	assert_non_null(strstr(shown, "missing.conf: error: cannot be read: No such file or "
	                              "directory\n1 error, 0 warnings. Nothing was changed.\n1\n"));
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(the_exit_status_says_what_happened),
		test(what_is_wrong_is_one_line_on_stderr),
		test(json_comes_as_it_is),
		test(watching_shows_rates_from_the_second_time_on),
		test(words_are_completed_from_the_table_and_the_daemon),
		test(bash_completes),
		test(check_finds_mistakes_without_a_daemon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
