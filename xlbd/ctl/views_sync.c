// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * views_sync.c - `xlbctl sync` and `xlbctl ha`: the other directors as a person reads them, and the requests for both.
 *
 * First what a person must act on (a sync that does not run, another director with our number, two that are active at once, a gate that
 * nobody reads), then the figures. Exit status 2 if there is any of the former, or if a director that should hold our
 * connections does not. xlbctl(8) explains the columns; xlbd-sync(7) the protocol.
 */
#include <string.h>

#include "xlbd/ctl/subcommand.h"

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "-";
}

static uint64_t number_of(const json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 ? (uint64_t)value : 0;
}

static bool is_true(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

static bool is(const char *text, const char *other)
{
	return strcmp(text, other) == 0;
}

static void number_cell(struct table *table, const struct view *view, uint64_t value)
{
	char buffer[NUMBER_TEXT];

	table_cell(table, PLAIN, number_print(value, view->style->exact, buffer));
}

static int warn(const struct view *view, const char *sentence)
{
	print_emphasis(view->style, BAD, "! ");
	fprintf(view->style->out, "%s\n", sentence);
	return STATUS_NOT_HEALTHY;
}

/* ---- sync ------------------------------------------------------------------------------------- */

static int print_alarms(const struct view *view)
{
	const json_t *answer = view->answer;
	int status = STATUS_OK;
	char text[400];

	if (json_is_string(json_object_get(answer, "problem"))) {
		snprintf(text, sizeof(text), "no sync: %s", text_of(answer, "problem"));
		return warn(view, text);
	}
	if (number_of(answer, "same_id"))
		status =
			warn(view, "another director has the same number: 'sync.node' must differ");
	if (number_of(answer, "split_services"))
		status = warn(view, "another director is active for the same services: "
		                    "the directors do not hear each other's VRRP");
	if (number_of(answer, "strangers"))
		fprintf(view->style->out,
		        "%llu datagrams of strangers: another cluster, another key, or junk\n",
		        (unsigned long long)number_of(answer, "strangers"));
	if (number_of(answer, "other_versions"))
		status = warn(view, "a director speaks another version of the protocol only");
	return status;
}

static int print_links(const struct view *view)
{
	static const struct column columns[] = {{"LINK", false},  {"STATE", false},
	                                        {"SENT", true},   {"RECEIVED", true},
	                                        {"FAILED", true}, {"FAR", true}};
	_cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	int status = STATUS_OK;
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(view->answer, "links"), i, one) {
		bool open = is_true(one, "open");

		table_cell(table, STRONG, text_of(one, "device"));
		table_cell(table, open ? GOOD : BAD, open ? "open" : text_of(one, "problem"));
		number_cell(table, view, number_of(one, "sent"));
		number_cell(table, view, number_of(one, "received"));
		number_cell(table, view, number_of(one, "failed"));
		number_cell(table, view, number_of(one, "far"));
		if (!open)
			status = STATUS_NOT_HEALTHY;
	}
	table_print(table, view->style);
	return status;
}

static int add_peer(struct table *table, const struct view *view, const json_t *one)
{
	const json_t *count = json_object_get(one, "counters");
	const char *state = text_of(one, "state");
	bool good = is(state, "equal");
	char text[NUMBER_TEXT];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number_of(one, "node"));
	table_cell(table, STRONG, text);
	table_cell(table, good ? GOOD : ODD, state);
	table_cell(table, PLAIN, is_true(one, "holds") ? "yes" : "no");
	number_cell(table, view, number_of(one, "connections"));
	number_cell(table, view, number_of(one, "round_trip_ms"));
	number_cell(table, view, number_of(one, "behind"));
	number_cell(table, view, number_of(one, "missing"));
	number_cell(table, view, number_of(count, "applied"));
	number_cell(table, view, number_of(count, "repaired"));
	number_cell(table, view, number_of(count, "lost") + number_of(count, "given_up"));
	number_cell(table, view, number_of(count, "unknown"));
	number_cell(table, view, number_of(count, "forged"));
	if (!is_true(one, "same_configuration")) {
		table_note(table,
		           "its keepalived.conf declares other services, real servers or weights");
		return STATUS_NOT_HEALTHY;
	}
	return good ? STATUS_OK : STATUS_NOT_HEALTHY;
}

