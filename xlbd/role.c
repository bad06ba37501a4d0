// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * role.c - which virtual addresses this director owns.
 *
 * keepalived's VRRP is the only election; this file reads its result from two witnesses. The address on the device where
 * keepalived puts it is the stronger one: keepalived adds it when it becomes MASTER and takes it away when it stops being so,
 * and the kernel tells us. The FIFO's line comes a little earlier, but lines get lost, and a keepalived that was killed
 * leaves its address and the word MASTER behind. So a line can only take away: BACKUP, FAULT, STOP and DELETED silence
 * the addresses of the instance until MASTER comes or the address comes anew (its serial changed).
 *
 * Where the address has to be: on the device that the configuration names (the VMAC device with use_vmac), or on a macvlan
 * of it. The same address on lo, as a DR real server has it, counts for nothing. An address that no VRRP instance claims
 * (anycast by BGP) is ours while any device has it.
 *
 * Pure but for the clock in `since`: the daemon calls role_set_instances() after reading keepalived.conf, role_event() for each
 * line, role_refresh() when addresses changed, and role_owns() for each service.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "xlbd/model/addr.h"
#include "xlbd/role.h"

struct role_address {
	struct xlb_addr addr;
	char device[16];
	uint64_t serial; /* as the last refresh saw it; 0: it was not there */
	bool refreshed;
	bool silenced; /* the FIFO's last word is against us */
};

struct instance {
	char *name;
	enum vrrp_state state;
	struct role_address *addresses;
	size_t address_count;
	bool active; /* at the last refresh */
	int64_t since;
};

struct role {
	struct instance *instances;
	size_t instance_count;
	uint64_t generation; /* of the network, at the last refresh */
	bool dirty;          /* answers may have changed since */
};

static const struct {
	const char *name;
	bool silences;
} states[] = {
	[VRRP_UNKNOWN] = {"UNKNOWN", false}, [VRRP_MASTER] = {"MASTER", false},
	[VRRP_BACKUP] = {"BACKUP", true},    [VRRP_FAULT] = {"FAULT", true},
	[VRRP_STOP] = {"STOP", true},        [VRRP_DELETED] = {"DELETED", true},
};

const char *vrrp_state_name(enum vrrp_state state)
{
	return state < ARRAY_SIZE(states) ? states[state].name : "?";
}

/* ---- instances --------------------------------------------------------------------------------- */

static void free_instances(struct instance *instances, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(instances[i].name);
		free(instances[i].addresses);
	}
	free(instances);
}

struct role *role_new(void)
{
	return calloc(1, sizeof(struct role));
}

struct role *role_free(struct role *role)
{
	if (!role)
		return NULL;
	free_instances(role->instances, role->instance_count);
	free(role);
	return NULL;
}

static struct instance *find_instance(const struct role *role, const char *name)
{
	for (size_t i = 0; i < role->instance_count; i++)
		if (strcmp(role->instances[i].name, name) == 0)
			return &role->instances[i];
	return NULL;
}

static const struct role_address *find_address(const struct instance *instance,
                                               const struct role_address *like)
{
	for (size_t i = 0; i < instance->address_count; i++)
		if (addr_equal(&instance->addresses[i].addr, &like->addr) &&
		    strcmp(instance->addresses[i].device, like->device) == 0)
			return &instance->addresses[i];
	return NULL;
}

/* What was known of an instance of the same name stays known. */
static void inherit(struct instance *instance, const struct instance *old)
{
	instance->state = old->state;
	instance->active = old->active;
	instance->since = old->since;
	for (size_t i = 0; i < instance->address_count; i++) {
		const struct role_address *known = find_address(old, &instance->addresses[i]);

		if (known)
			instance->addresses[i] = *known;
		else
			instance->addresses[i].silenced = states[old->state].silences;
	}
}

static int copy_instance(const struct vrrp_instance *from, struct instance *to)
{
	to->name = strdup(from->name);
	to->addresses = calloc(from->address_count + 1, sizeof(*to->addresses));
	if (!to->name || !to->addresses)
		return -ENOMEM;
	to->address_count = from->address_count;
	for (size_t i = 0; i < from->address_count; i++) {
		to->addresses[i].addr = from->addresses[i].addr;
		memcpy(to->addresses[i].device, from->addresses[i].device,
		       sizeof(to->addresses[i].device));
	}
	return 0;
}

