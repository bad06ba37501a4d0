// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ask.c - from a sub-command to the daemon's answer on the screen: once, or again and again.
 *
 * Builds the request from the command line, asks through client.c, and hands the answer to the
 * sub-command's view, or prints it as it came (-j). With -w the answer before goes to the view too,
 * so that it can show rates. Refusals of the daemon go to stderr.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "xlbd/ctl/client.h"
#include "xlbd/ctl/subcommand.h"

/* ---- requests --------------------------------------------------------------------------------- */

/* The server knows the command by the name of the sub-command; ask() adds it. */
json_t *request_plain(const struct invocation *invocation)
{
	(void)invocation;
	return json_object();
}

/* A word of the command line may be no UTF-8, which JSON cannot carry. */
static json_t *add_word(json_t *request, const char *name, const char *word)
{
	if (json_object_set_new(request, name, json_string(word)) == 0)
		return request;
	fprintf(stderr, "xlbctl: '%s' is not UTF-8\n", word);
	json_decref(request);
	return NULL;
}

json_t *request_vip(const struct invocation *invocation)
{
	json_t *request = json_object();

	return invocation->count ? add_word(request, "vip", invocation->argument[0]) : request;
}

json_t *request_conn(const struct invocation *invocation)
{
	static const char *const filters[] = {"client", "vip", "real", "state"};
	json_t *request = json_object();

	for (size_t i = 0; request && i < invocation->count; i++) {
		const char *word = invocation->argument[i], *value = strchr(word, '=');
		size_t f = 0, length = value ? (size_t)(value - word) : 0;

		while (f < ARRAY_SIZE(filters) &&
		       !(strlen(filters[f]) == length && strncmp(word, filters[f], length) == 0))
			f++;
		if (f == ARRAY_SIZE(filters)) {
			fprintf(stderr,
			        "xlbctl: '%s' is no filter (client=, vip=, real=, state=)\n", word);
			json_decref(request);
			return NULL;
		}
		request = add_word(request, filters[f], value + 1);
	}
	if (request && invocation->limit) {
		char *end;
		long long limit = strtoll(invocation->limit, &end, 10);

		if (!*invocation->limit || *end || limit < 1) {
			fprintf(stderr, "xlbctl: '%s' is no limit\n", invocation->limit);
			json_decref(request);
			return NULL;
		}
		json_object_set_new(request, "limit", json_integer(limit));
	}
	return request;
}

json_t *request_explain(const struct invocation *invocation)
{
	json_t *request = add_word(json_object(), "client", invocation->argument[0]);

	return request ? add_word(request, "vip", invocation->argument[1]) : NULL;
}

json_t *request_bypass(const struct invocation *invocation)
{
	const char *word = invocation->argument[0];
	json_t *request;

	if (strcmp(word, "on") != 0 && strcmp(word, "off") != 0) {
		fprintf(stderr, "xlbctl: bypass is 'on' or 'off', not '%s'\n", word);
		return NULL;
	}
	request = json_pack("{s:b}", "on", strcmp(word, "on") == 0);
	return invocation->count > 1 ? add_word(request, "vip", invocation->argument[1]) : request;
}

json_t *request_role(const struct invocation *invocation)
{
	json_t *request = add_word(json_object(), "instance", invocation->argument[0]);

	return request ? add_word(request, "state", invocation->argument[1]) : NULL;
}

/* ---- answers ---------------------------------------------------------------------------------- */

struct asked {
	const struct invocation *invocation;
	struct client *client;
	struct table *items; /* of a long answer, unless -j */
};

static void print_json(const struct invocation *invocation, const json_t *value, bool one_line)
{
	json_dumpf(value, invocation->style.out,
	           one_line ? JSON_COMPACT : JSON_INDENT(isatty(STDOUT_FILENO) ? 2 : 0));
	fputc('\n', invocation->style.out);
}

static void take_item(void *context, const json_t *item)
{
	struct asked *asked = context;

	if (asked->items)
		view_conn_item(asked->items, item);
	else if (asked->invocation->json)
		print_json(asked->invocation, item, true);
}

