// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * main.c - argv, start order, stop order.
 *
 * The daemon stays in the foreground, as systemd wants it; messages go to stderr or to syslog. SIGHUP reloads, SIGTERM and
 * SIGINT stop. Stopping leaves program and tables in the kernel: packets of known connections go on, and new ones are
 * the kernel's as soon as the heart has not beaten for `silence`; `xlbd --remove` takes everything away.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "xlbd/cleanup.h"
#include "xlbd/dataplane/links.h"
#include "xlbd/log.h"
#include "xlbd/model/addr.h"
#include "xlbd/privileges.h"
#include "xlbd/readiness.h"
#include "xlbd/xlbd.h"

#define TOPIC         "main"
#define OVERRIDES_MAX 64

enum action { ACTION_RUN, ACTION_CHECK, ACTION_PRINT, ACTION_REMOVE };

struct arguments {
	enum action action;
	const char *conf_file;
	const char *keepalived_file; /* of --print-services */
	char *override[OVERRIDES_MAX];
	size_t overrides;
	const char *debug;
	bool syslog;
};

static void print_help(FILE *out)
{
	fputs("Usage: xlbd [options]\n"
	      "Forwards keepalived's virtual servers in XDP.\n\n"
	      "  -c, --config FILE        read FILE instead of " CONF_DEFAULT_FILE "\n"
	      "  -o, --set KEY=VALUE      override one key of it (may be repeated)\n"
	      "      --check              look at the configuration, say what is wrong, and end\n"
	      "      --print-services[=FILE]  print what keepalived.conf declares, and end\n"
	      "      --remove             take program and tables out of the kernel, and end\n"
	      "  -d, --debug TOPICS       debug lines of these topics (comma-separated, or all)\n"
	      "      --syslog             log to syslog instead of stderr\n"
	      "  -V, --version            print the version\n"
	      "  -h, --help               print this\n\n"
	      "Signals: HUP reloads; TERM stops, packets go on. See xlbd(8).\n",
	      out);
}

enum { OPT_CHECK = 256, OPT_PRINT, OPT_REMOVE, OPT_SYSLOG };

/* False: not an option, or one too many; said. */
static bool take_option(int option, struct arguments *arguments)
{
	switch (option) {
	case 'c':
		arguments->conf_file = optarg;
		return true;
	case 'o':
		if (arguments->overrides == OVERRIDES_MAX) {
			fprintf(stderr, "xlbd: more than %d times -o\n", OVERRIDES_MAX);
			return false;
		}
		arguments->override[arguments->overrides++] = optarg;
		return true;
	case 'd':
		arguments->debug = optarg;
		return true;
	case OPT_CHECK:
		arguments->action = ACTION_CHECK;
		return true;
	case OPT_PRINT:
		arguments->action = ACTION_PRINT;
		arguments->keepalived_file = optarg;
		return true;
	case OPT_REMOVE:
		arguments->action = ACTION_REMOVE;
		return true;
	case OPT_SYSLOG:
		arguments->syslog = true;
		return true;
	default:
		fputs("Try 'xlbd --help'.\n", stderr);
		return false;
	}
}

/* 0: go on; else exit with *ret_status. */
static int parse(int argc, char **argv, struct arguments *arguments, int *ret_status)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"set", required_argument, NULL, 'o'},
		{"check", no_argument, NULL, OPT_CHECK},
		{"print-services", optional_argument, NULL, OPT_PRINT},
		{"remove", no_argument, NULL, OPT_REMOVE},
		{"debug", required_argument, NULL, 'd'},
		{"syslog", no_argument, NULL, OPT_SYSLOG},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	*ret_status = EXIT_FAILURE;
	while ((option = getopt_long(argc, argv, "c:o:d:Vh", options, NULL)) != -1) {
		if (option == 'V')
			puts("xlbd " PACKAGE_VERSION);
		else if (option == 'h')
			print_help(stdout);
		if (option == 'V' || option == 'h') {
			*ret_status = EXIT_SUCCESS;
			return -ECANCELED;
		}
		if (!take_option(option, arguments))
			return -EINVAL;
	}
	if (optind < argc) {
		fprintf(stderr, "xlbd: unexpected argument '%s'\nTry 'xlbd --help'.\n",
		        argv[optind]);
		return -EINVAL;
	}
	return 0;
}

static void print_complaints(const struct complaints *complaints)
{
	for (size_t i = 0; i < complaints_count(complaints); i++)
		complaint_print(complaints_get(complaints, i), stderr);
	if (complaints_dropped(complaints))
		fprintf(stderr, "and %zu more\n", complaints_dropped(complaints));
}

static int load_conf(const struct arguments *arguments, struct xlbd_conf **ret)
{
	struct complaints *complaints = complaints_new();
	int r;

	if (!complaints)
		return -ENOMEM;
	r = conf_load(arguments->conf_file ? arguments->conf_file : CONF_DEFAULT_FILE,
	              arguments->override, arguments->overrides, complaints, ret);
	print_complaints(complaints);
	complaints_free(complaints);
	return r;
}

