/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.h - asks the daemon's control socket without ever waiting for it.
 */
#ifndef XLB_SNMP_LINK_H
#define XLB_SNMP_LINK_H

#include <stdint.h>

#include <jansson.h>

#include "xlbd/cleanup.h"

#define LINK_ANSWER_MOST (256u << 20) /* bytes */
#define LINK_PATIENCE    10000        /* ms for one answer, then the connection is made anew */

struct link; /* opaque */

/* NULL: out of memory. The path is not looked at before link_ask(). */
struct link *link_new(const char *path);
struct link *link_free(struct link *link); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct link, link_free)

/*
 * Asks {"command": command}, connecting first if need be. 0: asked, or the last answer is still awaited; -ENOENT,
 * -ECONNREFUSED: no daemon; -EACCES: not for us; -ETIMEDOUT: the last question stayed without an answer; other -errno.
 */
int link_ask(struct link *link, const char *command, int64_t now_ms);
/* What to wait for; -1: nothing. It changes whenever the connection does. */
int link_fd(const struct link *link);
/* When it can be read: 1 an answer (new reference), 0 not yet all of it, -EPIPE: the daemon went away; -EPROTO; other -errno. */
int link_read(struct link *link, json_t **ret);

#endif
