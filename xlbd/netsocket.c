// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netsocket.c - one netlink socket: hear, dump, ask.
 *
 * network.c hears links and addresses, neighbours.c hears neighbours and routes, routes.c asks for routes, firewall.c dumps
 * rule sets; all of them through this file, so that the rules of netlink stand once: only messages of the kernel
 * count; a full receive buffer is ENOBUFS and means "dump again"; a dump that was interrupted says so in a flag;
 * and an answer is known by its sequence number.
 *
 * Questions go out in batches of one send(): the kernel works a datagram off message by message before send() returns, so
 * a thousand routes cost some thirty system calls and not two thousand. A batch is small enough for its answers to fit
 * the receive buffer.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "xlbd/netsocket.h"

enum {
	BATCH = 64,               /* questions in one datagram */
	DATAGRAM = 64 * 1024,     /* of the kernel: dumps come in up to 32 KiB */
	READS = 64,               /* datagrams taken before the loop gets its turn again */
	RECEIVE_BUFFER = 4 << 20, /* a thousand routes may change at once */
	PATIENCE = 2000,          /* ms; the kernel answers at once or not at all */
};

struct netsocket {
	struct mnl_socket *handle;
	uint32_t sequence;
	char datagram[DATAGRAM] __attribute__((aligned(8)));
	char batch[BATCH * NETSOCKET_QUESTION] __attribute__((aligned(8)));
};

int netsocket_open(int protocol, const unsigned *groups, size_t group_count, struct netsocket **ret)
{
	_cleanup_(netsocket_closep) struct netsocket *socket = calloc(1, sizeof(*socket));
	int buffer = RECEIVE_BUFFER, fd;

	if (!socket)
		return -ENOMEM;
	socket->handle = mnl_socket_open2(protocol, SOCK_CLOEXEC);
	if (!socket->handle)
		return -errno;
	fd = mnl_socket_get_fd(socket->handle);
	/* without CAP_NET_ADMIN over the initial namespace the system's limit has to do */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (mnl_socket_bind(socket->handle, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	for (size_t i = 0; i < group_count; i++) {
		int group = (int)groups[i];

		if (mnl_socket_setsockopt(socket->handle, NETLINK_ADD_MEMBERSHIP, &group,
		                          sizeof(group)) < 0)
			return -errno;
	}
	*ret = take_ptr(socket);
	return 0;
}

struct netsocket *netsocket_close(struct netsocket *socket)
{
	if (!socket)
		return NULL;
	if (socket->handle)
		mnl_socket_close(socket->handle);
	free(socket);
	return NULL;
}

int netsocket_fd(const struct netsocket *socket)
{
	return mnl_socket_get_fd(socket->handle);
}

/* One datagram of the kernel into socket->datagram: its length, 0 for one that somebody else sent, or -errno. */
static int receive(struct netsocket *socket)
{
	struct sockaddr_nl sender = {};
	struct iovec piece = {.iov_base = socket->datagram, .iov_len = sizeof(socket->datagram)};
	struct msghdr header = {.msg_name = &sender,
	                        .msg_namelen = sizeof(sender),
	                        .msg_iov = &piece,
	                        .msg_iovlen = 1};
	ssize_t length = recvmsg(netsocket_fd(socket), &header, MSG_DONTWAIT);

	if (length < 0)
		return -errno;
	if (header.msg_flags & MSG_TRUNC)
		return -ENOBUFS;
	return sender.nl_pid == 0 ? (int)length : 0;
}

/* As receive(), but waits. */
static int receive_patiently(struct netsocket *socket)
{
	struct pollfd waiting = {.fd = netsocket_fd(socket), .events = POLLIN};

	for (;;) {
		int length = receive(socket);
		int ready;

		if (length != -EAGAIN && length != -EINTR)
			return length;
		ready = poll(&waiting, 1, PATIENCE);
		if (ready == 0)
			return -ETIMEDOUT;
		if (ready < 0 && errno != EINTR)
			return -errno;
	}
}

int netsocket_read(struct netsocket *socket, netsocket_take *take, void *context)
{
	for (int i = 0; i < READS; i++) {
		const struct nlmsghdr *message = (const struct nlmsghdr *)socket->datagram;
		int left = receive(socket);

		if (left == -EAGAIN)
			return 0;
		if (left < 0 && left != -EINTR)
			return left;
		for (; left > 0 && mnl_nlmsg_ok(message, left);
		     message = mnl_nlmsg_next(message, &left))
			if (message->nlmsg_type >= NLMSG_MIN_TYPE)
				take(context, message);
	}
	return 0;
}

void netsocket_drain(struct netsocket *socket)
{
	int length;

	/* ENOBUFS is told once and cleared by being told */
	do
		length = receive(socket);
	while (length >= 0 || length == -ENOBUFS || length == -EINTR);
}

/* What an NLMSG_ERROR says; -EPROTO: it is cut short. */
static int error_of(const struct nlmsghdr *message)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*error))
		return -EPROTO;
	return error->error > 0 ? -error->error : error->error;
}

