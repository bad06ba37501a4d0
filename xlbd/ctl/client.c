// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * client.c - a line to the control socket, lines back.
 *
 * xlbctl's side of control/server.c. Blocking, one question at a time, with a deadline for each
 * piece of the answer: a daemon that hangs must not hang the operator. A server that turns us away
 * says why before it closes, so an answer is looked for even when the question could not be sent.
 * Prints nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "xlbd/ctl/client.h"

struct client {
	int fd;
	FILE *in;
};

int client_open(const char *path, struct client **ret)
{
	_cleanup_(client_closep) struct client *client = calloc(1, sizeof(*client));
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct timeval wait = {.tv_sec = CLIENT_WAIT};

	if (!client)
		return -ENOMEM;
	client->fd = -1;
	if (strlen(path) >= sizeof(name.sun_path))
		return -ENAMETOOLONG;
	strcpy(name.sun_path, path);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0)
		return -errno;
	setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(client->fd, (struct sockaddr *)&name, sizeof(name)) < 0)
		return -errno;
	client->in = fdopen(client->fd, "r");
	if (!client->in)
		return -errno;
	*ret = take_ptr(client);
	return 0;
}

struct client *client_close(struct client *client)
{
	if (client && client->in)
		fclose(client->in);
	else if (client)
		close_fd(&client->fd);
	free(client);
	return NULL;
}

static int send_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t sent = send(fd, text, length, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -errno;
		text += sent;
		length -= (size_t)sent;
	}
	return 0;
}

static int send_request(struct client *client, json_t *request)
{
	_cleanup_free_ char *text = json_dumps(request, JSON_COMPACT);
	int r;

	json_decref(request);
	if (!text)
		return -ENOMEM;
	r = send_all(client->fd, text, strlen(text));
	return r < 0 ? r : send_all(client->fd, "\n", 1);
}

/* The next line as a value. */
static int read_value(struct client *client, json_t **ret)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t length;
	json_t *value;

	errno = 0;
	length = getline(&line, &room, client->in);
	if (length < 0)
		return errno == EAGAIN ? -ETIMEDOUT : errno ? -errno : -EPIPE;
	value = json_loadb(line, (size_t)length, 0, NULL);
	if (!json_is_object(value)) {
		json_decref(value);
		return -EPROTO;
	}
	*ret = value;
	return 0;
}

int client_ask(struct client *client, json_t *request,
               void (*item)(void *context, const json_t *item), void *context, json_t **ret)
{
	int sent = send_request(client, request), r;

	for (;;) {
		json_t *value = NULL, *one;

		r = read_value(client, &value);
		if (r < 0)
			return sent < 0 ? sent : r;
		one = json_object_get(value, "item");
		if (!one) {
			*ret = value;
			return 0;
		}
		if (item)
			item(context, one);
		json_decref(value);
	}
}
