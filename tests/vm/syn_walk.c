// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * syn_walk.c - one SYN from each of many clients to each virtual server; prints which real server each was sent on to.
 *
 *	syn_walk DEVICE MAC CLIENTS FENCE_PORT ADDRESS:PORT/PROTOCOL...
 *
 * For test_same_choice.sh: run where the clients and all real servers would be, on the other end of the director's
 * cable. A frame that comes back carries the MAC of a real server as its destination; its last byte, 1 to 9, is the name.
 * Output: a line for each virtual server, a character for each client, '-' where nothing came back.
 *
 * Four clients share an address, so that hashes with and without the port differ. At most BATCH frames are under way: nothing
 * is lost in a queue, and frames reach the director in the order of the clients. Behind each batch goes one more SYN, to a virtual
 * server on FENCE_PORT of the same address that always has a real server: once it is back, what is not back does not come.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "tests/bpf/packets.h"
#include "xlbd/model/addr.h"

#define BATCH       32
#define CLIENTS_MAX 5000
#define FIRST_PORT  10000
#define PORT_STEP   7
#define SHARED      4
#define PATIENCE_MS 20000

struct walk {
	int fd;
	uint8_t director[6];
	unsigned clients;
	bool ipv6;
	uint16_t port,
		fence; /* of the virtual server, of the one that tells that a batch is over */
	char vip[ADDR_TEXT];
	char real[CLIENTS_MAX + 1];
};

static void die(const char *what)
{
	fprintf(stderr, "syn_walk: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_device(const char *device)
{
	struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), yes = 1, room = 4 << 20;

	addr.sll_ifindex = (int)if_nametoindex(device);
	if (fd < 0 || !addr.sll_ifindex)
		die(device);
	/* ours is what comes back, not what we send */
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		die(device);
	return fd;
}

static void send_syn(const struct walk *walk, unsigned client, uint16_t port)
{
	unsigned host = client / SHARED;
	char source[ADDR_TEXT];
	struct frame frame;
	struct packet_spec spec = {.ipv6 = walk->ipv6,
	                           .source = source,
	                           .dest = walk->vip,
	                           .source_port = (uint16_t)(FIRST_PORT + PORT_STEP * client),
	                           .dest_port = port,
	                           .dmac = walk->director};

	if (walk->ipv6)
		snprintf(source, sizeof(source), "2001:db8:c:%x::%x", host % 7, host + 1);
	else
		snprintf(source, sizeof(source), "198.18.%u.%u", host / 200, host % 200 + 1);
	packet_build(&spec, &frame);
	if (send(walk->fd, frame.data, frame.length, 0) != (ssize_t)frame.length)
		die("send");
}

/* Notes the real server of a frame of ours; true: it was the fence. */
static bool note_real(struct walk *walk, const uint8_t *frame, size_t length)
{
	size_t l4 = sizeof(struct ethhdr) + (walk->ipv6 ? 40 : 20);
	uint16_t type = walk->ipv6 ? ETH_P_IPV6 : ETH_P_IP, ports[2];
	unsigned client;

	if (length < l4 + 20 || frame[12] != type >> 8 || frame[13] != (type & 0xff))
		return false;
	memcpy(ports, frame + l4, sizeof(ports));
	if (ntohs(ports[1]) == walk->fence)
		return true;
	client = (ntohs(ports[0]) - FIRST_PORT) / PORT_STEP;
	if (ntohs(ports[1]) != walk->port || client >= walk->clients)
		return false;
	if (walk->real[client] != '-') {
		fprintf(stderr, "syn_walk: client %u came back twice\n", client);
		exit(1);
	}
	walk->real[client] = (char)('0' + frame[5]);
	return false;
}

static void collect(struct walk *walk)
{
	struct pollfd ready = {.fd = walk->fd, .events = POLLIN};
	uint8_t frame[2048];

	while (poll(&ready, 1, PATIENCE_MS) > 0) {
		ssize_t length = recv(walk->fd, frame, sizeof(frame), 0);

		if (length < 0)
			die("recv");
		if (note_real(walk, frame, (size_t)length))
			return;
	}
	fprintf(stderr, "syn_walk: the SYN behind a batch does not come back\n");
	exit(1);
}

static void visit(struct walk *walk, const char *text)
{
	struct xlb_addr addr;
	uint8_t protocol;

	if (!endpoint_parse(text, &addr, &walk->port, &protocol)) {
		fprintf(stderr, "syn_walk: '%s' is no ADDRESS:PORT/PROTOCOL\n", text);
		exit(2);
	}
	walk->ipv6 = addr_family(&addr) == AF_INET6;
	addr_print(&addr, walk->vip);
	memset(walk->real, '-', walk->clients);
	for (unsigned client = 0; client < walk->clients; client += BATCH) {
		unsigned end = client + BATCH < walk->clients ? client + BATCH : walk->clients;

		for (unsigned i = client; i < end; i++)
			send_syn(walk, i, walk->port);
		send_syn(walk, 0, walk->fence);
		collect(walk);
	}
	printf("%s %s\n", text, walk->real);
}

int main(int argc, char **argv)
{
	struct walk walk = {0};
	uint8_t *mac = walk.director;

	if (argc < 6 || sscanf(argv[2], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2],
	                       &mac[3], &mac[4], &mac[5]) != 6)
		return 2;
	walk.clients = (unsigned)strtoul(argv[3], NULL, 10);
	walk.fence = (uint16_t)strtoul(argv[4], NULL, 10);
	if (!walk.clients || walk.clients > CLIENTS_MAX)
		return 2;
	walk.fd = open_device(argv[1]);
	for (int i = 5; i < argc; i++)
		visit(&walk, argv[i]);
	close(walk.fd);
	return 0;
}
