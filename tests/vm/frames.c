// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * frames.c - builds and reads the frames that ask_director exchanges with a director.
 *
 * Only what a client's side of a connection needs: the frame that opens it and the one that makes it established. Everything
 * is written as it goes over the wire, checksums included, because IPVS, XDP and real servers look at them.
 */
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>

#include "tests/vm/frames.h"

/* The sum of the Internet checksum, not yet folded; length even. */
static uint32_t add_up(const void *start, size_t length, uint32_t sum)
{
	const uint8_t *bytes = start;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	return sum;
}

static uint16_t checksum(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum & 0xffff);
}

/* What the checksum of TCP and UDP takes from the IP header. */
static uint32_t pseudo_header(const struct connection *connection, size_t length)
{
	const struct xlb_service_key *service = &connection->service;
	size_t skip = addr_is_ipv4(&service->addr) ? 12 : 0;
	uint32_t sum =
		add_up(&connection->client.byte[skip], 16 - skip, service->protocol + length);

	return add_up(&service->addr.byte[skip], 16 - skip, sum);
}

static size_t write_tcp(const struct connection *connection, bool is_ack, uint8_t *ret)
{
	struct tcphdr tcp = {.source = htons(connection->port),
	                     .dest = connection->service.port,
	                     .seq = htonl(connection->port + is_ack),
	                     .ack_seq = htonl(is_ack),
	                     .doff = sizeof(tcp) / 4,
	                     .syn = !is_ack,
	                     .ack = is_ack,
	                     .window = htons(64240)};

	tcp.check = checksum(add_up(&tcp, sizeof(tcp), pseudo_header(connection, sizeof(tcp))));
	memcpy(ret, &tcp, sizeof(tcp));
	return sizeof(tcp);
}

static size_t write_udp(const struct connection *connection, uint8_t *ret)
{
	struct {
		struct udphdr header;
		char data[4];
	} udp = {.header = {.source = htons(connection->port),
	                    .dest = connection->service.port,
	                    .len = htons(sizeof(udp))},
	         .data = {'p', 'i', 'n', 'g'}};

	udp.header.check =
		checksum(add_up(&udp, sizeof(udp), pseudo_header(connection, sizeof(udp))));
	memcpy(ret, &udp, sizeof(udp));
	return sizeof(udp);
}

static void write_ipv4(const struct connection *connection, size_t payload, uint8_t *ret)
{
	struct iphdr ip = {.version = 4,
	                   .ihl = 5,
	                   .tot_len = htons(sizeof(ip) + payload),
	                   .ttl = 64,
	                   .protocol = connection->service.protocol,
	                   .saddr = addr_ipv4(&connection->client),
	                   .daddr = addr_ipv4(&connection->service.addr)};

	ip.check = checksum(add_up(&ip, sizeof(ip), 0));
	memcpy(ret, &ip, sizeof(ip));
}

static void write_ipv6(const struct connection *connection, size_t payload, uint8_t *ret)
{
	struct ip6_hdr ip = {.ip6_flow = htonl(6u << 28),
	                     .ip6_plen = htons(payload),
	                     .ip6_nxt = connection->service.protocol,
	                     .ip6_hlim = 64};

	memcpy(&ip.ip6_src, connection->client.byte, 16);
	memcpy(&ip.ip6_dst, connection->service.addr.byte, 16);
	memcpy(ret, &ip, sizeof(ip));
}

size_t frame_write(const struct ether_header *ethernet, const struct connection *connection,
                   enum frame_kind kind, uint8_t *ret)
{
	bool is_ipv4 = addr_is_ipv4(&connection->service.addr);
	struct ether_header header = *ethernet;
	uint8_t *ip = ret + sizeof(header);
	uint8_t *segment = ip + (is_ipv4 ? sizeof(struct iphdr) : sizeof(struct ip6_hdr));
	size_t payload;

	header.ether_type = htons(is_ipv4 ? ETHERTYPE_IP : ETHERTYPE_IPV6);
	memcpy(ret, &header, sizeof(header));
	payload = connection->service.protocol == IPPROTO_TCP
	                  ? write_tcp(connection, kind == FRAME_ACK, segment)
	                  : write_udp(connection, segment);
	if (is_ipv4)
		write_ipv4(connection, payload, ip);
	else
		write_ipv6(connection, payload, ip);
	return segment + payload - ret;
}

/* Addresses and protocol; the length of the IP header, 0: something else. */
static size_t read_ip(const struct ether_header *ethernet, const uint8_t *at, size_t length,
                      struct connection *connection)
{
	struct xlb_service_key *service = &connection->service;
	struct ip6_hdr ip6;
	struct iphdr ip4;

	if (ethernet->ether_type == htons(ETHERTYPE_IP) && length >= sizeof(ip4)) {
		memcpy(&ip4, at, sizeof(ip4));
		connection->client = addr_from_ipv4(ip4.saddr);
		service->addr = addr_from_ipv4(ip4.daddr);
		service->protocol = ip4.protocol;
		return ip4.ihl == 5 ? sizeof(ip4) : 0;
	}
	if (ethernet->ether_type == htons(ETHERTYPE_IPV6) && length >= sizeof(ip6)) {
		memcpy(&ip6, at, sizeof(ip6));
		connection->client = addr_from_bytes(AF_INET6, &ip6.ip6_src);
		service->addr = addr_from_bytes(AF_INET6, &ip6.ip6_dst);
		service->protocol = ip6.ip6_nxt;
		return sizeof(ip6);
	}
	return 0;
}

bool frame_read(const uint8_t *frame, size_t length, struct connection *ret)
{
	struct connection connection = {};
	struct ether_header ethernet;
	uint16_t ports[2];
	size_t ip;

	if (length < sizeof(ethernet))
		return false;
	memcpy(&ethernet, frame, sizeof(ethernet));
	length -= sizeof(ethernet);
	ip = read_ip(&ethernet, frame + sizeof(ethernet), length, &connection);
	if (!ip || length < ip + sizeof(ports) ||
	    (connection.service.protocol != IPPROTO_TCP &&
	     connection.service.protocol != IPPROTO_UDP))
		return false;
	memcpy(ports, frame + sizeof(ethernet) + ip, sizeof(ports));
	connection.port = ntohs(ports[0]);
	connection.service.port = ports[1];
	*ret = connection;
	return true;
}
