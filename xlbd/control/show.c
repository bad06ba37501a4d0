// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show.c - `status`, `drops`, `version`: the daemon and its data plane as a whole.
 *
 * A straight copy of what struct xlbd holds into JSON; nothing is computed here but sums. Any
 * module may be missing (the data plane did not load, keepalived.conf cannot be read): its part is
 * null then, and problems.c says so in words. The answers are documented in xlbctl(8), section
 * JSON; a field never changes its meaning without CONTROL_SCHEMA.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include "xlbd/control/answer.h"
#include "xlbd/control/commands.h"
#include "xlbd/control/figures.h"
#include "xlbd/control/problems.h"
#include "xlbd/control/rates.h"
#include "xlbd/control/server.h"
#include "xlbd/control/show.h"
#include "xlbd/xlbd.h"

/* ---- status ----------------------------------------------------------------------------------- */

static json_t *roles_value(const struct xlbd *xlbd, int64_t now)
{
	json_t *list = json_array();

	for (size_t i = 0; xlbd->role && i < role_count(xlbd->role); i++) {
		struct role_instance one = {};

		role_get(xlbd->role, xlbd->network, i, &one);
		json_array_append_new(
			list,
			json_pack("{s:o, s:s, s:b, s:I, s:I, s:o}", "instance",
		                  answer_text(one.name), "state", vrrp_state_name(one.state),
		                  "active", one.active, "addresses", (json_int_t)one.addresses,
		                  "present", (json_int_t)one.present, "since_ms",
		                  one.since ? json_integer(now - one.since) : json_null()));
	}
	return list;
}

static json_t *devices_value(const struct xlbd *xlbd)
{
	json_t *list = json_array();

	for (size_t i = 0; i < xlbd->device_count; i++) {
		const struct xlbd_device *one = &xlbd->device[i];

		json_array_append_new(
			list, json_pack("{s:s, s:I, s:s, s:s, s:o}", "name", one->name, "ifindex",
		                        (json_int_t)one->ifindex, "mode",
		                        !one->attached ? "none"
		                        : one->native  ? "native"
		                                       : "generic",
		                        "why", one->why, "problem",
		                        answer_text(one->problem[0] ? one->problem : NULL)));
	}
	return list;
}

/* Null: the table has the size that it had, and will have. */
static json_t *resize_value(const struct xlbd *xlbd)
{
	struct resize_progress progress;

	if (!xlbd->resize || !resize_progress(xlbd->resize, &progress))
		return json_null();
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:i}", "stage", progress.stage, "from",
	                 (json_int_t)progress.slots_from, "to", (json_int_t)progress.slots_to,
	                 "moved", (json_int_t)progress.moved, "left", (json_int_t)progress.left,
	                 "percent", (int)progress.percent);
}

static json_t *connections_value(const struct xlbd *xlbd)
{
	const struct flows_census *census = &xlbd->census;
	json_t *states = json_object();

	for (unsigned phase = 0; phase < XLB_PHASES; phase++)
		if (census->by_phase[phase])
			json_object_set_new(states, phase_name((uint8_t)phase),
			                    json_integer((json_int_t)census->by_phase[phase]));
	return json_pack("{s:I, s:I, s:o, s:o}", "live", (json_int_t)census->live, "slots",
	                 (json_int_t)census->slots, "states", states, "resize", resize_value(xlbd));
}

static json_t *totals_value(const struct totals *totals)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "forwarded", (json_int_t)totals->forwarded,
	                 "forwarded_bytes", (json_int_t)totals->forwarded_bytes, "passed",
	                 (json_int_t)totals->passed, "dropped", (json_int_t)totals->dropped);
}

static json_t *services_value(const struct xlbd *xlbd)
{
	unsigned declared = 0, in_force = 0, side[SIDE_UNSERVED + 1] = {};
	const struct service *service;

	for (size_t i = 0; xlbd->services && (service = service_set_get(xlbd->services, i)); i++) {
		declared += service->declared;
		in_force += service->in_force;
		side[service->side]++;
	}
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "declared", declared, "in_force",
	                 in_force, "xdp", side[SIDE_XDP], "standby", side[SIDE_STANDBY], "ipvs",
	                 side[SIDE_IPVS], "unserved", side[SIDE_UNSERVED]);
}

static json_t *bypass_value(const struct xlbd *xlbd)
{
	json_t *list = json_array();

	for (size_t i = 0; i < xlbd->bypass_count; i++)
		json_array_append_new(list, answer_endpoint(&xlbd->bypass[i].addr,
		                                            ntohs(xlbd->bypass[i].port),
		                                            xlbd->bypass[i].protocol));
	return json_pack("{s:b, s:o}", "all", xlbd->bypass_all, "vips", list);
}

