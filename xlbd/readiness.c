// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * readiness.c - READY=1, RELOADING=1, STOPPING=1, STATUS= and WATCHDOG=1, a datagram each.
 *
 * Called by main.c at the turns of the daemon's life and by its loop for the watchdog. Nothing is
 * kept: the environment says where to, each time, and a socket lives for one message.
 * Type=notify-reload (systemd 253) wants the time beside RELOADING=1; older ones ignore it. The
 * manager's socket may be a path or, with '@' in front, an abstract name.
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "xlbd/cleanup.h"
#include "xlbd/log.h"
#include "xlbd/readiness.h"

int readiness_send(const char *socket_name, const char *message)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t length = strlen(socket_name);
	_cleanup_close_ int fd = -1;

	if (length < 2 || length >= sizeof(to.sun_path) ||
	    (socket_name[0] != '/' && socket_name[0] != '@'))
		return -EINVAL;
	memcpy(to.sun_path, socket_name, length);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* an abstract name is as long as it is said to be, so its end is not counted */
	if (sendto(fd, message, strlen(message), MSG_NOSIGNAL | MSG_DONTWAIT,
	           (struct sockaddr *)&to,
	           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		return -errno;
	return 0;
}

static void notify(const char *message)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int r;

	if (!name || !name[0])
		return;
	r = readiness_send(name, message);
	if (r < 0)
		log_debug("readiness", "cannot tell the service manager '%s': %s", message,
		          strerror(-r));
}

/* A newline in it would begin another word of the protocol. */
static void notify_status(const char *before, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));

static void notify_status(const char *before, const char *format, va_list arguments)
{
	char message[500];
	size_t used = (size_t)snprintf(message, sizeof(message), "%sSTATUS=", before);

	vsnprintf(message + used, sizeof(message) - used, format, arguments);
	for (char *byte = message + used; *byte; byte++)
		if (*byte == '\n')
			*byte = ' ';
	notify(message);
}

void readiness_ready(const char *status_format, ...)
{
	va_list arguments;

	va_start(arguments, status_format);
	notify_status("READY=1\n", status_format, arguments);
	va_end(arguments);
}

void readiness_status(const char *status_format, ...)
{
	va_list arguments;

	va_start(arguments, status_format);
	notify_status("", status_format, arguments);
	va_end(arguments);
}

void readiness_reloading(void)
{
	char message[80];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(message, sizeof(message), "RELOADING=1\nMONOTONIC_USEC=%lld",
	         (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	notify(message);
}

void readiness_stopping(void)
{
	notify("STOPPING=1");
}

static bool read_number(const char *text, uint64_t *ret)
{
	char *end;
	unsigned long long value;

	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end)
		return false;
	*ret = value;
	return true;
}

unsigned readiness_watchdog_period(void)
{
	const char *whose = getenv("WATCHDOG_PID");
	uint64_t period, pid;

	if (!read_number(getenv("WATCHDOG_USEC"), &period) || period < 2000 ||
	    period / 2000 > INT32_MAX)
		return 0;
	if (whose && (!read_number(whose, &pid) || pid != (uint64_t)getpid()))
		return 0;
	return (unsigned)(period / 2000);
}

void readiness_watchdog(void)
{
	notify("WATCHDOG=1");
}
