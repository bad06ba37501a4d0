/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show_sync.h - the other directors, and what an operator may ask of the sync with them. Rows of commands.c.
 */
#ifndef XLBD_CONTROL_SHOW_SYNC_H
#define XLBD_CONTROL_SHOW_SYNC_H

struct control_call;

int show_sync(struct control_call *call);
int show_ha(struct control_call *call);
int change_sync(struct control_call *call);
int change_ha(struct control_call *call);

#endif