static int not_reachable(const struct invocation *invocation, int result)
{
	const char *why = result == -ENOENT || result == -ECONNREFUSED ? "is xlbd running?"
	                  : result == -EACCES    ? "only root and the control group may ask"
	                  : result == -ETIMEDOUT ? "it does not answer"
	                  : result == -EPIPE     ? "it closed the connection"
	                                         : strerror(-result);

	fprintf(stderr, "xlbctl: cannot ask the daemon at %s: %s\n", invocation->socket, why);
	return STATUS_NOT_REACHABLE;
}

static int refused(const struct invocation *invocation, const json_t *answer)
{
	const char *error = json_string_value(json_object_get(answer, "error"));

	if (invocation->json)
		print_json(invocation, answer, false);
	else
		view_complaints(&(struct style){.out = stderr},
		                json_object_get(answer, "complaints"));
	fprintf(stderr, "xlbctl: %s\n", error ? error : "refused");
	return STATUS_ERROR;
}

static int show(const struct subcommand *subcommand, struct asked *asked, const json_t *answer,
                const json_t *before)
{
	const struct invocation *invocation = asked->invocation;
	struct view view = {
		.style = &invocation->style,
		.answer = answer,
		.before = before,
		.seconds = invocation->watch,
		.all = invocation->all,
	};
	char *nothing = NULL;
	size_t length = 0;
	struct style silent = {};
	int status;

	if (!json_is_true(json_object_get(answer, "ok")))
		return refused(invocation, answer);
	if (!invocation->json)
		return asked->items ? view_conn(&view, asked->items) : subcommand->view(&view);
	print_json(invocation, answer, asked->invocation->watch > 0);
	if (strcmp(subcommand->name, "conn") == 0)
		return STATUS_OK;
	/* the exit status is the view's to know */
	silent.out = open_memstream(&nothing, &length);
	if (!silent.out)
		return STATUS_ERROR;
	view.style = &silent;
	status = subcommand->view(&view);
	fclose(silent.out);
	free(nothing);
	return status;
}

/* Asks and shows; *before becomes this answer. */
static int ask_once(const struct subcommand *subcommand, struct asked *asked, json_t **before)
{
	const struct invocation *invocation = asked->invocation;
	json_t *request = subcommand->request(invocation), *answer = NULL;
	int r;

	if (!request)
		return STATUS_ERROR;
	if (!json_object_get(request, "command"))
		json_object_set_new(request, "command", json_string(subcommand->name));
	if (!subcommand->view && !invocation->json)
		asked->items = view_conn_table();
	r = client_ask(asked->client, request, take_item, asked, &answer);
	if (r < 0) {
		asked->items = table_free(asked->items);
		return not_reachable(invocation, r);
	}
	r = show(subcommand, asked, answer, *before);
	asked->items = table_free(asked->items);
	json_decref(*before);
	*before = answer;
	return r;
}

static void wait_for(double seconds)
{
	struct timespec wait = {.tv_sec = (time_t)seconds};

	wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
	nanosleep(&wait, NULL);
}

int ask(const struct subcommand *subcommand, const struct invocation *invocation)
{
	_cleanup_(client_closep) struct client *client = NULL;
	struct asked asked = {.invocation = invocation};
	bool clears = invocation->watch > 0 && !invocation->json && invocation->style.width;
	json_t *before = NULL;
	int r = client_open(invocation->socket, &client);

	if (r < 0)
		return not_reachable(invocation, r);
	asked.client = client;
	for (;;) {
		if (clears)
			fputs("\033[H\033[2J", invocation->style.out);
		r = ask_once(subcommand, &asked, &before);
		if (fflush(invocation->style.out) != 0 || invocation->watch <= 0 ||
		    r == STATUS_ERROR || r == STATUS_NOT_REACHABLE)
			break;
		wait_for(invocation->watch);
		if (!clears && !invocation->json)
			fputc('\n', invocation->style.out);
	}
	json_decref(before);
	return r;
}
