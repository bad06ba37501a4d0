// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netlink.c - asks the kernel's IPVS for its table: the socket half; attributes.c understands the answers.
 *
 * The daemon opens one of these for its life and reads whenever a FIFO line or its timer says "look". IPVS has no
 * notifications, so a read is a dump of the services and then one dump of real servers for each of them, on a socket that
 * is kept. A dump is made in pieces, and the kernel finds its way back by counting entries: what is added or removed
 * meanwhile lets it skip or repeat some. Therefore a table counts only once two dumps agree. The dump of the call before is kept
 * for that, so that a table at rest costs one dump a look.
 *
 * Whatever goes wrong, the socket is thrown away (it may hold half an answer) and the next request begins with a new one: a
 * module that was unloaded and loaded again has another family number, a namespace that was deleted and made again is
 * another one under the same name. Both are looked at before each read: the family by its number, because asking for it by name
 * makes the kernel run modprobe, the namespace by its inode.
 *
 * A namespace is entered (namespace.c) only for the moment in which a socket is made. This file never writes to the table, never loads a
 * module, and logs only that it cannot go on.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "xlbd/ipvs/attributes.h"
#include "xlbd/ipvs/namespace.h"
#include "xlbd/ipvs/netlink.h"
#include "xlbd/log.h"
#include "xlbd/model/addr.h"

#define TOPIC    "ipvs"
#define ATTEMPTS 5
#define BUFFER   65536 /* the kernel makes pieces of up to 32 KiB for who offers that much */
#define REQUEST  256   /* the longest is GET_DEST of an IPv6 service: 68 bytes */
#define PATIENCE 2     /* seconds for one piece of an answer */

struct ipvs_netlink {
	struct mnl_socket *socket; /* NULL: to be made */
	char *netns;               /* path of the namespace; NULL: ours */
	struct stat identity;      /* of the namespace that the socket is in */
	uint16_t family;           /* 0: not known */
	uint32_t sequence;
	struct service_set *last; /* what the last read saw */
	struct service *services; /* of the dump that is under way */
	size_t service_count, service_room;
	struct real_server *reals; /* of the service that is under way */
	size_t real_count, real_room;
	char *buffer;
};

/* What a request is asked with: its handler takes one message of the answer and returns 0 or -errno. */
struct request {
	uint8_t command, version;
	uint16_t type, flags;
	const struct service *service; /* NULL: no key */
	uint16_t family_id;            /* of CTRL_CMD_GETFAMILY; 0: none */
	int (*take)(struct ipvs_netlink *ipvs, const struct nlmsghdr *message, void *context);
	void *context;
};

/* ---- the socket -------------------------------------------------------------------------------- */

static int make_socket(struct mnl_socket **ret)
{
	struct timeval patience = {.tv_sec = PATIENCE};
	struct mnl_socket *made = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);

	if (!made)
		return -errno;
	if (mnl_socket_bind(made, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(made), SOL_SOCKET, SO_RCVTIMEO, &patience,
	               sizeof(patience)) < 0) {
		int r = -errno;

		mnl_socket_close(made);
		return r;
	}
	*ret = made;
	return 0;
}

static int make_socket_in(const char *netns, struct stat *ret_identity, struct mnl_socket **ret)
{
	int way_back, r = namespace_enter(netns, ret_identity, &way_back);

	if (r < 0)
		return r;
	r = make_socket(ret);
	namespace_leave(way_back);
	return r;
}

static void drop_socket(struct ipvs_netlink *ipvs)
{
	if (ipvs->socket)
		mnl_socket_close(ipvs->socket);
	ipvs->socket = NULL;
	ipvs->family = 0;
}

static bool is_elsewhere(const struct ipvs_netlink *ipvs)
{
	return ipvs->netns && !namespace_is_the_same(ipvs->netns, &ipvs->identity);
}

/* ---- one request and its answer ---------------------------------------------------------------- */

static struct nlmsghdr *write_request(struct ipvs_netlink *ipvs, const struct request *request,
                                      char buffer[REQUEST])
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *generic = mnl_nlmsg_put_extra_header(message, sizeof(*generic));

	message->nlmsg_type = request->type;
	message->nlmsg_flags = NLM_F_REQUEST | request->flags;
	message->nlmsg_seq = ++ipvs->sequence;
	generic->cmd = request->command;
	generic->version = request->version;
	if (request->service)
		attributes_put_service(message, request->service);
	if (request->family_id)
		mnl_attr_put_u16(message, CTRL_ATTR_FAMILY_ID, request->family_id);
	return message;
}

/* The status that ends an answer. */
static int status_of(const struct nlmsghdr *message)
{
	int status;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(status))
		return message->nlmsg_type == NLMSG_DONE ? 0 : -EBADMSG;
	memcpy(&status, mnl_nlmsg_get_payload(message), sizeof(status));
	return status > 0 ? -EBADMSG : status;
}

