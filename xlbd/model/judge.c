// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * judge.c - for each virtual server: who serves it, and why.
 *
 * The daemon reads what keepalived declares and what the IPVS table has, asks the system what else it must know (struct
 * judge_world), and calls judge(): out comes the generation that plan.c, the control socket and `xlbctl check` work with.
 *
 * "The same answer as IPVS, or hands off": the rules below are the whole list of what the data plane cannot do exactly as
 * IPVS does. A rule is a row of the table: when it applies, and the sentence that a person reads - what is in the way and, where
 * there is something to do, what. The first rule that applies gives the reason, so the table goes from what the service
 * is, over what the operator said, to what the system around it is like. When the data plane learns something, rows leave.
 *
 * In a sentence {} stands for the detail that the rule found. A rule may ask the world; judge() asks nothing itself except who
 * owns the address. Only services that no rule applies to are XDP's, or standby.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ip_vs.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/join.h"
#include "xlbd/model/judge.h"
#include "xlbd/model/ring.h"
#include "xlbd/model/shares.h"

/* One service before its judge. */
struct hearing {
	const struct judge_world *world;
	const struct service *service;
	bool configuration; /* there is a readable keepalived.conf */
	const struct shares *shares;
	size_t reals_before; /* real servers of services that were given to XDP already */
	const char *
		detail; /* what {} stands for: `text`, or a string of somebody who outlives the hearing */
	char text[400];
};