static json_t *keepalived_value(const struct xlbd *xlbd)
{
	const struct complaints *complaints = xlbd->declared_complaints;
	size_t errors = complaints ? complaints_errors(complaints) : 0;

	return json_pack("{s:o, s:b, s:I}", "file",
	                 answer_text(xlbd->conf ? xlbd->conf->keepalived_conf : NULL), "readable",
	                 xlbd->declared != NULL, "errors", (json_int_t)errors);
}

static json_t *control_value(const struct xlbd *xlbd)
{
	struct control_counts counts = {};

	if (xlbd->control)
		control_counts(xlbd->control, &counts);
	return json_pack("{s:I, s:I, s:I, s:I}", "requests", (json_int_t)counts.requests, "errors",
	                 (json_int_t)counts.errors, "dropped_clients",
	                 (json_int_t)counts.dropped_clients, "refused_clients",
	                 (json_int_t)counts.refused_clients);
}

static const char *truth_of(const struct xlbd *xlbd)
{
	return xlbd->ipvs ? "kernel" : xlbd->api ? "interface" : "none";
}

int show_status(struct control_call *call)
{
	const struct commands *commands = call->context;
	const struct xlbd *xlbd = commands->xlbd;
	int64_t now = figures_now();
	struct totals totals, rate;
	json_t *problems = problems_list(xlbd);
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	totals_read(xlbd, &totals);
	json_object_update_new(
		call->answer,
		json_pack("{s:s, s:o, s:i, s:I, s:I, s:I, s:b, s:o}", "version", PACKAGE_VERSION,
	                  "host", answer_text(host), "pid", (int)getpid(), "uptime_ms",
	                  (json_int_t)(now - xlbd->started), "generation",
	                  (json_int_t)xlbd->generation, "changed_ms",
	                  (json_int_t)(now - (xlbd->changed ? xlbd->changed : xlbd->started)),
	                  "healthy", json_array_size(problems) == 0, "problems", problems));
	json_object_update_new(call->answer,
	                       json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "truth",
	                                 truth_of(xlbd), "table_readable", xlbd->table_readable,
	                                 "keepalived", keepalived_value(xlbd), "roles",
	                                 roles_value(xlbd, now), "devices", devices_value(xlbd),
	                                 "connections", connections_value(xlbd), "services",
	                                 services_value(xlbd)));
	json_object_update_new(
		call->answer,
		json_pack("{s:o, s:o, s:s, s:o, s:o, s:o}", "packets", totals_value(&totals),
	                  "per_second",
	                  rates_get(commands->rates, &rate) ? totals_value(&rate) : json_null(),
	                  "firewall",
	                  xlbd->conf && xlbd->conf->firewall == CONF_FIREWALL_IGNORE ? "ignore"
	                                                                             : "check",
	                  "bypass", bypass_value(xlbd), "reload_error",
	                  answer_text(xlbd->reload_error[0] ? xlbd->reload_error : NULL), "control",
	                  control_value(xlbd)));
	return 0;
}

/* ---- the others ------------------------------------------------------------------------------- */

int show_drops(struct control_call *call)
{
	const struct xlbd *xlbd = call_xlbd(call);
	json_t *list = json_array();

	for (int v = XLB_CONTINUE + 1; v < XLB_VERDICT_COUNT; v++) {
		enum xlb_verdict verdict = (enum xlb_verdict)v;
		struct xlb_verdict_counters counters = {};

		if (xlbd->counters && counters_verdict(xlbd->counters, verdict, &counters) < 0) {
			json_decref(list);
			return control_fail(call, -EIO, "the data plane's counters cannot be read");
		}
		json_array_append_new(list, json_pack("{s:i, s:s, s:s, s:s, s:I, s:I}", "number", v,
		                                      "word", verdict_word(verdict), "action",
		                                      verdict_action(verdict), "sentence",
		                                      verdict_sentence(verdict), "packets",
		                                      (json_int_t)counters.packets, "bytes",
		                                      (json_int_t)counters.bytes));
	}
	return json_object_set_new(call->answer, "verdicts", list);
}

int show_version(struct control_call *call)
{
	return json_object_update_new(
		call->answer,
		json_pack("{s:s, s:i}", "version", PACKAGE_VERSION, "layout", XLB_LAYOUT));
}