/* Takes one datagram of a dump. 0: more to come; 1: done; or -errno, the dump's own. */
static int take_dump(struct netsocket *socket, int left, netsocket_take *take, void *context,
                     bool *interrupted)
{
	const struct nlmsghdr *message = (const struct nlmsghdr *)socket->datagram;

	for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
		bool ours = message->nlmsg_seq == socket->sequence;

		if (ours && message->nlmsg_flags & NLM_F_DUMP_INTR)
			*interrupted = true;
		if (ours && message->nlmsg_type == NLMSG_DONE)
			return 1;
		if (ours && message->nlmsg_type == NLMSG_ERROR)
			return error_of(message) < 0 ? error_of(message) : 1;
		if (message->nlmsg_type >= NLMSG_MIN_TYPE)
			take(context, message);
	}
	return 0;
}

int netsocket_dump(struct netsocket *socket, struct nlmsghdr *request, netsocket_take *take,
                   void *context)
{
	bool interrupted = false;
	int done = 0;

	request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_DUMP;
	request->nlmsg_seq = ++socket->sequence;
	if (mnl_socket_sendto(socket->handle, request, request->nlmsg_len) < 0)
		return -errno;
	while (!done) {
		int length = receive_patiently(socket);

		if (length < 0)
			return length;
		done = take_dump(socket, length, take, context, &interrupted);
	}
	if (done < 0)
		return done;
	return interrupted ? -EINTR : 0;
}

/* Writes questions [first, first + BATCH) and sends them. Returns how many there were, or -errno. */
static int send_batch(struct netsocket *socket, const struct netsocket_questions *questions,
                      size_t first)
{
	size_t length = 0, count = 0;

	for (size_t i = first; i < questions->count && count < BATCH; i++, count++) {
		struct nlmsghdr *message = (struct nlmsghdr *)(socket->batch + length);

		memset(message, 0, NETSOCKET_QUESTION);
		questions->put(questions->context, i, (char *)message);
		message->nlmsg_flags |= NLM_F_REQUEST;
		message->nlmsg_seq = socket->sequence + 1 + (uint32_t)count;
		length += MNL_ALIGN(message->nlmsg_len);
	}
	socket->sequence += (uint32_t)count;
	if (mnl_socket_sendto(socket->handle, socket->batch, length) < 0)
		return -errno;
	return (int)count;
}

/* Hands the answers in one datagram out. Returns how many questions they settled. */
static unsigned take_answers(struct netsocket *socket, int left,
                             const struct netsocket_questions *questions, size_t first,
                             unsigned count, bool *answered)
{
	const struct nlmsghdr *message = (const struct nlmsghdr *)socket->datagram;
	unsigned settled = 0;

	for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
		uint32_t which = message->nlmsg_seq - (socket->sequence - count + 1);
		bool error = message->nlmsg_type == NLMSG_ERROR;

		/* late answers of an earlier batch carry smaller numbers */
		if (which >= count || answered[which])
			continue;
		if (!error && message->nlmsg_type < NLMSG_MIN_TYPE)
			continue;
		answered[which] = true;
		settled++;
		questions->answer(questions->context, first + which, error ? NULL : message,
		                  error ? error_of(message) : 0);
	}
	return settled;
}

/* Sends one batch and hands its answers out. Returns how many questions it held, or -errno. */
static int ask_batch(struct netsocket *socket, const struct netsocket_questions *questions,
                     size_t first)
{
	bool answered[BATCH] = {};
	int count = send_batch(socket, questions, first), length = 0;
	unsigned missing = (unsigned)count;

	if (count < 0)
		return count;
	while (missing) {
		length = receive_patiently(socket);
		if (length < 0)
			break;
		missing -=
			take_answers(socket, length, questions, first, (unsigned)count, answered);
	}
	for (int i = 0; missing && i < count; i++)
		if (!answered[i])
			questions->answer(questions->context, first + (size_t)i, NULL, -ETIMEDOUT);
	return length < 0 ? length : count;
}

int netsocket_ask(struct netsocket *socket, const struct netsocket_questions *questions)
{
	for (size_t first = 0; first < questions->count; first += BATCH) {
		int count = ask_batch(socket, questions, first);

		if (count < 0)
			return count;
	}
	return 0;
}

int netsocket_tell(struct netsocket *socket, const struct netsocket_questions *questions)
{
	for (size_t first = 0; first < questions->count; first += BATCH) {
		int count = send_batch(socket, questions, first);

		if (count < 0)
			return count;
	}
	return 0;
}
