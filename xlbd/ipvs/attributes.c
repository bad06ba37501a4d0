// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * attributes.c - generic netlink messages of IPVS <-> struct service, struct real_server, struct ipvs_timeouts.
 *
 * The half of netlink.c that needs no kernel: bytes in, structures out, so that unit tests can feed it messages that
 * were captured, and messages that no kernel sends. netlink.c calls it once for every message of a dump.
 *
 * A nest of attributes is read in two steps. sort_attributes() puts them into a table by their number and checks each against the
 * row that says how long it must be; after that the readers below take what they need, in any order, without looking
 * at lengths again. One malformed attribute makes the whole message malformed: a table that is half read
 * would move connections.
 *
 * Byte order is as odd as the interface is: addresses, ports and the IPv4 netmask are in network order, everything else is
 * in host order. The kernel does not set NLA_F_NESTED; mnl_attr_get_type() takes the bit away where somebody does.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <netinet/in.h>
#include <string.h>

#include "xlbd/ipvs/attributes.h"
#include "xlbd/model/addr.h"

/* How an attribute must look; a row of zeroes: anything. */
struct shape {
	uint16_t length; /* at least so many bytes */
	uint16_t text;   /* at most so many, and a NUL among them */
	bool needed;
};

static const struct shape message_shapes[IPVS_CMD_ATTR_MAX + 1] = {
	[IPVS_CMD_ATTR_TIMEOUT_TCP] = {.length = 4},
	[IPVS_CMD_ATTR_TIMEOUT_TCP_FIN] = {.length = 4},
	[IPVS_CMD_ATTR_TIMEOUT_UDP] = {.length = 4},
};

static const struct shape service_shapes[IPVS_SVC_ATTR_MAX + 1] = {
	[IPVS_SVC_ATTR_AF] = {.length = 2, .needed = true},
	[IPVS_SVC_ATTR_PROTOCOL] = {.length = 2},
	[IPVS_SVC_ATTR_ADDR] = {.length = 16},
	[IPVS_SVC_ATTR_PORT] = {.length = 2},
	[IPVS_SVC_ATTR_FWMARK] = {.length = 4},
	[IPVS_SVC_ATTR_SCHED_NAME] = {.text = 16, .needed = true},
	[IPVS_SVC_ATTR_FLAGS] = {.length = sizeof(struct ip_vs_flags), .needed = true},
	[IPVS_SVC_ATTR_TIMEOUT] = {.length = 4, .needed = true},
	[IPVS_SVC_ATTR_NETMASK] = {.length = 4, .needed = true},
	[IPVS_SVC_ATTR_PE_NAME] = {.text = 16},
};

static const struct shape real_shapes[IPVS_DEST_ATTR_MAX + 1] = {
	[IPVS_DEST_ATTR_ADDR] = {.length = 16, .needed = true},
	[IPVS_DEST_ATTR_PORT] = {.length = 2, .needed = true},
	[IPVS_DEST_ATTR_FWD_METHOD] = {.length = 4, .needed = true},
	[IPVS_DEST_ATTR_WEIGHT] = {.length = 4, .needed = true},
	[IPVS_DEST_ATTR_U_THRESH] = {.length = 4},
	[IPVS_DEST_ATTR_L_THRESH] = {.length = 4},
	[IPVS_DEST_ATTR_ACTIVE_CONNS] = {.length = 4},
	[IPVS_DEST_ATTR_INACT_CONNS] = {.length = 4},
	[IPVS_DEST_ATTR_PERSIST_CONNS] = {.length = 4},
	[IPVS_DEST_ATTR_ADDR_FAMILY] = {.length = 2},
	[IPVS_DEST_ATTR_TUN_TYPE] = {.length = 1},
	[IPVS_DEST_ATTR_TUN_PORT] = {.length = 2},
	[IPVS_DEST_ATTR_TUN_FLAGS] = {.length = 2},
};

static const struct shape stats64_shapes[IPVS_STATS_ATTR_MAX + 1] = {
	[IPVS_STATS_ATTR_CONNS] = {.length = 8, .needed = true},
	[IPVS_STATS_ATTR_INPKTS] = {.length = 8, .needed = true},
	[IPVS_STATS_ATTR_INBYTES] = {.length = 8, .needed = true},
};

