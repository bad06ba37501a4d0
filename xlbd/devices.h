/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * devices.h - which devices get the program, and why; which would need it and cannot have it. Pure.
 */
#ifndef XLBD_DEVICES_H
#define XLBD_DEVICES_H

#include <stddef.h>

#include "xlbd/network.h"

#define DEVICES_MAX 64 /* as many as one daemon takes on */

struct device_choice {
	uint32_t ifindex; /* of the lowest device; 0: there is none of that name */
	char name[16];
	char why[160]; /* "named in xlbd.yaml", "carries 192.0.2.1 (eth0.5)", ... */
	char problem[NETWORK_PROBLEM_TEXT]; /* why it cannot have the program; "": it can */
};

/* A real server and the device that leads to it (next_hop.ifindex); 0: none. */
struct device_real {
	struct xlb_addr addr;
	uint32_t ifindex;
};

/* What speaks for a device. Every part may be empty. */
struct devices_wanted {
	/* interfaces of xlbd.yaml: if there are any, they alone count */
	char *const *names;
	size_t name_count;
	/* virtual addresses of services: the devices that have them now ... */
	const struct xlb_addr *vips;
	size_t vip_count;
	/* ... and the devices where keepalived would put them: a standby must be ready */
	const char *const *vip_devices;
	size_t vip_device_count;
	/* real servers */
	const struct device_real *reals;
	size_t real_count;
	/* devices of the default routes (routes_default()): clients' packets come from there; 0: none */
	const uint32_t *defaults;
	size_t default_count;
};

/*
 * At most `room` choices, each lowest device once, in the order of the reasons above. Returns the count; those with a
 * problem are among them.
 */
size_t devices_choose(const struct network *network, const struct devices_wanted *wanted,
                      struct device_choice *ret, size_t room);

#endif
