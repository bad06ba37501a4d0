// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * metrics.c - from the daemon's `snapshot` to Prometheus's text format.
 *
 * A metric is a row of the table: name, type, help, the list that its samples come from, and the
 * field of each. Names follow Prometheus's conventions (base units, _total for what only grows), labels are
 * the same for all metrics of one list, so they join. Samples of a metric stand together, as the
 * format wants it; the lists are walked once for each. Texts come from keepalived.conf and are
 * escaped. metrics_serve.c asks the daemon and calls this.
 */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "xlbd/cleanup.h"
#include "xlbd/ctl/metrics.h"
#include "xlbd/model/addr.h"

enum source {
	OF_DAEMON,
	OF_STATE,
	OF_VIP,
	OF_REAL,
	OF_VERDICT,
	OF_DEVICE,
	OF_INTERFACE,
	OF_QUEUE,
	OF_CPU,
	OF_ROLE
};

enum how {
	NUMBER,  /* as it is */
	SECONDS, /* from ms */
	COUNT,   /* of the list's elements */
	TRUTH,   /* 1 if true */
	MISSING, /* 1 if null or not there */
	IS,      /* 1 if it is this word */
	ONE,     /* 1: the labels say it */
};

static const struct metric {
	const char *name, *type, *help;
	enum source source;
	const char *field; /* a.b: within a */
	enum how how;
	const char *word; /* IS */
} metrics[] = {
#define C "counter"
#define G "gauge"
	{"xlb_build_info", G, "Version of the daemon.", OF_DAEMON, "version", ONE, NULL},
	{"xlb_uptime_seconds", G, "Since the daemon started.", OF_DAEMON, "uptime_ms", SECONDS,
         NULL},
	{"xlb_generation", G, "Number of the set of services in force.", OF_DAEMON, "generation",
         NUMBER, NULL},
	{"xlb_healthy", G, "Whether xlbctl status finds no problem.", OF_DAEMON, "healthy", TRUTH,
         NULL},
	{"xlb_problems", G, "Problems that xlbctl status lists.", OF_DAEMON, "problems", COUNT,
         NULL},
	{"xlb_last_reload_successful", G, "Whether the last reload was taken.", OF_DAEMON,
         "reload_error", MISSING, NULL},
	{"xlb_bypass", G, "Whether all new connections are left to IPVS by hand.", OF_DAEMON,
         "bypass.all", TRUTH, NULL},
	{"xlb_forwarded_packets_total", C, "Packets sent on to a real server.", OF_DAEMON,
         "packets.forwarded", NUMBER, NULL},
	{"xlb_forwarded_bytes_total", C, "Bytes of IP in them.", OF_DAEMON,
         "packets.forwarded_bytes", NUMBER, NULL},
	{"xlb_passed_packets_total", C, "Packets handed to the kernel's own stack.", OF_DAEMON,
         "packets.passed", NUMBER, NULL},
	{"xlb_dropped_packets_total", C, "Packets dropped.", OF_DAEMON, "packets.dropped", NUMBER,
         NULL},
	{"xlb_connection_table_connections", G, "Connections in the table.", OF_DAEMON,
         "connections.live", NUMBER, NULL},
	{"xlb_connection_table_slots", G, "Slots of the table.", OF_DAEMON, "connections.slots",
         NUMBER, NULL},
	{"xlb_connection_state_connections", G, "Connections by state.", OF_STATE, NULL, NUMBER,
         NULL},
	{"xlb_service_info", G, "Who forwards it and how.", OF_VIP, "side", ONE, NULL},
	{"xlb_service_in_force", G, "Whether keepalived has put it into force.", OF_VIP, "in_force",
         TRUTH, NULL},
	{"xlb_service_unserved", G, "Whether nobody forwards it.", OF_VIP, "side", IS, "unserved"},
	{"xlb_service_usable_reals", G, "Real servers that take new connections.", OF_VIP,
         "reals.usable", NUMBER, NULL},
	{"xlb_service_reals", G, "Configured real servers.", OF_VIP, "reals.total", NUMBER, NULL},
	{"xlb_service_held_connections", G, "Connections in XDP's table.", OF_VIP, "held", NUMBER,
         NULL},
	{"xlb_service_active_connections", G, "Opening or established connections.", OF_VIP,
         "active", NUMBER, NULL},
	{"xlb_service_inactive_connections", G, "All other connections.", OF_VIP, "inactive",
         NUMBER, NULL},
	{"xlb_service_connections_total", C, "Connections begun.", OF_VIP, "connections", NUMBER,
         NULL},
	{"xlb_service_packets_total", C, "Packets sent to its real servers.", OF_VIP, "packets",
         NUMBER, NULL},
	{"xlb_service_bytes_total", C, "Bytes of IP in them.", OF_VIP, "bytes", NUMBER, NULL},
	{"xlb_service_dropped_packets_total", C, "Packets for it that were dropped.", OF_VIP,
         "dropped", NUMBER, NULL},
	{"xlb_service_passed_packets_total", C, "Packets for it left to the kernel.", OF_VIP,
         "passed", NUMBER, NULL},
	{"xlb_service_no_real_connections_total", C, "New connections that found no real server.",
         OF_VIP, "no_real", NUMBER, NULL},
	{"xlb_service_refused_connections_total", C, "New connections that found no slot.", OF_VIP,
         "refused", NUMBER, NULL},
	{"xlb_real_up", G, "Whether it takes new connections.", OF_REAL, "state", IS, "up"},
	{"xlb_real_weight", G, "Weight in force.", OF_REAL, "weight", NUMBER, NULL},
	{"xlb_real_next_hop_resolved", G, "Whether the way to it is known.", OF_REAL,
         "next_hop.state", IS, "resolved"},
	{"xlb_real_active_connections", G, "Opening or established connections.", OF_REAL, "active",
         NUMBER, NULL},
	{"xlb_real_inactive_connections", G, "All other connections.", OF_REAL, "inactive", NUMBER,
         NULL},
	{"xlb_real_connections_total", C, "Connections begun.", OF_REAL, "connections", NUMBER,
         NULL},
	{"xlb_real_packets_total", C, "Packets sent to it.", OF_REAL, "packets", NUMBER, NULL},
	{"xlb_real_bytes_total", C, "Bytes of IP in them.", OF_REAL, "bytes", NUMBER, NULL},
	{"xlb_real_dropped_packets_total", C, "Packets meant for it that were dropped.", OF_REAL,
         "dropped", NUMBER, NULL},
	{"xlb_verdict_packets_total", C, "Packets by the way they left the data plane.", OF_VERDICT,
         "packets", NUMBER, NULL},
	{"xlb_verdict_bytes_total", C, "Bytes of IP in them.", OF_VERDICT, "bytes", NUMBER, NULL},
	{"xlb_device_attached", G, "Whether the program is attached.", OF_DEVICE, "mode", TRUTH,
         NULL},
	{"xlb_device_native", G, "Whether it runs in native mode.", OF_DEVICE, "mode", IS,
         "native"},
	{"xlb_interface_receive_packets_total", C, "Packets that it received.", OF_INTERFACE,
         "packets", NUMBER, NULL},
	{"xlb_interface_receive_bytes_total", C, "Bytes that it received.", OF_INTERFACE, "bytes",
         NUMBER, NULL},
	{"xlb_queue_receive_packets_total", C, "Packets by receive queue.", OF_QUEUE, "packets",
         NUMBER, NULL},
	{"xlb_queue_receive_bytes_total", C, "Bytes by receive queue.", OF_QUEUE, "bytes", NUMBER,
         NULL},
	{"xlb_cpu_forwarded_packets_total", C, "Packets sent on, by processor.", OF_CPU,
         "forwarded", NUMBER, NULL},
	{"xlb_cpu_passed_packets_total", C, "Packets left to the kernel, by processor.", OF_CPU,
         "passed", NUMBER, NULL},
	{"xlb_cpu_dropped_packets_total", C, "Packets dropped, by processor.", OF_CPU, "dropped",
         NUMBER, NULL},
	{"xlb_vrrp_active", G, "Whether the instance's addresses are owned here.", OF_ROLE,
         "active", TRUTH, NULL},
	{"xlb_vrrp_master", G, "Whether keepalived said MASTER last.", OF_ROLE, "state", IS,
         "MASTER"},
#undef C
#undef G
};