static const struct shape stats_shapes[IPVS_STATS_ATTR_MAX + 1] = {
	[IPVS_STATS_ATTR_CONNS] = {.length = 4, .needed = true},
	[IPVS_STATS_ATTR_INPKTS] = {.length = 4, .needed = true},
	[IPVS_STATS_ATTR_INBYTES] = {.length = 8, .needed = true},
};

static const struct shape family_shapes[CTRL_ATTR_MAX + 1] = {
	[CTRL_ATTR_FAMILY_ID] = {.length = 2, .needed = true},
	[CTRL_ATTR_FAMILY_NAME] = {.text = GENL_NAMSIZ, .needed = true},
};

static bool fits(const struct nlattr *attribute, const struct shape *shape)
{
	size_t length = mnl_attr_get_payload_len(attribute);

	if (shape->text)
		return memchr(mnl_attr_get_payload(attribute), '\0',
		              length < shape->text ? length : shape->text) != NULL;
	return length >= shape->length;
}

/* Fills table[0 .. max]; NULL where there is none. A second attribute of one number takes the place of the first. */
static int sort_attributes(const void *start, size_t length, const struct shape *shapes,
                           uint16_t max, const struct nlattr **table)
{
	const char *at = start, *end = at + length;

	memset(table, 0, (max + 1u) * sizeof(*table));
	while ((size_t)(end - at) >= sizeof(struct nlattr)) {
		const struct nlattr *attribute = (const struct nlattr *)at;
		size_t size = MNL_ALIGN(attribute->nla_len);
		uint16_t type = mnl_attr_get_type(attribute);

		if (!mnl_attr_ok(attribute, end - at))
			return -EBADMSG;
		if (type <= max) {
			if (!fits(attribute, &shapes[type]))
				return -EBADMSG;
			table[type] = attribute;
		}
		at = size < (size_t)(end - at) ? at + size : end;
	}
	for (uint16_t type = 0; type <= max; type++)
		if (shapes[type].needed && !table[type])
			return -EBADMSG;
	return 0;
}

static int sort_message(const struct nlmsghdr *message, const struct shape *shapes, uint16_t max,
                        const struct nlattr **table)
{
	if (message->nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN)
		return -EBADMSG;
	return sort_attributes(mnl_nlmsg_get_payload_offset(message, GENL_HDRLEN),
	                       message->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN, shapes, max, table);
}

static int sort_nest(const struct nlattr *nest, const struct shape *shapes, uint16_t max,
                     const struct nlattr **table)
{
	if (!nest)
		return -EBADMSG;
	return sort_attributes(mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest), shapes,
	                       max, table);
}

/* Absent numbers are 0. Payloads are aligned to 4 bytes only, so u64 is copied. */
static uint16_t number16(const struct nlattr *attribute)
{
	return attribute ? mnl_attr_get_u16(attribute) : 0;
}

static uint32_t number32(const struct nlattr *attribute)
{
	return attribute ? mnl_attr_get_u32(attribute) : 0;
}

static uint64_t number64(const struct nlattr *attribute)
{
	return attribute ? mnl_attr_get_u64(attribute) : 0;
}

/* IPv4 or IPv6, in 16 bytes either way. */
static bool is_family(uint16_t family)
{
	return family == AF_INET || family == AF_INET6;
}

static void copy_text(char *to, size_t room, const struct nlattr *text)
{
	if (text)
		memccpy(to, mnl_attr_get_str(text), '\0', room);
}

