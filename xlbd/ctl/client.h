/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.h - asks the control socket, and waits for the answer.
 */
#ifndef XLBD_CTL_CLIENT_H
#define XLBD_CTL_CLIENT_H

#include <stdbool.h>

#include <jansson.h>

#include "xlbd/cleanup.h"

#define CLIENT_WAIT 10 /* seconds for an answer */

struct client; /* opaque: one connection */

/* -ENOENT, -ECONNREFUSED: no daemon; -EACCES: not for us; other -errno from the system. */
int client_open(const char *path, struct client **ret);
struct client *client_close(struct client *client); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct client, client_close)

/*
 * One request (stolen), one answer, an object: a refusal of the daemon's is an answer too ("ok":
 * false). Items of a long one go to item() as they come (borrowed). -EPIPE: the daemon went away;
 * -ETIMEDOUT: it does not answer; -EPROTO: not what we speak.
 */
int client_ask(struct client *client, json_t *request,
               void (*item)(void *context, const json_t *item), void *context, json_t **ret);

#endif
