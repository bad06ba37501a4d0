// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * world.c - what judge() wants to know about the system, answered from the daemon's modules.
 *
 * judge.c is pure: it decides by what it is told. Each function here answers one of its questions about one service or
 * address from a mirror that another module keeps (addresses, next hops, firewall, roles), so that no question costs a
 * system call.
 */
#include <string.h>
#include <sys/socket.h>

#include "xlbd/dataplane/tunnels.h"
#include "xlbd/model/judge.h"
#include "xlbd/xlbd.h"

static const char *ask_firewall(void *context, const struct service *service)
{
	struct xlbd *xlbd = context;

	return xlbd->firewall ? firewall_reason(xlbd->firewall, service) : NULL;
}

static bool ask_owner(void *context, const struct service *service, const char **ret_instance)
{
	struct xlbd *xlbd = context;

	return role_owns(xlbd->role, xlbd->network, &service->key.addr, ret_instance);
}

static bool ask_local(void *context, const struct xlb_addr *addr)
{
	struct xlbd *xlbd = context;

	return network_address(xlbd->network, addr, NULL) != 0;
}

/* Sentence why XDP cannot send there, or NULL. A next hop that is not resolved yet is no reason: packets wait for it there as they
 * would in the kernel. */
static const char *why_not(const struct xlbd *xlbd, const struct next_hop *hop)
{
	switch (hop->state) {
	case NEXT_HOP_UNSUPPORTED:
		return "the way to a real server leads over a device that XDP cannot send by";
	case NEXT_HOP_RESOLVING:
	case NEXT_HOP_LOCAL: /* judge.c asks is_local itself */
	case NEXT_HOP_NO_ROUTE: /* as the kernel: that real server gets nothing until there is a route */
		return NULL;
	default:
		break;
	}
	if (!xlbd_is_attached(xlbd, hop->path.ifindex))
		return "the device towards a real server does not carry the program";
	return NULL;
}

static bool is_fine(const void *context, const struct next_hop *hop)
{
	return !why_not(context, hop);
}

/* Thousands are asked about with each look, and as a rule nothing is wrong with any of them: xlbd_world() has looked. */
static const char *ask_route(void *context, const struct real_server *real)
{
	struct xlbd *xlbd = context;
	bool tunnel = real->forwarding == XLB_FORWARD_TUNNEL;
	const struct next_hop *hop =
		xlbd->routes_fine && !tunnel ? NULL : neighbours_get(xlbd->neighbours, &real->addr);
	const char *why = hop ? why_not(xlbd, hop) : NULL;

	if (why || !tunnel || !hop || hop->state != NEXT_HOP_RESOLVED)
		return why;
	return tunnel_problem(real, &hop->source, hop->mtu);
}

static bool ask_bypassed(void *context, const struct service *service)
{
	struct xlbd *xlbd = context;

	for (size_t i = 0; i < xlbd->bypass_count; i++)
		if (!memcmp(&xlbd->bypass[i], &service->key, sizeof(service->key)))
			return true;
	for (size_t i = 0; i < xlbd->conf->service_count; i++)
		if (xlbd->conf->service[i].bypass &&
		    !memcmp(&xlbd->conf->service[i].key, &service->key, sizeof(service->key)))
			return true;
	return xlbd->bypass_all;
}

/* Of the generation before. So what is in force stays declared when the file changes before keepalived reads it. */
static bool ask_declared_before(void *context, const struct xlb_service_key *key)
{
	struct xlbd *xlbd = context;
	const struct service *service =
		xlbd->services ? service_set_find(xlbd->services, key) : NULL;

	return service && service->declared && service->in_force;
}

/*
 * What mh builds a real server's share from while its weight is 0. One that appeared with weight 0 while we were looking never
 * had another (IPVS gives it no places); one that an earlier daemon knew has its weight pinned with its id.
 */
static int32_t ask_last_weight(void *context, const struct service *service,
                               const struct real_server *real)
{
	struct xlbd *xlbd = context;
	const struct service *before =
		xlbd->services ? service_set_find(xlbd->services, &service->key) : NULL;
	const struct real_server *known;

	if (!before || !before->in_force)
		return apply_last_weight(xlbd->apply, &service->key, &real->addr, real->port);
	known = service_real(before, &real->addr, real->port);
	if (!known)
		return -1;
	if (before->side == SIDE_XDP || before->side == SIDE_STANDBY)
		return known->last_weight ? known->last_weight : -1;
	return apply_last_weight(xlbd->apply, &service->key, &real->addr, real->port);
}

static const char *ask_doubt(void *context, const struct service *service)
{
	struct xlbd *xlbd = context;

	for (size_t i = 0; xlbd->declared && i < xlbd->declared->doubtful_count; i++)
		if (!memcmp(&xlbd->declared->doubtful[i].key, &service->key, sizeof(service->key)))
			return xlbd->declared->doubtful[i].reason;
	return NULL;
}

void xlbd_world(struct xlbd *xlbd, struct judge_world *ret)
{
	xlbd->routes_fine = neighbours_all(xlbd->neighbours, is_fine, xlbd);
	*ret = (struct judge_world){
		.kernel_ipvs = xlbd->ipvs != NULL,
		.all_services = xlbd->conf->services == CONF_SERVICES_ALL,
		.mh_exact = xlbd->conf->maglev_size == 4093,
		.mh_size = xlbd->conf->maglev_size,
		.forwards_ipv4 = sysctls_forward(AF_INET),
		.forwards_ipv6 = sysctls_forward(AF_INET6),
		.conntrack = xlbd->sysctls.conntrack,
		.secure_tcp = xlbd->sysctls.secure_tcp,
		.drop_entry = xlbd->sysctls.drop_entry,
		.drop_packet = xlbd->sysctls.drop_packet,
		.schedule_icmp = xlbd->sysctls.schedule_icmp,
		.cache_bypass = xlbd->sysctls.cache_bypass,
		.sloppy_tcp = xlbd->sysctls.sloppy_tcp,
		.backup_only = xlbd->sysctls.backup_only,
		.context = xlbd,
		.firewall = ask_firewall,
		.owns = ask_owner,
		.is_local = ask_local,
		.route = ask_route,
		.bypassed = ask_bypassed,
		.declared_before = ask_declared_before,
		.last_weight = ask_last_weight,
		.doubt = ask_doubt,
	};
}
