/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show.h - what the daemon is and does as a whole, as JSON. Rows of commands.c.
 */
#ifndef XLBD_CONTROL_SHOW_H
#define XLBD_CONTROL_SHOW_H

struct control_call;

int show_status(struct control_call *call);
int show_drops(struct control_call *call);
int show_version(struct control_call *call);

#endif
