/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show_services.h - virtual servers and real servers as JSON. Rows of commands.c.
 */
#ifndef XLBD_CONTROL_SHOW_SERVICES_H
#define XLBD_CONTROL_SHOW_SERVICES_H

struct control_call;

int show_vip(struct control_call *call);
int show_real(struct control_call *call);

#endif
