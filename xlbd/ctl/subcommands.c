// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * subcommands.c - the table of xlbctl's sub-commands, and their help.
 *
 * A sub-command is a row: its help, what it takes, what completes its words, and either the request
 * and the view of its answer (ask.c, views.c) or a function of its own. Help, completion
 * (complete.c) and the checks of the command line (xlbctl.c) come from the row, so a new
 * sub-command is one entry here.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>

#include "xlbd/ctl/client.h"
#include "xlbd/ctl/subcommand.h"

/* ---- those that are not plain questions ------------------------------------------------------- */

/* The program's own version, then the daemon's, if it is there. */
static int version(const struct invocation *invocation)
{
	static const struct subcommand question = {
		.name = "version", .request = request_plain, .view = view_version};
	_cleanup_(client_closep) struct client *client = NULL;

	if (!invocation->json)
		fprintf(invocation->style.out, "xlbctl %s\n", PACKAGE_VERSION);
	if (client_open(invocation->socket, &client) == 0)
		return ask(&question, invocation);
	if (invocation->json)
		fprintf(invocation->style.out, "{\"xlbctl\": \"%s\"}\n", PACKAGE_VERSION);
	return STATUS_OK;
}

static int complete_words(const struct invocation *invocation)
{
	complete(invocation->socket, invocation->argument, invocation->count,
	         invocation->style.out);
	return STATUS_OK;
}

/* ---- the table -------------------------------------------------------------------------------- */

const struct subcommand subcommands[] = {
	{.name = "status",
         .arguments = "",
         .help = "the daemon at a glance, problems first",
         .details = "Exit status 2 if there is any problem.",
         .options = "w",
         .request = request_plain,
         .view = view_status},
	{.name = "vip",
         .arguments = "[VIP]",
         .help = "virtual servers: who serves each, and why",
         .details = "VIP is a name, ADDRESS, ADDRESS:PORT or ADDRESS:PORT/PROTOCOL.\n"
                    "Exit status 2 if one is unserved or has no usable real server.",
         .options = "w",
         .most = 1,
         .candidate = {CANDIDATES_VIP},
         .request = request_vip,
         .view = view_vip},
	{.name = "real",
         .arguments = "[VIP]",
         .help = "real servers: weight, state, connections, next hop",
         .options = "w",
         .most = 1,
         .candidate = {CANDIDATES_VIP},
         .request = request_vip,
         .view = view_real},
	{.name = "conn",
         .arguments = "[FILTER...]",
         .help = "connections that XDP knows",
         .details = "Filters: client=ADDRESS[:PORT] vip=VIP real=ADDRESS[:PORT] state=STATE; "
                    "all must fit.\n-l N shows up to N (1000).",
         .options = "l",
         .most = 4,
         .candidate = {CANDIDATES_FILTER},
         .request = request_conn},
	{.name = "explain",
         .arguments = "CLIENT:PORT VIP:PORT[/PROTOCOL]",
         .help = "where a packet of this connection would go, and why",
         .least = 2,
         .most = 2,
         .candidate = {CANDIDATES_NONE, CANDIDATES_VIP},
         .request = request_explain,
         .view = view_explain},
	{.name = "drops",
         .arguments = "",
         .help = "every way out of the data plane that packets took",
         .details = "-a shows those that none took, too.",
         .options = "wa",
         .request = request_plain,
         .view = view_drops},
	{.name = "bypass",
         .arguments = "on|off [VIP]",
         .help = "leave new connections to IPVS, or take them again",
         .details = "Known connections finish in XDP.",
         .least = 1,
         .most = 2,
         .candidate = {CANDIDATES_SWITCH, CANDIDATES_VIP},
         .request = request_bypass,
         .view = view_bypass},
	{.name = "check",
         .arguments = "[FILE]",
         .help = "look for mistakes in xlbd.yaml and keepalived.conf",
         .details = "FILE is a keepalived.conf, or an xlbd.yaml if it ends in .yaml; without it, "
                    "those in use.\n"
                    "-c FILE names the xlbd.yaml that belongs to it. Changes nothing, needs no "
                    "daemon.",
         .options = "c",
         .most = 1,
         .run = check},
	{.name = "metrics",
         .arguments = "[http]",
         .help = "every figure, for Prometheus",
         .details = "In Prometheus's text format; with -j the daemon's snapshot as it is.\n"
                    "http: answers one HTTP request on standard input (xlb-metrics.socket).",
         .most = 1,
         .candidate = {CANDIDATES_HTTP},
         .run = metrics},
	{.name = "reload",
         .arguments = "",
         .help = "make the daemon read its files again",
         .request = request_plain,
         .view = view_reload},
	{.name = "role",
         .arguments = "INSTANCE STATE",
         .help = "for notify scripts: state of a VRRP instance",
         .least = 2,
         .most = 2,
         .candidate = {CANDIDATES_INSTANCE, CANDIDATES_VRRP_STATE},
         .request = request_role,
         .view = view_done},
	{.name = "sync",
         .arguments = "[verify|resync|rekey]",
         .help = "the other directors, and whether they have our connections",
         .details = "resync compares anew with all of them; rekey reads the key file again.\n"
                    "Exit status 2 if a director is not equal or something is wrong.",
         .options = "w",
         .most = 1,
         .candidate = {CANDIDATES_SYNC},
         .request = request_sync,
         .view = view_sync},
	{.name = "ha",
         .arguments = "[switch|release]",
         .help = "who may become MASTER; hand over to the other director",
         .details = "switch closes the gate if another director holds all connections, so that "
                    "keepalived lets it\ntake over; release opens it again.",
         .most = 1,
         .candidate = {CANDIDATES_HA},
         .request = request_ha,
         .view = view_ha},
	{.name = "version",
         .arguments = "",
         .help = "versions of xlbctl and the daemon",
         .run = version},
	{.name = "help",
         .arguments = "[COMMAND]",
         .help = "what there is, or more about one",
         .most = 1,
         .candidate = {CANDIDATES_COMMAND},
         .run = subcommand_help},
	{.name = "complete",
         .arguments = "-- WORDS...",
         .help = "for shells: what the last word could become",
         .most = 1000,
         .run = complete_words},
	{},
};

