/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subcommand.h - what a sub-command of xlbctl is: a row of the table in subcommands.c, and how it
 * was called.
 */
#ifndef XLBD_CTL_SUBCOMMAND_H
#define XLBD_CTL_SUBCOMMAND_H

#include <jansson.h>

#include "xlbd/ctl/print.h"
#include "xlbd/ctl/views.h"

enum exit_status {
	STATUS_OK = 0,
	STATUS_ERROR = 1,
	STATUS_NOT_HEALTHY = 2,
	STATUS_NOT_REACHABLE = 3,
};

struct invocation {
	const char *socket;
	struct style style;
	bool json;
	double watch;       /* seconds; 0: once */
	bool all;           /* -a */
	const char *limit;  /* -l; NULL: not given */
	const char *config; /* -c; NULL: not given */
	char *const *argument;
	size_t count;
};

/* What may stand at a place of the command line, for `xlbctl complete`. */
enum candidates {
	CANDIDATES_NONE,
	CANDIDATES_COMMAND,
	CANDIDATES_VIP,
	CANDIDATES_SWITCH, /* on, off */
	CANDIDATES_FILTER, /* client= vip= real= state=, any number of them */
	CANDIDATES_INSTANCE,
	CANDIDATES_VRRP_STATE,
	CANDIDATES_HTTP, /* http */
	CANDIDATES_SYNC, /* verify, resync, rekey */
	CANDIDATES_HA,   /* switch, release */
};

struct subcommand {
	const char *name;
	const char *arguments; /* as in the help: "[VIP]" */
	const char *help;      /* one line */
	const char *details;   /* more, may be NULL */
	const char *options;   /* letters of those that it takes beside the general ones */
	size_t least, most;    /* arguments */
	enum candidates candidate[2];
	/* Either asks the daemon (request, view) or does something of its own (run). Returns an exit status. */
	json_t *(*request)(const struct invocation *invocation); /* NULL: said what is wrong */
	int (*view)(const struct view *view);
	int (*run)(const struct invocation *invocation);
};

#define DEFAULT_SOCKET RUNSTATEDIR "/xlbd/control"

extern const struct subcommand subcommands[];               /* up to the one without a name */
const struct subcommand *subcommand_find(const char *name); /* NULL: none */
void subcommands_help(FILE *out);                           /* of all */
int subcommand_help(const struct invocation *invocation);   /* of the one in argument[0] */

/* ask.c: asks once, or again and again (-w); shows; returns the exit status. */
int ask(const struct subcommand *subcommand, const struct invocation *invocation);
json_t *request_plain(const struct invocation *invocation);
json_t *request_vip(const struct invocation *invocation);
json_t *request_conn(const struct invocation *invocation);
json_t *request_explain(const struct invocation *invocation);
json_t *request_bypass(const struct invocation *invocation);
json_t *request_role(const struct invocation *invocation);

/* views_sync.c */
json_t *request_sync(const struct invocation *invocation);
json_t *request_ha(const struct invocation *invocation);

/* complete.c: candidates for the last word, a line each. */
void complete(const char *socket, char *const *words, size_t count, FILE *out);

/* metrics_serve.c: the daemon's figures for Prometheus. */
int metrics(const struct invocation *invocation);

/* check_files.c: reads the files itself; the daemon is asked if it is there. */
int check(const struct invocation *invocation);

#endif
