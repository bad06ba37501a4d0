/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netsocket.h - one netlink socket: hear what the kernel tells, dump a table, ask many questions at once.
 *
 * Knows the framing of netlink and nothing of what the messages mean. Never logs.
 */
#ifndef XLBD_NETSOCKET_H
#define XLBD_NETSOCKET_H

#include <stddef.h>
#include <stdint.h>

#include "xlbd/cleanup.h"

struct nlmsghdr;
struct netsocket; /* opaque */

/* Called for each message of the kernel. It may not use the socket that the message came from. */
typedef void netsocket_take(void *context, const struct nlmsghdr *message);

/* protocol: NETLINK_ROUTE, NETLINK_NETFILTER, ...; groups: numbers (RTNLGRP_*), not masks; NULL: none. */
int netsocket_open(int protocol, const unsigned *groups, size_t group_count,
                   struct netsocket **ret);
struct netsocket *netsocket_close(struct netsocket *socket); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct netsocket, netsocket_close)
int netsocket_fd(const struct netsocket *socket);

/*
 * Takes what waits, without blocking; a bounded number of datagrams, the rest the next time. -ENOBUFS: the kernel had to drop
 * messages, dump again; other -errno from the system.
 */
int netsocket_read(struct netsocket *socket, netsocket_take *take, void *context);

/* Throws away what waits: what is older than the dump that follows could only contradict it. */
void netsocket_drain(struct netsocket *socket);

/*
 * Sends `request` (its flags get NLM_F_REQUEST | NLM_F_DUMP) and takes the answers; messages to groups that
 * arrive meanwhile are taken too. -EINTR: the table changed while it was dumped, the answer may be inconsistent; -ENOBUFS as
 * above; -ETIMEDOUT; else what the kernel answered.
 */
int netsocket_dump(struct netsocket *socket, struct nlmsghdr *request, netsocket_take *take,
                   void *context);

/*
 * `count` questions in few system calls. put() writes question `index` (type, flags, body; not the sequence number) into a
 * zeroed buffer of NETSOCKET_QUESTION bytes; answer() gets the one message of the answer, or NULL and the
 * kernel's -errno (0: acknowledged). 0, or -errno if the asking itself failed: the questions of that batch that had no
 * answer got -ETIMEDOUT, later ones were not asked.
 */
#define NETSOCKET_QUESTION 256
struct netsocket_questions {
	size_t count;
	void *context;
	void (*put)(void *context, size_t index, char *buffer);
	void (*answer)(void *context, size_t index, const struct nlmsghdr *message, int error);
};
int netsocket_ask(struct netsocket *socket, const struct netsocket_questions *questions);

/* Sends without waiting for an answer; what the kernel may answer turns up in netsocket_read(). */
int netsocket_tell(struct netsocket *socket, const struct netsocket_questions *questions);

#endif
