// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * views.c - answers of the control socket as tables and sentences.
 *
 * One function an answer. Fields that are missing or null become "-" or 0, so an older or newer
 * daemon can be looked at too. With the answer from before (xlbctl -w) counters become rates. What
 * is not healthy stands first in `status`, and is the exit status 2 of `status` and `vip`. The
 * schema is in xlbctl(8); print.c does the columns.
 */
#include <string.h>

#include "xlbd/complaint.h"
#include "xlbd/ctl/views.h"

#define LABEL_WIDTH 15 /* of `status`, indentation included */

/* ---- values ----------------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
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
	return text && strcmp(text, other) == 0;
}

static void number_cell(struct table *table, const struct view *view, uint64_t value)
{
	char buffer[NUMBER_TEXT];

	table_cell(table, PLAIN, number_print(value, view->style->exact, buffer));
}

/* Per second since the answer before; `scale`: 8 for bits. */
static void rate_cell(struct table *table, const struct view *view, const json_t *now,
                      const json_t *before, const char *name, unsigned scale)
{
	uint64_t value = number_of(now, name), old = number_of(before, name);
	double rate = before && value > old && view->seconds > 0
	                      ? (double)(value - old) * scale / view->seconds
	                      : 0;

	number_cell(table, view, (uint64_t)(rate + 0.5));
}

/* The element of the list before that has the same values of these fields; NULL: none. */
static const json_t *same_before(const struct view *view, const char *list, const json_t *one,
                                 const char *field, const char *second_field)
{
	const json_t *old;
	size_t i;

	json_array_foreach(json_object_get(view->before, list), i, old)
		if (json_equal(json_object_get(one, field), json_object_get(old, field)) &&
		    (!second_field || json_equal(json_object_get(one, second_field),
		                                 json_object_get(old, second_field))))
			return old;
	return NULL;
}

/* ---- status ----------------------------------------------------------------------------------- */

static void label(const struct view *view, const char *name)
{
	fprintf(view->style->out, "  %-*s", LABEL_WIDTH - 2, name);
}

static void labelled(const struct view *view, const char *name, const char *text)
{
	label(view, name);
	print_wrapped(view->style, LABEL_WIDTH, LABEL_WIDTH, text);
}

static void print_problems(const struct view *view)
{
	const json_t *list = json_object_get(view->answer, "problems"), *one;
	size_t i;

	if (json_array_size(list) == 0) {
		labelled(view, "problems", "none");
		return;
	}
	json_array_foreach(list, i, one) {
		bool error = is(text_of(one, "level"), "error");
		const char *about = text_of(one, "about"), *said = text_of(one, "text");
		char text[800];

		print_emphasis(view->style, error ? BAD : ODD,
		               error ? "  ! error      " : "  ! warning    ");
		snprintf(text, sizeof(text), "%s%s%s", about ? about : "", about ? ": " : "",
		         said ? said : "-");
		print_wrapped(view->style, LABEL_WIDTH, LABEL_WIDTH, text);
	}
}

static void print_roles(const struct view *view)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(view->answer, "roles"), i, one) {
		json_t *since = json_object_get(one, "since_ms");
		const char *instance = text_of(one, "instance"), *told = text_of(one, "state");
		char text[400], buffer[NUMBER_TEXT];
		bool silent = !told || is(told, "UNKNOWN");

		snprintf(text, sizeof(text), "%s %s%s%s%s%s%s, %llu of %llu addresses here",
		         instance ? instance : "-", is_true(one, "active") ? "active" : "standby",
		         silent ? "" : " (last told: ", silent ? "" : told, silent ? "" : ")",
		         json_is_integer(since) ? " for " : "",
		         json_is_integer(since) ? duration_print(json_integer_value(since), buffer)
		                                : "",
		         (unsigned long long)number_of(one, "present"),
		         (unsigned long long)number_of(one, "addresses"));
		labelled(view, i ? "" : "role", text);
	}
}

