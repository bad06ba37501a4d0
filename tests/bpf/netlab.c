// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netlab.c - network namespaces of their own for tests that ask the real kernel; see netlab.h.
 *
 * Commands go through the shell and are printed when they fail. A peer is a child that has left its parent's network namespace and
 * waits to be killed; the kernel kills it when the test dies first.
 */
#include "config.h" /* _GNU_SOURCE: unshare() */

#include <errno.h>
#include <event2/event.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bpf/netlab.h"

void netlab_enter(void)
{
	if (unshare(CLONE_NEWNET) < 0) {
		printf("skipped: no network namespace of our own: %s\n", strerror(errno));
		exit(77);
	}
	netlab_run("ip link set lo up");
}

void netlab_again(void)
{
	netlab_enter();
}

static void hold_namespace(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNET) < 0 || write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

pid_t netlab_peer(void)
{
	int ready[2];
	pid_t child;
	char byte;

	if (pipe(ready) < 0)
		abort();
	child = fork();
	if (child == 0)
		hold_namespace(ready[1]);
	close(ready[1]);
	if (child < 0 || read(ready[0], &byte, 1) != 1)
		abort();
	close(ready[0]);
	netlab_peer_run(child, "ip link set lo up");
	return child;
}

void netlab_peer_end(pid_t peer)
{
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
}

static bool __attribute__((format(printf, 2, 0)))
run(const char *prefix, const char *format, va_list arguments)
{
	char command[4000];
	int length = snprintf(command, sizeof(command), "%s", prefix);

	vsnprintf(command + length, sizeof(command) - (size_t)length, format, arguments);
	if (system(command) == 0)
		return true;
	printf("failed: %s\n", command);
	return false;
}

bool netlab_try(const char *format, ...)
{
	va_list arguments;
	bool worked;

	va_start(arguments, format);
	worked = run("", format, arguments);
	va_end(arguments);
	return worked;
}

void netlab_run(const char *format, ...)
{
	va_list arguments;
	bool worked;

	va_start(arguments, format);
	worked = run("", format, arguments);
	va_end(arguments);
	if (!worked)
		exit(1);
}

void netlab_peer_run(pid_t peer, const char *format, ...)
{
	char prefix[64];
	va_list arguments;
	bool worked;

	snprintf(prefix, sizeof(prefix), "nsenter -t %d -n ", (int)peer);
	va_start(arguments, format);
	worked = run(prefix, format, arguments);
	va_end(arguments);
	if (!worked)
		exit(1);
}

double netlab_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

double netlab_cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool never(void *context)
{
	(void)context;
	return false;
}

bool netlab_until(struct event_base *base, bool (*condition)(void *context), void *context,
                  unsigned ms)
{
	double deadline = netlab_now_ms() + ms;
	const struct timeval slice = {.tv_usec = 10000};

	while (!condition(context)) {
		if (netlab_now_ms() > deadline)
			return false;
		event_base_loopexit(base, &slice);
		event_base_dispatch(base);
	}
	return true;
}

void netlab_for(struct event_base *base, unsigned ms)
{
	(void)netlab_until(base, never, NULL, ms); /* the deadline is what is waited for */
}