/* One piece of an answer. 1: it was the last; 0: more will come; -EINTR: the kernel saw a change; -errno. */
static int take_piece(struct ipvs_netlink *ipvs, const struct request *request, int length)
{
	const struct nlmsghdr *message = (const struct nlmsghdr *)ipvs->buffer;
	int r;

	for (; mnl_nlmsg_ok(message, length); message = mnl_nlmsg_next(message, &length)) {
		if (message->nlmsg_seq != ipvs->sequence)
			return -EIO;
		if (message->nlmsg_flags & NLM_F_DUMP_INTR)
			return -EINTR;
		if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) {
			r = status_of(message);
			return r < 0 ? r : 1;
		}
		if (message->nlmsg_type != request->type)
			return -EIO;
		r = request->take(ipvs, message, request->context);
		if (r < 0)
			return r;
		if (!(message->nlmsg_flags & NLM_F_MULTI))
			return 1;
	}
	return length ? -EBADMSG : 0;
}

static int receive(struct ipvs_netlink *ipvs)
{
	ssize_t length;

	do
		length = mnl_socket_recvfrom(ipvs->socket, ipvs->buffer, BUFFER);
	while (length < 0 && errno == EINTR);
	if (length > 0)
		return length;
	/* ENOSPC: longer than BUFFER. EAGAIN: nothing came in PATIENCE. */
	return length < 0 && errno == ENOBUFS ? -ENOBUFS : -EIO;
}

/* On failure the socket is gone. */
static int ask(struct ipvs_netlink *ipvs, const struct request *request)
{
	char buffer[REQUEST] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *message = write_request(ipvs, request, buffer);
	int r = 0;

	if (mnl_socket_sendto(ipvs->socket, message, message->nlmsg_len) < 0)
		r = -errno;
	while (r == 0) {
		r = receive(ipvs);
		if (r > 0)
			r = take_piece(ipvs, request, r);
	}
	if (r < 0)
		drop_socket(ipvs);
	return r < 0 ? r : 0;
}

/* ---- is IPVS there? ---------------------------------------------------------------------------- */

static int take_family(struct ipvs_netlink *ipvs, const struct nlmsghdr *message, void *context)
{
	int r = attributes_family(message, &ipvs->family);

	(void)context;
	return r == -ENOENT ? 0 : r;
}

/* Fills ipvs->family. All families in one dump, or the one that we know by its number. */
static int find_family(struct ipvs_netlink *ipvs)
{
	struct request request = {.command = CTRL_CMD_GETFAMILY,
	                          .version = 1,
	                          .type = GENL_ID_CTRL,
	                          .flags = ipvs->family ? 0 : NLM_F_DUMP,
	                          .family_id = ipvs->family,
	                          .take = take_family};
	int r;

	ipvs->family = 0;
	r = ask(ipvs, &request);
	if (r < 0)
		return r;
	return ipvs->family ? 0 : -ENOENT;
}

/* A socket in the right namespace, and the number of the family. */
static int get_ready(struct ipvs_netlink *ipvs)
{
	int r;

	if (is_elsewhere(ipvs))
		drop_socket(ipvs);
	if (ipvs->socket && ipvs->family && find_family(ipvs) == 0)
		return 0;
	if (!ipvs->socket) {
		r = ipvs->netns ? make_socket_in(ipvs->netns, &ipvs->identity, &ipvs->socket)
		                : make_socket(&ipvs->socket);
		if (r < 0)
			return r;
	}
	return find_family(ipvs);
}

/* ---- the table --------------------------------------------------------------------------------- */

