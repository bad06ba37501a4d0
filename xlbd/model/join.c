// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * join.c - what keepalived declares and what the IPVS table has become one set of services.
 *
 * What is in force wins; names, VRRP instances, places in files and who is a sorry server come from the declaration, and so does what the
 * table cannot say: the kind of a tunnel where we stand in for IPVS, the last weight of a real server that was never seen with one.
 * judge() begins with this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/model/join.h"

static const struct service *find_same(const struct service_set *set, const struct service *service)
{
	if (!set)
		return NULL;
	if (service->fwmark)
		return service_set_find_fwmark(set, service->family, service->fwmark);
	return service_set_find(set, &service->key);
}

/* The shares of mh outlive a weight of 0: from this generation, an earlier one, or what keepalived was told. */
static int32_t find_last_weight(const struct service *service, const struct real_server *real,
                                const struct real_server *declared, const struct judge_world *world)
{
	int32_t known = real->last_weight;

	if (real->weight > 0)
		return real->weight;
	if (!known && world->last_weight)
		known = world->last_weight(world->context, service, real);
	if (!known && declared)
		known = declared->weight;
	return known;
}

/* The interface by which we stand in for IPVS does not carry what kind of tunnel it is: the configuration does. */
static void join_tunnel(struct real_server *real, const struct real_server *declared)
{
	if (real->forwarding != XLB_FORWARD_TUNNEL || declared->forwarding != XLB_FORWARD_TUNNEL)
		return;
	real->tunnel_type = declared->tunnel_type;
	real->tunnel_port = declared->tunnel_port;
	real->tunnel_flags = declared->tunnel_flags;
}

static void join_reals(struct service *joined, const struct service *declared,
                       const struct judge_world *world)
{
	size_t hint = 0;

	for (size_t i = 0; i < joined->real_count; i++) {
		struct real_server *real = &joined->reals[i], *other = NULL;

		if (declared)
			other = service_real_near(declared, &real->addr, real->port, &hint);
		if (other) {
			real->sorry = other->sorry;
			real->origin = other->origin;
			if (!world->kernel_ipvs)
				join_tunnel(real, other);
		}
		real->last_weight = find_last_weight(joined, real, other, world);
	}
}

static bool was_declared(const struct service *in_force, const struct judge_world *world)
{
	return !in_force->fwmark && world->declared_before &&
	       world->declared_before(world->context, &in_force->key);
}

/* Either may be NULL, not both. What is only declared keeps its real servers, for those who show it. */
static int add_joined(struct service_set *set, const struct service *declared,
                      const struct service *in_force, const struct judge_world *world)
{
	const struct service *main = in_force ? in_force : declared;
	_cleanup_free_ struct real_server *reals = NULL;
	struct service joined = *main;
	const char *instance = NULL;

	reals = calloc(main->real_count + 1, sizeof(*reals));
	if (!reals)
		return -ENOMEM;
	if (main->real_count)
		memcpy(reals, main->reals, main->real_count * sizeof(*reals));
	joined.reals = reals;
	joined.declared = declared || was_declared(in_force, world);
	joined.in_force = in_force != NULL;
	joined.reason = NULL;
	joined.draining = false;
	if (declared) {
		joined.name = declared->name;
		joined.instance = declared->instance;
		joined.origin = declared->origin;
	}
	joined.standby =
		in_force && world->owns && !world->owns(world->context, &joined, &instance);
	joined.instance = instance ? instance : joined.instance;
	join_reals(&joined, declared, world);
	return service_set_add(set, &joined);
}

int services_join(const struct service_set *declared, const struct service_set *in_force,
                  const struct judge_world *world, struct service_set *set)
{
	const struct service *service;
	int r = 0;

	for (size_t i = 0; declared && r == 0 && (service = service_set_get(declared, i)); i++)
		r = add_joined(set, service, find_same(in_force, service), world);
	for (size_t i = 0; in_force && r == 0 && (service = service_set_get(in_force, i)); i++)
		if (!find_same(declared, service))
			r = add_joined(set, NULL, service, world);
	return r;
}