static void print_devices(const struct view *view)
{
	static const char *const modes[] = {"native", "generic", "none"};
	const json_t *list = json_object_get(view->answer, "devices"), *one;
	char text[1200] = "";
	size_t used = 0, i;

	for (size_t mode = 0; mode < ARRAY_SIZE(modes); mode++) {
		size_t before = used;

		json_array_foreach(list, i, one)
			if (is(text_of(one, "mode"), modes[mode]) && used + 60 < sizeof(text))
				used += (size_t)snprintf(
					text + used, sizeof(text) - used, "%s%s%s %.16s",
					used == before && used ? "; " : "",
					used == before ? modes[mode] : ",",
					used == before ? mode == 2 ? " yet on" : " XDP on" : "",
					text_of(one, "name"));
	}
	labelled(view, "data plane", used ? text : "attached to no device");
}

static void print_packets(const struct view *view)
{
	const json_t *rate = json_object_get(view->answer, "per_second");
	const json_t *from = json_is_object(rate) ? rate : json_object_get(view->answer, "packets");
	bool rated = json_is_object(rate), exact = view->style->exact;
	const char *unit = rated ? "/s" : "";
	char text[200], forwarded[NUMBER_TEXT], volume[NUMBER_TEXT], passed[NUMBER_TEXT],
		dropped[NUMBER_TEXT];
	bool scaled;

	number_print(number_of(from, "forwarded_bytes") * (rated ? 8 : 1), exact, volume);
	scaled = strchr(volume, ' ') != NULL; /* "24.0 G": the unit follows at once */
	snprintf(text, sizeof(text), "forwarded %s%s (%s%s%s), passed %s%s, dropped %s%s",
	         number_print(number_of(from, "forwarded"), exact, forwarded), unit, volume,
	         scaled ? "" : " ",
	         rated    ? "bit/s"
	         : scaled ? "B"
	                  : "bytes",
	         number_print(number_of(from, "passed"), exact, passed), unit,
	         number_print(number_of(from, "dropped"), exact, dropped), unit);
	labelled(view, "packets", text);
}

static void print_connections(const struct view *view)
{
	const json_t *from = json_object_get(view->answer, "connections");
	const json_t *resize = json_object_get(from, "resize");
	uint64_t live = number_of(from, "live"), slots = number_of(from, "slots");
	char text[200], a[NUMBER_TEXT], b[NUMBER_TEXT];

	snprintf(text, sizeof(text), "%s of %s slots (%.1f %%)",
	         number_print(live, view->style->exact, a),
	         number_print(slots, view->style->exact, b),
	         slots ? (double)live * 100 / (double)slots : 0.0);
	labelled(view, "connections", text);
	if (!json_is_object(resize))
		return;
	snprintf(text, sizeof(text), "%llu %% looked at, %s moved, for a table of %s slots",
	         (unsigned long long)number_of(resize, "percent"),
	         number_print(number_of(resize, "moved"), view->style->exact, a),
	         number_print(number_of(resize, "to"), view->style->exact, b));
	labelled(view, "moving", text);
}

static void print_services(const struct view *view)
{
	static const struct {
		const char *field, *words;
	} sides[] = {
		{"xdp", "in XDP"},
		{"standby", "standby"},
		{"ipvs", "left to IPVS"},
		{"unserved", "unserved"},
	};
	const json_t *from = json_object_get(view->answer, "services");
	char text[300];
	size_t used = (size_t)snprintf(text, sizeof(text), "%llu declared, %llu in force",
	                               (unsigned long long)number_of(from, "declared"),
	                               (unsigned long long)number_of(from, "in_force"));

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++)
		if (number_of(from, sides[i].field))
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, ", %llu %s",
				(unsigned long long)number_of(from, sides[i].field),
				sides[i].words);
	labelled(view, "services", text);
}

static const char *truth_words(const char *truth)
{
	return is(truth, "kernel")      ? "the kernel's IPVS"
	       : is(truth, "interface") ? "xlbd's own, the kernel has no IPVS"
	                                : "none";
}

