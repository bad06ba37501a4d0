// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sysctls.c - reads net.ipv4.vs.* from /proc/sys.
 *
 * /proc/sys/net shows the network namespace of the process that looks, which is the one whose packets XDP takes. Where the kernel
 * has no IPVS the folder is not there and the caller's defaults (xlbd.yaml) hold. The list of names is one table in the header; adding
 * one is one row there.
 *
 * Read by the daemon with each look at the table: a dozen small files, some ten microseconds; where there is no IPVS, one
 * question. Never logs: what the values mean for a
 * service is judged in model/judge.c.
 */
#define _GNU_SOURCE /* O_PATH */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "xlbd/cleanup.h"
#include "xlbd/sysctls.h"

static const struct {
	const char *name;
	size_t offset;
	int value;
} rows[] = {
#define S(name, value) {#name, offsetof(struct sysctls, name), value},
	SYSCTLS(S)
#undef S
};

static int *field(struct sysctls *sysctls, size_t row)
{
	return (int *)((char *)sysctls + rows[row].offset);
}

void sysctls_defaults(struct sysctls *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		*field(ret, i) = rows[i].value;
}

/* False: there is no such file. */
static bool read_number(int folder, const char *name, int *ret)
{
	char text[32] = "";
	_cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t length;
	char *end;
	long value;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return false;
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	errno = 0;
	value = strtol(text, &end, 10);
	if (length <= 0 || end == text || errno || value < INT_MIN || value > INT_MAX ||
	    (*end && *end != '\n'))
		value = -1;
	*ret = (int)value;
	return true;
}

size_t sysctls_read(const char *folder, const struct sysctls *defaults, struct sysctls *ret)
{
	_cleanup_close_ int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sysctls sysctls = *defaults;
	size_t count = 0;

	/* a kernel without IPVS is asked one question, not twelve; a folder that may not be entered is no such kernel */
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		*ret = sysctls;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		count += read_number(fd, rows[i].name, field(&sysctls, i));
	*ret = sysctls;
	return count;
}

bool sysctls_forward(int family)
{
	const char *path = family == AF_INET ? "/proc/sys/net/ipv4/ip_forward"
	                                     : "/proc/sys/net/ipv6/conf/all/forwarding";
	int value = 0;

	return read_number(AT_FDCWD, path, &value) && value > 0;
}
