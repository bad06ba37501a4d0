// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * channel.c - the sockets of xlbd-sync.
 *
 * One UDP socket a device, bound to it, so that nothing from elsewhere gets in; to the multicast group, or, with a list of peers, to
 * the port alone. What goes out has TTL 255, and what comes in must still have it: it has not crossed a router. Datagrams are
 * never fragmented. With two devices everything goes over both; who receives drops what came twice (window.c).
 *
 * Nothing waits: a full buffer loses the datagram, which is counted here and repaired by the protocol. Devices come and go;
 * channel_repair() looks now and then. Called by sync.c. Does not: know what is in a datagram.
 */
#define _GNU_SOURCE /* recvmmsg */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "xlbd/log.h"
#include "xlbd/model/addr.h"
#include "xlbd/sync/channel.h"
#include "xlbd/sync/wire.h"

#define TOPIC         "sync"
#define BUFFER_BYTES  (16 << 20)
#define BATCH         32
#define BATCHES       16 /* in one call of channel_read() */
#define MTU_MIN       1280
#define CONTROL_BYTES 64

struct link {
	char device[IFNAMSIZ]; /* "": there is no second one */
	int fd, problem;
	unsigned ifindex, mtu;
	uint64_t sent, received, failed, far;
};

struct channel {
	struct link link[CONF_SYNC_LINKS];
	int family;
	uint16_t port;
	struct xlb_addr group;
	struct xlb_addr peer[CONF_SYNC_PEERS];
	size_t peer_count;
	uint8_t (*buffer)[WIRE_MESSAGE_MAX];
};

/* ---- opening ---------------------------------------------------------------------------------- */

static socklen_t make_address(const struct channel *channel, const struct xlb_addr *addr,
                              unsigned ifindex, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)ret;

	memset(ret, 0, sizeof(*ret));
	if (channel->family == AF_INET) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons(channel->port);
		if (addr)
			ipv4->sin_addr.s_addr = addr_ipv4(addr);
		return sizeof(*ipv4);
	}
	ipv6->sin6_family = AF_INET6;
	ipv6->sin6_port = htons(channel->port);
	ipv6->sin6_scope_id = ifindex;
	if (addr)
		memcpy(&ipv6->sin6_addr, addr->byte, sizeof(ipv6->sin6_addr));
	return sizeof(*ipv6);
}

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

static int set_ipv4(const struct channel *channel, const struct link *link, int fd)
{
	struct ip_mreqn group = {.imr_multiaddr.s_addr = addr_ipv4(&channel->group),
	                         .imr_ifindex = (int)link->ifindex};

	if (set(fd, IPPROTO_IP, IP_TTL, 255) < 0 || set(fd, IPPROTO_IP, IP_RECVTTL, 1) < 0 ||
	    set(fd, IPPROTO_IP, IP_MULTICAST_TTL, 255) < 0 ||
	    set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 0) < 0 ||
	    set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO) < 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof(group)))
		return -errno;
	if (!channel->peer_count &&
	    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)))
		return -errno;
	return 0;
}

static int set_ipv6(const struct channel *channel, const struct link *link, int fd)
{
	struct ipv6_mreq group = {.ipv6mr_interface = link->ifindex};

	memcpy(&group.ipv6mr_multiaddr, channel->group.byte, 16);
	if (set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0 ||
	    set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 255) < 0 ||
	    set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) < 0 ||
	    set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255) < 0 ||
	    set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0) < 0 ||
	    set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) < 0 ||
	    set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)link->ifindex) < 0)
		return -errno;
	if (!channel->peer_count &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &group, sizeof(group)))
		return -errno;
	return 0;
}

static void enlarge_buffers(int fd)
{
	/* FORCE needs CAP_NET_ADMIN; without it as much as the system allows */
	if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES) < 0)
		(void)set(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
	if (set(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES) < 0)
		(void)set(fd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
}

static int read_mtu(struct link *link, int fd)
{
	struct ifreq request = {};

	memcpy(request.ifr_name, link->device, sizeof(link->device));
	if (ioctl(fd, SIOCGIFMTU, &request))
		return -errno;
	link->mtu = (unsigned)request.ifr_mtu;
	return link->mtu < MTU_MIN ? -EMSGSIZE : 0;
}

static int open_socket(const struct channel *channel, struct link *link, int *ret)
{
	_cleanup_close_ int fd =
		socket(channel->family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const struct xlb_addr *to = channel->peer_count ? NULL : &channel->group;
	struct sockaddr_storage address;
	socklen_t length;
	int r;

	if (fd < 0)
		return -errno;
	link->ifindex = if_nametoindex(link->device);
	if (!link->ifindex)
		return -errno;
	r = read_mtu(link, fd);
	if (r < 0)
		return r;
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, link->device, sizeof(link->device)) ||
	    set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0)
		return -errno;
	length = make_address(channel, to, link->ifindex, &address);
	if (bind(fd, (struct sockaddr *)&address, length))
		return -errno;
	r = channel->family == AF_INET ? set_ipv4(channel, link, fd) : set_ipv6(channel, link, fd);
	if (r < 0)
		return r;
	enlarge_buffers(fd);
	*ret = take_fd(&fd);
	return 0;
}

static bool open_link(const struct channel *channel, struct link *link)
{
	int r = open_socket(channel, link, &link->fd);

	if (r < 0 && r != link->problem)
		log_errno(r, TOPIC, "cannot speak over '%s' (tried again every second)",
		          link->device);
	else if (r == 0)
		log_notice(TOPIC, "speaks over '%s', MTU %u", link->device, link->mtu);
	link->problem = r;
	return r == 0;
}

