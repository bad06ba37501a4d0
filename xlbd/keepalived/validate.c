// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * validate.c - one virtual_server, judged when the whole file is known: what keepalived fills in, corrects or drops.
 *
 * declare.c calls validate_service() for each draft, in the order of the file, before it makes services of it. The checks
 * and their order are keepalived's (defaults, duplicates, quorum, ports), so a second mistake shows as it would there;
 * then come the warnings that keepalived does not give: thresholds that the kernel refuses, families that the sync
 * daemon excludes, an engine that has no effect. Drafts are changed, nothing else is.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/ip_vs.h>
#include <string.h>

#include "xlbd/keepalived/validate.h"
#include "xlbd/model/addr.h"

static bool has_addresses(const struct draft_service *draft)
{
	return draft->group ? draft->group->addresses > 0
	                    : draft->kind == DRAFT_ADDRESS || !draft->fwmark;
}

static bool has_fwmarks(const struct draft_service *draft)
{
	return draft->group ? draft->group->fwmarks > 0 : draft->fwmark != 0;
}

/* Finds the group and settles the family. keepalived only logs what it drops here. */
static bool link_group(struct reader *reader, struct draft_service *draft)
{
	struct draft_group *group = reader->groups;
	int family;

	while (group && (group->removed || strcmp(group->name, draft->group_name)))
		group = group->next;
	if (!group) {
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, NULL,
		              "there is no usable virtual_server_group '%s', ignoring the virtual "
		              "server",
		              draft->group_name);
		return false;
	}
	draft->group = group;
	group->used = true;
	if ((group->has_ipv4 && draft->family == AF_INET6) ||
	    (group->has_ipv6 && draft->family == AF_INET)) {
		complain_mark(
			reader, COMPLAINT_ERROR, &draft->mark,
			group->has_ipv4 && group->has_ipv6 ? "only tunnels serve both families"
							   : NULL,
			"group '%s' is of another address family than the real servers, ignoring "
			"the virtual server",
			group->name);
		return false;
	}
	family = group->has_ipv4 == group->has_ipv6 ? AF_UNSPEC
	         : group->has_ipv4                  ? AF_INET
	                                            : AF_INET6;
	if (draft->family == AF_UNSPEC)
		draft->family = family;
	if (!draft->doubt)
		draft->doubt = group->doubt;
	return true;
}

static bool has_port_zero(const struct draft_service *draft)
{
	if (!draft->group)
		return draft->kind == DRAFT_ADDRESS && !draft->port;
	for (const struct draft_entry *entry = draft->group->entries; entry; entry = entry->next)
		if (!entry->is_fwmark && !entry->port)
			return true;
	return false;
}

static void fill_in(struct reader *reader, struct draft_service *draft)
{
	bool addresses = has_addresses(draft);

	if (draft->ha_suspend && has_fwmarks(draft))
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, NULL,
		              "ha_suspend does not work with fwmarks, ignoring it");
	if (addresses && !draft->protocol) {
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, "write 'protocol TCP' or UDP",
		              "no protocol is given, keepalived takes UDP");
		draft->protocol = IPPROTO_UDP;
	}
	if (addresses && draft->flags & IP_VS_SVC_F_ONEPACKET && draft->protocol != IPPROTO_UDP) {
		complain_mark(reader, COMPLAINT_ERROR, &draft->flag_mark, NULL,
		              "one-packet scheduling is for UDP, ignoring 'ops'");
		draft->flags &= ~(uint32_t)IP_VS_SVC_F_ONEPACKET;
	}
	if (!draft->timeout && has_port_zero(draft)) {
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, "write persistence_timeout",
		              "port 0 is for persistent services, keepalived makes it one of %d s",
		              DRAFT_PERSISTENT);
		draft->timeout = DRAFT_PERSISTENT;
	}
	if (draft->protocol && !addresses) {
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, NULL,
		              "a fwmark has no protocol, ignoring it");
		draft->protocol = 0;
	}
	if (!draft->scheduler[0]) {
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, "write 'lb_algo'",
		              "no scheduler is given, keepalived takes wlc");
		strcpy(draft->scheduler, "wlc");
	}
}

static bool same_server(const struct draft_real *a, const struct draft_real *b)
{
	return a->port == b->port && addr_equal(&a->addr, &b->addr);
}

static void remove_duplicates(struct reader *reader, struct draft_service *draft)
{
	struct draft_real **link = &draft->reals;

	while (*link) {
		struct draft_real *real = *link, *first = draft->reals;

		while (first != real && !same_server(first, real))
			first = first->next;
		if (first == real) {
			link = &real->next;
			continue;
		}
		complain_mark(reader, COMPLAINT_ERROR, &real->mark, NULL,
		              "real server is there already (line %u), ignoring this one",
		              first->mark.place.line);
		*link = real->next;
		draft->real_count--;
	}
}

