// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * problems.c - one list of what is not as it should be; an empty one means healthy.
 *
 * `xlbctl status` shows it first and ends with status 2 if it holds anything. Each check is a
 * function that looks at one thing and adds sentences; a new check is a line in the table. error:
 * traffic is or will be harmed; warning: it is not, yet, or not by us. A standby is no problem.
 * Nothing is kept: the list is made from what is, each time.
 */
#include <stdarg.h>
#include <stdio.h>

#include "xlbd/control/answer.h"
#include "xlbd/control/figures.h"
#include "xlbd/control/problems.h"
#include "xlbd/model/addr.h"
#include "xlbd/sync/sync.h"
#include "xlbd/xlbd.h"

struct problems {
	const struct xlbd *xlbd;
	json_t *errors, *warnings;
	size_t left_out;
};

static void add(struct problems *problems, json_t *to, const char *about, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void add(struct problems *problems, json_t *to, const char *about, const char *format, ...)
{
	char text[500];
	va_list arguments;

	if (json_array_size(problems->errors) + json_array_size(problems->warnings) >=
	    PROBLEMS_MAX) {
		problems->left_out++;
		return;
	}
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	json_array_append_new(to, json_pack("{s:s, s:o, s:o}", "level",
	                                    to == problems->errors ? "error" : "warning", "about",
	                                    answer_text(about), "text", answer_text(text)));
}

static void look_at_daemon(struct problems *problems)
{
	const struct xlbd *xlbd = problems->xlbd;

	if (!xlbd->dataplane)
		add(problems, problems->errors, NULL, "the data plane is not loaded");
	if (xlbd->trouble[0])
		add(problems, problems->errors, NULL, "%s", xlbd->trouble);
	if (xlbd->reload_error[0])
		add(problems, problems->errors, "reload",
		    "the last reload failed, the old configuration is in force: %s",
		    xlbd->reload_error);
	if (xlbd->bypass_all)
		add(problems, problems->warnings, "bypass",
		    "bypass is on: all new connections are left to IPVS");
}

static void look_at_sources(struct problems *problems)
{
	const struct xlbd *xlbd = problems->xlbd;
	const char *file = xlbd->conf ? xlbd->conf->keepalived_conf : "keepalived.conf";
	size_t errors;

	if (!xlbd->ipvs && !xlbd->api)
		add(problems, problems->errors, NULL,
		    "there is no IPVS table to follow: the kernel has none, and ours is not "
		    "attached");
	else if (!xlbd->table_readable)
		add(problems, problems->errors, NULL,
		    "the IPVS table could not be read, the last one known is in force");
	if (!xlbd->declared)
		add(problems, problems->warnings, file, "it could not be read");
	errors = xlbd->declared_complaints ? complaints_errors(xlbd->declared_complaints) : 0;
	if (errors)
		add(problems, problems->warnings, file, "%zu mistake%s in it: see 'xlbctl check'",
		    errors, errors == 1 ? "" : "s");
}

static void look_at_sync(struct problems *problems)
{
	const struct sync *sync = problems->xlbd->sync;
	struct node_status status;

	if (!sync)
		return;
	if (!sync_node(sync)) {
		add(problems, problems->errors, "sync", "no sync: %s", sync_problem(sync));
		return;
	}
	node_status(sync_node(sync), sync_now(), &status);
	if (sync_split_since(sync))
		add(problems, problems->errors, "sync",
		    "another director is active for the same services");
	if (status.same_id)
		add(problems, problems->errors, "sync", "another director has the number %u too",
		    status.id);
	if (status.state == NODE_ALONE)
		add(problems, problems->warnings, "sync",
		    "no other director is heard: a takeover would lose connections");
}

static void look_at_devices(struct problems *problems)
{
	const struct xlbd *xlbd = problems->xlbd;
	size_t attached = 0;

	for (size_t i = 0; i < xlbd->device_count; i++) {
		const struct xlbd_device *device = &xlbd->device[i];

		attached += device->attached;
		if (device->problem[0])
			add(problems, device->attached ? problems->warnings : problems->errors,
			    device->name, "%s", device->problem);
		else if (!device->attached)
			add(problems, problems->errors, device->name,
			    "the program is not attached to it");
		if (device->attached && !device->native)
			add(problems, problems->warnings, device->name,
			    "generic mode, slower than native XDP");
	}
	if (xlbd->dataplane && attached == 0)
		add(problems, problems->errors, NULL, "the program is attached to no device");
}

static void look_at_table(struct problems *problems)
{
	const struct flows_census *census = &problems->xlbd->census;
	unsigned percent = census->slots ? (unsigned)(census->live * 100 / census->slots) : 0;

	if (percent >= 60)
		add(problems, percent >= 90 ? problems->errors : problems->warnings, "connections",
		    "%u %% of the slots are taken; set 'connections' higher in xlbd.yaml", percent);
}

static void look_at_reals(struct problems *problems, const struct service *service,
                          const char *about)
{
	const struct xlbd *xlbd = problems->xlbd;
	struct real_count reals = figures_reals(xlbd, service);

	if (service->side == SIDE_UNSERVED)
		return; /* said already, and worse */
	if (service->in_force && reals.usable == 0)
		add(problems, problems->errors, about, "no real server is usable%s",
		    reals.sorry ? ", the sorry server answers" : "");
	else if (service->in_force && reals.usable < reals.total)
		add(problems, problems->warnings, about, "%zu of %zu real servers not usable",
		    reals.total - reals.usable, reals.total);
	for (size_t i = 0; service->side == SIDE_XDP && i < service->real_count; i++) {
		const struct real_server *real = &service->reals[i];
		const struct next_hop *hop =
			xlbd->neighbours ? neighbours_get(xlbd->neighbours, &real->addr) : NULL;
		char addr[ADDR_TEXT];

		if (hop && hop->state != NEXT_HOP_RESOLVED)
			add(problems, problems->errors, about, "real server %s: next hop is %s",
			    addr_print(&real->addr, addr), next_hop_state_name(hop->state));
	}
}

static void look_at_services(struct problems *problems)
{
	const struct xlbd *xlbd = problems->xlbd;
	const struct service *service;

	for (size_t i = 0; xlbd->services && (service = service_set_get(xlbd->services, i)); i++) {
		char printed[64], about[160];

		snprintf(about, sizeof(about), "%s%s%s", service->name ? service->name : "",
		         service->name ? " " : "", service_print(service, printed));
		if (service->side == SIDE_UNSERVED)
			add(problems, problems->errors, about, "nobody forwards it: %s",
			    service->reason ? service->reason : "no reason given");
		else if (service->side == SIDE_IPVS && service->declared && !xlbd->bypass_all)
			add(problems, problems->warnings, about, "left to IPVS: %s",
			    service->reason ? service->reason : "no reason given");
		look_at_reals(problems, service, about);
	}
}

json_t *problems_list(const struct xlbd *xlbd)
{
	static void (*const looks[])(struct problems *) = {
		look_at_daemon,  look_at_sources, look_at_sync,
		look_at_devices, look_at_table,   look_at_services,
	};
	struct problems problems = {.xlbd = xlbd, .errors = json_array(), .warnings = json_array()};

	for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
		looks[i](&problems);
	if (problems.left_out)
		json_array_append_new(problems.warnings,
		                      json_pack("{s:s, s:n, s:o}", "level", "warning", "about",
		                                "text",
		                                answer_printf("%zu more problems are not listed",
		                                              problems.left_out)));
	json_array_extend(problems.errors, problems.warnings);
	json_decref(problems.warnings);
	return problems.errors;
}
