// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * events.c - listens to keepalived: two FIFOs, a line an event.
 *
 * main.c starts it once and stops it at the end. Each FIFO is opened for reading and writing, so there is no end of file
 * when keepalived goes, and what it writes while nobody reads is kept. A line of the LVS FIFO means only "look at the
 * table now"; a line of a VRRP instance carries its state. Lines get lost when the pipe is full, so nothing may
 * depend on them, and whoever writes here can at worst make us look once too often: lines are bounded, what is
 * not understood is counted and forgotten.
 *
 * A FIFO that keepalived made before we came is unlinked and made anew by each of its reloads. So once a second the name is
 * compared with what is open, and opened again if it is another; from then on the FIFO is ours and stays.
 */
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "xlbd/keepalived/events.h"
#include "xlbd/log.h"

#define TOPIC          "events"
#define LINE_ROOM      4096 /* PIPE_BUF: keepalived writes no longer line */
#define PIPE_SIZE      (1 << 20)
#define READ_SIZE      65536
#define WATCH_INTERVAL 1 /* seconds */

struct fifo {
	struct events *events;
	char *path; /* NULL: not wanted */
	int fd;
	struct event *readable;
	char line[LINE_ROOM];
	size_t used;
	bool overlong; /* skipping to the end of the line */
	bool troubled; /* said that it cannot be opened again */
	struct log_limit limit;
};

struct events {
	struct event_base *base;
	struct events_callbacks callbacks;
	struct events_counts counts;
	struct fifo lvs, vrrp;
	struct event *watch;
};

/* ---- lines ------------------------------------------------------------------------------------ */

static const struct {
	const char *word;
	enum event_kind kind;
	enum vrrp_state state;
} states[] = {
	{"MASTER", EVENT_INSTANCE, VRRP_MASTER},
	{"BACKUP", EVENT_INSTANCE, VRRP_BACKUP},
	{"FAULT", EVENT_INSTANCE, VRRP_FAULT},
	{"STOP", EVENT_INSTANCE, VRRP_STOP},
	{"DELETED", EVENT_INSTANCE, VRRP_DELETED},
	/* news, but not of another state: BACKUP_PRIORITY may come from a master */
	{"MASTER_RX_LOWER_PRI", EVENT_NONE, VRRP_UNKNOWN},
	{"MASTER_PRIORITY", EVENT_NONE, VRRP_UNKNOWN},
	{"BACKUP_PRIORITY", EVENT_NONE, VRRP_UNKNOWN},
};

/* ` STATE PRIORITY`, what follows a name. */
static bool parse_state(const char *text, struct event_line *line)
{
	size_t length, found = 0;
	unsigned long priority;
	char *end;

	if (*text != ' ')
		return false;
	length = strcspn(++text, " ");
	while (found < ARRAY_SIZE(states) &&
	       (strlen(states[found].word) != length || strncmp(states[found].word, text, length)))
		found++;
	text += length;
	if (found == ARRAY_SIZE(states) || *text != ' ' || text[1] < '0' || text[1] > '9')
		return false;
	priority = strtoul(text + 1, &end, 10);
	if (*end || priority > UINT8_MAX)
		return false;
	line->kind = states[found].kind;
	line->state = states[found].state;
	line->priority = (uint8_t)priority;
	return true;
}

/* "name" STATE PRIORITY; a name may hold blanks, and nothing in it is escaped. */
static bool parse_vrrp(const char *text, struct event_line *line)
{
	const char *end = strrchr(text, '"');
	size_t length;

	if (*text != '"' || end == text)
		return false;
	length = (size_t)(end - text - 1);
	if (!length || length >= sizeof(line->instance) || !parse_state(end + 1, line))
		return false;
	memcpy(line->instance, text + 1, length);
	return true;
}

/* At least `words` words, of which the last is UP or DOWN. */
static bool is_lvs(const char *text, unsigned words)
{
	const char *last = strrchr(text, ' ');

	if (!last || (strcmp(last, " UP") && strcmp(last, " DOWN")))
		return false;
	for (; words && *text; words--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return words == 0;
}

bool event_parse(const char *line, struct event_line *ret)
{
	struct event_line parsed = {};
	bool good;

	if (!strncmp(line, "VS ", 3) || !strncmp(line, "RS ", 3)) {
		parsed.kind = EVENT_LVS;
		good = is_lvs(line, *line == 'V' ? 3 : 4);
	} else if (!strncmp(line, "INSTANCE ", 9)) {
		good = parse_vrrp(line + 9, &parsed);
	} else if (!strncmp(line, "GROUP ", 6)) {
		good = parse_vrrp(line + 6, &parsed);
		parsed = (struct event_line){}; /* its instances say it themselves */
	} else {
		good = false;
	}
	if (good)
		*ret = parsed;
	return good;
}

/* Returns true if the line asks for a look at the table. */
static bool take_line(struct fifo *fifo)
{
	struct events *events = fifo->events;
	struct event_line line;

	fifo->line[fifo->used] = '\0';
	if (strlen(fifo->line) != fifo->used || !event_parse(fifo->line, &line)) {
		events->counts.garbage++;
		if (log_allowed(&fifo->limit, 3, TOPIC))
			log_warning(TOPIC, "line '%.100s' from %s is not understood, ignoring",
			            fifo->line, fifo->path);
		return false;
	}
	events->counts.lines++;
	log_debug(TOPIC, "%s", fifo->line);
	if (line.kind == EVENT_INSTANCE && events->callbacks.instance)
		events->callbacks.instance(events->callbacks.context, line.instance, line.state);
	return line.kind == EVENT_LVS;
}

/* One piece of what was written, which may begin and end within lines. */
static void take_bytes(struct fifo *fifo, const char *bytes, size_t length)
{
	struct events *events = fifo->events;
	bool look = false;

	while (length) {
		const char *newline = memchr(bytes, '\n', length);
		size_t part = newline ? (size_t)(newline - bytes) : length;

		if (!fifo->overlong && fifo->used + part >= LINE_ROOM) {
			fifo->overlong = true;
			events->counts.overlong++;
		}
		if (!fifo->overlong) {
			memcpy(fifo->line + fifo->used, bytes, part);
			fifo->used += part;
		}
		if (!newline)
			break;
		if (!fifo->overlong && take_line(fifo))
			look = true;
		fifo->overlong = false;
		fifo->used = 0;
		bytes += part + 1;
		length -= part + 1;
	}
	if (look && events->callbacks.look)
		events->callbacks.look(events->callbacks.context);
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct fifo *fifo = context;
	char bytes[READ_SIZE];
	ssize_t length = read(fd, bytes, sizeof(bytes));

	(void)what;
	if (length > 0)
		take_bytes(fifo, bytes, (size_t)length);
	else if (length < 0 && errno != EAGAIN && errno != EINTR &&
	         log_allowed(&fifo->limit, 3, TOPIC))
		log_warning(TOPIC, "cannot read %s: %s", fifo->path, strerror(errno));
}

/* ---- FIFOs ------------------------------------------------------------------------------------ */

/* Neither follows a symbolic link nor blocks; what is there already must be a FIFO. */
static int open_fifo(const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (mkfifo(path, 0600) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(path, &status) < 0)
		return -errno;
	if (!S_ISFIFO(status.st_mode))
		return -ENOTSUP;
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISFIFO(status.st_mode)) /* exchanged meanwhile */
		return -ENOTSUP;
	if (fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE) < 0)
		log_debug(TOPIC, "%s keeps its size: %s", path, strerror(errno));
	return take_fd(&fd);
}