int view_status(const struct view *view)
{
	const json_t *answer = view->answer;
	const json_t *bypass = json_object_get(answer, "bypass");
	size_t bypassed = json_array_size(json_object_get(bypass, "vips"));
	const char *version = text_of(answer, "version"), *host = text_of(answer, "host");
	char text[300], up[NUMBER_TEXT], changed[NUMBER_TEXT];

	snprintf(text, sizeof(text), "xlbd %s  %s  up %s  generation %llu, since %s",
	         version ? version : "-", host ? host : "-",
	         duration_print((int64_t)number_of(answer, "uptime_ms"), up),
	         (unsigned long long)number_of(answer, "generation"),
	         duration_print((int64_t)number_of(answer, "changed_ms"), changed));
	print_emphasis(view->style, STRONG, text);
	fputc('\n', view->style->out);
	print_problems(view);
	print_roles(view);
	print_devices(view);
	print_packets(view);
	print_connections(view);
	print_services(view);
	labelled(view, "IPVS table", truth_words(text_of(answer, "truth")));
	if (is(text_of(answer, "firewall"), "ignore"))
		labelled(view, "firewall", "not looked at (firewall: ignore)");
	snprintf(text, sizeof(text), "on for %zu virtual server%s", bypassed,
	         bypassed == 1 ? "" : "s");
	if (is_true(bypass, "all") || bypassed)
		labelled(view, "bypass",
		         is_true(bypass, "all") ? "on for all virtual servers" : text);
	return is_true(answer, "healthy") ? 0 : 2;
}

/* ---- services --------------------------------------------------------------------------------- */

static enum emphasis side_emphasis(const char *side)
{
	return is(side, "xdp")        ? GOOD
	       : is(side, "unserved") ? BAD
	       : is(side, "standby")  ? PLAIN
	                              : ODD;
}

/* Nobody forwards it, or nobody is there to forward to. */
static bool is_ill(const json_t *vip)
{
	return is(text_of(vip, "side"), "unserved") ||
	       (is_true(vip, "in_force") &&
	        number_of(json_object_get(vip, "reals"), "usable") == 0);
}

static void vip_row(struct table *table, const struct view *view, const json_t *one)
{
	const json_t *reals = json_object_get(one, "reals");
	const json_t *before = same_before(view, "vips", one, "virtual", NULL);
	uint64_t usable = number_of(reals, "usable"), total = number_of(reals, "total");
	const char *side = text_of(one, "side");
	char text[50];

	table_cell(table, PLAIN, text_of(one, "name"));
	table_cell(table, PLAIN, text_of(one, "virtual"));
	table_cell(table, PLAIN, text_of(one, "method"));
	table_cell(table, PLAIN, text_of(one, "scheduler"));
	snprintf(text, sizeof(text), "%llu/%llu%s", (unsigned long long)usable,
	         (unsigned long long)total, is_true(reals, "sorry") ? " sorry" : "");
	table_cell(table, usable == 0 ? BAD : usable < total ? ODD : PLAIN, text);
	number_cell(table, view, number_of(one, "active") + number_of(one, "inactive"));
	if (view->before) {
		rate_cell(table, view, one, before, "connections", 1);
		rate_cell(table, view, one, before, "packets", 1);
		rate_cell(table, view, one, before, "bytes", 8);
	} else {
		number_cell(table, view, number_of(one, "connections"));
		number_cell(table, view, number_of(one, "packets"));
		number_cell(table, view, number_of(one, "bytes"));
	}
	table_cell(table, side_emphasis(side), side);
	if (text_of(one, "reason"))
		table_note(table, text_of(one, "reason"));
	else if (!is_true(one, "in_force"))
		table_note(table, "declared, but not in the IPVS table");
}

int view_vip(const struct view *view)
{
	bool rates = view->before != NULL;
	const struct column columns[] = {
		{"NAME", false},
		{"VIRTUAL", false},
		{"METHOD", false},
		{"SCHED", false},
		{"REALS", true},
		{"OPEN", true},
		{rates ? "NEW/s" : "CONNS", true},
		{rates ? "PACKETS/s" : "PACKETS", true},
		{rates ? "BIT/s" : "BYTES", true},
		{"SIDE", false},
	};
	_cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *one;
	bool ill = false;
	size_t i;

	json_array_foreach(json_object_get(view->answer, "vips"), i, one) {
		vip_row(table, view, one);
		ill |= is_ill(one);
	}
	if (table_rows(table))
		table_print(table, view->style);
	else
		fputs("no virtual server is declared or in force\n", view->style->out);
	return ill ? 2 : 0;
}