static void set_detail(struct hearing *hearing, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void set_detail(struct hearing *hearing, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(hearing->text, sizeof(hearing->text), format, arguments);
	va_end(arguments);
	hearing->detail = hearing->text;
}

/* ---- what the service is ---------------------------------------------------------------------- */

static bool is_fwmark(struct hearing *hearing)
{
	set_detail(hearing, "%u", hearing->service->fwmark);
	return hearing->service->fwmark != 0;
}

static bool is_other_protocol(struct hearing *hearing)
{
	uint8_t protocol = hearing->service->key.protocol;

	hearing->detail = protocol_name(protocol);
	return protocol != IPPROTO_TCP && protocol != IPPROTO_UDP;
}

static bool is_mapped_address(struct hearing *hearing)
{
	return hearing->service->family != addr_family(&hearing->service->key.addr);
}

static bool is_any_port(struct hearing *hearing)
{
	return hearing->service->key.port == 0;
}

static bool is_other_scheduler(struct hearing *hearing)
{
	hearing->detail = hearing->service->scheduler;
	return ring_scheduler(hearing->service->scheduler) == XLB_SCHED_NONE;
}

static bool is_one_packet(struct hearing *hearing)
{
	return hearing->service->flags & IP_VS_SVC_F_ONEPACKET;
}

static bool has_engine(struct hearing *hearing)
{
	hearing->detail = hearing->service->engine;
	return hearing->service->engine[0];
}

static bool is_persistent(struct hearing *hearing)
{
	set_detail(hearing, "%u", hearing->service->timeout);
	return hearing->service->flags & IP_VS_SVC_F_PERSISTENT || hearing->service->timeout;
}

static bool has_unknown_flag(struct hearing *hearing)
{
	uint32_t known = IP_VS_SVC_F_PERSISTENT | IP_VS_SVC_F_HASHED | IP_VS_SVC_F_ONEPACKET |
	                 IP_VS_SVC_F_SCHED1 | IP_VS_SVC_F_SCHED2;

	set_detail(hearing, "0x%x", hearing->service->flags & ~known);
	return hearing->service->flags & ~known;
}

/* ---- what keepalived and the operator say ----------------------------------------------------- */

static bool is_not_in_force(struct hearing *hearing)
{
	return !hearing->service->in_force;
}

/* Our stand-in for IPVS speaks its old interface, which knows IPv4 only. */
static bool is_ipv6_without_ipvs(struct hearing *hearing)
{
	return !hearing->world->kernel_ipvs && is_not_in_force(hearing) &&
	       hearing->service->family == AF_INET6;
}

static bool is_missing(struct hearing *hearing)
{
	hearing->detail = hearing->service->scheduler;
	return hearing->world->kernel_ipvs && is_not_in_force(hearing);
}

static bool is_undeclared(struct hearing *hearing)
{
	return hearing->configuration && !hearing->service->declared &&
	       !hearing->world->all_services;
}

static bool has_no_configuration(struct hearing *hearing)
{
	return !hearing->configuration && !hearing->world->all_services;
}

static bool is_doubtful(struct hearing *hearing)
{
	const struct judge_world *world = hearing->world;

	hearing->detail = world->doubt ? world->doubt(world->context, hearing->service) : NULL;
	return hearing->detail;
}

static bool is_bypassed(struct hearing *hearing)
{
	const struct judge_world *world = hearing->world;
	char name[ENDPOINT_TEXT];

	set_detail(hearing, "%s", service_print(hearing->service, name));
	return world->bypassed && world->bypassed(world->context, hearing->service);
}

/* ---- what its real servers are ---------------------------------------------------------------- */

/* Whether `is` says so of any; it leaves the detail. */
static bool any_real(struct hearing *hearing,
                     bool (*is)(struct hearing *hearing, const struct real_server *real))
{
	for (size_t i = 0; i < hearing->service->real_count; i++)
		if (is(hearing, &hearing->service->reals[i]))
			return true;
	return false;
}

static const char *real_print(const struct real_server *real, char buffer[ENDPOINT_TEXT])
{
	return endpoint_print(&real->addr, real->port, 0, buffer);
}

static bool name_real(struct hearing *hearing, const struct real_server *real)
{
	char name[ENDPOINT_TEXT];

	set_detail(hearing, "%s", real_print(real, name));
	return true;
}

static bool is_real_of_other_method(struct hearing *hearing, const struct real_server *real)
{
	char name[ENDPOINT_TEXT];
	const char *why;

	if (real_is_offered(real, &why))
		return false;
	set_detail(hearing, "%s is reached by %s", real_print(real, name), why);
	return true;
}

static bool is_real_of_other_family(struct hearing *hearing, const struct real_server *real)
{
	return real->forwarding != XLB_FORWARD_TUNNEL &&
	       addr_family(&real->addr) != hearing->service->family && name_real(hearing, real);
}

static bool is_real_limited(struct hearing *hearing, const struct real_server *real)
{
	char name[ENDPOINT_TEXT];

	/* a lower threshold alone never marks a real server as overloaded */
	if (!real->upper_threshold)
		return false;
	set_detail(hearing, "%s has uthreshold %u", real_print(real, name), real->upper_threshold);
	return true;
}

static bool is_real_here(struct hearing *hearing, const struct real_server *real)
{
	const struct judge_world *world = hearing->world;

	return world->is_local && world->is_local(world->context, &real->addr) &&
	       name_real(hearing, real);
}

static bool is_real_unreachable(struct hearing *hearing, const struct real_server *real)
{
	const struct judge_world *world = hearing->world;
	const char *why = world->route ? world->route(world->context, real) : NULL;
	char name[ENDPOINT_TEXT];

	if (!why)
		return false;
	set_detail(hearing, "%s: %s", real_print(real, name), why);
	return true;
}

static bool is_real_of_unknown_share(struct hearing *hearing, const struct real_server *real)
{
	return real->weight <= 0 && !real->last_weight && name_real(hearing, real);
}

static bool has_other_method(struct hearing *hearing)
{
	return any_real(hearing, is_real_of_other_method);
}

static bool has_other_family(struct hearing *hearing)
{
	return any_real(hearing, is_real_of_other_family);
}

static bool is_real_behind_nat(struct hearing *hearing, const struct real_server *real)
{
	return real->forwarding == XLB_FORWARD_NAT && name_real(hearing, real);
}

/* Its answers come back through this host's forwarding, in IPVS and in XDP. */
static bool has_nat_without_forwarding(struct hearing *hearing)
{
	const struct judge_world *world = hearing->world;
	bool forwards =
		hearing->service->family == AF_INET ? world->forwards_ipv4 : world->forwards_ipv6;

	return !forwards && any_real(hearing, is_real_behind_nat);
}

static bool is_ftp_behind_nat(struct hearing *hearing)
{
	return hearing->service->key.port == htons(21) && any_real(hearing, is_real_behind_nat);
}

static bool is_real_crowded(struct hearing *hearing, const struct real_server *real)
{
	return real->forwarding == XLB_FORWARD_NAT &&
	       shares_of(hearing->shares, real, hearing->service->key.protocol) > XLB_NAT_LIST &&
	       name_real(hearing, real);
}

static bool has_crowded_real(struct hearing *hearing)
{
	return any_real(hearing, is_real_crowded);
}

static bool has_threshold(struct hearing *hearing)
{
	return any_real(hearing, is_real_limited);
}

/* While another director has the address this host is a real server like the others, and XDP touches nothing. */
static bool has_local_real(struct hearing *hearing)
{
	return !hearing->service->standby && any_real(hearing, is_real_here);
}

static bool has_unreachable_real(struct hearing *hearing)
{
	return any_real(hearing, is_real_unreachable);
}

static bool is_mh(const struct service *service)
{
	return ring_scheduler(service->scheduler) == XLB_SCHED_MH;
}

static bool has_unknown_share(struct hearing *hearing)
{
	return is_mh(hearing->service) && hearing->world->mh_exact &&
	       any_real(hearing, is_real_of_unknown_share);
}

static bool has_more_reals_than_places(struct hearing *hearing)
{
	set_detail(hearing, "%zu real servers and %zu places", hearing->service->real_count,
	           hearing->world->mh_size);
	return is_mh(hearing->service) && hearing->service->real_count > hearing->world->mh_size;
}

static bool has_too_long_cycle(struct hearing *hearing)
{
	uint64_t places = ring_cycle(hearing->service);

	set_detail(hearing, "%llu places, %u are possible", (unsigned long long)places,
	           XLB_RING_MAX);
	return ring_scheduler(hearing->service->scheduler) == XLB_SCHED_RR && places > XLB_RING_MAX;
}

static bool is_one_too_many(struct hearing *hearing)
{
	set_detail(hearing, "%u", XLB_IDS - 1);
	return hearing->reals_before + hearing->service->real_count > XLB_IDS - 1;
}

/* ---- what the system is like ------------------------------------------------------------------ */

static bool has_conntrack(struct hearing *hearing)
{
	return hearing->world->conntrack;
}

static bool has_drop_entry(struct hearing *hearing)
{
	return hearing->world->drop_entry;
}

static bool has_drop_packet(struct hearing *hearing)
{
	return hearing->world->drop_packet;
}

static bool has_secure_tcp(struct hearing *hearing)
{
	return hearing->world->secure_tcp && hearing->service->key.protocol == IPPROTO_TCP;
}

static bool has_sloppy_tcp(struct hearing *hearing)
{
	return hearing->world->sloppy_tcp && hearing->service->key.protocol == IPPROTO_TCP;
}

static bool is_filtered(struct hearing *hearing)
{
	const struct judge_world *world = hearing->world;

	hearing->detail =
		world->firewall ? world->firewall(world->context, hearing->service) : NULL;
	return hearing->detail;
}

/* ---- the rules -------------------------------------------------------------------------------- */

static const struct rule {
	bool (*applies)(struct hearing *hearing); /* may set the detail */
	const char *sentence;
} rules[] = {
	{is_missing, "keepalived declares it but IPVS does not have it: is keepalived running, and "
                     "can the kernel "
                     "load the module of scheduler '{}'?"},
	/* what the service is; without IPVS in the kernel it is also why our table refused it */
	{is_fwmark,
         "firewall mark {} is set by netfilter, which XDP comes before; name the service by "
         "address and port for XDP"},
	{is_other_protocol, "protocol '{}' is not offered in XDP; 'tcp' and 'udp' are"},
	{is_mapped_address,
         "the address is an IPv4 one written as IPv6, which XDP cannot tell from the "
         "IPv4 one; write it as IPv4"},
	{is_any_port,
         "port 0 (every port of the address) is not offered in XDP yet; name the ports for "
         "XDP"},
	{is_other_scheduler, "scheduler '{}' is not offered in XDP yet; 'mh', 'sh', 'dh', 'rr' and "
                             "'wrr' are"},
	{is_one_packet, "one-packet scheduling (ops) is not offered in XDP yet"},
	{has_engine, "persistence engine '{}' reads the payload, which XDP does not"},
	{is_persistent,
         "persistence (persistence_timeout {}) is not offered in XDP yet; schedulers 'mh' "
         "and 'sh' keep a client at its real server without it"},
	{has_unknown_flag, "the service has flag {}, whose meaning xlbd does not know"},
	{has_other_method,
         "real server {}, which XDP does not offer yet; it offers DR, NAT and TUN"},
	{has_other_family, "real server {} is not of the service's address family"},
	{is_ftp_behind_nat,
         "FTP behind NAT (real server {}) carries addresses in its payload, which the kernel's "
         "ip_vs_ftp rewrites"},
	{has_crowded_real,
         "real server {} is behind NAT for more than eight services, so its answers could be "
         "anybody's"},
	{has_threshold, "real server {}: limits of connections are not counted in XDP yet"},
	{has_more_reals_than_places, "scheduler 'mh' cannot give everybody a place: {}"},
	{has_too_long_cycle,
         "the weights need too long a ring for 'wrr': {}; use weights with a larger "
         "common divisor"},
	/* what keepalived and the operator say */
	{is_ipv6_without_ipvs,
         "IPv6 needs IPVS in the kernel: the interface by which xlbd stands in for it carries "
         "IPv4 only"},
	{is_not_in_force,
         "keepalived declares it but the IPVS table does not have it: is keepalived running? "
         "After a refusal it must be restarted: a reload only edits the service"},
	{has_no_configuration,
         "keepalived.conf could not be read, so nothing declares it; 'services: all' "
         "in xlbd.yaml takes all that IPVS has"},
	{is_undeclared,
         "keepalived.conf does not declare it; 'services: all' in xlbd.yaml takes all that "
         "IPVS has"},
	{is_doubtful, "{}"},
	{is_bypassed, "switched off by hand; 'xlbctl bypass off {}' switches it on again"},
	/* what its real servers are just now, what the system is like */
	{has_unknown_share,
         "real server {} has weight 0 and its share in the kernel's 'mh' table is not "
         "known until it gets a weight"},
	{has_local_real, "real server {} is an address of this host"},
	{is_one_too_many, "more than {} real servers in all"},
	{has_nat_without_forwarding,
         "real server {} is behind NAT and this host does not forward: set sysctl "
         "net.ipv4.ip_forward or net.ipv6.conf.all.forwarding to 1"},
	{has_conntrack,
         "sysctl net.ipv4.vs.conntrack is on: IPVS makes conntrack entries, XDP does not"},
	{has_drop_entry, "sysctl net.ipv4.vs.drop_entry is not 0: that defence is IPVS's alone"},
	{has_drop_packet, "sysctl net.ipv4.vs.drop_packet is not 0: that defence is IPVS's alone"},
	{has_secure_tcp, "sysctl net.ipv4.vs.secure_tcp is not 0: that defence is IPVS's alone"},
	{has_sloppy_tcp, "sysctl net.ipv4.vs.sloppy_tcp is on, which is not offered in XDP yet"},
	{is_filtered, "{}"},
	{has_unreachable_real, "real server {}"},
};

static const char *fill(struct service_set *set, const char *sentence, const char *detail)
{
	const char *place = strstr(sentence, "{}");

	if (!place)
		return sentence;
	return service_set_printf(set, "%.*s%s%s", (int)(place - sentence), sentence,
	                          detail ? detail : "", place + 2);
}

/* NULL: nothing is in the way. */
static const char *find_reason(struct service_set *set, struct hearing *hearing)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].applies(hearing))
			return fill(set, rules[i].sentence, hearing->detail);
	return NULL;
}