const struct subcommand *subcommand_find(const char *name)
{
	for (const struct subcommand *one = subcommands; one->name; one++)
		if (strcmp(one->name, name) == 0)
			return one;
	return NULL;
}

/* ---- help ------------------------------------------------------------------------------------- */

void subcommands_help(FILE *out)
{
	fputs("usage: xlbctl [OPTION...] COMMAND [ARGUMENT...]\n\n", out);
	for (const struct subcommand *one = subcommands; one->name; one++)
		fprintf(out, "  %-8s %-32s%s%s\n", one->name, one->arguments,
		        strlen(one->arguments) > 31 ? " " : "", one->help);
	fputs("\n"
	      "  -j, --json              answers as JSON (schema: xlbctl(8))\n"
	      "  -s, --socket PATH       control socket (" DEFAULT_SOCKET ")\n"
	      "  -n, --numeric           numbers to the last digit\n"
	      "      --no-color          no colours; so does NO_COLOR in the environment\n"
	      "  -w, --watch [SECONDS]   again and again, with rates (status, vip, real, drops)\n"
	      "  -h, --help  -V, --version\n\n"
	      "exit status: 0 ok, 1 error, 2 not healthy, 3 daemon not reachable\n",
	      out);
}

int subcommand_help(const struct invocation *invocation)
{
	const struct subcommand *one =
		invocation->count ? subcommand_find(invocation->argument[0]) : NULL;
	FILE *out = invocation->style.out;

	if (invocation->count && !one) {
		fprintf(stderr, "xlbctl: no such command: '%s'\n", invocation->argument[0]);
		return STATUS_ERROR;
	}
	if (!one) {
		subcommands_help(out);
		return STATUS_OK;
	}
	fprintf(out, "usage: xlbctl %s%s%s\n\n%s\n", one->name, *one->arguments ? " " : "",
	        one->arguments, one->help);
	if (one->details)
		fprintf(out, "%s\n", one->details);
	if (one->options && strchr(one->options, 'w'))
		fputs("-w [SECONDS] shows it again and again, with rates.\n", out);
	return STATUS_OK;
}