int channel_open(const struct conf_sync *conf, struct channel **ret)
{
	_cleanup_(channel_closep) struct channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		return -ENOMEM;
	for (size_t i = 0; i < CONF_SYNC_LINKS; i++)
		channel->link[i].fd = -1;
	channel->buffer = calloc(BATCH, sizeof(*channel->buffer));
	if (!channel->buffer)
		return -ENOMEM;
	channel->group = conf->group;
	channel->family = addr_family(&conf->group);
	channel->port = conf->port;
	channel->peer_count = conf->peer_count;
	memcpy(channel->peer, conf->peer, sizeof(channel->peer));
	for (size_t i = 0; i < CONF_SYNC_LINKS; i++)
		if (conf->interface[i])
			snprintf(channel->link[i].device, sizeof(channel->link[i].device), "%s",
			         conf->interface[i]);
	(void)channel_repair(channel);
	*ret = take_ptr(channel);
	return 0;
}

struct channel *channel_close(struct channel *channel)
{
	if (!channel)
		return NULL;
	for (size_t i = 0; i < CONF_SYNC_LINKS; i++)
		close_fd(&channel->link[i].fd);
	free(channel->buffer);
	free(channel);
	return NULL;
}

bool channel_repair(struct channel *channel)
{
	bool changed = false;

	for (size_t i = 0; i < CONF_SYNC_LINKS; i++) {
		struct link *link = &channel->link[i];

		if (!link->device[0])
			continue;
		if (link->fd >= 0 && if_nametoindex(link->device) != link->ifindex) {
			close_fd(&link->fd);
			changed = true;
		}
		if (link->fd < 0)
			changed |= open_link(channel, link);
	}
	return changed;
}

size_t channel_message_max(const struct channel *channel)
{
	size_t headers = channel->family == AF_INET ? 28 : 48, max = WIRE_MESSAGE_MAX;

	for (size_t i = 0; i < CONF_SYNC_LINKS; i++) {
		size_t mtu = channel->link[i].mtu ? channel->link[i].mtu : 1500;

		if (channel->link[i].device[0] && mtu - headers < max)
			max = mtu - headers;
	}
	return max;
}

int channel_fd(const struct channel *channel, size_t link)
{
	return channel->link[link].fd;
}

bool channel_link(const struct channel *channel, size_t index, struct channel_link *ret)
{
	const struct link *link;

	if (index >= CONF_SYNC_LINKS || !channel->link[index].device[0])
		return false;
	link = &channel->link[index];
	*ret = (struct channel_link){.device = link->device,
	                             .open = link->fd >= 0,
	                             .problem = link->problem,
	                             .sent = link->sent,
	                             .received = link->received,
	                             .failed = link->failed,
	                             .far = link->far};
	return true;
}

/* ---- datagrams -------------------------------------------------------------------------------- */

static void send_to(const struct channel *channel, struct link *link, const struct xlb_addr *to,
                    const uint8_t *message, size_t length)
{
	struct sockaddr_storage address;
	socklen_t size = make_address(channel, to, link->ifindex, &address);

	if (sendto(link->fd, message, length, 0, (struct sockaddr *)&address, size) < 0)
		link->failed++;
	else
		link->sent++;
}

void channel_send(struct channel *channel, const uint8_t *message, size_t length)
{
	for (size_t i = 0; i < CONF_SYNC_LINKS; i++) {
		struct link *link = &channel->link[i];

		if (link->fd < 0)
			continue;
		if (!channel->peer_count)
			send_to(channel, link, &channel->group, message, length);
		for (size_t j = 0; j < channel->peer_count; j++)
			send_to(channel, link, &channel->peer[j], message, length);
	}
}

static bool is_near(struct msghdr *message)
{
	int ttl = 0;

	for (struct cmsghdr *one = CMSG_FIRSTHDR(message); one; one = CMSG_NXTHDR(message, one))
		if ((one->cmsg_level == IPPROTO_IP && one->cmsg_type == IP_TTL) ||
		    (one->cmsg_level == IPPROTO_IPV6 && one->cmsg_type == IPV6_HOPLIMIT))
			memcpy(&ttl, CMSG_DATA(one), sizeof(ttl));
	return ttl == 255;
}

/* How many came. */
static int read_batch(struct channel *channel, struct link *link, channel_take take, void *context)
{
	char control[BATCH][CONTROL_BYTES] __attribute__((aligned(8)));
	struct mmsghdr message[BATCH];
	struct iovec part[BATCH];
	int count;

	for (int i = 0; i < BATCH; i++) {
		part[i] = (struct iovec){channel->buffer[i], sizeof(channel->buffer[i])};
		message[i].msg_hdr = (struct msghdr){.msg_iov = &part[i],
		                                     .msg_iovlen = 1,
		                                     .msg_control = control[i],
		                                     .msg_controllen = CONTROL_BYTES};
	}
	count = recvmmsg(link->fd, message, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < count; i++) {
		link->received++;
		if (!is_near(&message[i].msg_hdr))
			link->far++;
		else if (!(message[i].msg_hdr.msg_flags & MSG_TRUNC))
			take(context, channel->buffer[i], message[i].msg_len);
	}
	return count;
}

void channel_read(struct channel *channel, size_t link, channel_take take, void *context)
{
	for (int i = 0; i < BATCHES; i++)
		if (channel->link[link].fd < 0 ||
		    read_batch(channel, &channel->link[link], take, context) < BATCH)
			return;
}
