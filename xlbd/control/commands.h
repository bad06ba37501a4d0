/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * commands.h - the commands of the daemon's control socket, and what each of them gets as its
 * context.
 */
#ifndef XLBD_CONTROL_COMMANDS_H
#define XLBD_CONTROL_COMMANDS_H

#include "xlbd/control/command.h"

struct rates;
struct xlbd;

struct commands { /* control_call.context */
	struct xlbd *xlbd;
	struct rates *rates;
};

extern const struct control_command control_commands[]; /* up to the one without a name */

static inline struct xlbd *call_xlbd(const struct control_call *call)
{
	return ((const struct commands *)call->context)->xlbd;
}

#endif
