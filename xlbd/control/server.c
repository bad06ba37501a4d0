// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * server.c - the control socket: who may speak, how much, and how a line becomes an answer.
 *
 * Owns the listening socket (its file too: made with the right mode before anybody can connect,
 * removed at the end if it is still ours) and up to 32 clients. A client is a bufferevent; serve()
 * is the one place where it moves on: it makes at most one answer, or some lines of a long one, and
 * leaves the rest to the next turn of the loop, so that no client can keep the daemon from its work
 * by asking a lot. What has been answered and not been read yet stops the reading of further
 * requests; a client that takes nothing for a while is dropped, one that is silent for minutes too,
 * one whose line does not end is told and dropped. Some places are kept for root, so that those who
 * only look cannot lock out those who may change something. Relies on SIGPIPE being ignored, and
 * sees to it. Knows no command: the table comes from commands.c (or a test).
 */
#define _GNU_SOURCE /* struct ucred */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <utlist.h>

#include "xlbd/control/command.h"
#include "xlbd/control/server.h"
#include "xlbd/log.h"

#define TOPIC "control"

static const struct control_limits defaults = {
	.request = 64 * 1024,
	.queue = 256 * 1024,
	.clients = 32,
	.reserved = 4,
	.idle = 5 * 60 * 1000,
	.stalled = 30 * 1000,
};

struct client {
	struct client *prev, *next;
	struct control *control;
	struct bufferevent *channel;
	uid_t uid;
	pid_t pid;
	bool may_change;
	bool ended;   /* it sends nothing more */
	bool closing; /* we read nothing more; it goes when all is sent */
	struct control_stream stream;
	json_t *last; /* line after the stream */
};

struct control {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *again; /* listens again after accept() failed */
	struct control_setup setup;
	struct client *clients;
	unsigned client_count, plain_count; /* plain: of those that may change nothing */
	struct control_counts counts;
	struct log_limit limit;
	char *path;
	dev_t device; /* of the socket's file */
	ino_t inode;
};

/* ---- answers ---------------------------------------------------------------------------------- */

static int add_bytes(const char *bytes, size_t length, void *buffer)
{
	return evbuffer_add(buffer, bytes, length);
}

static void send_line(struct client *client, const json_t *value)
{
	struct evbuffer *out = bufferevent_get_output(client->channel);

	if (json_dump_callback(value, add_bytes, out, JSON_COMPACT) < 0)
		client->closing = true;
	evbuffer_add(out, "\n", 1);
}

static void send_item(struct client *client)
{
	json_t *item = client->stream.next(client->stream.state);

	if (item) {
		json_t *line = json_pack("{s:o}", "item", item);

		send_line(client, line);
		json_decref(line);
		return;
	}
	client->stream.release(client->stream.state);
	client->stream = (struct control_stream){};
	json_object_set_new(client->last, "end", json_true());
	send_line(client, client->last);
	json_decref(take_ptr(client->last));
}

/* ---- requests --------------------------------------------------------------------------------- */

/* One line, its end taken away. */
static void answer(struct client *client, const char *line, size_t length)
{
	struct control_counts *counts = &client->control->counts;
	struct control_call call = {
		.context = client->control->setup.context,
		.uid = client->uid,
		.pid = client->pid,
		.may_change = client->may_change,
	};
	int r = command_run(client->control->setup.commands, line, length, &call);

	counts->requests++;
	if (r < 0)
		counts->errors++;
	if (r >= 0 && call.stream.next) {
		client->stream = call.stream;
		client->last = call.answer;
		return;
	}
	send_line(client, call.answer);
	json_decref(call.answer);
}

static void refuse(struct client *client, int result, const char *sentence)
{
	struct control_call call = {.answer = json_object()};

	control_fail(&call, result, "%s", sentence);
	send_line(client, call.answer);
	json_decref(call.answer);
	client->control->counts.errors++;
	client->closing = true;
}

/* Takes one request and answers it; false: there is none (yet). */
static bool next_request(struct client *client)
{
	size_t most = client->control->setup.limits.request, length = 0;
	struct evbuffer *in = bufferevent_get_input(client->channel);
	_cleanup_free_ char *line = evbuffer_readln(in, &length, EVBUFFER_EOL_LF);

	if (!line && client->ended && evbuffer_get_length(in) > 0) {
		length = evbuffer_get_length(in);
		line = malloc(length);
		if (line)
			evbuffer_remove(in, line, length);
	}
	if (length > most || (!line && evbuffer_get_length(in) > most)) {
		char sentence[80];

		snprintf(sentence, sizeof(sentence), "request longer than %zu bytes", most);
		refuse(client, -EMSGSIZE, sentence);
		return false;
	}
	if (!line) {
		client->closing = client->ended;
		return false;
	}
	if (strspn(line, " \t\r") < length)
		answer(client, line, length);
	return true;
}

/* ---- clients ---------------------------------------------------------------------------------- */

static void client_free(struct client *client)
{
	struct control *control = client->control;

	DL_DELETE(control->clients, client);
	control->client_count--;
	control->plain_count -= !client->may_change;
	if (client->stream.release)
		client->stream.release(client->stream.state);
	json_decref(client->last);
	bufferevent_free(client->channel);
	free(client);
}

