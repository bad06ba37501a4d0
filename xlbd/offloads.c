// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * offloads.c - looks at each device that carries the program, and says what would spoil packets or hide something from XDP.
 *
 * Offloads were made for the kernel's stack: NICs merge packets (LRO, hardware GRO) and take VLAN tags away (rxvlan), and XDP
 * sees the result. A veth's other end sends frames whose checksum nobody has computed yet (CHECKSUM_PARTIAL); the stack would know,
 * XDP_TX and redirect lose it. A veth also takes redirected frames only if its other end has an XDP program or GRO on: from Linux
 * 6.3 on the kernel says so itself (netdev generic netlink, "xdp-features"), before it cannot be seen. What lies in another
 * namespace cannot be seen at all and is a hint.
 *
 * Features go by name through the ethtool ioctl: names and bits are asked for each time, since drivers and kernels number them as they
 * like. One feature that matters is one row. With `fix` a feature is set and read again; what did not move stays a problem.
 * Strict rp_filter is here too: the kernel drops what arrives by a device that its source is not answered by, XDP would forward it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "xlbd/log.h"
#include "xlbd/netattributes.h"
#include "xlbd/netsocket.h"
#include "xlbd/offloads.h"

#define TOPIC "offloads"

/* <linux/netdev.h> came with Linux 6.3; Debian 12 does not have it. */
enum {
	NETDEV_DEV_GET = 1,
	NETDEV_IFINDEX = 1,
	NETDEV_XDP_FEATURES = 3,
	XDP_REDIRECTED_TO = 1 << 2, /* NETDEV_XDP_ACT_NDO_XMIT */
	XDP_PIECES = 1 << 5,        /* NETDEV_XDP_ACT_RX_SG: frames in several buffers */
};

enum {
	FEATURES = 256,    /* more than any kernel has */
	ONE_BUFFER = 3498, /* longest MTU that fits one page beside headroom and shared info */
};

enum whose { OWN, OTHER_END };

static const struct row {
	enum whose whose;
	const char *feature; /* the kernel's name */
	const char *called;  /* ethtool's */
	uint16_t tagged;     /* matters only with a VLAN of this protocol above; 0: always */
	const char *consequence;
} rows[] = {
	{OWN, "rx-lro", "large-receive-offload", 0, "XDP sees packets merged into one"},
	{OWN, "rx-gro-hw", "rx-gro-hw", 0, "packets may come merged, native mode may be refused"},
	{OWN, "rx-vlan-hw-parse", "rx-vlan-offload", ETH_P_8021Q, "XDP does not see VLAN tags"},
	{OWN, "rx-vlan-stag-hw-parse", "rx-vlan-stag-hw-parse", ETH_P_8021AD,
         "XDP does not see VLAN tags"},
	{OTHER_END, "tx-checksum-ip-generic", "tx-checksumming", 0,
         "what it sends lacks its checksum when XDP forwards it"},
};

struct findings {
	struct offload_finding *list;
	size_t count, room;
};

static void __attribute__((format(printf, 2, 3)))
add(struct findings *findings, const char *format, ...)
{
	struct offload_finding *finding;
	va_list arguments;

	if (findings->count == findings->room)
		return;
	finding = &findings->list[findings->count++];
	*finding = (struct offload_finding){};
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof(finding->text), format, arguments);
	va_end(arguments);
}

/* ---- features by name -------------------------------------------------------------------------- */

struct features {
	int fd;
	struct ifreq request;
	unsigned count;
	struct ethtool_gstrings *names;
};

static int call(struct features *features, void *command)
{
	features->request.ifr_data = command;
	return ioctl(features->fd, SIOCETHTOOL, &features->request) < 0 ? -errno : 0;
}

static void features_close(struct features *features)
{
	close_fd(&features->fd);
	free(features->names);
}

/* How many features this kernel knows; 0: it does not tell. */
static unsigned count_features(struct features *features)
{
	_cleanup_free_ struct ethtool_sset_info *info =
		calloc(1, sizeof(*info) + sizeof(info->data[0]));

	if (!info)
		return 0;
	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = 1ull << ETH_SS_FEATURES;
	if (call(features, info) < 0 || !info->sset_mask)
		return 0;
	return info->data[0];
}

static int features_open(struct features *features, const char *name)
{
	memset(features, 0, sizeof(*features));
	snprintf(features->request.ifr_name, sizeof(features->request.ifr_name), "%s", name);
	features->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (features->fd < 0)
		return -errno;
	features->count = count_features(features);
	if (!features->count)
		return -ENOTSUP;
	features->names = calloc(1, sizeof(*features->names) + features->count * ETH_GSTRING_LEN);
	if (!features->names)
		return -ENOMEM;
	features->names->cmd = ETHTOOL_GSTRINGS;
	features->names->string_set = ETH_SS_FEATURES;
	features->names->len = features->count;
	return call(features, features->names);
}

