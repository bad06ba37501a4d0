// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * interfaces.c - which frames are ours, where packets may leave, whose addresses are our own.
 *
 * Three maps. The interface table is written in place: a slot's ifindex goes last when it is made and first when it is
 * taken away, and in between a frame of it passes to the kernel, which knows what to do. Exits keep their slot for as
 * long as the map lives, since real servers' entries hold the number: after a restart they are read back. Own
 * addresses are a set that is brought in line entry by entry.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "xlbd/dataplane/interfaces.h"
#include "xlbd/log.h"

#define TOPIC       "interfaces"
#define TABLE_BYTES (XLB_INTERFACES * sizeof(struct xlb_interface))

struct interfaces {
	struct dataplane *dataplane;
	struct xlb_interface *table; /* mapped */
	uint32_t exit[XLB_EXITS];    /* ifindex by slot; 0: free */
};

int interfaces_open(struct dataplane *dataplane, struct interfaces **ret)
{
	_cleanup_(interfaces_closep) struct interfaces *interfaces = calloc(1, sizeof(*interfaces));
	void *table;

	if (!interfaces)
		return -ENOMEM;
	interfaces->dataplane = dataplane;
	table = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
	             dataplane_map(dataplane, MAP_INTERFACES), 0);
	if (table == MAP_FAILED)
		return -errno;
	interfaces->table = table;
	for (uint32_t slot = 0; slot < XLB_EXITS; slot++)
		if (bpf_map_lookup_elem(dataplane_map(dataplane, MAP_EXITS), &slot,
		                        &interfaces->exit[slot]))
			interfaces->exit[slot] = 0;
	*ret = take_ptr(interfaces);
	return 0;
}

struct interfaces *interfaces_close(struct interfaces *interfaces)
{
	if (interfaces && interfaces->table)
		munmap(interfaces->table, TABLE_BYTES);
	free(interfaces);
	return NULL;
}

static uint64_t mac_word(const uint8_t mac[6])
{
	uint64_t word = 0;

	for (int i = 5; i >= 0; i--)
		word = word << 8 | mac[i];
	return word;
}

static bool is_attached(uint32_t ifindex, const uint32_t *attached, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (attached[i] == ifindex)
			return true;
	return false;
}

/* One {device, tags} into the table that is being made. */
static int add(struct xlb_interface *table, const struct network *network,
               const struct link_info *link, const struct link_path *path)
{
	struct xlb_interface *entry =
		&table[xlb_interface_slot(path->ifindex, path->vid[0], path->vid[1])];
	uint8_t macs[XLB_INTERFACE_MACS][6];
	size_t count;

	if (entry->ifindex) {
		log_warning(
			TOPIC,
			"'%s' shares a slot with device %u: packets for it stay with the kernel",
			link->name, entry->ifindex);
		return -EADDRINUSE;
	}
	count = network_macs(network, link->ifindex, macs, XLB_INTERFACE_MACS);
	entry->ifindex = path->ifindex;
	memcpy(entry->vid, path->vid, sizeof(entry->vid));
	for (size_t i = 0; i < count && i < XLB_INTERFACE_MACS; i++)
		entry->mac[i] = mac_word(macs[i]);
	return 0;
}

/* A slot of the mapped table becomes what it should be; readers never see one half-written as valid. */
static void write_slot(struct xlb_interface *slot, const struct xlb_interface *wanted)
{
	if (!memcmp(slot, wanted, sizeof(*slot)))
		return;
	__atomic_store_n(&slot->ifindex, 0, __ATOMIC_SEQ_CST);
	memcpy(slot->vid, wanted->vid, sizeof(*slot) - offsetof(struct xlb_interface, vid));
	__atomic_store_n(&slot->ifindex, wanted->ifindex, __ATOMIC_SEQ_CST);
}

/* Where the kernel's routes lead: each device by which packets may leave, and what is below it. */
static void set_way(struct interfaces *interfaces, uint32_t ifindex, const struct link_path *path)
{
	struct xlb_way way = {.ifindex = path->ifindex}, now;
	int fd = dataplane_map(interfaces->dataplane, MAP_WAYS),
	    exit = interfaces_exit(interfaces, path->ifindex);

	for (int i = 0; i < XLB_TAGS; i++) {
		way.tpid[i] = path->tpid[i];
		way.tci[i] = htons(path->vid[i]);
	}
	way.exit = (uint16_t)exit;
	if (exit < 0)
		(void)bpf_map_delete_elem(fd, &ifindex);
	else if (bpf_map_lookup_elem(fd, &ifindex, &now) || memcmp(&now, &way, sizeof(way)))
		(void)bpf_map_update_elem(fd, &ifindex, &way, BPF_ANY);
}

int interfaces_set(struct interfaces *interfaces, const struct network *network,
                   const uint32_t *attached, size_t count)
{
	_cleanup_free_ struct xlb_interface *table = calloc(XLB_INTERFACES, sizeof(*table));
	const struct link_info *link;
	int result = 0, r;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; (link = network_link_at(network, i)); i++) {
		struct link_path path = {0};

		/* a macvlan's MACs belong to the device below it, see network_macs() */
		if (!strcmp(link->kind, "macvlan") ||
		    network_path(network, link->ifindex, &path) < 0)
			continue;
		if (!is_attached(path.ifindex, attached, count))
			continue;
		set_way(interfaces, link->ifindex, &path);
		r = add(table, network, link, &path);
		if (r < 0)
			result = r;
	}
	for (size_t i = 0; i < XLB_INTERFACES; i++)
		write_slot(&interfaces->table[i], &table[i]);
	return result;
}

int interfaces_exit(struct interfaces *interfaces, uint32_t ifindex)
{
	uint32_t unused = XLB_EXITS;

	for (uint32_t slot = 0; slot < XLB_EXITS; slot++) {
		if (interfaces->exit[slot] == ifindex)
			return (int)slot;
		if (!interfaces->exit[slot] && unused == XLB_EXITS)
			unused = slot;
	}
	if (unused == XLB_EXITS)
		return -ENOSPC;
	/* the kernel resolves the number in our network namespace */
	if (bpf_map_update_elem(dataplane_map(interfaces->dataplane, MAP_EXITS), &unused, &ifindex,
	                        BPF_ANY))
		return -errno;
	interfaces->exit[unused] = ifindex;
	return (int)unused;
}

static bool is_wanted(const struct xlb_addr *addr, const struct xlb_addr *addrs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!memcmp(addr, &addrs[i], sizeof(*addr)))
			return true;
	return false;
}

/* Deletes one address that is not wanted; false: there is none. */
static bool delete_one(int fd, const struct xlb_addr *addrs, size_t count)
{
	struct xlb_addr key, *previous = NULL;

	while (bpf_map_get_next_key(fd, previous, &key) == 0) {
		if (!is_wanted(&key, addrs, count))
			return bpf_map_delete_elem(fd, &key) == 0;
		previous = &key;
	}
	return false;
}

int interfaces_set_locals(struct interfaces *interfaces, const struct xlb_addr *addrs, size_t count)
{
	int fd = dataplane_map(interfaces->dataplane, MAP_LOCALS);
	uint32_t one = 1;

	for (size_t i = 0; i < count; i++)
		if (bpf_map_update_elem(fd, &addrs[i], &one, BPF_ANY))
			return -errno;
	while (delete_one(fd, addrs, count))
		;
	return 0;
}