static enum service_side find_side(const struct service *service, const struct judge_world *world)
{
	if (!service->reason)
		return service->standby ? SIDE_STANDBY : SIDE_XDP;
	return world->kernel_ipvs && service->in_force ? SIDE_IPVS : SIDE_UNSERVED;
}

int judge(const struct service_set *declared, const struct service_set *in_force,
          const struct judge_world *world, struct service_set **ret)
{
	_cleanup_(service_set_freep) struct service_set *set = service_set_new();
	_cleanup_(shares_freep) struct shares *shares = NULL;
	struct hearing hearing = {.world = world, .configuration = declared != NULL};
	struct service *service;
	int r;

	if (!set)
		return -ENOMEM;
	r = services_join(declared, in_force, world, set);
	if (r < 0)
		return r;
	r = shares_count(set, &shares);
	if (r < 0)
		return r;
	hearing.shares = shares;
	for (size_t i = 0; (service = service_set_get(set, i)); i++) {
		hearing.service = service;
		service->reason = find_reason(set, &hearing);
		service->side = find_side(service, world);
		if (!service->reason)
			hearing.reals_before += service->real_count;
		for (size_t real = 0; real < service->real_count; real++)
			if (service->reals[real].last_weight < 0)
				service->reals[real].last_weight = 0;
	}
	*ret = take_ptr(set);
	return 0;
}
