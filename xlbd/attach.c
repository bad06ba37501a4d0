// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * attach.c - chooses devices, puts the program on them, keeps the interface table in line.
 *
 * devices.c chooses (pure): the devices named in xlbd.yaml, or those that carry virtual addresses, lead to real servers or hold
 * the default route. A device that has the program keeps it for as long as it exists: taking it away would hand
 * connections that only XDP knows to the kernel. What stands in the way of a device is kept for `xlbctl status` and logged
 * once.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>

#include "xlbd/dataplane/links.h"
#include "xlbd/devices.h"
#include "xlbd/log.h"
#include "xlbd/netsocket.h"
#include "xlbd/offloads.h"
#include "xlbd/routes.h"
#include "xlbd/xlbd.h"

#define TOPIC           "devices"
#define VIP_DEVICES_MAX 256

bool xlbd_is_attached(const struct xlbd *xlbd, uint32_t ifindex)
{
	for (size_t i = 0; i < xlbd->device_count; i++)
		if (xlbd->device[i].attached && xlbd->device[i].ifindex == ifindex)
			return true;
	return false;
}

/* ---- what speaks for a device ----------------------------------------------------------------- */

struct wishes {
	struct devices_wanted wanted;
	struct xlb_addr *vips;
	struct device_real *reals;
	const char *vip_device[VIP_DEVICES_MAX];
	uint32_t defaults[2];
};

static void wish_for_services(struct xlbd *xlbd, const struct service_set *services,
                              struct wishes *wishes)
{
	const struct service *service;
	size_t reals = 0;

	for (size_t i = 0; (service = service_set_get(services, i)); i++)
		reals += service->real_count;
	wishes->vips = calloc(service_set_count(services) + 1, sizeof(*wishes->vips));
	wishes->reals = calloc(reals + 1, sizeof(*wishes->reals));
	if (!wishes->vips || !wishes->reals)
		return;
	for (size_t i = 0; (service = service_set_get(services, i)); i++) {
		if (!service->fwmark)
			wishes->vips[wishes->wanted.vip_count++] = service->key.addr;
		for (size_t j = 0; j < service->real_count; j++) {
			const struct next_hop *hop =
				neighbours_get(xlbd->neighbours, &service->reals[j].addr);

			wishes->reals[wishes->wanted.real_count++] = (struct device_real){
				.addr = service->reals[j].addr, .ifindex = hop ? hop->ifindex : 0};
		}
	}
}

static void wish_for_instances(const struct keepalived_config *declared, struct wishes *wishes)
{
	for (size_t i = 0; declared && i < declared->instance_count; i++) {
		const struct vrrp_instance *instance = &declared->instances[i];

		for (size_t j = 0; j < instance->address_count; j++)
			if (wishes->wanted.vip_device_count < VIP_DEVICES_MAX)
				wishes->vip_device[wishes->wanted.vip_device_count++] =
					instance->addresses[j].device;
	}
}

static void wish_for_defaults(struct xlbd *xlbd, struct wishes *wishes)
{
	static const int families[] = {AF_INET, AF_INET6};

	if (!xlbd->ask_routes && netsocket_open(NETLINK_ROUTE, NULL, 0, &xlbd->ask_routes) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		struct route_info route = {0};
		int r = routes_default(xlbd->ask_routes, families[i], &route);

		if (r < 0 &&
		    r != -ENETUNREACH) { /* a late answer must not meet the next question */
			xlbd->ask_routes = netsocket_close(xlbd->ask_routes);
			return;
		}
		xlbd->gateway[i] = r < 0 || route.error ? (struct xlb_addr){0} : route.gateway;
		if (r < 0 || route.error)
			continue;
		wishes->defaults[wishes->wanted.default_count++] = route.ifindex;
		if (families[i] == AF_INET)
			xlbd->clients = route.ifindex;
	}
}

static size_t choose(struct xlbd *xlbd, const struct service_set *services,
                     struct device_choice *choice)
{
	struct wishes wishes = {0};
	size_t count;

	wish_for_services(xlbd, services, &wishes);
	wish_for_instances(xlbd->declared, &wishes);
	wish_for_defaults(xlbd, &wishes);
	wishes.wanted.names = xlbd->conf->interfaces;
	wishes.wanted.name_count = xlbd->conf->interfaces_count;
	wishes.wanted.vips = wishes.vips;
	wishes.wanted.vip_devices = wishes.vip_device;
	wishes.wanted.reals = wishes.reals;
	wishes.wanted.defaults = wishes.defaults;
	count = devices_choose(xlbd->network, &wishes.wanted, choice, DEVICES_MAX);
	free(wishes.vips);
	free(wishes.reals);
	return count;
}

/* ---- on and off ------------------------------------------------------------------------------- */

static struct xlbd_device *find(struct xlbd *xlbd, const char *name)
{
	for (size_t i = 0; i < xlbd->device_count; i++)
		if (!strcmp(xlbd->device[i].name, name))
			return &xlbd->device[i];
	return NULL;
}

static struct xlbd_device *take(struct xlbd *xlbd, const struct device_choice *choice)
{
	struct xlbd_device *device = find(xlbd, choice->name);