static void fifo_close(struct fifo *fifo)
{
	if (fifo->readable)
		event_free(fifo->readable);
	fifo->readable = NULL;
	close_fd(&fifo->fd);
	fifo->used = 0;
	fifo->overlong = false;
}

static int fifo_open(struct fifo *fifo)
{
	int fd = open_fifo(fifo->path);

	if (fd < 0)
		return fd;
	fifo_close(fifo);
	fifo->fd = fd;
	fifo->readable = event_new(fifo->events->base, fd, EV_READ | EV_PERSIST, on_readable, fifo);
	if (!fifo->readable || event_add(fifo->readable, NULL) < 0)
		return -ENOMEM;
	return 0;
}

static bool fifo_is_there(const struct fifo *fifo)
{
	struct stat open, named;

	return fifo->fd >= 0 && fstat(fifo->fd, &open) == 0 && lstat(fifo->path, &named) == 0 &&
	       open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/* What was written into the old one before it went is not lost. */
static void fifo_watch(struct fifo *fifo)
{
	int r;

	if (!fifo->path || fifo_is_there(fifo))
		return;
	if (fifo->fd >= 0)
		on_readable(fifo->fd, EV_READ, fifo);
	r = fifo_open(fifo);
	if (r < 0 && !fifo->troubled)
		log_errno(r, TOPIC, "%s is gone and cannot be opened again", fifo->path);
	else if (r >= 0)
		log_notice(TOPIC, "%s was made anew, listening to the new one", fifo->path);
	fifo->troubled = r < 0;
}

static void on_watch(evutil_socket_t fd, short what, void *context)
{
	struct events *events = context;

	(void)fd;
	(void)what;
	fifo_watch(&events->lvs);
	fifo_watch(&events->vrrp);
}

/* ---- life ------------------------------------------------------------------------------------- */

static int start_fifo(struct events *events, struct fifo *fifo, const char *path)
{
	int r;

	if (!path)
		return 0;
	fifo->events = events;
	fifo->path = strdup(path);
	if (!fifo->path)
		return -ENOMEM;
	r = fifo_open(fifo);
	if (r == -ENOTSUP)
		log_error(TOPIC, "cannot listen to %s: it is there and not a FIFO", path);
	else if (r < 0)
		log_errno(r, TOPIC, "cannot listen to %s", path);
	return r;
}

int events_start(struct event_base *base, const char *lvs_fifo, const char *vrrp_fifo,
                 const struct events_callbacks *callbacks, struct events **ret)
{
	_cleanup_(events_stopp) struct events *events = calloc(1, sizeof(*events));
	const struct timeval interval = {.tv_sec = WATCH_INTERVAL};
	int r;

	if (!events)
		return log_errno(-ENOMEM, TOPIC, "cannot listen to keepalived");
	events->base = base;
	events->callbacks = *callbacks;
	events->lvs.fd = events->vrrp.fd = -1;
	r = start_fifo(events, &events->lvs, lvs_fifo);
	if (r < 0)
		return r;
	r = start_fifo(events, &events->vrrp, vrrp_fifo);
	if (r < 0)
		return r;
	events->watch = event_new(base, -1, EV_PERSIST, on_watch, events);
	if (!events->watch || event_add(events->watch, &interval) < 0)
		return log_errno(-ENOMEM, TOPIC, "cannot listen to keepalived");
	*ret = take_ptr(events);
	return 0;
}

struct events *events_stop(struct events *events)
{
	if (!events)
		return NULL;
	fifo_close(&events->lvs);
	fifo_close(&events->vrrp);
	free(events->lvs.path);
	free(events->vrrp.path);
	if (events->watch)
		event_free(events->watch);
	free(events);
	return NULL;
}

void events_counts(const struct events *events, struct events_counts *ret)
{
	*ret = events->counts;
}