static void settle_method(struct reader *reader, struct draft_service *draft,
                          struct draft_real *real)
{
	if (real->method.forwarding != DRAFT_UNSET)
		return;
	if (draft->method.forwarding == DRAFT_UNSET) {
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, "write 'lb_kind'",
		              "no forwarding method is given, keepalived takes NAT");
		draft->method.forwarding = XLB_FORWARD_NAT;
	}
	real->method = draft->method;
}

static void settle_reals(struct reader *reader, struct draft_service *draft)
{
	struct draft_real *sorry = draft->sorry;
	uint32_t weights = 0;

	remove_duplicates(reader, draft);
	for (struct draft_real *real = draft->reals; real; real = real->next) {
		settle_method(reader, draft, real);
		if (real->inhibit == DRAFT_UNSET)
			real->inhibit = draft->inhibit;
		if (real->weight == DRAFT_UNSET)
			real->weight = draft->weight;
		weights += (uint32_t)real->weight;
		if (sorry && same_server(sorry, real) && sorry->inhibit != real->inhibit) {
			complain_mark(reader, COMPLAINT_ERROR, &sorry->mark, NULL,
			              "sorry server is also a real server, with another inhibit; "
			              "that of the real server counts");
			sorry->inhibit = real->inhibit;
		}
	}
	if (sorry)
		settle_method(reader, draft, sorry);
	if (draft->quorum > weights) {
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, NULL,
		              "quorum %u is more than all weights together, keepalived takes %u",
		              draft->quorum, weights);
		draft->quorum = weights;
	}
	if (draft->hysteresis >= draft->quorum) {
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, NULL,
		              "hysteresis %u is not less than quorum %u, keepalived takes %u",
		              draft->hysteresis, draft->quorum, draft->quorum - 1);
		draft->hysteresis = draft->quorum - 1;
	}
}

static void check_group_port(struct reader *reader, const struct draft_service *draft,
                             const struct draft_real *real)
{
	const struct draft_entry *entry = draft->group->entries;

	while (entry && entry->port == real->port && !entry->is_fwmark)
		entry = entry->next;
	if (entry && real->port)
		complain_mark(reader, COMPLAINT_ERROR, &real->mark, NULL,
		              "port is not that of all of group '%s'; with DR and TUN that of the "
		              "virtual server counts",
		              draft->group->name);
}

/* DR and TUN cannot change the port: it becomes that of the virtual server. */
static void settle_port(struct reader *reader, const struct draft_service *draft,
                        struct draft_real *real)
{
	bool nat = real->method.forwarding == XLB_FORWARD_NAT;
	uint16_t port = draft->kind == DRAFT_FWMARK ? 0 : draft->port;

	if (draft->group && !nat)
		check_group_port(reader, draft, real);
	if (draft->group || (nat && (real->port || draft->kind == DRAFT_FWMARK)))
		return;
	if (real->port && real->port != port)
		complain_mark(reader, COMPLAINT_ERROR, &real->mark, "leave the port out",
		              draft->kind == DRAFT_FWMARK
		                      ? "a fwmark has no port, ignoring it"
		                      : "DR and TUN cannot change the port, ignoring it");
	real->port = port;
}

static void warn(struct reader *reader, const struct draft_service *draft,
                 const struct draft_real *real)
{
	if (real->lower_threshold > real->upper_threshold)
		complain_mark(
			reader, COMPLAINT_WARNING, &real->mark, NULL,
			"lthreshold %u is more than uthreshold %u: the kernel refuses the real "
			"server",
			real->lower_threshold, real->upper_threshold);
	if (!reader->config->lvs_sync_daemon || draft->family == AF_UNSPEC ||
	    draft->family == addr_family(&real->addr))
		return;
	complain_mark(reader, COMPLAINT_WARNING, &real->mark, NULL,
	              "the kernel does not allow real servers of another family while its sync "
	              "daemon (lvs_sync_daemon) runs");
}

bool validate_service(struct reader *reader, struct draft_service *draft)
{
	if (draft->kind == DRAFT_GROUP && !link_group(reader, draft))
		return false;
	if (!draft->reals) {
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, NULL,
		              "virtual server has no usable real server, ignoring it");
		return false;
	}
	fill_in(reader, draft);
	settle_reals(reader, draft);
	for (struct draft_real *real = draft->reals; real; real = real->next) {
		settle_port(reader, draft, real);
		warn(reader, draft, real);
	}
	if (draft->sorry && draft->sorry->method.forwarding != XLB_FORWARD_NAT)
		settle_port(reader, draft, draft->sorry);
	if (draft->engine[0] && !draft->timeout)
		complain_mark(reader, COMPLAINT_WARNING, &draft->mark, "write persistence_timeout",
		              "persistence_engine has no effect without persistence");
	if (reader->config->nftables_ipvs && has_addresses(draft) && draft->group)
		complain_mark(reader, COMPLAINT_NOTE, &draft->mark, NULL,
		              "nftables_ipvs makes a fwmark of the group's addresses");
	return true;
}