static void real_row(struct table *table, const struct view *view, const json_t *one, bool same_vip)
{
	const json_t *hop = json_object_get(one, "next_hop");
	const json_t *before = same_before(view, "reals", one, "vip", "real");
	const char *state = text_of(one, "state"), *mac = text_of(hop, "mac");

	table_cell(table, PLAIN, same_vip ? "" : text_of(one, "vip"));
	table_cell(table, PLAIN, text_of(one, "real"));
	table_cell(table, PLAIN, text_of(one, "method"));
	number_cell(table, view, number_of(one, "weight"));
	table_cell(table, is(state, "up") ? GOOD : is(state, "drained") ? ODD : BAD, state);
	number_cell(table, view, number_of(one, "active"));
	number_cell(table, view, number_of(one, "inactive"));
	if (view->before) {
		rate_cell(table, view, one, before, "connections", 1);
		rate_cell(table, view, one, before, "packets", 1);
		rate_cell(table, view, one, before, "bytes", 8);
	} else {
		number_cell(table, view, number_of(one, "connections"));
		number_cell(table, view, number_of(one, "packets"));
		number_cell(table, view, number_of(one, "bytes"));
	}
	table_cell(table, PLAIN, text_of(hop, "device"));
	table_cell(table, mac ? PLAIN : ODD, mac ? mac : text_of(hop, "state"));
}

int view_real(const struct view *view)
{
	bool rates = view->before != NULL;
	const struct column columns[] = {
		{"VIRTUAL", false},
		{"REAL", false},
		{"METHOD", false},
		{"WEIGHT", true},
		{"STATE", false},
		{"ACTIVE", true},
		{"INACTIVE", true},
		{rates ? "NEW/s" : "CONNS", true},
		{rates ? "PACKETS/s" : "PACKETS", true},
		{rates ? "BIT/s" : "BYTES", true},
		{"DEVICE", false},
		{"NEXT HOP", false},
	};
	_cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const char *vip = NULL;
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(view->answer, "reals"), i, one) {
		real_row(table, view, one, vip && is(text_of(one, "vip"), vip));
		vip = text_of(one, "vip");
	}
	if (table_rows(table))
		table_print(table, view->style);
	else
		fputs("no real server is declared or in force\n", view->style->out);
	return 0;
}

/* ---- connections ------------------------------------------------------------------------------ */

struct table *view_conn_table(void)
{
	static const struct column columns[] = {
		{"CLIENT", false}, {"VIRTUAL", false}, {"REAL", false},
		{"STATE", false},  {"IDLE", true},
	};

	return table_new(columns, ARRAY_SIZE(columns));
}

void view_conn_item(struct table *table, const json_t *item)
{
	char idle[NUMBER_TEXT];

	table_cell(table, PLAIN, text_of(item, "client"));
	table_cell(table, PLAIN, text_of(item, "vip"));
	table_cell(table, PLAIN, text_of(item, "real"));
	table_cell(table, PLAIN, text_of(item, "state"));
	table_cell(table, PLAIN, duration_print((int64_t)number_of(item, "idle_ms"), idle));
}

int view_conn(const struct view *view, const struct table *table)
{
	char shown[NUMBER_TEXT], matched[NUMBER_TEXT];

	if (table_rows(table))
		table_print(table, view->style);
	fprintf(view->style->out, "%s of %s connections shown%s\n",
	        number_print(number_of(view->answer, "shown"), true, shown),
	        number_print(number_of(view->answer, "matched"), true, matched),
	        is_true(view->answer, "more") ? "; --limit shows more, a filter fewer" : "");
	return 0;
}

/* ---- the others ------------------------------------------------------------------------------- */

static enum emphasis action_emphasis(const char *action)
{
	return is(action, "drop") ? BAD : is(action, "forward") ? GOOD : PLAIN;
}