static int print_peers(const struct view *view)
{
	static const struct column columns[] = {
		{"NODE", false},    {"STATE", false}, {"HOLDS", false},  {"CONNS", true},
		{"RTT ms", true},   {"BEHIND", true}, {"MISSING", true}, {"APPLIED", true},
		{"REPAIRED", true}, {"LOST", true},   {"UNKNOWN", true}, {"FORGED", true}};
	_cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	int status = STATUS_OK;
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(view->answer, "peers"), i, one)
		if (add_peer(table, view, one) != STATUS_OK)
			status = STATUS_NOT_HEALTHY;
	if (table_rows(table))
		table_print(table, view->style);
	else
		fprintf(view->style->out, "no other director has been heard\n");
	return status;
}

int view_sync(const struct view *view)
{
	const json_t *answer = view->answer;
	int status, r;

	if (!is_true(answer, "configured")) {
		fprintf(view->style->out, "no sync: xlbd.yaml has no 'sync.interface'\n");
		return STATUS_OK;
	}
	status = print_alarms(view);
	if (!json_object_get(answer, "state"))
		return status;
	fprintf(view->style->out,
	        "node %llu, %s, active for %llu services, term %llu, key %llu, digest %s\n",
	        (unsigned long long)number_of(answer, "node"), text_of(answer, "state"),
	        (unsigned long long)number_of(answer, "active_services"),
	        (unsigned long long)number_of(answer, "term"),
	        (unsigned long long)number_of(answer, "key"), text_of(answer, "digest"));
	r = print_links(view);
	status = r ? r : status;
	r = print_peers(view);
	return r ? r : status;
}

/* ---- ha --------------------------------------------------------------------------------------- */

int view_ha(const struct view *view)
{
	const json_t *gate = json_object_get(view->answer, "gate"), *one;
	int status = STATUS_OK;
	size_t i;

	json_array_foreach(json_object_get(view->answer, "instances"), i, one)
		fprintf(view->style->out, "%s: %s%s\n", text_of(one, "instance"),
		        text_of(one, "state"), is_true(one, "active") ? ", forwards" : "");
	if (!is_true(view->answer, "sync")) {
		fprintf(view->style->out,
		        "no sync: a takeover loses the connections that no ring can guess\n");
		return STATUS_OK;
	}
	if (json_is_integer(json_object_get(view->answer, "split_ms")))
		status = warn(view, "another director is active for the same services");
	if (!json_is_object(gate)) {
		fprintf(view->style->out, "no gate\n");
		return STATUS_NOT_HEALTHY;
	}
	fprintf(view->style->out, "gate %s\n", text_of(gate, "reason"));
	if (!is_true(gate, "tracked"))
		status = warn(
			view,
			"no track_file of keepalived.conf names the gate's file: keepalived does "
			"not wait for the connections (see keepalived.conf.example)");
	if (json_is_integer(json_object_get(view->answer, "successor")))
		fprintf(view->style->out, "node %llu holds everything and may take over\n",
		        (unsigned long long)number_of(view->answer, "successor"));
	else
		status = warn(view, "no other director holds all connections now");
	return status;
}

/* ---- requests --------------------------------------------------------------------------------- */

/* Without a word a question; with one, a change. */
static json_t *request(const struct invocation *invocation, const char *change)
{
	if (!invocation->count)
		return json_object();
	return json_pack("{s:s, s:s}", "command", change, "what", invocation->argument[0]);
}

json_t *request_sync(const struct invocation *invocation)
{
	if (invocation->count && is(invocation->argument[0], "verify"))
		return json_object(); /* digests are compared all the time: what it shows is the verdict */
	return request(invocation, "sync_change");
}

json_t *request_ha(const struct invocation *invocation)
{
	return request(invocation, "ha_change");
}