/* Number of the feature's bit; -ENOENT: this kernel does not have it. */
static int find_feature(const struct features *features, const char *name)
{
	for (unsigned i = 0; i < features->count; i++)
		if (strncmp((const char *)features->names->data + i * ETH_GSTRING_LEN, name,
		            ETH_GSTRING_LEN) == 0)
			return (int)i;
	return -ENOENT;
}

/* 1 on, 0 off or not there, -errno. */
static int get_feature(struct features *features, const char *name)
{
	unsigned blocks = (features->count + 31) / 32;
	_cleanup_free_ struct ethtool_gfeatures *answer =
		calloc(1, sizeof(*answer) + blocks * sizeof(answer->features[0]));
	int bit = find_feature(features, name), result;

	if (!answer)
		return -ENOMEM;
	if (bit < 0)
		return 0;
	answer->cmd = ETHTOOL_GFEATURES;
	answer->size = blocks;
	result = call(features, answer);
	if (result < 0)
		return result;
	return answer->features[bit / 32].active >> bit % 32 & 1;
}

static int clear_feature(struct features *features, const char *name)
{
	unsigned blocks = (features->count + 31) / 32;
	_cleanup_free_ struct ethtool_sfeatures *order =
		calloc(1, sizeof(*order) + blocks * sizeof(order->features[0]));
	int bit = find_feature(features, name);

	if (!order)
		return -ENOMEM;
	if (bit < 0)
		return bit;
	order->cmd = ETHTOOL_SFEATURES;
	order->size = blocks;
	order->features[bit / 32].valid = 1u << bit % 32;
	return call(features, order);
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* Whether a VLAN device of that protocol stands on the device. */
static bool is_tagged(const struct network *network, uint32_t ifindex, uint16_t protocol)
{
	const struct link_info *link;

	for (size_t i = 0; (link = network_link_at(network, i)); i++)
		if (link->lower == ifindex && link->vlan_protocol == htons(protocol))
			return true;
	return false;
}

static void check_row(const struct row *row, struct features *features, const char *name, bool fix,
                      struct findings *findings)
{
	bool fixed;

	if (get_feature(features, row->feature) <= 0)
		return;
	fixed = fix && clear_feature(features, row->feature) >= 0 &&
	        get_feature(features, row->feature) == 0;
	if (fixed)
		log_notice(TOPIC, "%s: %s switched off", name, row->feature);
	add(findings, "%s is on at %s: %s", row->called, name, row->consequence);
	findings->list[findings->count - 1].fixed = fixed;
}

static void check_rows(const struct network *network, const struct link_info *link,
                       const struct link_info *device, enum whose whose, bool fix,
                       struct findings *findings)
{
	_cleanup_(features_close) struct features features;
	int result = features_open(&features, device->name);

	if (result < 0 && result != -EOPNOTSUPP && result != -ENOTSUP) {
		add(findings, "offloads of %s cannot be seen: %s", device->name, strerror(-result));
		if (findings->count)
			findings->list[findings->count - 1].hint = true;
	}
	for (size_t i = 0; result == 0 && i < ARRAY_SIZE(rows); i++) {
		if (rows[i].whose != whose || findings->count == findings->room)
			continue;
		if (rows[i].tagged && !is_tagged(network, link->ifindex, rows[i].tagged))
			continue;
		check_row(&rows[i], &features, device->name, fix, findings);
	}
}

/* ---- what the kernel says of the driver's XDP -------------------------------------------------- */

struct driver {
	uint32_t ifindex;
	uint16_t family;
	uint64_t xdp;
	int error;
};

static struct nlmsghdr *put_generic(char *buffer, uint16_t family, uint8_t command)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));

	message->nlmsg_type = family;
	header->cmd = command;
	header->version = 1;
	return message;
}

static void put_family(void *context, size_t index, char *buffer)
{
	(void)context;
	(void)index;
	mnl_attr_put_strz(put_generic(buffer, GENL_ID_CTRL, CTRL_CMD_GETFAMILY),
	                  CTRL_ATTR_FAMILY_NAME, "netdev");
}

static void answer_family(void *context, size_t index, const struct nlmsghdr *message, int error)
{
	struct attributes attributes;
	struct driver *driver = context;

	(void)index;
	driver->error = error;
	if (!message)
		return;
	attributes = attributes_of(message, sizeof(struct genlmsghdr));
	driver->family = attribute_u16(&attributes, CTRL_ATTR_FAMILY_ID);
}

