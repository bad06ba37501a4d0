/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command.h - what a command of the control socket is: a row of a table, and the call that its
 * function gets.
 *
 * server.c finds the row, checks who asks and what is asked, and makes the first and the last words
 * of the answer ("ok", "schema", "error"); the function adds what it has to say to call->answer.
 */
#ifndef XLBD_CONTROL_COMMAND_H
#define XLBD_CONTROL_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

#define CONTROL_SCHEMA    1 /* of all answers: raised when a field changes its meaning or goes */
#define CONTROL_ARGUMENTS 6

/*
 * A long answer: a line {"item": ...} for each value that next() returns (a new reference), then
 * `answer` with "end": true. next() runs when the client has taken what was sent before: what is
 * not asked for is not made.
 */
struct control_stream {
	json_t *(*next)(void *state); /* NULL: that was all; no stream at all if this is NULL */
	void (*release)(void *state); /* once, also when the client goes away before the end */
	void *state;
};

struct control_call {
	void *context; /* of the server */
	const json_t
		*request; /* an object; its arguments are those of the row, of the right type */
	json_t *answer;   /* an object, for the function to add to */
	uid_t uid;        /* who asks */
	pid_t pid;
	bool may_change;
	struct control_stream stream;
};

struct control_argument {
	const char *name;
	char type; /* 's' string, 'i' integer, 'b' boolean */
	bool needed;
};

struct control_command {
	const char *name;
	const char *help;                                    /* a line for people */
	bool changes;                                        /* only for root and our own uid */
	struct control_argument argument[CONTROL_ARGUMENTS]; /* up to the one without a name */
	/* 0, or -errno, best through control_fail() */
	int (*run)(struct control_call *call);
};

/*
 * Answers one line, its end taken away: call->answer is the answer, a new reference, also on
 * failure. The caller fills context and who asks before. The request does not outlive the call: a
 * stream copies what it needs of it.
 */
int command_run(const struct control_command *commands, const char *line, size_t length,
                struct control_call *call);

/* Makes the answer a refusal with this sentence; returns `result` (negative) so that it can be returned in turn. */
int control_fail(struct control_call *call, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Arguments of the request; NULL, 0 or false where it has none. */
const char *control_text(const struct control_call *call, const char *name);
json_int_t control_integer(const struct control_call *call, const char *name, json_int_t otherwise);
bool control_boolean(const struct control_call *call, const char *name);

#endif
