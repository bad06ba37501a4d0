/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * explain.h - the way of one packet, step by step, in words. Rows of commands.c.
 */
#ifndef XLBD_CONTROL_EXPLAIN_H
#define XLBD_CONTROL_EXPLAIN_H

struct control_call;

int explain(struct control_call *call);

#endif