static void drop(struct client *client, const char *why)
{
	struct control *control = client->control;

	control->counts.dropped_clients++;
	if (log_allowed(&control->limit, 5, TOPIC))
		log_warning(TOPIC, "client of uid %u, process %d dropped: %s",
		            (unsigned)client->uid, (int)client->pid, why);
	client_free(client);
}

/* Moves the client on by one step; it may be gone afterwards. */
static void serve(struct client *client)
{
	size_t queue = client->control->setup.limits.queue;
	struct evbuffer *out = bufferevent_get_output(client->channel);
	bool more = false;

	if (!client->closing && !client->stream.next && evbuffer_get_length(out) < queue)
		more = next_request(client);
	while (client->stream.next && !client->closing && evbuffer_get_length(out) < queue)
		send_item(client);
	if (client->closing && evbuffer_get_length(out) == 0) {
		client_free(client);
		return;
	}
	if (client->closing || client->ended || client->stream.next ||
	    evbuffer_get_length(out) >= queue)
		bufferevent_disable(client->channel, EV_READ);
	else
		bufferevent_enable(client->channel, EV_READ);
	if (more && evbuffer_get_length(out) < queue)
		bufferevent_trigger(client->channel, EV_READ,
		                    BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

static void on_moved(struct bufferevent *channel, void *context)
{
	(void)channel;
	serve(context);
}

static void on_event(struct bufferevent *channel, short what, void *context)
{
	struct client *client = context;

	(void)channel;
	if (what & BEV_EVENT_EOF) {
		client->ended = true;
		serve(client);
	} else if ((what & BEV_EVENT_TIMEOUT) && (what & BEV_EVENT_WRITING)) {
		drop(client, "it does not read its answers");
	} else if (what & BEV_EVENT_TIMEOUT) {
		client->control->counts.dropped_clients++;
		refuse(client, -ETIMEDOUT, "nothing was asked for a long time");
		serve(client);
	} else {
		client_free(client);
	}
}

static struct timeval milliseconds(unsigned value)
{
	return (struct timeval){.tv_sec = value / 1000, .tv_usec = value % 1000 * 1000};
}

static int client_new(struct control *control, int fd, const struct ucred *who)
{
	const struct control_limits *limits = &control->setup.limits;
	struct timeval idle = milliseconds(limits->idle), stalled = milliseconds(limits->stalled);
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	client->channel = bufferevent_socket_new(control->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!client->channel) {
		free(client);
		return -ENOMEM;
	}
	client->control = control;
	client->uid = who->uid;
	client->pid = who->pid;
	client->may_change = who->uid == 0 || who->uid == geteuid();
	DL_APPEND(control->clients, client);
	control->client_count++;
	control->plain_count += !client->may_change;
	bufferevent_setcb(client->channel, on_moved, on_moved, on_event, client);
	bufferevent_setwatermark(client->channel, EV_READ, 0, limits->request + 1);
	bufferevent_set_timeouts(client->channel, &idle, &stalled);
	bufferevent_enable(client->channel, EV_READ | EV_WRITE);
	return 0;
}

/* NULL: there is room for it. */
static const char *no_room(const struct control *control, const struct ucred *who)
{
	const struct control_limits *limits = &control->setup.limits;

	if (control->client_count >= limits->clients)
		return "too many clients are connected";
	if (who->uid != 0 && who->uid != geteuid() &&
	    control->plain_count + limits->reserved >= limits->clients)
		return "too many clients are connected; the last places are root's";
	return NULL;
}

static void turn_away(struct control *control, int fd, const char *why)
{
	char line[160];
	int length = snprintf(line, sizeof(line),
	                      "{\"ok\":false,\"schema\":%d,\"code\":\"EBUSY\",\"error\":\"%s\"}\n",
	                      CONTROL_SCHEMA, why);

	control->counts.refused_clients++;
	if (log_allowed(&control->limit, 5, TOPIC))
		log_warning(TOPIC, "client refused: %s", why);
	/* it fits into an empty socket buffer, or the client does not hear why */
	(void)!send(fd, line, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
                      int length, void *context)
{
	struct control *control = context;
	struct ucred who = {.uid = (uid_t)-1};
	socklen_t size = sizeof(who);
	const char *why;

	(void)listener;
	(void)from;
	(void)length;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		who.uid = (uid_t)-1;
	why = no_room(control, &who);
	if (!why && client_new(control, fd, &who) < 0)
		why = "out of memory";
	if (why)
		turn_away(control, fd, why);
}

/* accept() failed, most likely for want of descriptors: the socket stays readable, so wait instead of spinning. */
static void on_accept_error(struct evconnlistener *listener, void *context)
{
	struct control *control = context;
	struct timeval second = {.tv_sec = 1};

	if (log_allowed(&control->limit, 5, TOPIC))
		log_warning(TOPIC, "cannot accept a client, trying again in a second: %s",
		            strerror(EVUTIL_SOCKET_ERROR()));
	evconnlistener_disable(listener);
	evtimer_add(control->again, &second);
}

static void on_again(evutil_socket_t fd, short what, void *context)
{
	struct control *control = context;

	(void)fd;
	(void)what;
	evconnlistener_enable(control->listener);
}

/* ---- the socket ------------------------------------------------------------------------------- */

/* The path is taken: away with it if it is a socket that nobody listens on. */
static int clear_stale(const struct sockaddr_un *name)
{
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (lstat(name->sun_path, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* EAGAIN: its queue of clients is full, so somebody listens */
	if (connect(fd, (const struct sockaddr *)name, sizeof(*name)) == 0 || errno == EAGAIN)
		return -EADDRINUSE;
	if (errno != ECONNREFUSED)
		return -errno;
	return unlink(name->sun_path) < 0 ? -errno : 0;
}

static int bind_private(int fd, const struct sockaddr_un *name)
{
	mode_t before = umask(0177);
	int r = bind(fd, (const struct sockaddr *)name, sizeof(*name)) < 0 ? -errno : 0;

	umask(before);
	return r;
}

static int open_to_group(const char *path, const char *group)
{
	const struct group *entry = getgrnam(group);

	if (!entry)
		return log_errno(-ESRCH, TOPIC, "no group '%s' for %s", group, path);
	if (chown(path, (uid_t)-1, entry->gr_gid) < 0)
		return log_errno(-errno, TOPIC, "cannot give %s to group '%s'", path, group);
	if (chmod(path, 0660) < 0)
		return log_errno(-errno, TOPIC, "cannot set the mode of %s", path);
	return 0;
}

/* The listening socket, its file made before anybody but us may connect. */
static int open_socket(struct control *control, const char *group, int *ret)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;
	struct stat status;
	int r;

	if (strlen(control->path) >= sizeof(name.sun_path))
		return log_errno(-ENAMETOOLONG, TOPIC, "cannot listen on %s", control->path);
	strcpy(name.sun_path, control->path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return log_errno(-errno, TOPIC, "cannot make a socket");
	r = bind_private(fd, &name);
	if (r == -EADDRINUSE) {
		r = clear_stale(&name);
		if (r == 0)
			r = bind_private(fd, &name);
	}
	if (r < 0)
		return log_errno(r, TOPIC, "cannot listen on %s%s", control->path,
		                 r == -EADDRINUSE ? ", another xlbd does"
		                 : r == -EEXIST   ? ", something else is there"
		                                  : "");
	if (lstat(control->path, &status) == 0) {
		control->device = status.st_dev;
		control->inode = status.st_ino;
	}
	r = group ? open_to_group(control->path, group) : 0;
	if (r < 0)
		return r;
	*ret = take_fd(&fd);
	return 0;
}

static void take_defaults(struct control_limits *limits)
{
	limits->request = limits->request ? limits->request : defaults.request;
	limits->queue = limits->queue ? limits->queue : defaults.queue;
	limits->clients = limits->clients ? limits->clients : defaults.clients;
	limits->reserved = limits->reserved ? limits->reserved : defaults.reserved;
	limits->idle = limits->idle ? limits->idle : defaults.idle;
	limits->stalled = limits->stalled ? limits->stalled : defaults.stalled;
}

int control_listen(struct event_base *base, const char *path, const char *group,
                   const struct control_setup *setup, struct control **ret)
{
	_cleanup_(control_stopp) struct control *control = calloc(1, sizeof(*control));
	int fd, r;

	if (!control) {
		if (setup->release)
			setup->release(setup->context);
		return log_errno(-ENOMEM, TOPIC, "cannot listen on %s", path);
	}
	control->base = base;
	control->setup = *setup;
	take_defaults(&control->setup.limits);
	control->path = strdup(path);
	control->again = evtimer_new(base, on_again, control);
	if (!control->path || !control->again)
		return log_errno(-ENOMEM, TOPIC, "cannot listen on %s", path);
	r = open_socket(control, group, &fd);
	if (r < 0)
		return r;
	signal(SIGPIPE, SIG_IGN);
	control->listener = evconnlistener_new(
		base, on_accept, control, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 16, fd);
	if (!control->listener) {
		close(fd);
		return log_errno(-EIO, TOPIC, "cannot listen on %s", path);
	}
	evconnlistener_set_error_cb(control->listener, on_accept_error);
	*ret = take_ptr(control);
	return 0;
}

struct control *control_stop(struct control *control)
{
	struct client *client, *next;
	struct stat status;

	if (!control)
		return NULL;
	DL_FOREACH_SAFE(control->clients, client, next)
	client_free(client);
	if (control->listener)
		evconnlistener_free(control->listener);
	if (control->again)
		event_free(control->again);
	if (control->inode && lstat(control->path, &status) == 0 &&
	    status.st_dev == control->device && status.st_ino == control->inode)
		unlink(control->path);
	if (control->setup.release)
		control->setup.release(control->setup.context);
	free(control->path);
	free(control);
	return NULL;
}

void control_counts(const struct control *control, struct control_counts *ret)
{
	*ret = control->counts;
}
