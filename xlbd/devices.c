// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * devices.c - chooses the devices that carry the program.
 *
 * A packet for a virtual server may come in by three ways: the device that has the address, the device that keepalived would put the
 * address on (this director may be the standby now), and the device of the default route, by which clients anywhere are
 * answered and so, as a rule, heard. Devices towards real servers get the program too: replies of NAT come in there, and a
 * veth takes redirected frames only with a program on it. If xlbd.yaml names interfaces, they alone count.
 *
 * The program always sits on the lowest device: VLAN and macvlan devices are walked down (network_path()). loopback never
 * gets one: an address on lo alone (anycast, DR real server) speaks for no device. What should have the program and cannot is in
 * the answer as well, with a sentence: the daemon says it, and leaves services that need the device to IPVS.
 *
 * Pure over the mirror of network.c; what neighbours.c knows is handed in.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "xlbd/devices.h"
#include "xlbd/model/addr.h"

struct choice {
	const struct network *network;
	struct device_choice *list;
	size_t count, room;
};

static struct device_choice *find(const struct choice *choice, uint32_t ifindex, const char *name)
{
	for (size_t i = 0; i < choice->count; i++)
		if (choice->list[i].ifindex == ifindex && strcmp(choice->list[i].name, name) == 0)
			return &choice->list[i];
	return NULL;
}

/* Takes the device below `ifindex`; the first reason is kept. */
static void __attribute__((format(printf, 3, 4)))
want(struct choice *choice, uint32_t ifindex, const char *why, ...)
{
	const struct link_info *link = network_link(choice->network, ifindex), *lowest = link;
	char problem[NETWORK_PROBLEM_TEXT] = "";
	struct device_choice *taken;
	struct link_path path;
	va_list arguments;
	int used;

	if (!link || link->loopback)
		return;
	if (network_path(choice->network, ifindex, &path) == 0)
		lowest = network_link(choice->network, path.ifindex);
	else
		(void)network_path_problem(choice->network, ifindex, problem);
	if (find(choice, lowest->ifindex, lowest->name) || choice->count == choice->room)
		return;
	taken = &choice->list[choice->count++];
	*taken = (struct device_choice){.ifindex = lowest->ifindex};
	memcpy(taken->name, lowest->name, sizeof(taken->name));
	memcpy(taken->problem, problem, sizeof(taken->problem));
	va_start(arguments, why);
	used = vsnprintf(taken->why, sizeof(taken->why), why, arguments);
	va_end(arguments);
	if (lowest != link && used > 0 && used < (int)sizeof(taken->why))
		snprintf(taken->why + used, sizeof(taken->why) - (size_t)used, " (%s)", link->name);
}

static void want_named(struct choice *choice, const char *name)
{
	const struct link_info *link = network_link_named(choice->network, name);
	struct device_choice *taken;

	if (link && !link->loopback) {
		want(choice, link->ifindex, "named in xlbd.yaml");
		return;
	}
	if (choice->count == choice->room || find(choice, 0, name))
		return;
	taken = &choice->list[choice->count++];
	*taken = (struct device_choice){.why = "named in xlbd.yaml"};
	snprintf(taken->name, sizeof(taken->name), "%s", name);
	snprintf(taken->problem, sizeof(taken->problem),
	         link ? "%.20s is the loopback interface" : "there is no interface %.20s", name);
}

static void want_vips(struct choice *choice, const struct devices_wanted *wanted)
{
	char text[ADDR_TEXT];

	for (size_t i = 0; i < wanted->vip_count; i++)
		want(choice, network_address(choice->network, &wanted->vips[i], NULL), "carries %s",
		     addr_print(&wanted->vips[i], text));
	for (size_t i = 0; i < wanted->vip_device_count; i++) {
		const struct link_info *link =
			network_link_named(choice->network, wanted->vip_devices[i]);

		if (link)
			want(choice, link->ifindex, "keepalived puts virtual addresses on it");
	}
}

static void want_reals(struct choice *choice, const struct devices_wanted *wanted)
{
	char text[ADDR_TEXT];

	for (size_t i = 0; i < wanted->real_count; i++)
		want(choice, wanted->reals[i].ifindex, "leads to real server %s",
		     addr_print(&wanted->reals[i].addr, text));
}

size_t devices_choose(const struct network *network, const struct devices_wanted *wanted,
                      struct device_choice *ret, size_t room)
{
	struct choice choice = {.network = network, .list = ret, .room = room};

	for (size_t i = 0; i < wanted->name_count; i++)
		want_named(&choice, wanted->names[i]);
	if (wanted->name_count)
		return choice.count;
	want_vips(&choice, wanted);
	for (size_t i = 0; i < wanted->default_count; i++)
		want(&choice, wanted->defaults[i], "default route");
	want_reals(&choice, wanted);
	return choice.count;
}
