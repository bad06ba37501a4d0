// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * command.c - from a line of the control socket to the answer: parse, find the row, check, run.
 *
 * Everything that a client can send goes through command_run() before a command's own function sees
 * it: it has to be JSON, an object, name a command of the table, carry only arguments of that row
 * and of their type, and come from somebody who may. Unknown arguments are refused: a misspelt
 * filter must not show everything. Changes are logged with who asked. Knows no sockets (server.c)
 * and no command (commands.c).
 */
#define _GNU_SOURCE /* strerrorname_np */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "xlbd/control/command.h"
#include "xlbd/log.h"

#define TOPIC "control"

int control_fail(struct control_call *call, int result, const char *format, ...)
{
	const char *code = strerrorname_np(-result);
	char text[600];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	json_object_clear(call->answer);
	json_object_set_new(call->answer, "ok", json_false());
	json_object_set_new(call->answer, "schema", json_integer(CONTROL_SCHEMA));
	json_object_set_new(call->answer, "code", json_string(code ? code : "EINVAL"));
	if (json_object_set_new(call->answer, "error", json_string(text)) < 0)
		json_object_set_new(call->answer, "error", json_string("text that is not UTF-8"));
	return result;
}

const char *control_text(const struct control_call *call, const char *name)
{
	return json_string_value(json_object_get(call->request, name));
}

json_int_t control_integer(const struct control_call *call, const char *name, json_int_t otherwise)
{
	const json_t *value = json_object_get(call->request, name);

	return value ? json_integer_value(value) : otherwise;
}

bool control_boolean(const struct control_call *call, const char *name)
{
	return json_is_true(json_object_get(call->request, name));
}

static bool has_type(const json_t *value, char type)
{
	switch (type) {
	case 's':
		return json_is_string(value);
	case 'i':
		return json_is_integer(value);
	default:
		return json_is_boolean(value);
	}
}

static const struct control_argument *find_argument(const struct control_command *command,
                                                    const char *name)
{
	for (size_t i = 0; i < CONTROL_ARGUMENTS && command->argument[i].name; i++)
		if (strcmp(command->argument[i].name, name) == 0)
			return &command->argument[i];
	return NULL;
}

static const char *type_name(char type)
{
	return type == 's' ? "a string" : type == 'i' ? "an integer" : "true or false";
}

static int check_arguments(struct control_call *call, const struct control_command *command)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)call->request, name, value) {
		const struct control_argument *argument = find_argument(command, name);

		if (strcmp(name, "command") == 0)
			continue;
		if (!argument)
			return control_fail(call, -EINVAL, "'%s' takes no '%.60s'", command->name,
			                    name);
		if (!has_type(value, argument->type))
			return control_fail(call, -EINVAL, "'%s' of '%s' must be %s", name,
			                    command->name, type_name(argument->type));
	}
	for (size_t i = 0; i < CONTROL_ARGUMENTS && command->argument[i].name; i++)
		if (command->argument[i].needed &&
		    !json_object_get(call->request, command->argument[i].name))
			return control_fail(call, -EINVAL, "'%s' needs '%s'", command->name,
			                    command->argument[i].name);
	return 0;
}

static int dispatch(const struct control_command *command, struct control_call *call)
{
	const char *name = control_text(call, "command");
	int r;

	if (!name)
		return control_fail(call, -EINVAL, "no \"command\" in the request");
	while (command->name && strcmp(command->name, name) != 0)
		command++;
	if (!command->name)
		return control_fail(call, -ENOENT, "no such command: '%.60s'", name);
	if (command->changes && !call->may_change)
		return control_fail(call, -EPERM,
		                    "'%s' is for root and the daemon's own user, "
		                    "not for uid %u",
		                    name, (unsigned)call->uid);
	r = check_arguments(call, command);
	if (r < 0)
		return r;
	if (command->changes)
		log_info(TOPIC, "'%s' asked for by uid %u, process %d", name, (unsigned)call->uid,
		         (int)call->pid);
	r = command->run(call);
	if (r < 0 && !json_is_false(json_object_get(call->answer, "ok")))
		control_fail(call, r, "%s", strerror(-r));
	return r;
}

int command_run(const struct control_command *commands, const char *line, size_t length,
                struct control_call *call)
{
	json_error_t error;
	json_t *request = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	int r;

	call->answer = json_pack("{s:b, s:i}", "ok", 1, "schema", CONTROL_SCHEMA);
	call->request = request;
	if (!request)
		r = control_fail(call, -EINVAL, "not JSON: %s (column %d)", error.text,
		                 error.column);
	else if (!json_is_object(request))
		r = control_fail(call, -EINVAL, "not a JSON object");
	else
		r = dispatch(commands, call);
	json_decref(request);
	call->request = NULL;
	return r;
}
