/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offloads.h - what of a device's settings stands in the way of XDP: offloads, MTU, the other end of a veth, rp_filter.
 */
#ifndef XLBD_OFFLOADS_H
#define XLBD_OFFLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlbd/network.h"

#define OFFLOADS_MAX 8 /* findings of one device */

struct offload_finding {
	bool hint;      /* cannot be seen from here, or may be right: not a problem for certain */
	bool fixed;     /* was a problem, and is set right now */
	char text[160]; /* one sentence without full stop */
};

struct offloads_wanted {
	bool redirected_to; /* frames from other devices are sent by it */
	bool fix;           /* xlbd.yaml `fix_offloads`: set what can be set */
	uint32_t
		clients; /* ifindex of the device by which clients are answered (routes_default() of IPv4); 0: not known */
};

/*
 * Looks at the device (the lowest one) and what lies above it. Returns the count of findings, at most `room`; 0: nothing
 * stands in the way. Settings that the driver does not have are no finding. Logs only what it sets.
 */
size_t offloads_check(const struct network *network, uint32_t ifindex,
                      const struct offloads_wanted *wanted, struct offload_finding *ret,
                      size_t room);

/* net.ipv4.conf.*: the stricter of `all` and the device, as the kernel takes it; -1: not known. folder: /proc/sys/net/ipv4/conf. */
int offloads_rp_filter(const char *folder, const char *name);

#endif
