// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures.c - numbers about services: XDP's counters, the last census of the connection table,
 * IPVS's own.
 *
 * While a service drains, or ran under IPVS before xlbd came, both XDP and the kernel's IPVS have
 * connections of it, so what is shown is the sum. Where the kernel has no IPVS, the numbers in the
 * table are those that xlbd itself wrote there for ipvsadm, and are left out here. Used by show.c,
 * show_services.c, problems.c and explain.c; any part of struct xlbd may be missing.
 */
#include <arpa/inet.h>
#include <time.h>

#include "xlbd/control/figures.h"
#include "xlbd/xlbd.h"

void figures_real(const struct xlbd *xlbd, const struct service *service,
                  const struct real_server *real, struct figures *ret)
{
	struct figures sum = {};
	struct xlb_real_counters counters = {};
	uint16_t id = 0;

	if (xlbd->ipvs) {
		sum.active = real->active;
		sum.inactive = real->inactive;
		sum.connections = real->connections;
		sum.packets = real->packets;
		sum.bytes = real->bytes;
	}
	if (xlbd->apply)
		id = apply_real_id(xlbd->apply, &service->key, &real->addr, real->port);
	if (id) {
		sum.active += xlbd->census.active[id];
		sum.inactive += xlbd->census.inactive[id];
	}
	if (id && xlbd->counters && counters_real(xlbd->counters, id, &counters) == 0) {
		sum.connections += counters.connections;
		sum.packets += counters.packets;
		sum.bytes += counters.bytes;
		sum.dropped += counters.dropped;
	}
	*ret = sum;
}

void figures_service(const struct xlbd *xlbd, const struct service *service, struct figures *ret)
{
	struct figures sum = {}, one;

	for (size_t i = 0; i < service->real_count; i++) {
		figures_real(xlbd, service, &service->reals[i], &one);
		sum.active += one.active;
		sum.inactive += one.inactive;
		sum.connections += one.connections;
		sum.packets += one.packets;
		sum.bytes += one.bytes;
		sum.dropped += one.dropped;
	}
	if (xlbd->apply && !service->fwmark) {
		/* a sum that only grows: what former real servers had counted belongs to it */
		struct xlb_real_counters carried = apply_carried(xlbd->apply, &service->key);

		sum.connections += carried.connections;
		sum.packets += carried.packets;
		sum.bytes += carried.bytes;
	}
	*ret = sum;
}

uint64_t figures_held(const struct xlbd *xlbd, const struct service *service)
{
	uint16_t id =
		xlbd->apply && !service->fwmark ? apply_service_id(xlbd->apply, &service->key) : 0;

	return id ? xlbd->census.service[id] : 0;
}

const struct service *figures_declared(const struct xlbd *xlbd, const struct service *service)
{
	if (!xlbd->declared || !service->declared)
		return NULL;
	return service->fwmark ? service_set_find_fwmark(xlbd->declared->services, service->family,
	                                                 service->fwmark)
	                       : service_set_find(xlbd->declared->services, &service->key);
}

static bool is_sorry(const struct service *declared, const struct real_server *real)
{
	const struct real_server *written =
		declared ? service_real(declared, &real->addr, real->port) : NULL;

	return real->sorry || (written && written->sorry);
}

struct real_count figures_reals(const struct xlbd *xlbd, const struct service *service)
{
	const struct service *declared = figures_declared(xlbd, service);
	struct real_count count = {};

	for (size_t i = 0; service->in_force && i < service->real_count; i++) {
		if (is_sorry(declared, &service->reals[i]))
			count.sorry = true;
		else if (service->reals[i].weight > 0)
			count.usable++;
	}
	for (size_t i = 0; declared && i < declared->real_count; i++)
		count.total += !declared->reals[i].sorry;
	if (!declared)
		count.total = service->real_count;
	return count;
}

const char *figures_side(const struct xlbd *xlbd, const struct service *service)
{
	static const char *const names[] = {
		[SIDE_XDP] = "xdp",
		[SIDE_STANDBY] = "standby",
		[SIDE_IPVS] = "ipvs",
		[SIDE_UNSERVED] = "unserved",
	};

	if (service->side != SIDE_XDP && service->side != SIDE_STANDBY &&
	    figures_held(xlbd, service) > 0)
		return "draining";
	return names[service->side];
}

int64_t figures_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