static void put_device(void *context, size_t index, char *buffer)
{
	const struct driver *driver = context;

	(void)index;
	mnl_attr_put_u32(put_generic(buffer, driver->family, NETDEV_DEV_GET), NETDEV_IFINDEX,
	                 driver->ifindex);
}

static void answer_device(void *context, size_t index, const struct nlmsghdr *message, int error)
{
	struct attributes attributes;
	struct driver *driver = context;
	const void *bytes;

	(void)index;
	driver->error = error;
	if (!message)
		return;
	attributes = attributes_of(message, sizeof(struct genlmsghdr));
	bytes = attribute_bytes(&attributes, NETDEV_XDP_FEATURES, sizeof(driver->xdp));
	driver->error = bytes ? 0 : -ENOTSUP;
	if (bytes)
		memcpy(&driver->xdp, bytes, sizeof(driver->xdp));
}

/* -errno: this kernel does not tell. */
static int ask_driver(struct driver *driver)
{
	_cleanup_(netsocket_closep) struct netsocket *socket = NULL;
	struct netsocket_questions questions = {
		.count = 1, .context = driver, .put = put_family, .answer = answer_family};
	int result = netsocket_open(NETLINK_GENERIC, NULL, 0, &socket);

	if (result == 0)
		result = netsocket_ask(socket, &questions);
	if (result < 0 || driver->error < 0)
		return result < 0 ? result : driver->error;
	questions.put = put_device;
	questions.answer = answer_device;
	result = netsocket_ask(socket, &questions);
	return result < 0 ? result : driver->error;
}

static void check_driver(const struct link_info *link, const struct offloads_wanted *wanted,
                         struct findings *findings)
{
	struct driver driver = {.ifindex = link->ifindex};

	if (ask_driver(&driver) < 0)
		return;
	if (wanted->redirected_to && !(driver.xdp & XDP_REDIRECTED_TO))
		add(findings,
		    strcmp(link->kind, "veth") == 0
		            ? "%s takes no redirected frames: its other end needs an XDP program, "
		              "or GRO"
		            : "%s takes no redirected frames: its driver cannot, or not yet",
		    link->name);
	if (link->mtu > ONE_BUFFER && !(driver.xdp & XDP_PIECES))
		add(findings, "the MTU of %s is %u: its driver's native XDP takes %d at most",
		    link->name, link->mtu, ONE_BUFFER);
}

static void check_other_end(const struct network *network, const struct link_info *link, bool fix,
                            struct findings *findings)
{
	const struct link_info *peer = network_link(network, link->peer);

	if (strcmp(link->kind, "veth") != 0)
		return;
	if (peer) {
		check_rows(network, link, peer, OTHER_END, fix, findings);
		return;
	}
	add(findings,
	    "the other end of %s is in another namespace: that it has an XDP program, and "
	    "tx-checksumming off, cannot be seen",
	    link->name);
	if (findings->count)
		findings->list[findings->count - 1].hint = true;
}

/* ---- rp_filter --------------------------------------------------------------------------------- */

static int read_number(const char *folder, const char *name)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[300];
	int value;

	snprintf(path, sizeof(path), "%s/%s/rp_filter", folder, name);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &value) != 1)
		return -1;
	return value;
}

int offloads_rp_filter(const char *folder, const char *name)
{
	int all = read_number(folder, "all"), own = read_number(folder, name);

	return own < 0 || all > own ? all : own;
}

/* Of the device and of those on it: each has a setting of its own. */
static void check_rp_filter(const struct network *network, const struct link_info *link,
                            uint32_t clients, struct findings *findings)
{
	const struct link_info *back = network_link(network, clients), *upper;

	for (size_t i = 0; back && (upper = network_link_at(network, i)); i++) {
		struct link_path path;

		if (upper->ifindex == clients || network_path(network, upper->ifindex, &path) < 0 ||
		    path.ifindex != link->ifindex ||
		    offloads_rp_filter("/proc/sys/net/ipv4/conf", upper->name) != 1)
			continue;
		add(findings,
		    "rp_filter is strict on %s, but clients are answered by %s: the kernel drops "
		    "them there",
		    upper->name, back->name);
	}
}

size_t offloads_check(const struct network *network, uint32_t ifindex,
                      const struct offloads_wanted *wanted, struct offload_finding *ret,
                      size_t room)
{
	struct findings findings = {.list = ret, .room = room};
	const struct link_info *link = network_link(network, ifindex);

	if (!link)
		return 0;
	check_rows(network, link, link, OWN, wanted->fix, &findings);
	check_other_end(network, link, wanted->fix, &findings);
	check_driver(link, wanted, &findings);
	check_rp_filter(network, link, wanted->clients, &findings);
	return findings.count;
}
