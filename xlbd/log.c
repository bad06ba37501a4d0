// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * log.c - writes the daemon's lines to stderr or to syslog.
 *
 * The only file with globals: a log line must be possible from anywhere, before and after everything else.
 * Each line leaves in one write, so lines of several processes do not mix. Under systemd ($JOURNAL_STREAM) the
 * level goes in front as <N>; elsewhere as a word.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "xlbd/log.h"

static struct {
	bool to_syslog;
	bool journal;
	char program[32];
	char debug[256]; /* ",topic,topic," */
} sink = {.program = "xlbd"};

static const struct {
	int priority;
	const char *word;
} levels[] = {
	[LOG_LEVEL_ERROR] = {LOG_ERR, "error"},      [LOG_LEVEL_WARNING] = {LOG_WARNING, "warning"},
	[LOG_LEVEL_NOTICE] = {LOG_NOTICE, "notice"}, [LOG_LEVEL_INFO] = {LOG_INFO, "info"},
	[LOG_LEVEL_DEBUG] = {LOG_DEBUG, "debug"},
};

void log_open(const char *program, bool to_syslog, const char *debug)
{
	snprintf(sink.program, sizeof(sink.program), "%s", program);
	sink.to_syslog = to_syslog;
	sink.journal = getenv("JOURNAL_STREAM") != NULL;
	if (debug)
		snprintf(sink.debug, sizeof(sink.debug), ",%s,", debug);
	if (to_syslog)
		openlog(sink.program, LOG_PID, LOG_DAEMON);
}

bool log_debugs(const char *topic)
{
	char wanted[64];

	if (!sink.debug[0])
		return false;
	snprintf(wanted, sizeof(wanted), ",%s,", topic);
	return strstr(sink.debug, wanted) || strstr(sink.debug, ",all,");
}

void log_line_v(enum log_level level, const char *topic, const char *format, va_list arguments)
{
	char line[1000];
	int used, more;

	if (level == LOG_LEVEL_DEBUG && !log_debugs(topic))
		return;
	used = sink.to_syslog ? 0
	       : sink.journal
	               ? snprintf(line, sizeof(line), "<%d>", levels[level].priority)
	               : snprintf(line, sizeof(line), "%s: %s: ", sink.program, levels[level].word);
	used += snprintf(line + used, sizeof(line) - (size_t)used, "%s: ", topic);
	more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, arguments);
	used = more < 0                              ? used
	       : used + more > (int)sizeof(line) - 2 ? (int)sizeof(line) - 2
	                                             : used + more;
	for (int i = 0; i < used; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = ' ';
	if (sink.to_syslog) {
		syslog(levels[level].priority, "%.*s", used, line);
		return;
	}
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)used) < 0)
		return; /* nobody reads our stderr: there is nowhere else to say so */
}

void log_line(enum log_level level, const char *topic, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_line_v(level, topic, format, arguments);
	va_end(arguments);
}

int log_errno(int result, const char *topic, const char *format, ...)
{
	char text[800];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_line(LOG_LEVEL_ERROR, topic, "%s: %s", text, strerror(-result));
	return result;
}

bool log_allowed(struct log_limit *limit, unsigned burst, const char *topic)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec / 10 != limit->window) {
		unsigned held = limit->held;

		*limit = (struct log_limit){.window = now.tv_sec / 10};
		if (held)
			log_line(LOG_LEVEL_WARNING, topic,
			         "%u more lines like the last were held back", held);
	}
	if (limit->seen++ < burst)
		return true;
	limit->held++;
	return false;
}