/* What names a service: a mark, or protocol, address and port. */
static int read_key(const struct nlattr **table, struct service *service)
{
	service->family = number16(table[IPVS_SVC_ATTR_AF]);
	service->fwmark = number32(table[IPVS_SVC_ATTR_FWMARK]);
	if (!is_family(service->family))
		return -EBADMSG;
	if (service->fwmark)
		return 0;
	if (!table[IPVS_SVC_ATTR_PROTOCOL] || !table[IPVS_SVC_ATTR_ADDR] ||
	    !table[IPVS_SVC_ATTR_PORT] || number16(table[IPVS_SVC_ATTR_PROTOCOL]) > UINT8_MAX)
		return -EBADMSG;
	service->key.addr =
		addr_from_bytes(service->family, mnl_attr_get_payload(table[IPVS_SVC_ATTR_ADDR]));
	service->key.port = number16(table[IPVS_SVC_ATTR_PORT]);
	service->key.protocol = number16(table[IPVS_SVC_ATTR_PROTOCOL]);
	return 0;
}

int attributes_service(const struct nlmsghdr *message, struct service *ret)
{
	const struct nlattr *top[IPVS_CMD_ATTR_MAX + 1], *table[IPVS_SVC_ATTR_MAX + 1];
	struct service service = {.in_force = true};
	struct ip_vs_flags flags;
	int r;

	r = sort_message(message, message_shapes, IPVS_CMD_ATTR_MAX, top);
	if (r < 0)
		return r;
	r = sort_nest(top[IPVS_CMD_ATTR_SERVICE], service_shapes, IPVS_SVC_ATTR_MAX, table);
	if (r < 0)
		return r;
	r = read_key(table, &service);
	if (r < 0)
		return r;
	copy_text(service.scheduler, sizeof(service.scheduler), table[IPVS_SVC_ATTR_SCHED_NAME]);
	copy_text(service.engine, sizeof(service.engine), table[IPVS_SVC_ATTR_PE_NAME]);
	memcpy(&flags, mnl_attr_get_payload(table[IPVS_SVC_ATTR_FLAGS]), sizeof(flags));
	service.flags = flags.flags & ~(uint32_t)IP_VS_SVC_F_HASHED;
	if (service.flags & IP_VS_SVC_F_PERSISTENT)
		service.timeout = number32(table[IPVS_SVC_ATTR_TIMEOUT]);
	service.netmask = number32(table[IPVS_SVC_ATTR_NETMASK]);
	*ret = service;
	return 0;
}

/* The 64-bit set where the kernel has it (4.1 and later). */
static int read_stats(const struct nlattr **real, struct real_server *ret)
{
	const struct nlattr *table[IPVS_STATS_ATTR_MAX + 1];
	int r;

	if (real[IPVS_DEST_ATTR_STATS64]) {
		r = sort_nest(real[IPVS_DEST_ATTR_STATS64], stats64_shapes, IPVS_STATS_ATTR_MAX,
		              table);
		if (r < 0)
			return r;
		ret->connections = number64(table[IPVS_STATS_ATTR_CONNS]);
		ret->packets = number64(table[IPVS_STATS_ATTR_INPKTS]);
		ret->bytes = number64(table[IPVS_STATS_ATTR_INBYTES]);
		return 0;
	}
	if (!real[IPVS_DEST_ATTR_STATS])
		return 0;
	r = sort_nest(real[IPVS_DEST_ATTR_STATS], stats_shapes, IPVS_STATS_ATTR_MAX, table);
	if (r < 0)
		return r;
	ret->connections = number32(table[IPVS_STATS_ATTR_CONNS]);
	ret->packets = number32(table[IPVS_STATS_ATTR_INPKTS]);
	ret->bytes = number64(table[IPVS_STATS_ATTR_INBYTES]);
	return 0;
}

