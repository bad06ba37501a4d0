// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * namespace.c - a step into the network namespace where keepalived keeps its IPVS table, and back.
 *
 * keepalived's net_namespace_ipvs puts the table, and nothing else of keepalived, into another namespace: keepalived makes its
 * socket to IPVS there, generic netlink or socket options alike, and goes back. netlink.c does the same to read the kernel's
 * table; api.c asks for the cookie by which the programs of bpf/ipvs_api.bpf.c know such a socket. The daemon has one thread, which
 * is away only between namespace_enter() and namespace_leave().
 */
#define _GNU_SOURCE /* setns */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "xlbd/cleanup.h"
#include "xlbd/ipvs/namespace.h"
#include "xlbd/log.h"

#define TOPIC "ipvs"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* Linux 5.14; not in Debian 12's <sys/socket.h> */
#endif

char *namespace_path(const char *name)
{
	char *path = NULL;

	if (strchr(name, '/'))
		return strdup(name);
	return asprintf(&path, "/run/netns/%s", name) < 0 ? NULL : path;
}

int namespace_enter(const char *path, struct stat *ret_identity, int *ret_way_back)
{
	_cleanup_close_ int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int other = open(path, O_RDONLY | O_CLOEXEC);
	struct stat identity;

	if (own < 0)
		return -errno;
	if (other < 0 || fstat(other, &identity) < 0)
		return errno == ENOENT ? -ENXIO : -errno;
	if (setns(other, CLONE_NEWNET) < 0)
		return errno == EINVAL ? -ENXIO : -errno; /* EINVAL: a file, but no namespace */
	*ret_identity = identity;
	*ret_way_back = take_fd(&own);
	return 0;
}

void namespace_leave(int way_back)
{
	if (setns(way_back, CLONE_NEWNET) < 0) {
		(void)log_errno(-errno, TOPIC, "cannot return to our own network namespace");
		abort();
	}
	close_fd(&way_back);
}

bool namespace_is_the_same(const char *path, const struct stat *identity)
{
	struct stat now;

	return stat(path, &now) == 0 && now.st_dev == identity->st_dev &&
	       now.st_ino == identity->st_ino;
}

static int own_cookie(uint64_t *ret)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(*ret);

	if (fd < 0)
		return -errno;
	return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, ret, &length) < 0 ? -errno : 0;
}

int namespace_cookie(const char *path, struct stat *ret_identity, uint64_t *ret)
{
	int way_back, r;

	if (!path)
		return own_cookie(ret);
	r = namespace_enter(path, ret_identity, &way_back);
	if (r < 0)
		return r;
	r = own_cookie(ret);
	namespace_leave(way_back);
	return r;
}