/* ---- labels ----------------------------------------------------------------------------------- */

struct labels {
	FILE *out;
	bool any;
};

static void label(struct labels *labels, const char *name, const char *value)
{
	fprintf(labels->out, "%s%s=\"", labels->any ? "," : "{", name);
	labels->any = true;
	for (; value && *value; value++) {
		if (*value == '\n')
			fputs("\\n", labels->out);
		else if (*value == '"' || *value == '\\')
			fprintf(labels->out, "\\%c", *value);
		else
			fputc(*value, labels->out);
	}
	fputc('"', labels->out);
}

static const char *text_of(const json_t *row, const char *name)
{
	return json_string_value(json_object_get(row, name));
}

static void label_number(struct labels *labels, const char *name, const json_t *number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(number));
	label(labels, name, text);
}

/* printed: "192.0.2.1:80/tcp", or "fwmark 7", which has no address. */
static void label_service(struct labels *labels, const char *printed, const char *name)
{
	char address[ADDR_TEXT] = "", number[8] = "";
	struct xlb_addr addr;
	uint8_t protocol = 0;
	uint16_t port;

	if (printed && endpoint_parse(printed, &addr, &port, &protocol)) {
		addr_print(&addr, address);
		snprintf(number, sizeof(number), "%u", port);
	}
	label(labels, "vip", address);
	label(labels, "port", number);
	label(labels, "proto", protocol ? protocol_name(protocol) : "");
	label(labels, "service", name ? name : printed);
}

