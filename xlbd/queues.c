// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * queues.c - receive queues by the driver's statistics (`ethtool -S`), devices by /proc/net/dev.
 *
 * The kernel has no common way yet that tells how much each receive queue got (netdev's generic
 * netlink does, from Linux 6.9 on, for some drivers), but most drivers do, under names of their
 * own: the table below knows the usual forms. Names and values are asked for anew each time, since
 * a driver changes them with the number of queues. Needs no privilege. control/snapshot.c reads
 * this once a second at most; a driver that knows no queues costs two system calls then.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "xlbd/cleanup.h"
#include "xlbd/queues.h"

#define STATISTICS_MOST 16384

/* ---- names ------------------------------------------------------------------------------------ */

/* %n must be reached at the end. The later wins where a driver has both: all packets before those that XDP saw. */
static const struct {
	const char *packets, *bytes;
} forms[] = {
	{"rx_queue_%u_xdp_packets%n", "rx_queue_%u_xdp_bytes%n"}, /* veth */
	{"rx_queue_%u_packets%n", "rx_queue_%u_bytes%n"},         /* virtio, ixgbe, igb, igc */
	{"rx-%u.packets%n", "rx-%u.bytes%n"},                     /* i40e, ice */
	{"rx-%u.rx_packets%n", "rx-%u.rx_bytes%n"},
	{"rx%u_packets%n", "rx%u_bytes%n"},           /* mlx5 */
	{"rx%u_pkts%n", "rx%u_octets%n"},             /* bnx2x and others */
	{"queue_%u_rx_cnt%n", "queue_%u_rx_bytes%n"}, /* ena */
	{"rx_queue_%u_pkts%n", "rx_queue_%u_octets%n"},
};

static bool fits(const char *format, const char *name, unsigned *ret)
{
	unsigned queue;
	int end = -1;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (sscanf(name, format, &queue, &end) != 1 || end < 0 || name[end])
		return false;
#pragma GCC diagnostic pop
	*ret = queue;
	return true;
}

unsigned queues_name(const char *name, unsigned *ret_queue, enum queue_value *ret_value)
{
	for (unsigned i = ARRAY_SIZE(forms); i > 0; i--) {
		bool packets = fits(forms[i - 1].packets, name, ret_queue);

		if (!packets && !fits(forms[i - 1].bytes, name, ret_queue))
			continue;
		*ret_value = packets ? QUEUE_PACKETS : QUEUE_BYTES;
		return i;
	}
	return 0;
}

/* ---- ethtool ---------------------------------------------------------------------------------- */

struct statistics {
	int fd;
	struct ifreq request;
	unsigned count;
	struct ethtool_gstrings *names;
	struct ethtool_stats *values;
};

static void statistics_close(struct statistics *statistics)
{
	close_fd(&statistics->fd);
	free(statistics->names);
	free(statistics->values);
}

static int call(struct statistics *statistics, void *command)
{
	statistics->request.ifr_data = command;
	return ioctl(statistics->fd, SIOCETHTOOL, &statistics->request) < 0 ? -errno : 0;
}

static unsigned count_of(struct statistics *statistics)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};

	return call(statistics, &driver) < 0 ? 0 : driver.n_stats;
}

static int read_all(struct statistics *statistics, const char *device)
{
	snprintf(statistics->request.ifr_name, sizeof(statistics->request.ifr_name), "%s", device);
	statistics->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (statistics->fd < 0)
		return -errno;
	statistics->count = count_of(statistics);
	if (!statistics->count || statistics->count > STATISTICS_MOST)
		return -ENOTSUP;
	/* twice the room: the driver may have more of them by now, and writes what it has */
	statistics->names = calloc(2 * statistics->count + 64, ETH_GSTRING_LEN);
	statistics->values = calloc(2 * statistics->count + 64, sizeof(uint64_t));
	if (!statistics->names || !statistics->values)
		return -ENOMEM;
	statistics->names->cmd = ETHTOOL_GSTRINGS;
	statistics->names->string_set = ETH_SS_STATS;
	statistics->names->len = statistics->count;
	statistics->values->cmd = ETHTOOL_GSTATS;
	statistics->values->n_stats = statistics->count;
	if (call(statistics, statistics->names) < 0 || call(statistics, statistics->values) < 0)
		return -errno;
	if (statistics->names->len != statistics->values->n_stats)
		return -EAGAIN;
	statistics->count = statistics->values->n_stats;
	return 0;
}

struct chosen { /* by which form a value came */
	unsigned form[QUEUE_VALUES];
};

static size_t take(const char *name, uint64_t value, struct chosen *chosen,
                   struct queue_counts *ret)
{
	enum queue_value which;
	unsigned queue = 0, form = queues_name(name, &queue, &which);

	if (!form || queue >= QUEUES_MOST || form < chosen[queue].form[which])
		return 0;
	chosen[queue].form[which] = form;
	*(which == QUEUE_PACKETS ? &ret[queue].packets : &ret[queue].bytes) = value;
	ret[queue].known = true;
	return queue + 1;
}

size_t queues_read(const char *device, struct queue_counts ret[QUEUES_MOST])
{
	_cleanup_(statistics_close) struct statistics statistics = {.fd = -1};
	_cleanup_free_ struct chosen *chosen = calloc(QUEUES_MOST, sizeof(*chosen));
	size_t count = 0;

	if (!chosen || read_all(&statistics, device) < 0)
		return 0;
	memset(ret, 0, QUEUES_MOST * sizeof(*ret));
	for (unsigned i = 0; i < statistics.count; i++) {
		char name[ETH_GSTRING_LEN + 1] = "";
		size_t end;

		memcpy(name, statistics.names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		end = take(name, statistics.values->data[i], chosen, ret);
		count = end > count ? end : count;
	}
	return count;
}

/* ---- devices ---------------------------------------------------------------------------------- */

bool queues_device_line(const char *line, const char *device, struct queue_counts *ret)
{
	size_t length = strlen(device);
	struct queue_counts counts = {.known = true};

	line += strspn(line, " ");
	if (strncmp(line, device, length) != 0 || line[length] != ':' ||
	    sscanf(line + length + 1, "%" SCNu64 " %" SCNu64, &counts.bytes, &counts.packets) != 2)
		return false;
	*ret = counts;
	return true;
}

bool queues_device(const char *device, struct queue_counts *ret)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/net/dev", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (queues_device_line(line, device, ret))
			return true;
	return false;
}
