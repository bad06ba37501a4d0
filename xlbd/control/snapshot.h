/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.h - everything that is counted, of one moment, in one answer. A row of commands.c.
 */
#ifndef XLBD_CONTROL_SNAPSHOT_H
#define XLBD_CONTROL_SNAPSHOT_H

struct control_call;

int show_snapshot(struct control_call *call);

#endif