/* ---- actions that end at once ----------------------------------------------------------------- */

static void print_services(const struct keepalived_config *config)
{
	const struct service *service;
	char text[ENDPOINT_TEXT];

	for (size_t i = 0; (service = service_set_get(config->services, i)); i++) {
		printf("%s %s%s%s  # %s:%u\n", service_print(service, text), service->scheduler,
		       service->name ? " " : "", service->name ? service->name : "",
		       service->origin.file ? service->origin.file : "?", service->origin.line);
		for (size_t j = 0; j < service->real_count; j++) {
			const struct real_server *real = &service->reals[j];

			printf("  %s weight %d%s\n",
			       endpoint_print(&real->addr, real->port, 0, text), real->weight,
			       real->sorry ? " sorry" : "");
		}
	}
}

/* --check and --print-services: the configuration of both, every mistake in one run. */
static int look_only(const struct arguments *arguments, const struct xlbd_conf *conf)
{
	const char *file =
		arguments->keepalived_file ? arguments->keepalived_file : conf->keepalived_conf;
	struct keepalived_options options = {.config_id = conf->keepalived_config_id};
	_cleanup_(keepalived_config_freep) struct keepalived_config *config = NULL;
	struct complaints *complaints = complaints_new();
	size_t errors;
	int r;

	if (!complaints)
		return EXIT_FAILURE;
	r = keepalived_read(file, &options, complaints, &config);
	print_complaints(complaints);
	errors = complaints_errors(complaints);
	complaints_free(complaints);
	if (r < 0) {
		fprintf(stderr, "xlbd: cannot read '%s': %s\n", file, strerror(-r));
		return EXIT_FAILURE;
	}
	if (arguments->action == ACTION_PRINT)
		print_services(config);
	return errors ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int remove_all(const struct xlbd_conf *conf)
{
	char folder[256];
	int r;

	snprintf(folder, sizeof(folder), "%s/ipvs_api", conf->pin_folder);
	r = ipvs_api_remove(folder);
	if (r < 0) {
		fprintf(stderr, "xlbd: cannot remove '%s': %s\n", folder, strerror(-r));
		return EXIT_FAILURE;
	}
	r = links_remove(conf->pin_folder);
	if (r < 0) {
		fprintf(stderr, "xlbd: cannot remove '%s': %s\n", conf->pin_folder, strerror(-r));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

/* ---- running ---------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t number, short what, void *context)
{
	struct xlbd *xlbd = context;

	(void)what;
	if (number == SIGHUP) {
		readiness_reloading();
		(void)xlbd_reload(xlbd, NULL);
		readiness_ready("running");
		return;
	}
	log_notice(TOPIC, "signal %d: stopping; packets of known connections go on", (int)number);
	event_base_loopbreak(xlbd->base);
}

static int run(struct xlbd *xlbd)
{
	static const int numbers[] = {SIGHUP, SIGTERM, SIGINT};
	struct event *signals[ARRAY_SIZE(numbers)] = {NULL};
	int r;

	signal(SIGPIPE, SIG_IGN);
	xlbd->base = event_base_new();
	if (!xlbd->base)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		signals[i] = evsignal_new(xlbd->base, numbers[i], on_signal, xlbd);
		if (signals[i])
			evsignal_add(signals[i], NULL);
	}
	r = xlbd_start(xlbd);
	if (r >= 0) {
		readiness_ready("running");
		log_notice(TOPIC, "xlbd " PACKAGE_VERSION " runs");
		event_base_dispatch(xlbd->base);
		readiness_stopping();
	}
	xlbd_stop(xlbd);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (signals[i])
			event_free(signals[i]);
	event_base_free(xlbd->base);
	return r;
}

static bool may_run(void)
{
	char sentence[PRIVILEGES_SENTENCE];

	if (privileges_check(false, sentence) < 0) {
		log_error(TOPIC, "%s", sentence);
		return false;
	}
	if (sentence[0])
		log_warning(TOPIC, "%s", sentence);
	return true;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {0};
	_cleanup_(conf_freep) struct xlbd_conf *conf = NULL;
	struct xlbd *xlbd;
	int status, r;

	if (parse(argc, argv, &arguments, &status) < 0)
		return status;
	log_open("xlbd", arguments.syslog, arguments.debug);
	if (load_conf(&arguments, &conf) < 0)
		return EXIT_FAILURE;
	if (arguments.action == ACTION_CHECK || arguments.action == ACTION_PRINT)
		return look_only(&arguments, conf);
	if (arguments.action == ACTION_REMOVE)
		return remove_all(conf);
	if (!may_run())
		return EXIT_FAILURE;
	xlbd = calloc(1, sizeof(*xlbd));
	if (!xlbd)
		return EXIT_FAILURE;
	xlbd->conf_file = arguments.conf_file ? arguments.conf_file : CONF_DEFAULT_FILE;
	xlbd->overrides = arguments.override;
	xlbd->overrides_count = arguments.overrides;
	xlbd->conf = take_ptr(conf);
	r = run(xlbd);
	conf_free(xlbd->conf);
	free(xlbd);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
