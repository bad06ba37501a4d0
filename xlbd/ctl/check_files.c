// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_files.c - `xlbctl check`: every mistake in xlbd.yaml and keepalived.conf in one run, and
 * what XDP will not forward.
 *
 * Reads the files itself, with the readers that the daemon uses, so it works before anything runs
 * and on any file. What the files alone tell (a scheduler that is not offered) comes from
 * model/judge.c; what only the running daemon knows (firewall, routes) is asked of it, if it is
 * there. Both become warnings at the line of the virtual server. Changes nothing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "conf/conf.h"
#include "xlbd/complaint.h"
#include "xlbd/control/answer.h"
#include "xlbd/ctl/client.h"
#include "xlbd/ctl/subcommand.h"
#include "xlbd/keepalived/reader.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/judge.h"
#include "xlbd/model/ring.h"

static bool is_yaml(const char *file)
{
	const char *end = strrchr(file, '.');

	return end && (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
}

static void complain_of(struct complaints *list, const struct service *service, const char *reason)
{
	char printed[64];

	complain(list,
	         &(struct complaint){.level = COMPLAINT_WARNING,
	                             .file = service->origin.file,
	                             .line = service->origin.line},
	         "virtual server %s is not forwarded by XDP: %s", service_print(service, printed),
	         reason);
}

/* What the files alone tell: judged as if keepalived had put into force what it declares. */
static int judge_declared(const struct keepalived_config *declared, const struct xlbd_conf *conf,
                          struct service_set **ret)
{
	struct judge_world world = {
		.kernel_ipvs = true,
		.mh_exact = conf->maglev_size == RING_MH_SIZE,
		.mh_size = conf->maglev_size,
		.sloppy_tcp = conf->sloppy_tcp,
	};

	return judge(declared->services, declared->services, &world, ret);
}

/* Reason that the running daemon has for the same virtual server; NULL: none, or no daemon. */
static const char *reason_of_daemon(const json_t *answer, const struct service *service)
{
	char printed[64];
	const json_t *one;
	size_t i;

	service_print(service, printed);
	json_array_foreach(json_object_get(answer, "vips"), i, one) {
		const char *virtual = json_string_value(json_object_get(one, "virtual"));
		const char *side = json_string_value(json_object_get(one, "side"));

		if (virtual && side && strcmp(virtual, printed) == 0 && strcmp(side, "xdp") != 0 &&
		    strcmp(side, "standby") != 0)
			return json_string_value(json_object_get(one, "reason"));
	}
	return NULL;
}

static json_t *ask_daemon(const char *socket)
{
	_cleanup_(client_closep) struct client *client = NULL;
	json_t *answer = NULL;

	if (client_open(socket, &client) < 0 ||
	    client_ask(client, json_pack("{s:s}", "command", "vip"), NULL, NULL, &answer) < 0)
		return NULL;
	return answer;
}

static void add_reasons(struct complaints *list, const struct keepalived_config *declared,
                        const struct xlbd_conf *conf, const char *socket)
{
	_cleanup_(service_set_freep) struct service_set *judged = NULL;
	json_t *answer = socket ? ask_daemon(socket) : NULL;
	const struct service *service;

	if (judge_declared(declared, conf, &judged) < 0) {
		json_decref(answer);
		return;
	}
	for (size_t i = 0; (service = service_set_get(judged, i)); i++) {
		const char *reason = service->side == SIDE_IPVS || service->side == SIDE_UNSERVED
		                             ? service->reason
		                             : NULL;

		if (!reason)
			reason = reason_of_daemon(answer, service);
		if (reason)
			complain_of(list, service, reason);
	}
	json_decref(answer);
}

static int check_keepalived(const struct invocation *invocation, const char *file,
                            const struct xlbd_conf *conf, struct complaints *list)
{
	_cleanup_(keepalived_config_freep) struct keepalived_config *declared = NULL;
	struct keepalived_options options = {.config_id = conf->keepalived_config_id};
	bool in_use = strcmp(file, conf->keepalived_conf) == 0;
	size_t before = complaints_errors(list);
	int r = keepalived_read(file, &options, list, &declared);

	if (r < 0) {
		if (complaints_errors(list) == before)
			complain(list, &(struct complaint){.file = file}, "cannot be read: %s",
			         strerror(-r));
		return r;
	}
	add_reasons(list, declared, conf, in_use ? invocation->socket : NULL);
	return 0;
}

static int check_files(const struct invocation *invocation, struct complaints *list)
{
	const char *file = invocation->count ? invocation->argument[0] : NULL;
	bool yaml = file && is_yaml(file);
	_cleanup_(conf_freep) struct xlbd_conf *conf = NULL;
	int r = conf_load(yaml                 ? file
	                  : invocation->config ? invocation->config
	                                       : CONF_DEFAULT_FILE,
	                  NULL, 0, list, &conf);

	if (r < 0 && !file)
		return r; /* which keepalived.conf it means is not known */
	if (yaml)
		return r;
	if (r < 0) {
		r = conf_load(NULL, NULL, 0, NULL, &conf);
		if (r < 0)
			return r;
	}
	return check_keepalived(invocation, file ? file : conf->keepalived_conf, conf, list);
}

static void print_list(const struct invocation *invocation, const struct complaints *list)
{
	size_t errors = complaints_errors(list), warnings = 0;
	const struct complaint *one;
	FILE *out = invocation->style.out;

	for (size_t i = 0; (one = complaints_get(list, i)); i++)
		warnings += one->level == COMPLAINT_WARNING;
	if (invocation->json) {
		json_t *answer =
			json_pack("{s:b, s:i, s:I, s:I, s:I, s:o}", "ok", errors == 0, "schema", 1,
		                  "errors", (json_int_t)errors, "warnings", (json_int_t)warnings,
		                  "left_out", (json_int_t)complaints_dropped(list), "complaints",
		                  answer_complaints(list));

		json_dumpf(answer, out, JSON_COMPACT);
		json_decref(answer);
		fputc('\n', out);
		return;
	}
	for (size_t i = 0; (one = complaints_get(list, i)); i++)
		complaint_print(one, out);
	if (complaints_dropped(list))
		fprintf(out, "%zu more are not listed\n", complaints_dropped(list));
	fprintf(out, "%zu error%s, %zu warning%s. Nothing was changed.\n", errors,
	        errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
}

int check(const struct invocation *invocation)
{
	struct complaints *list = complaints_new();
	bool failed;
	int r;

	if (!list) {
		fputs("xlbctl: out of memory\n", stderr);
		return STATUS_ERROR;
	}
	r = check_files(invocation, list);
	print_list(invocation, list);
	failed = r < 0 || complaints_errors(list) > 0;
	complaints_free(list);
	return failed ? STATUS_ERROR : STATUS_OK;
}
