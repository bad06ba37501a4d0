/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show_flows.h - connections as JSON, a line each. Rows of commands.c.
 */
#ifndef XLBD_CONTROL_SHOW_FLOWS_H
#define XLBD_CONTROL_SHOW_FLOWS_H

struct control_call;

int show_conn(struct control_call *call);

#endif
