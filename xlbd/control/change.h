/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * change.h - the few commands that change something. Rows of commands.c.
 */
#ifndef XLBD_CONTROL_CHANGE_H
#define XLBD_CONTROL_CHANGE_H

struct control_call;

int change_bypass(struct control_call *call);
int change_reload(struct control_call *call);
int change_role(struct control_call *call);

#endif
