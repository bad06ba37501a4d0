// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ask_director.c - opens connections through a director and tells which real server each reached:
 *	ask_director DEVICE MAC REALS <list
 *
 * DEVICE is the client's end of a veth pair; behind the other end, at address MAC, directs IPVS, or XDP: they cannot tell this from
 * real clients. For each connection of the list it sends what opens it and, for TCP, the ACK that makes it established. One
 * after the other, in the order of the list, so that they are scheduled in that order.
 *
 * The director forwards by direct routing, so the destination MAC of what comes out names the real server. A packet socket
 * on all devices of this namespace sees it; REALS is a file with lines "MAC REAL". No real server needs to exist. A
 * connection whose later packet goes elsewhere than its first ends the program: that is never right.
 */
#define _GNU_SOURCE /* sendmmsg, recvmmsg */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uthash.h>

#include "tests/vm/frames.h"

#define BATCH          64   /* frames handed to the kernel at a time */
#define QUIET_MS       1000 /* so long nothing more has come out: all is there */
#define REALS_MAX_MACS 64

struct real {
	struct ether_addr mac;
	struct xlb_addr addr;
	uint16_t port;
};

struct asked {
	struct connection connection;
	const struct real *real; /* NULL: nothing has come out */
	UT_hash_handle hh;
};

struct asker {
	struct real reals[REALS_MAX_MACS];
	size_t real_count;
	struct asked *all; /* in the order of the list */
	struct ether_header ethernet;
	int device, watcher;
	uint8_t frame[BATCH][FRAME_ROOM];
	struct iovec part[BATCH];
	struct mmsghdr message[BATCH];
	unsigned waiting;
};

static void read_reals(struct asker *asker, const char *path)
{
	char line[200], mac[32], name[ENDPOINT_TEXT];
	FILE *file = fopen(path, "re");

	if (!file)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), file)) {
		struct real *real = &asker->reals[asker->real_count++];
		uint8_t protocol;

		if (asker->real_count > REALS_MAX_MACS ||
		    sscanf(line, "%31s %63s", mac, name) != 2 || !ether_aton_r(mac, &real->mac) ||
		    !endpoint_parse(name, &real->addr, &real->port, &protocol))
			errx(1, "not a real server: '%s'", line);
	}
	fclose(file);
}

static const struct real *find_real(const struct asker *asker, const uint8_t *mac)
{
	for (size_t i = 0; i < asker->real_count; i++)
		if (!memcmp(&asker->reals[i].mac, mac, ETH_ALEN))
			return &asker->reals[i];
	return NULL;
}

/* ---- what comes out ---------------------------------------------------------------------------- */

static void take_frame(struct asker *asker, const uint8_t *frame, size_t length)
{
	const struct real *real = length >= ETH_ALEN ? find_real(asker, frame) : NULL;
	struct connection connection;
	struct asked *asked;

	if (!real || !frame_read(frame, length, &connection))
		return;
	HASH_FIND(hh, asker->all, &connection, sizeof(connection), asked);
	if (!asked)
		return;
	if (asked->real && asked->real != real) {
		clients_print(&connection);
		errx(1, "a connection has changed its real server");
	}
	asked->real = real;
}

/* All that is there now. */
static void drain(struct asker *asker)
{
	uint8_t frame[BATCH][FRAME_ROOM];
	struct iovec part[BATCH];
	struct mmsghdr message[BATCH];
	int count;

	for (size_t i = 0; i < BATCH; i++) {
		part[i] = (struct iovec){frame[i], FRAME_ROOM};
		message[i].msg_hdr = (struct msghdr){.msg_iov = &part[i], .msg_iovlen = 1};
	}
	do {
		count = recvmmsg(asker->watcher, message, BATCH, MSG_DONTWAIT, NULL);
		if (count < 0 && errno != EAGAIN)
			err(1, "packet socket"); /* ENOBUFS would be a frame that we have missed */
		for (int i = 0; i < count; i++)
			take_frame(asker, frame[i], message[i].msg_len);
	} while (count > 0);
}

/* Incoming frames on any device, so each is seen once: where it arrives behind the director. */
static int open_watcher(void)
{
	int size = 64 << 20, made = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	int ignore = 1;

	if (made < 0 || setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0 ||
	    setsockopt(made, SOL_PACKET, PACKET_IGNORE_OUTGOING, &ignore, sizeof(ignore)) < 0)
		err(1, "packet socket");
	return made;
}

/* ---- what goes in ------------------------------------------------------------------------------ */

static int open_device(const char *name)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(name)};
	int made = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* protocol 0: receives nothing */

	if (!address.sll_ifindex)
		errx(1, "no device '%s'", name);
	if (made < 0 || bind(made, (struct sockaddr *)&address, sizeof(address)) < 0)
		err(1, "packet socket on '%s'", name);
	return made;
}

static void flush(struct asker *asker)
{
	unsigned sent = 0;

	while (sent < asker->waiting) {
		int n = sendmmsg(asker->device, &asker->message[sent], asker->waiting - sent, 0);

		if (n <= 0)
			err(1, "sendmmsg");
		sent += n;
	}
	asker->waiting = 0;
	drain(asker);
}

static void add_frame(struct asker *asker, const struct connection *connection,
                      enum frame_kind kind)
{
	uint8_t *frame = asker->frame[asker->waiting];
	size_t length = frame_write(&asker->ethernet, connection, kind, frame);

	asker->part[asker->waiting] = (struct iovec){frame, length};
	asker->message[asker->waiting].msg_hdr =
		(struct msghdr){.msg_iov = &asker->part[asker->waiting], .msg_iovlen = 1};
	if (++asker->waiting == BATCH)
		flush(asker);
}

static void ask_all(struct asker *asker)
{
	struct pollfd waiting = {.fd = asker->watcher, .events = POLLIN};
	struct asked *asked;

	for (asked = asker->all; asked; asked = asked->hh.next) {
		add_frame(asker, &asked->connection, FRAME_OPEN);
		if (asked->connection.service.protocol == IPPROTO_TCP)
			add_frame(asker, &asked->connection, FRAME_ACK);
	}
	flush(asker);
	while (poll(&waiting, 1, QUIET_MS) > 0)
		drain(asker);
}

static void read_list(struct asker *asker)
{
	struct connection connection;
	struct asked *asked;

	while (clients_next(stdin, &connection)) {
		asked = calloc(1, sizeof(*asked));
		if (!asked)
			err(1, NULL);
		asked->connection = connection;
		HASH_ADD(hh, asker->all, connection, sizeof(asked->connection), asked);
	}
}

int main(int argc, char **argv)
{
	static struct asker asker = {.ethernet.ether_shost = {2, 0, 0, 0, 0, 1}};
	struct asked *asked, *next;
	struct ether_addr mac;

	if (argc != 4 || !ether_aton_r(argv[2], &mac))
		errx(2, "usage: ask_director DEVICE MAC REALS <connections");
	memcpy(asker.ethernet.ether_dhost, &mac, sizeof(mac));
	read_reals(&asker, argv[3]);
	read_list(&asker);
	asker.watcher = open_watcher();
	asker.device = open_device(argv[1]);
	ask_all(&asker);
	HASH_ITER(hh, asker.all, asked, next) {
		const struct real *real = asked->real;

		clients_answer(&asked->connection, real ? &real->addr : NULL,
		               real ? real->port : 0);
		HASH_DEL(asker.all, asked);
		free(asked);
	}
	close(asker.device);
	close(asker.watcher);
	return 0;
}
