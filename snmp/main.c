// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * main.c - xlb-snmp: shows what the daemon counts to snmpd.
 *
 * Owns the four parts and moves them: once a second link.c asks the daemon, snapshot.c reads the
 * answer, history.c adds what only time tells, agent.c shows it. The last snapshot is shown for
 * some seconds when no newer one comes (xlbd restarts); then the tables are empty and xlbOperStatus
 * says notRunning. Needs no privilege: read access to the control socket, write access to snmpd's
 * AgentX socket. Ends on SIGTERM and SIGINT.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snmp/agent.h"
#include "snmp/history.h"
#include "snmp/link.h"
#include "snmp/notices.h"
#include "snmp/snapshot.h"
#include "xlbd/log.h"

#define TOPIC   "snmp"
#define OLD_AGE 5000 /* ms after which a snapshot says nothing about now */

struct program {
	struct agent *agent;
	struct link *link;
	struct history *history;
	struct notices *notices;
	unsigned most;             /* notifications of a kind in a minute */
	struct snapshot *snapshot; /* shown now; NULL: none */
	const char *socket;
	int silent; /* the -errno that was said last; 0: the daemon answers */
};

static volatile int stop; /* the one thing that a signal handler can reach */

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void show(struct program *program, struct snapshot *snapshot)
{
	struct snapshot *before = program->snapshot;

	program->snapshot = snapshot;
	agent_show(program->agent, snapshot);
	snapshot_free(before);
}

static const char *reason_of(int result)
{
	switch (result) {
	case -ENOENT:
	case -ECONNREFUSED:
		return "is xlbd running?";
	case -EACCES:
		return "this user may not read it (control.group in xlbd.yaml)";
	case -EPIPE:
		return "it closed the connection";
	case -EPROTO:
		return "its answer is not understood";
	}
	return strerror(-result);
}

/* Once for each silence, and again when its reason is another. */
static void complain(struct program *program, int result)
{
	if (program->silent != result)
		log_warning(TOPIC, "xlbd does not answer at %s: %s", program->socket,
		            reason_of(result));
	program->silent = result;
	notices_silence(program->notices, reason_of(result), agent_now());
}

static void tell(void *context, const struct notice *notice)
{
	struct program *program = context;

	log_debug(TOPIC, "notification %d: %s", notice->kind, notice->detail);
	agent_notify(program->agent, notice);
}

static void on_second(void *context)
{
	struct program *program = context;
	uint64_t now = agent_now();
	int r = link_ask(program->link, "snapshot", (int64_t)now);

	agent_watch(program->agent, link_fd(program->link));
	agent_count_notices(program->agent, program->most, notices_suppressed(program->notices));
	if (program->snapshot && now - program->snapshot->taken > OLD_AGE) {
		show(program, NULL);
		complain(program, r < 0 ? r : -ETIMEDOUT);
	} else if (r < 0 && !program->snapshot) {
		complain(program, r);
	}
}

static void on_readable(void *context)
{
	struct program *program = context;
	struct snapshot *snapshot;
	json_t *answer;
	int r = link_read(program->link, &answer);

	if (r == 1)
		r = snapshot_read(answer, &snapshot);
	else if (r == 0)
		return;
	agent_watch(program->agent, link_fd(program->link));
	if (r < 0) {
		if (r == -EPROTO)
			complain(program, r);
		return;
	}
	if (program->silent)
		log_notice(TOPIC, "xlbd answers");
	program->silent = 0;
	history_add(program->history, snapshot, agent_now());
	show(program, snapshot);
	notices_look(program->notices, snapshot);
}

static int usage(FILE *out, int status)
{
	fputs("usage: xlb-snmp [OPTION...]\n\n"
	      "  -s, --socket PATH    control socket of xlbd (" RUNSTATEDIR "/xlbd/control)\n"
	      "  -x, --agentx ADDRESS AgentX socket of snmpd (net-snmp's default)\n"
	      "  -r, --root OID       where XLB-MIB lies (" AGENT_ROOT ")\n"
	      "  -n, --notifications N   at most so many of a kind in a minute (30; 0: none)\n"
	      "  -d, --debug TOPICS   debug lines of agent, snmp, or all\n"
	      "      --syslog         log to syslog, not to stderr\n"
	      "  -h, --help  -V, --version\n",
	      out);
	return status;
}

struct options {
	const char *socket, *agentx, *root, *debug;
	unsigned most;
	bool syslog;
};

static bool parse_number(const char *text, unsigned *ret)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end || *text == '-' || value > 1000000)
		return false;
	*ret = (unsigned)value;
	return true;
}

/* -1: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option names[] = {
		{"socket", required_argument, NULL, 's'},
		{"agentx", required_argument, NULL, 'x'},
		{"root", required_argument, NULL, 'r'},
		{"debug", required_argument, NULL, 'd'},
		{"syslog", no_argument, NULL, 'S'},
		{"help", no_argument, NULL, 'h'},
		{"notifications", required_argument, NULL, 'n'},
		{"version", no_argument, NULL, 'V'},
		{},
	};
	int option;

	while ((option = getopt_long(argc, argv, "s:x:r:n:d:hV", names, NULL)) != -1) {
		switch (option) {
		case 's':
			options->socket = optarg;
			break;
		case 'x':
			options->agentx = optarg;
			break;
		case 'r':
			options->root = optarg;
			break;
		case 'n':
			if (!parse_number(optarg, &options->most))
				return usage(stderr, 2);
			break;
		case 'd':
			options->debug = optarg;
			break;
		case 'S':
			options->syslog = true;
			break;
		case 'h':
			return usage(stdout, 0);
		case 'V':
			puts("xlb-snmp " PACKAGE_VERSION);
			return 0;
		default:
			return usage(stderr, 2);
		}
	}
	return optind < argc ? usage(stderr, 2) : -1;
}

static int run(const struct options *options)
{
	_cleanup_(agent_closep) struct agent *agent = NULL;
	_cleanup_(link_freep) struct link *link = link_new(options->socket);
	_cleanup_(history_freep) struct history *history = history_new();
	_cleanup_(notices_freep) struct notices *notices = NULL;
	struct program program = {
		.link = link, .history = history, .most = options->most, .socket = options->socket};
	struct agent_callbacks callbacks = {&program, on_second, on_readable};
	int r;

	notices = program.notices = notices_new(options->most, tell, &program);
	if (!link || !history || !notices)
		return log_errno(-ENOMEM, TOPIC, "cannot start");
	r = agent_open(options->agentx, options->root, &agent);
	if (r < 0)
		return r;
	program.agent = agent;
	agent_run(agent, &callbacks, &stop);
	show(&program, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {
		.socket = RUNSTATEDIR "/xlbd/control", .root = AGENT_ROOT, .most = 30};
	struct sigaction action = {.sa_handler = on_signal};
	int status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	log_open("xlb-snmp", options.syslog, options.debug);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	return run(&options) < 0 ? 1 : 0;
}