/* Room for one more of `size` bytes in *array. */
static int make_room(void **array, size_t size, size_t count, size_t *room, size_t limit)
{
	size_t wanted = *room ? *room * 2 : 64;
	void *grown;

	if (count < *room)
		return 0;
	if (count >= limit)
		return -E2BIG;
	grown = reallocarray(*array, wanted, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = wanted;
	return 0;
}

static int take_service(struct ipvs_netlink *ipvs, const struct nlmsghdr *message, void *context)
{
	int r = make_room((void **)&ipvs->services, sizeof(*ipvs->services), ipvs->service_count,
	                  &ipvs->service_room, SERVICES_MAX);

	(void)context;
	if (r < 0)
		return r;
	r = attributes_service(message, &ipvs->services[ipvs->service_count]);
	if (r < 0)
		return r;
	ipvs->service_count++;
	return 0;
}

static int take_real(struct ipvs_netlink *ipvs, const struct nlmsghdr *message, void *context)
{
	const struct service *service = context;
	int r = make_room((void **)&ipvs->reals, sizeof(*ipvs->reals), ipvs->real_count,
	                  &ipvs->real_room, REALS_MAX);

	if (r < 0)
		return r;
	r = attributes_real(message, service->family, &ipvs->reals[ipvs->real_count]);
	if (r < 0)
		return r;
	ipvs->real_count++;
	return 0;
}

static int read_reals(struct ipvs_netlink *ipvs, struct service *service, struct service_set *set)
{
	struct request request = {.command = IPVS_CMD_GET_DEST,
	                          .version = IPVS_GENL_VERSION,
	                          .type = ipvs->family,
	                          .flags = NLM_F_DUMP,
	                          .service = service,
	                          .take = take_real,
	                          .context = service};
	int r;

	ipvs->real_count = 0;
	r = ask(ipvs, &request);
	if (r < 0)
		return r;
	service->reals = ipvs->reals;
	service->real_count = ipvs->real_count;
	r = service_set_add(set, service);
	return r == -EEXIST ? 0 : r; /* repeated: the first counts */
}

static int read_once(struct ipvs_netlink *ipvs, struct service_set **ret)
{
	_cleanup_(service_set_freep) struct service_set *set = service_set_new();
	struct request request = {.command = IPVS_CMD_GET_SERVICE,
	                          .version = IPVS_GENL_VERSION,
	                          .flags = NLM_F_DUMP,
	                          .take = take_service};
	int r;

	if (!set)
		return -ENOMEM;
	r = get_ready(ipvs);
	if (r < 0)
		return r;
	request.type = ipvs->family;
	ipvs->service_count = 0;
	r = ask(ipvs, &request);
	for (size_t i = 0; r == 0 && i < ipvs->service_count; i++)
		r = read_reals(ipvs, &ipvs->services[i], set);
	if (r < 0)
		return r;
	*ret = take_ptr(set);
	return 0;
}

/* Two dumps that agree repeat nothing; in one that stands alone the first place of a real server counts. */
static void drop_repeated_reals(struct service *service)
{
	struct service kept = {.reals = service->reals};

	for (size_t i = 0; i < service->real_count; i++) {
		const struct real_server *real = &service->reals[i];

		if (!service_real(&kept, &real->addr, real->port))
			kept.reals[kept.real_count++] = *real;
	}
	service->real_count = kept.real_count;
}

int ipvs_netlink_read(struct ipvs_netlink *ipvs, struct service_set **ret, bool *ret_unstable)
{
	_cleanup_(service_set_freep) struct service_set *set = NULL;
	bool agreed = false;
	int r = -EIO;

	for (unsigned attempt = 0; attempt < ATTEMPTS && !agreed; attempt++) {
		struct service_set *now = NULL;

		r = read_once(ipvs, &now);
		if (r == -ENOBUFS || r == -EINTR)
			continue;
		if (r < 0)
			return r;
		if (set) {
			service_set_free(ipvs->last);
			ipvs->last = set;
		}
		set = now;
		agreed = ipvs->last && service_set_equal(ipvs->last, set);
	}
	if (!set)
		return r == -EINTR ? -EIO : r;
	for (size_t i = 0; !agreed && i < service_set_count(set); i++)
		drop_repeated_reals(service_set_get(set, i));
	*ret = take_ptr(set);
	*ret_unstable = !agreed;
	return 0;
}

/* ---- the rest ---------------------------------------------------------------------------------- */

static int take_timeouts(struct ipvs_netlink *ipvs, const struct nlmsghdr *message, void *context)
{
	(void)ipvs;
	return attributes_timeouts(message, context);
}

int ipvs_netlink_timeouts(struct ipvs_netlink *ipvs, struct ipvs_timeouts *ret)
{
	struct ipvs_timeouts timeouts = {};
	struct request request = {.command = IPVS_CMD_GET_CONFIG,
	                          .version = IPVS_GENL_VERSION,
	                          .take = take_timeouts,
	                          .context = &timeouts};
	int r;

	r = get_ready(ipvs);
	if (r < 0)
		return r;
	request.type = ipvs->family;
	r = ask(ipvs, &request);
	if (r < 0)
		return r;
	*ret = timeouts;
	return 0;
}

int ipvs_netlink_open(const char *netns, struct ipvs_netlink **ret)
{
	_cleanup_(ipvs_netlink_closep) struct ipvs_netlink *ipvs = calloc(1, sizeof(*ipvs));
	struct ipvs_timeouts timeouts;
	int r;

	if (!ipvs)
		return -ENOMEM;
	ipvs->buffer = malloc(BUFFER);
	ipvs->netns = netns ? namespace_path(netns) : NULL;
	if (!ipvs->buffer || (netns && !ipvs->netns))
		return -ENOMEM;
	/* Anybody may resolve the family: the first question to IPVS tells whether we may ask. */
	r = ipvs_netlink_timeouts(ipvs, &timeouts);
	if (r < 0)
		return r;
	*ret = take_ptr(ipvs);
	return 0;
}

struct ipvs_netlink *ipvs_netlink_close(struct ipvs_netlink *ipvs)
{
	if (!ipvs)
		return NULL;
	drop_socket(ipvs);
	service_set_free(ipvs->last);
	free(ipvs->services);
	free(ipvs->reals);
	free(ipvs->buffer);
	free(ipvs->netns);
	free(ipvs);
	return NULL;
}
