// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * link.c - one connection to the control socket, one question at a time, never blocking.
 *
 * xlbctl's client.c waits for its answer; this program must not, because snmpd waits for it: a
 * daemon that is stopped or slow may cost fresh figures and nothing else. So the question is sent
 * when main.c's clock says so, and the pieces of the answer are taken as they come. Any error
 * closes the connection; the next question makes a new one. Relies on SIGPIPE not being wanted
 * (MSG_NOSIGNAL). Logs nothing.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "snmp/link.h"

struct link {
	char *path;
	int fd;
	bool asked;
	int64_t asked_at;
	char *text; /* of the answer, so far */
	size_t length, room;
};

struct link *link_new(const char *path)
{
	_cleanup_(link_freep) struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->fd = -1;
	link->path = strdup(path);
	return link->path ? take_ptr(link) : NULL;
}

static int hang_up(struct link *link, int result)
{
	close_fd(&link->fd);
	link->asked = false;
	link->length = 0;
	return result;
}

struct link *link_free(struct link *link)
{
	if (!link)
		return NULL;
	hang_up(link, 0);
	free(link->text);
	free(link->path);
	free(link);
	return NULL;
}

static int connect_to(struct link *link)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	if (strlen(link->path) >= sizeof(name.sun_path))
		return -ENAMETOOLONG;
	strcpy(name.sun_path, link->path);
	link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link->fd < 0)
		return -errno;
	/* of a socket of this kind, connect() is done at once or fails: EAGAIN, its queue is full */
	if (connect(link->fd, (struct sockaddr *)&name, sizeof(name)) < 0)
		return hang_up(link, -errno);
	return 0;
}

int link_ask(struct link *link, const char *command, int64_t now_ms)
{
	char question[100];
	int length = snprintf(question, sizeof(question), "{\"command\":\"%s\"}\n", command), r;

	if (link->asked && now_ms - link->asked_at > LINK_PATIENCE)
		return hang_up(link, -ETIMEDOUT);
	if (link->asked)
		return 0;
	r = link->fd < 0 ? connect_to(link) : 0;
	if (r < 0)
		return r;
	if (send(link->fd, question, (size_t)length, MSG_NOSIGNAL) != length)
		return hang_up(link, errno == EAGAIN ? -ETIMEDOUT : -errno);
	link->asked = true;
	link->asked_at = now_ms;
	return 0;
}

int link_fd(const struct link *link)
{
	return link->fd;
}

static int make_room(struct link *link)
{
	size_t room = link->room ? link->room * 2 : 64 * 1024;
	char *text;

	if (link->length < link->room)
		return 0;
	if (room > LINK_ANSWER_MOST)
		return -EMSGSIZE;
	text = realloc(link->text, room);
	if (!text)
		return -ENOMEM;
	link->text = text;
	link->room = room;
	return 0;
}

static int take_line(struct link *link, size_t length, json_t **ret)
{
	json_t *answer = json_loadb(link->text, length, 0, NULL);

	if (!json_is_object(answer)) {
		json_decref(answer);
		return hang_up(link, -EPROTO);
	}
	link->length = 0; /* one question, one line */
	link->asked = false;
	*ret = answer;
	return 1;
}

int link_read(struct link *link, json_t **ret)
{
	for (;;) {
		int r = make_room(link);
		const char *end;
		ssize_t got;

		if (r < 0)
			return hang_up(link, r);
		got = recv(link->fd, link->text + link->length, link->room - link->length, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? 0 : hang_up(link, -errno);
		if (got == 0)
			return hang_up(link, -EPIPE);
		end = memchr(link->text + link->length, '\n', (size_t)got);
		link->length += (size_t)got;
		if (end)
			return take_line(link, (size_t)(end - link->text), ret);
	}
}
