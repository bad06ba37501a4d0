/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - one line for a person, with a topic and a level.
 *
 * error = we gave something up; warning = we go on, degraded; notice = role change, attach, reload;
 * info = what an operator asked for; debug = the rest. A message says what was tried, on what, and why it failed;
 * text that somebody else wrote stands in 'quotes'. No secrets.
 * The topic is the module's name, a word. To stderr (with <N> for journald when systemd runs us) or to syslog.
 */
#ifndef XLBD_LOG_H
#define XLBD_LOG_H

#include <stdarg.h>
#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

/* Once, before the first line. debug: comma-separated topics whose debug lines are wanted, "all", or NULL. */
void log_open(const char *program, bool to_syslog, const char *debug);
bool log_debugs(const char *topic);

void log_line(enum log_level level, const char *topic, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void log_line_v(enum log_level level, const char *topic, const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));

#define log_error(topic, ...)   log_line(LOG_LEVEL_ERROR, topic, __VA_ARGS__)
#define log_warning(topic, ...) log_line(LOG_LEVEL_WARNING, topic, __VA_ARGS__)
#define log_notice(topic, ...)  log_line(LOG_LEVEL_NOTICE, topic, __VA_ARGS__)
#define log_info(topic, ...)    log_line(LOG_LEVEL_INFO, topic, __VA_ARGS__)
#define log_debug(topic, ...)                                          \
	do {                                                           \
		if (log_debugs(topic))                                 \
			log_line(LOG_LEVEL_DEBUG, topic, __VA_ARGS__); \
	} while (0)

/* Logs an error with strerror(-result) behind it and returns `result`, so that callers can write `return log_errno(...)`. */
int log_errno(int result, const char *topic, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * For lines that a packet or a peer can cause: at most `burst` lines in 10 s for one struct log_limit; returns true
 * if the line may be written. What was held back is told by the next line that is let through.
 */
struct log_limit {
	long window;
	unsigned seen, held;
};
bool log_allowed(struct log_limit *limit, unsigned burst, const char *topic);

#endif