	if (!device) {
		if (xlbd->device_count == XLBD_DEVICES_MAX)
			return NULL;
		device = &xlbd->device[xlbd->device_count++];
		*device = (struct xlbd_device){0};
		snprintf(device->name, sizeof(device->name), "%s", choice->name);
	}
	if (device->ifindex != choice->ifindex) /* it went and another of its name came */
		device->attached = false;
	device->ifindex = choice->ifindex;
	snprintf(device->why, sizeof(device->why), "%s", choice->why);
	return device;
}

/* Notes what stands in the way; logs it when it is news. */
static void note_problem(struct xlbd_device *device, const char *problem)
{
	if (!strcmp(device->problem, problem))
		return;
	snprintf(device->problem, sizeof(device->problem), "%s", problem);
	if (problem[0])
		log_warning(TOPIC, "'%s' (%s): %s", device->name, device->why, problem);
}

/* What of the device's settings stands in the way of what the program does; set right if xlbd.yaml says so. */
static void look_at_offloads(struct xlbd *xlbd, struct xlbd_device *device)
{
	const struct offloads_wanted wanted = {.redirected_to = xlbd->device_count > 1,
	                                       .fix = xlbd->conf->fix_offloads,
	                                       .clients = xlbd->clients};
	struct offload_finding finding[OFFLOADS_MAX];
	size_t count =
		offloads_check(xlbd->network, device->ifindex, &wanted, finding, OFFLOADS_MAX);

	for (size_t i = 0; i < count; i++) {
		if (finding[i].fixed)
			log_notice(TOPIC, "'%s': %s: set right", device->name, finding[i].text);
		else if (finding[i].hint)
			log_info(TOPIC, "'%s': %s", device->name, finding[i].text);
		else
			note_problem(device, finding[i].text);
	}
}

static void attach(struct xlbd *xlbd, struct xlbd_device *device)
{
	static const enum links_mode modes[] = {
		[CONF_XDP_AUTO] = LINKS_NATIVE_OR_GENERIC,
		[CONF_XDP_NATIVE] = LINKS_NATIVE,
		[CONF_XDP_GENERIC] = LINKS_GENERIC,
	};
	int fd = -1;
	int r = links_attach(xlbd->conf->pin_folder, dataplane_ingress_fd(xlbd->dataplane),
	                     device->ifindex, device->name, modes[xlbd->conf->xdp_mode],
	                     &device->native, &fd);
	char problem[160];

	if (r < 0) {
		snprintf(problem, sizeof(problem), "the program cannot be attached: %s",
		         r == -EBUSY ? "another XDP program is there" : strerror(-r));
		note_problem(device, problem);
		return;
	}
	device->attached = true;
	note_problem(device, ""); /* it was away, or would not take the program */
	log_notice(TOPIC, "the program is on '%s' (%s), %s mode", device->name, device->why,
	           device->native ? "native" : "generic");
	look_at_offloads(xlbd, device);
	if (!device->native && xlbd->conf->xdp_mode != CONF_XDP_GENERIC)
		note_problem(
			device,
			"its driver has no native XDP: generic mode, at a fraction of the speed");
}

/* Devices that are no more: their links are defunct, the kernel took the program away. */
static void forget_vanished(struct xlbd *xlbd)
{
	for (size_t i = 0; i < xlbd->device_count; i++) {
		struct xlbd_device *device = &xlbd->device[i];
		const struct link_info *link = network_link(xlbd->network, device->ifindex);

		if (link && !strcmp(link->name, device->name))
			continue;
		if (device->attached)
			log_warning(TOPIC, "'%s' is gone", device->name);
		device->attached = false;
		note_problem(device, "the device is gone");
	}
}

static void set_locals(struct xlbd *xlbd)
{
	const struct xlb_addr *addr;
	struct xlb_addr *all = NULL;
	size_t count = 0;

	while (network_address_at(xlbd->network, count))
		count++;
	all = calloc(count + 1, sizeof(*all));
	if (!all)
		return;
	for (size_t i = 0; (addr = network_address_at(xlbd->network, i)); i++)
		all[i] = *addr;
	if (interfaces_set_locals(xlbd->interfaces, all, count) < 0)
		log_warning(TOPIC, "own addresses cannot be written: spoofed ones are not refused");
	free(all);
}

void xlbd_attach(struct xlbd *xlbd, const struct service_set *services)
{
	struct device_choice choice[DEVICES_MAX];
	uint32_t attached[XLBD_DEVICES_MAX];
	size_t count = choose(xlbd, services, choice), attached_count = 0;

	forget_vanished(xlbd);
	for (size_t i = 0; i < count; i++) {
		struct xlbd_device *device = take(xlbd, &choice[i]);

		if (!device)
			continue;
		if (choice[i].problem[0])
			note_problem(device, choice[i].problem);
		else if (!device->attached)
			attach(xlbd, device);
	}
	for (size_t i = 0; i < xlbd->device_count; i++)
		if (xlbd->device[i].attached)
			attached[attached_count++] = xlbd->device[i].ifindex;
	(void)interfaces_set(xlbd->interfaces, xlbd->network, attached, attached_count);
	set_locals(xlbd);
}