static void label_row(struct labels *labels, const struct metric *metric, const json_t *row)
{
	switch (metric->source) {
	case OF_DAEMON:
		if (metric->how == ONE)
			label(labels, metric->field, text_of(row, metric->field));
		break;
	case OF_VIP:
		label_service(labels, text_of(row, "virtual"), text_of(row, "name"));
		if (metric->how != ONE)
			break;
		label(labels, "side", text_of(row, "side"));
		label(labels, "scheduler", text_of(row, "scheduler"));
		label(labels, "method", text_of(row, "method"));
		label(labels, "instance", text_of(row, "instance"));
		break;
	case OF_REAL:
		label_service(labels, text_of(row, "vip"), text_of(row, "name"));
		label(labels, "real", text_of(row, "address"));
		label_number(labels, "real_port", json_object_get(row, "port"));
		break;
	case OF_VERDICT:
		label(labels, "verdict", text_of(row, "word"));
		label(labels, "action", text_of(row, "action"));
		break;
	case OF_DEVICE:
	case OF_INTERFACE:
		label(labels, "device", text_of(row, "name"));
		break;
	case OF_CPU:
		label_number(labels, "cpu", json_object_get(row, "cpu"));
		break;
	case OF_ROLE:
		label(labels, "vrrp_instance", text_of(row, "instance"));
		break;
	case OF_QUEUE: /* these two have labels of their own */
	case OF_STATE:
		break;
	}
}

/* ---- values ----------------------------------------------------------------------------------- */

static const json_t *field_of(const json_t *row, const char *path)
{
	const char *dot = strchr(path, '.');
	char outer[32];

	if (!dot)
		return json_object_get(row, path);
	snprintf(outer, sizeof(outer), "%.*s", (int)(dot - path), path);
	return json_object_get(json_object_get(row, outer), dot + 1);
}

static bool is_word(const json_t *value, const char *word)
{
	const char *text = json_string_value(value);

	return text && word && strcasecmp(text, word) == 0;
}

static void write_value(FILE *out, const struct metric *metric, const json_t *value)
{
	json_int_t number = json_integer_value(value);

	switch (metric->how) {
	case NUMBER:
		break;
	case SECONDS:
		fprintf(out, " %lld.%03d\n", (long long)(number / 1000), (int)(number % 1000));
		return;
	case COUNT:
		number = (json_int_t)json_array_size(value);
		break;
	case TRUTH:
		/* of a mode: any but none */
		number = json_is_true(value) || (json_is_string(value) && !is_word(value, "none"));
		break;
	case MISSING:
		number = !value || json_is_null(value);
		break;
	case IS:
		number = is_word(value, metric->word);
		break;
	case ONE:
		number = 1;
		break;
	}
	fprintf(out, " %lld\n", (long long)number);
}

static void write_sample(FILE *out, const struct metric *metric, const json_t *row)
{
	struct labels labels = {.out = out};

	fputs(metric->name, out);
	label_row(&labels, metric, row);
	if (labels.any)
		fputc('}', out);
	write_value(out, metric, field_of(row, metric->field));
}

static void write_states(FILE *out, const struct metric *metric, const json_t *answer)
{
	json_t *states = json_object_get(json_object_get(answer, "connections"), "states"), *value;
	const char *state;

	json_object_foreach(states, state, value) {
		struct labels labels = {.out = out};

		fputs(metric->name, out);
		label(&labels, "state", state);
		fputc('}', out);
		write_value(out, metric, value);
	}
}

static void write_queues(FILE *out, const struct metric *metric, const json_t *answer)
{
	const json_t *interfaces = json_object_get(answer, "interfaces"), *one, *queue;
	size_t i, q;

	json_array_foreach(interfaces, i, one) {
		const json_t *queues = json_object_get(one, "queues");

		json_array_foreach(queues, q, queue) {
			struct labels labels = {.out = out};

			fputs(metric->name, out);
			label(&labels, "device", text_of(one, "name"));
			label_number(&labels, "queue", json_object_get(queue, "queue"));
			fputc('}', out);
			write_value(out, metric, json_object_get(queue, metric->field));
		}
	}
}

static void write_metric(FILE *out, const struct metric *metric, const json_t *answer)
{
	static const char *const lists[] = {
		[OF_VIP] = "vips",       [OF_REAL] = "reals",           [OF_VERDICT] = "verdicts",
		[OF_DEVICE] = "devices", [OF_INTERFACE] = "interfaces", [OF_CPU] = "cpus",
		[OF_ROLE] = "roles",
	};
	const json_t *row;
	size_t i;

	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
	        metric->type);
	if (metric->source == OF_DAEMON)
		write_sample(out, metric, answer);
	else if (metric->source == OF_STATE)
		write_states(out, metric, answer);
	else if (metric->source == OF_QUEUE)
		write_queues(out, metric, answer);
	else
		json_array_foreach(json_object_get(answer, lists[metric->source]), i, row)
			write_sample(out, metric, row);
}

void metrics_write(FILE *out, const json_t *answer)
{
	fprintf(out, "# HELP xlb_up Whether xlbd answers.\n# TYPE xlb_up gauge\nxlb_up %d\n",
	        answer != NULL);
	for (size_t i = 0; answer && i < ARRAY_SIZE(metrics); i++)
		write_metric(out, &metrics[i], answer);
}
