/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netlab.h - network namespaces of their own for tests that ask the real kernel.
 *
 * The test process itself moves into a fresh namespace; peers are further namespaces held by children that die with it, so nothing
 * is left behind whatever happens. No names, no sleeps: waiting is for a condition, with a deadline.
 */
#ifndef XLBD_TESTS_NETLAB_H
#define XLBD_TESTS_NETLAB_H

#include <stdbool.h>
#include <sys/types.h>

struct event_base;

/* Exits 77, saying why, if a namespace is not to be had. lo is up afterwards. */
void netlab_enter(void);
/* Like netlab_enter(), for the next test of the same program: a fresh namespace. */
void netlab_again(void);
/* A child that holds another namespace; its pid is the namespace's name for `ip link set DEV netns PID`. */
pid_t netlab_peer(void);
void netlab_peer_end(pid_t peer);

/* A shell command; false if it failed. */
bool netlab_try(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and the test fails with it. */
void netlab_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
void netlab_peer_run(pid_t peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs the loop until the condition holds. False: it did not within `ms`. */
bool netlab_until(struct event_base *base, bool (*condition)(void *context), void *context,
                  unsigned ms);
/* Runs the loop for `ms`, to show that something does not happen. */
void netlab_for(struct event_base *base, unsigned ms);
double netlab_now_ms(void);
double netlab_cpu_ms(void); /* of this process: what other load on the machine does not change */

#endif
