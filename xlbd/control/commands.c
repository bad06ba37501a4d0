// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * commands.c - the table of commands: name, who may, arguments, function.
 *
 * A new command is a row here and a function in one of the show_*.c files or change.c. xlbctl,
 * xlb-snmp and whoever else connects meet exactly this table; xlbctl(8) documents it (section
 * JSON). Starts the server with it.
 */
#include <errno.h>

#include "xlbd/control/change.h"
#include "xlbd/control/commands.h"
#include "xlbd/control/explain.h"
#include "xlbd/control/rates.h"
#include "xlbd/control/server.h"
#include "xlbd/control/show.h"
#include "xlbd/control/show_flows.h"
#include "xlbd/control/show_services.h"
#include "xlbd/control/show_sync.h"
#include "xlbd/control/snapshot.h"

static int list_commands(struct control_call *call)
{
	json_t *list = json_array();

	for (const struct control_command *one = control_commands; one->name; one++) {
		json_t *arguments = json_array();

		for (size_t i = 0; i < CONTROL_ARGUMENTS && one->argument[i].name; i++)
			json_array_append_new(arguments, json_string(one->argument[i].name));
		json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:o}", "name", one->name,
		                                      "help", one->help, "changes", one->changes,
		                                      "arguments", arguments));
	}
	return json_object_set_new(call->answer, "commands", list);
}

const struct control_command control_commands[] = {
	{.name = "status", .help = "the daemon at a glance, problems first", .run = show_status},
	{.name = "vip",
         .help = "virtual servers, who serves them and why",
         .argument = {{"vip", 's', false}},
         .run = show_vip},
	{.name = "real",
         .help = "real servers and their next hops",
         .argument = {{"vip", 's', false}, {"real", 's', false}},
         .run = show_real},
	{.name = "conn",
         .help = "connections that XDP knows",
         .argument = {{"client", 's', false},
                      {"vip", 's', false},
                      {"real", 's', false},
                      {"state", 's', false},
                      {"limit", 'i', false}},
         .run = show_conn},
	{.name = "explain",
         .help = "where a packet of this client would go, and why",
         .argument = {{"client", 's', true}, {"vip", 's', true}},
         .run = explain},
	{.name = "drops", .help = "every way out of the data plane, counted", .run = show_drops},
	{.name = "snapshot",
         .help = "status, vip, real and drops of one moment, for programs",
         .run = show_snapshot},
	{.name = "bypass",
         .help = "leave new connections to IPVS, or take them again",
         .changes = true,
         .argument = {{"on", 'b', true}, {"vip", 's', false}},
         .run = change_bypass},
	{.name = "reload",
         .help = "read xlbd.yaml and keepalived.conf again",
         .changes = true,
         .run = change_reload},
	{.name = "role",
         .help = "keepalived says: state of a VRRP instance",
         .changes = true,
         .argument = {{"instance", 's', true}, {"state", 's', true}},
         .run = change_role},
	{.name = "sync", .help = "the other directors and what they have", .run = show_sync},
	{.name = "sync_change",
         .help = "compare with the other directors (resync), or read the key file again (rekey)",
         .changes = true,
         .argument = {{"what", 's', true}},
         .run = change_sync},
	{.name = "ha", .help = "who may become MASTER, and who would follow", .run = show_ha},
	{.name = "ha_change",
         .help = "hand over to the other director (switch), or be ready again (release)",
         .changes = true,
         .argument = {{"what", 's', true}},
         .run = change_ha},
	{.name = "version",
         .help = "versions of the daemon and of its answers",
         .run = show_version},
	{.name = "help", .help = "this list", .run = list_commands},
	{},
};

static void commands_free(void *context)
{
	struct commands *commands = context;

	rates_stop(commands->rates);
	free(commands);
}

int control_start(struct event_base *base, const char *path, const char *group, struct xlbd *xlbd,
                  struct control **ret)
{
	struct commands *commands = calloc(1, sizeof(*commands));
	int r;

	if (!commands)
		return -ENOMEM;
	commands->xlbd = xlbd;
	r = rates_start(base, xlbd, &commands->rates);
	if (r < 0) {
		commands_free(commands);
		return r;
	}
	return control_listen(base, path, group,
	                      &(struct control_setup){.commands = control_commands,
	                                              .context = commands,
	                                              .release = commands_free},
	                      ret);
}