int role_set_instances(struct role *role, const struct keepalived_config *config)
{
	struct instance *instances = calloc(config->instance_count + 1, sizeof(*instances));
	int result = instances ? 0 : -ENOMEM;

	for (size_t i = 0; result == 0 && i < config->instance_count; i++) {
		const struct instance *old = find_instance(role, config->instances[i].name);

		result = copy_instance(&config->instances[i], &instances[i]);
		if (result == 0 && old)
			inherit(&instances[i], old);
	}
	if (result < 0) {
		if (instances)
			free_instances(instances, config->instance_count);
		return result;
	}
	free_instances(role->instances, role->instance_count);
	role->instances = instances;
	role->instance_count = config->instance_count;
	role->dirty = true;
	return 0;
}

void role_event(struct role *role, const char *instance, enum vrrp_state state)
{
	struct instance *found = find_instance(role, instance);

	if (!found || state == VRRP_UNKNOWN || state >= ARRAY_SIZE(states))
		return;
	found->state = state;
	for (size_t i = 0; i < found->address_count; i++)
		found->addresses[i].silenced = states[state].silences;
	role->dirty = true;
}

/* ---- who owns it ------------------------------------------------------------------------------- */

/* The serial of the address where it belongs; 0: it is not there. */
static uint64_t serial_of(const struct network *network, const struct role_address *address)
{
	const char *device = address->device[0] ? address->device : NULL;
	uint64_t serial = network_address_serial(network, &address->addr, device);
	const struct link_info *link, *base;

	if (serial || !device)
		return serial;
	link = network_link(network, network_address(network, &address->addr, NULL));
	base = network_link_named(network, device);
	if (!link || !base || link->lower != base->ifindex || strcmp(link->kind, "macvlan") != 0)
		return 0;
	return network_address_serial(network, &address->addr, link->name);
}

static bool came_anew(const struct role_address *address, uint64_t serial)
{
	return address->refreshed && serial && serial != address->serial;
}

static bool owned(const struct network *network, const struct role_address *address)
{
	uint64_t serial = serial_of(network, address);

	return serial && (!address->silenced || came_anew(address, serial));
}

static void refresh_instance(struct instance *instance, const struct network *network)
{
	struct timespec now;
	bool active = false;

	for (size_t i = 0; i < instance->address_count; i++) {
		struct role_address *address = &instance->addresses[i];
		uint64_t serial = serial_of(network, address);

		if (came_anew(address, serial))
			address->silenced = false;
		address->serial = serial;
		address->refreshed = true;
		active |= owned(network, address);
	}
	if (active == instance->active)
		return;
	clock_gettime(CLOCK_BOOTTIME, &now);
	instance->active = active;
	instance->since = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool role_refresh(struct role *role, const struct network *network)
{
	bool changed = role->dirty || role->generation != network_generation(network);

	for (size_t i = 0; i < role->instance_count; i++)
		refresh_instance(&role->instances[i], network);
	role->dirty = false;
	role->generation = network_generation(network);
	return changed;
}

bool role_owns(const struct role *role, const struct network *network, const struct xlb_addr *addr,
               const char **ret_instance)
{
	const char *claims = NULL;
	bool owns = false;

	for (size_t i = 0; !owns && i < role->instance_count; i++) {
		const struct instance *instance = &role->instances[i];

		for (size_t k = 0; !owns && k < instance->address_count; k++) {
			if (!addr_equal(&instance->addresses[k].addr, addr))
				continue;
			owns = owned(network, &instance->addresses[k]);
			if (owns || !claims)
				claims = instance->name;
		}
	}
	if (!claims)
		owns = network_address(network, addr, NULL) != 0;
	if (ret_instance)
		*ret_instance = claims;
	return owns;
}

size_t role_count(const struct role *role)
{
	return role->instance_count;
}

void role_get(const struct role *role, const struct network *network, size_t index,
              struct role_instance *ret)
{
	const struct instance *instance = &role->instances[index];
	struct role_instance shown = {.name = instance->name,
	                              .state = instance->state,
	                              .addresses = instance->address_count,
	                              .since = instance->since};

	for (size_t i = 0; i < instance->address_count; i++) {
		shown.present += serial_of(network, &instance->addresses[i]) != 0;
		shown.active |= owned(network, &instance->addresses[i]);
	}
	*ret = shown;
}