int attributes_real(const struct nlmsghdr *message, int family, struct real_server *ret)
{
	const struct nlattr *top[IPVS_CMD_ATTR_MAX + 1], *table[IPVS_DEST_ATTR_MAX + 1];
	struct real_server real = {};
	int r;

	r = sort_message(message, message_shapes, IPVS_CMD_ATTR_MAX, top);
	if (r < 0)
		return r;
	r = sort_nest(top[IPVS_CMD_ATTR_DEST], real_shapes, IPVS_DEST_ATTR_MAX, table);
	if (r < 0)
		return r;
	if (table[IPVS_DEST_ATTR_ADDR_FAMILY])
		family = number16(table[IPVS_DEST_ATTR_ADDR_FAMILY]);
	if (!is_family(family))
		return -EBADMSG;
	r = read_stats(table, &real);
	if (r < 0)
		return r;
	real.addr = addr_from_bytes(family, mnl_attr_get_payload(table[IPVS_DEST_ATTR_ADDR]));
	real.port = ntohs(number16(table[IPVS_DEST_ATTR_PORT]));
	real.forwarding = number32(table[IPVS_DEST_ATTR_FWD_METHOD]) & IP_VS_CONN_F_FWD_MASK;
	real.weight = (int32_t)number32(table[IPVS_DEST_ATTR_WEIGHT]);
	real.last_weight = real.weight;
	real.upper_threshold = number32(table[IPVS_DEST_ATTR_U_THRESH]);
	real.lower_threshold = number32(table[IPVS_DEST_ATTR_L_THRESH]);
	real.active = number32(table[IPVS_DEST_ATTR_ACTIVE_CONNS]);
	real.inactive = number32(table[IPVS_DEST_ATTR_INACT_CONNS]);
	real.persistent = number32(table[IPVS_DEST_ATTR_PERSIST_CONNS]);
	if (table[IPVS_DEST_ATTR_TUN_TYPE])
		real.tunnel_type = mnl_attr_get_u8(table[IPVS_DEST_ATTR_TUN_TYPE]);
	real.tunnel_port = ntohs(number16(table[IPVS_DEST_ATTR_TUN_PORT]));
	real.tunnel_flags = number16(table[IPVS_DEST_ATTR_TUN_FLAGS]);
	*ret = real;
	return 0;
}

int attributes_timeouts(const struct nlmsghdr *message, struct ipvs_timeouts *ret)
{
	const struct nlattr *top[IPVS_CMD_ATTR_MAX + 1];
	int r;

	r = sort_message(message, message_shapes, IPVS_CMD_ATTR_MAX, top);
	if (r < 0)
		return r;
	if (!top[IPVS_CMD_ATTR_TIMEOUT_TCP] || !top[IPVS_CMD_ATTR_TIMEOUT_TCP_FIN] ||
	    !top[IPVS_CMD_ATTR_TIMEOUT_UDP])
		return -EBADMSG;
	*ret = (struct ipvs_timeouts){
		.tcp = number32(top[IPVS_CMD_ATTR_TIMEOUT_TCP]),
		.tcp_fin = number32(top[IPVS_CMD_ATTR_TIMEOUT_TCP_FIN]),
		.udp = number32(top[IPVS_CMD_ATTR_TIMEOUT_UDP]),
	};
	return 0;
}

int attributes_family(const struct nlmsghdr *message, uint16_t *ret)
{
	const struct nlattr *table[CTRL_ATTR_MAX + 1];
	int r;

	r = sort_message(message, family_shapes, CTRL_ATTR_MAX, table);
	if (r < 0)
		return r;
	if (strcmp(mnl_attr_get_str(table[CTRL_ATTR_FAMILY_NAME]), IPVS_GENL_NAME) != 0)
		return -ENOENT;
	*ret = number16(table[CTRL_ATTR_FAMILY_ID]);
	return 0;
}

void attributes_put_service(struct nlmsghdr *message, const struct service *service)
{
	struct nlattr *nest = mnl_attr_nest_start(message, IPVS_CMD_ATTR_SERVICE);
	uint8_t address[16] = {};

	mnl_attr_put_u16(message, IPVS_SVC_ATTR_AF, service->family);
	if (service->fwmark) {
		mnl_attr_put_u32(message, IPVS_SVC_ATTR_FWMARK, service->fwmark);
	} else {
		if (service->family == AF_INET)
			memcpy(address, &service->key.addr.byte[12], 4);
		else
			memcpy(address, service->key.addr.byte, 16);
		mnl_attr_put_u16(message, IPVS_SVC_ATTR_PROTOCOL, service->key.protocol);
		mnl_attr_put(message, IPVS_SVC_ATTR_ADDR, sizeof(address), address);
		mnl_attr_put_u16(message, IPVS_SVC_ATTR_PORT, service->key.port);
	}
	mnl_attr_nest_end(message, nest);
}
