// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xlbctl.c - the command line of xlbctl: options, terminal, exit status.
 *
 * Finds the sub-command in the table (subcommands.c), checks what was given against its row and
 * runs it. Options may stand anywhere; those that only some sub-commands take are letters in the
 * row. Exit status: 0 ok, 1 error, 2 not healthy, 3 daemon not reachable.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <getopt.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "xlbd/ctl/subcommand.h"

/* ---- options ---------------------------------------------------------------------------------- */

enum long_option { OPTION_NO_COLOR = 256 };

static const struct option options[] = {
	{"json", no_argument, NULL, 'j'},
	{"socket", required_argument, NULL, 's'},
	{"numeric", no_argument, NULL, 'n'},
	{"no-color", no_argument, NULL, OPTION_NO_COLOR},
	{"watch", optional_argument, NULL, 'w'},
	{"all", no_argument, NULL, 'a'},
	{"limit", required_argument, NULL, 'l'},
	{"config", required_argument, NULL, 'c'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{},
};

struct command_line {
	struct invocation invocation;
	char own[8]; /* letters given that only some sub-commands take */
	bool help, version;
};

static bool read_seconds(const char *text, double *ret)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0.1 && value <= 86400))
		return false;
	*ret = value;
	return true;
}

/* "-w 2" too: the word behind is its value if it is a number. */
static bool read_watch(struct command_line *line, char *const argv[])
{
	line->invocation.watch = 2;
	if (!optarg && argv[optind] && read_seconds(argv[optind], &line->invocation.watch)) {
		optind++;
		return true;
	}
	if (!optarg || read_seconds(optarg, &line->invocation.watch))
		return true;
	fprintf(stderr, "xlbctl: '%s' is no number of seconds\n", optarg);
	return false;
}

static bool read_option(struct command_line *line, int option, char *const argv[])
{
	struct invocation *invocation = &line->invocation;

	if (option < 128 && strchr("walc", option) && !strchr(line->own, option))
		line->own[strlen(line->own)] = (char)option;
	switch (option) {
	case 'j':
		invocation->json = true;
		return true;
	case 's':
		invocation->socket = optarg;
		return true;
	case 'n':
		invocation->style.exact = true;
		return true;
	case OPTION_NO_COLOR:
		invocation->style.colour = false;
		return true;
	case 'w':
		return read_watch(line, argv);
	case 'a':
		return invocation->all = true;
	case 'l':
		invocation->limit = optarg;
		return true;
	case 'c':
		invocation->config = optarg;
		return true;
	case 'h':
		return line->help = true;
	case 'V':
		return line->version = true;
	default:
		return false; /* getopt has said why */
	}
}

static struct style find_style(void)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
	const char *columns = getenv("COLUMNS");
	struct style style = {.out = stdout};
	struct winsize size = {};

	if (!isatty(STDOUT_FILENO))
		return style;
	style.colour = !(no_color && *no_color) && terminal && strcmp(terminal, "dumb") != 0;
	if (columns && atoi(columns) > 0)
		style.width = (size_t)atoi(columns);
	else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		style.width = size.ws_col;
	return style;
}

static int run(const struct subcommand *subcommand, const struct command_line *line)
{
	const struct invocation *invocation = &line->invocation;

	for (const char *own = line->own; *own; own++)
		if (!subcommand->options || !strchr(subcommand->options, *own)) {
			fprintf(stderr, "xlbctl: '%s' takes no -%c\n", subcommand->name, *own);
			return STATUS_ERROR;
		}
	if (invocation->count < subcommand->least || invocation->count > subcommand->most) {
		fprintf(stderr, "usage: xlbctl %s%s%s\n", subcommand->name,
		        *subcommand->arguments ? " " : "", subcommand->arguments);
		return STATUS_ERROR;
	}
	return subcommand->run ? subcommand->run(invocation) : ask(subcommand, invocation);
}

int main(int argc, char *argv[])
{
	struct command_line line = {
		.invocation = {.socket = DEFAULT_SOCKET, .style = find_style()}};
	const struct subcommand *subcommand;
	int option, status;

	setlocale(LC_CTYPE, "");
	while ((option = getopt_long(argc, argv, "js:nw::al:c:hV", options, NULL)) != -1)
		if (!read_option(&line, option, argv))
			return STATUS_ERROR;
	if (line.version) {
		printf("xlbctl %s\n", PACKAGE_VERSION);
		return STATUS_OK;
	}
	if (optind == argc) {
		subcommands_help(line.help ? stdout : stderr);
		return line.help ? STATUS_OK : STATUS_ERROR;
	}
	subcommand = subcommand_find(argv[optind]);
	if (!subcommand) {
		fprintf(stderr, "xlbctl: no such command: '%s'; 'xlbctl help' lists them\n",
		        argv[optind]);
		return STATUS_ERROR;
	}
	line.invocation.argument = argv + optind + (line.help ? 0 : 1);
	line.invocation.count = line.help ? 1 : (size_t)(argc - optind - 1);
	status = line.help ? subcommand_help(&line.invocation) : run(subcommand, &line);
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == STATUS_OK)
		status = STATUS_ERROR;
	return status;
}
