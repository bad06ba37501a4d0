/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * readiness.h - tells the service manager how far we are: sd_notify(3)'s protocol, without its
 * library.
 *
 * Everything is nothing if $NOTIFY_SOCKET is not set. Failures are logged at debug level only: who
 * does not listen does not matter.
 */
#ifndef XLBD_READINESS_H
#define XLBD_READINESS_H

#include <stdbool.h>

/* A status is one line for `systemctl status`. */
void readiness_ready(const char *status_format, ...) __attribute__((format(printf, 1, 2)));
void readiness_status(const char *status_format, ...) __attribute__((format(printf, 1, 2)));
void readiness_reloading(void); /* readiness_ready() ends it */
void readiness_stopping(void);

/*
 * How often readiness_watchdog() must be called, in ms: half of what the manager allows. 0: it does
 * not watch us (WatchdogSec= is not set, or meant for another process).
 */
unsigned readiness_watchdog_period(void);
void readiness_watchdog(void);

/* One datagram to a socket, "@name" being an abstract one. 0 or -errno. For the functions above and the test. */
int readiness_send(const char *socket_name, const char *message);

#endif
