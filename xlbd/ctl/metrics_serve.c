// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * metrics_serve.c - `xlbctl metrics`: asks the daemon and writes metrics, to a terminal or file, or as
 * the answer to one HTTP request.
 *
 * The HTTP form serves a connection that systemd accepted (xlb-metrics.socket): a request on
 * standard input, its answer on standard output, then the process ends. So there is no server to
 * keep alive, and a client that hangs holds its own process, and that for REQUEST_SECONDS. A daemon
 * that does not answer is an answer too (xlb_up 0): Prometheus must tell it from an exporter that
 * is gone.
 */
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xlbd/ctl/client.h"
#include "xlbd/ctl/metrics.h"
#include "xlbd/ctl/subcommand.h"

#define REQUEST_SECONDS 10
#define REQUEST_LINES   100 /* of a head */

static void write_head(FILE *out, const char *status, const char *type)
{
	fprintf(out, "HTTP/1.0 %s\r\nContent-Type: %s\r\nConnection: close\r\n\r\n", status, type);
}

static bool read_head(FILE *in, char *line, size_t room)
{
	char rest[1000];

	if (!fgets(line, (int)room, in) || !strchr(line, '\n'))
		return false;
	for (unsigned i = 0; i < REQUEST_LINES; i++) {
		if (!fgets(rest, sizeof(rest), in))
			return false;
		if (strcmp(rest, "\r\n") == 0 || strcmp(rest, "\n") == 0)
			return true;
	}
	return false;
}

bool metrics_head(FILE *in, FILE *out)
{
	char line[1000], method[8], path[64], version[16];

	if (!read_head(in, line, sizeof(line)) ||
	    sscanf(line, "%7s %63s %15s", method, path, version) != 3 ||
	    strncmp(version, "HTTP/", 5) != 0) {
		write_head(out, "400 Bad Request", "text/plain");
		fputs("this is an HTTP server: GET /metrics\n", out);
		return false;
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		write_head(out, "405 Method Not Allowed", "text/plain");
		return false;
	}
	path[strcspn(path, "?")] = '\0';
	if (strcmp(path, "/metrics") != 0 && strcmp(path, "/") != 0) {
		write_head(out, "404 Not Found", "text/plain");
		fputs("the metrics are at /metrics\n", out);
		return false;
	}
	write_head(out, "200 OK", METRICS_TYPE);
	return strcmp(method, "GET") == 0;
}

static int ask_snapshot(const struct invocation *invocation, json_t **ret)
{
	_cleanup_(client_closep) struct client *client = NULL;
	int r = client_open(invocation->socket, &client);

	return r < 0 ? r
	             : client_ask(client, json_pack("{s:s}", "command", "snapshot"), NULL, NULL,
	                          ret);
}

static int write_metrics(const struct invocation *invocation)
{
	FILE *out = invocation->style.out;
	json_t *answer = NULL;
	int r = ask_snapshot(invocation, &answer), status = STATUS_OK;

	if (r < 0) {
		fprintf(stderr, "xlbctl: cannot ask the daemon at %s: %s\n", invocation->socket,
		        strerror(-r));
		status = STATUS_NOT_REACHABLE;
	} else if (!json_is_true(json_object_get(answer, "ok"))) {
		const char *error = json_string_value(json_object_get(answer, "error"));

		fprintf(stderr, "xlbctl: %s\n", error ? error : "refused");
		status = STATUS_ERROR;
	}
	if (invocation->json && status == STATUS_OK) {
		json_dumpf(answer, out, JSON_INDENT(isatty(STDOUT_FILENO) ? 2 : 0));
		fputc('\n', out);
	} else {
		metrics_write(out, status == STATUS_OK ? answer : NULL);
	}
	json_decref(answer);
	return status;
}

int metrics(const struct invocation *invocation)
{
	bool http = invocation->count > 0;

	if (http && strcmp(invocation->argument[0], "http") != 0) {
		fprintf(stderr, "usage: xlbctl metrics [http]\n");
		return STATUS_ERROR;
	}
	if (!http)
		return write_metrics(invocation);
	alarm(REQUEST_SECONDS); /* whatever the other side does, the end comes */
	if (metrics_head(stdin, invocation->style.out))
		(void)write_metrics(
			invocation); /* has said what is wrong; to HTTP it is no failure */
	return STATUS_OK;
}