int view_drops(const struct view *view)
{
	bool rates = view->before != NULL;
	const struct column columns[] = {
		{"VERDICT", false},
		{"ACTION", false},
		{rates ? "PACKETS/s" : "PACKETS", true},
		{rates ? "BIT/s" : "BYTES", true},
		{"MEANING", false},
	};
	_cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(view->answer, "verdicts"), i, one) {
		const json_t *before = same_before(view, "verdicts", one, "number", NULL);

		if (!number_of(one, "packets") && !view->all)
			continue;
		table_cell(table, PLAIN, text_of(one, "word"));
		table_cell(table, action_emphasis(text_of(one, "action")), text_of(one, "action"));
		if (rates) {
			rate_cell(table, view, one, before, "packets", 1);
			rate_cell(table, view, one, before, "bytes", 8);
		} else {
			number_cell(table, view, number_of(one, "packets"));
			number_cell(table, view, number_of(one, "bytes"));
		}
		table_cell(table, PLAIN, text_of(one, "sentence"));
	}
	if (table_rows(table))
		table_print(table, view->style);
	else
		fputs("no packet has been counted yet\n", view->style->out);
	return 0;
}

int view_explain(const struct view *view)
{
	const json_t *verdict = json_object_get(view->answer, "verdict"), *one;
	const char *real = text_of(verdict, "real"), *action = text_of(verdict, "action");
	char text[600];
	size_t i;

	json_array_foreach(json_object_get(view->answer, "steps"), i, one) {
		snprintf(text, sizeof(text), "%2zu %-11.20s ", i + 1, text_of(one, "step"));
		fputs(text, view->style->out);
		snprintf(text, sizeof(text), "%s: %s", text_of(one, "result"),
		         text_of(one, "text"));
		print_wrapped(view->style, 15, 15, text);
	}
	fputs("=> ", view->style->out);
	print_emphasis(view->style, action_emphasis(action), action ? action : "-");
	snprintf(text, sizeof(text), " (%s): %s%s%s", text_of(verdict, "word"),
	         text_of(verdict, "sentence"), real ? ", to " : "", real ? real : "");
	fputs(text, view->style->out);
	fputc('\n', view->style->out);
	return 0;
}

int view_bypass(const struct view *view)
{
	bool on = is_true(view->answer, "on");
	const json_t *count = json_object_get(view->answer, "vips");

	fprintf(view->style->out, "bypass is %s for ", on ? "on" : "off");
	if (json_is_integer(count))
		fprintf(view->style->out, "%lld virtual server%s", json_integer_value(count),
		        json_integer_value(count) == 1 ? "" : "s");
	else
		fputs("all virtual servers", view->style->out);
	fputs(!on ? "\n"
	      : is_true(view->answer, "ipvs")
	              ? ": new connections are IPVS's, known ones finish in XDP\n"
	              : ": known connections finish in XDP, new ones are nobody's, "
	                "the kernel has no IPVS\n",
	      view->style->out);
	return 0;
}

void view_complaints(const struct style *style, const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		const char *level = text_of(one, "level"), *text = text_of(one, "text");
		struct complaint complaint = {
			.level = is(level, "error")     ? COMPLAINT_ERROR
		                 : is(level, "warning") ? COMPLAINT_WARNING
		                                        : COMPLAINT_NOTE,
			.file = text_of(one, "file"),
			.line = (unsigned)number_of(one, "line"),
			.column = (unsigned)number_of(one, "column"),
			.length = (unsigned)number_of(one, "length"),
			.text = text ? text : "-",
			.hint = text_of(one, "hint"),
			.source = text_of(one, "source"),
		};

		complaint_print(&complaint, style->out);
	}
}

int view_reload(const struct view *view)
{
	view_complaints(view->style, json_object_get(view->answer, "complaints"));
	fprintf(view->style->out, "reloaded, generation %llu\n",
	        (unsigned long long)number_of(view->answer, "generation"));
	return 0;
}

int view_version(const struct view *view)
{
	fprintf(view->style->out, "xlbd %s (answers: schema %llu, maps: layout %llu)\n",
	        text_of(view->answer, "version") ? text_of(view->answer, "version") : "-",
	        (unsigned long long)number_of(view->answer, "schema"),
	        (unsigned long long)number_of(view->answer, "layout"));
	return 0;
}

int view_done(const struct view *view)
{
	(void)view;
	return 0;
}
