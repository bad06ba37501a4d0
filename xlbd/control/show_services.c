// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show_services.c - `vip` and `real`: every virtual server that is declared or in force, and every
 * real server of it.
 *
 * What is shown is the generation in force (xlbd->services) with the figures of figures.c. A real
 * server is
 *	up       in force with a weight
 *	drained  in force with weight 0
 *	down     declared, but keepalived's checker has taken it out
 *	gone     neither, but connections to it are still in the table
 * Long lists go out as one line: they are bounded by SERVICES_MAX and XLB_IDS, and who reads them
 * (xlb-snmp) wants one moment.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "xlbd/control/answer.h"
#include "xlbd/control/commands.h"
#include "xlbd/control/figures.h"
#include "xlbd/control/pattern.h"
#include "xlbd/control/show_services.h"
#include "xlbd/model/addr.h"
#include "xlbd/xlbd.h"

/* ---- virtual servers -------------------------------------------------------------------------- */

/* Of all its real servers in force, or of those declared; NULL: none, or not the same for all. */
static const char *method_of(const struct xlbd *xlbd, const struct service *service)
{
	const struct service *from =
		service->real_count ? service : figures_declared(xlbd, service);

	for (size_t i = 1; from && i < from->real_count; i++)
		if (from->reals[i].forwarding != from->reals[0].forwarding)
			return "mixed";
	return from && from->real_count ? forwarding_name(from->reals[0].forwarding) : NULL;
}

static json_t *virtual_of(const struct service *service)
{
	char printed[64];

	return json_string(service_print(service, printed));
}

static json_t *vip_value(const struct xlbd *xlbd, const struct service *service)
{
	struct real_count reals = figures_reals(xlbd, service);
	struct xlb_service_counters missed = {};
	struct figures figures;
	uint16_t id = 0;
	json_t *value;

	figures_service(xlbd, service, &figures);
	if (xlbd->apply && !service->fwmark)
		id = apply_service_id(xlbd->apply, &service->key);
	if (id && xlbd->counters)
		(void)!counters_service(xlbd->counters, id, &missed); /* else zeros */
	value = json_pack("{s:o, s:o, s:o, s:b, s:b, s:s, s:o, s:o, s:s, s:I}", "name",
	                  answer_text(service->name), "virtual", virtual_of(service), "instance",
	                  answer_text(service->instance), "declared", service->declared, "in_force",
	                  service->in_force, "side", figures_side(xlbd, service), "reason",
	                  answer_text(service->reason), "method",
	                  answer_text(method_of(xlbd, service)), "scheduler", service->scheduler,
	                  "persistence", (json_int_t)service->timeout);
	if (service->fwmark)
		json_object_set_new(value, "fwmark", json_integer(service->fwmark));
	else
		json_object_update_new(value, json_pack("{s:o, s:i, s:s}", "address",
		                                        answer_addr(&service->key.addr), "port",
		                                        ntohs(service->key.port), "protocol",
		                                        protocol_name(service->key.protocol)));
	json_object_update_new(
		value,
		json_pack("{s:{s:I, s:I, s:b}, s:I, s:I, s:I, s:I, s:I, s:I}", "reals", "usable",
	                  (json_int_t)reals.usable, "total", (json_int_t)reals.total, "sorry",
	                  reals.sorry, "held", (json_int_t)figures_held(xlbd, service), "active",
	                  (json_int_t)figures.active, "inactive", (json_int_t)figures.inactive,
	                  "connections", (json_int_t)figures.connections, "packets",
	                  (json_int_t)figures.packets, "bytes", (json_int_t)figures.bytes));
	json_object_update_new(value, json_pack("{s:I, s:I, s:I, s:I, s:o, s:i}", "dropped",
	                                        (json_int_t)(figures.dropped + missed.dropped),
	                                        "passed", (json_int_t)missed.passed, "no_real",
	                                        (json_int_t)missed.no_real, "refused",
	                                        (json_int_t)missed.refused, "file",
	                                        answer_text(service->origin.file), "line",
	                                        (int)service->origin.line));
	return value;
}

int show_vip(struct control_call *call)
{
	const struct xlbd *xlbd = call_xlbd(call);
	struct pattern pattern = pattern_make(control_text(call, "vip"));
	const struct service *service;
	json_t *list = json_array();

	for (size_t i = 0; xlbd->services && (service = service_set_get(xlbd->services, i)); i++)
		if (pattern_matches_service(&pattern, service))
			json_array_append_new(list, vip_value(xlbd, service));
	if (pattern.text && json_array_size(list) == 0) {
		json_decref(list);
		return control_fail(call, -ENOENT, "no virtual server '%.100s'", pattern.text);
	}
	return json_object_set_new(call->answer, "vips", list);
}

/* ---- real servers ----------------------------------------------------------------------------- */

struct reals_walk {
	const struct xlbd *xlbd;
	struct pattern vip, real;
	bool *shown; /* by id */
	json_t *list;
};

static json_t *next_hop_value(const struct xlbd *xlbd, const struct xlb_addr *addr)
{
	const struct next_hop *hop =
		xlbd->neighbours ? neighbours_get(xlbd->neighbours, addr) : NULL;
	const struct link_info *link;
	bool known;

	if (!hop)
		return json_null();
	known = hop->state == NEXT_HOP_RESOLVED;
	link = xlbd->network && hop->ifindex ? network_link(xlbd->network, hop->ifindex) : NULL;
	return json_pack("{s:s, s:o, s:o, s:o, s:I}", "state", next_hop_state_name(hop->state),
	                 "device", answer_text(link ? link->name : NULL), "mac",
	                 known ? answer_mac(hop->dmac) : json_null(), "gateway",
	                 addr_is_zero(&hop->gateway) ? json_null() : answer_addr(&hop->gateway),
	                 "mtu", (json_int_t)hop->mtu);
}

static json_t *real_value(const struct reals_walk *walk, const struct service *service,
                          const struct real_server *real, const char *state)
{
	struct figures figures;
	json_t *value;

	figures_real(walk->xlbd, service, real, &figures);
	value = json_pack("{s:o, s:o, s:o, s:o, s:i, s:s, s:I, s:s, s:b, s:o}", "vip",
	                  virtual_of(service), "name", answer_text(service->name), "real",
	                  answer_endpoint(&real->addr, real->port, 0), "address",
	                  answer_addr(&real->addr), "port", real->port, "method",
	                  forwarding_name(real->forwarding), "weight", (json_int_t)real->weight,
	                  "state", state, "sorry", real->sorry, "next_hop",
	                  next_hop_value(walk->xlbd, &real->addr));
	json_object_update_new(value, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "active",
	                                        (json_int_t)figures.active, "inactive",
	                                        (json_int_t)figures.inactive, "connections",
	                                        (json_int_t)figures.connections, "packets",
	                                        (json_int_t)figures.packets, "bytes",
	                                        (json_int_t)figures.bytes, "dropped",
	                                        (json_int_t)figures.dropped));
	return value;
}

static void add_real(struct reals_walk *walk, const struct service *service,
                     const struct real_server *real, const char *state)
{
	uint16_t id = walk->xlbd->apply ? apply_real_id(walk->xlbd->apply, &service->key,
	                                                &real->addr, real->port)
	                                : 0;

	walk->shown[id] = true;
	if (pattern_matches_service(&walk->vip, service) &&
	    pattern_matches(&walk->real, &real->addr, real->port, 0))
		json_array_append_new(walk->list, real_value(walk, service, real, state));
}

static void add_reals_of(struct reals_walk *walk, const struct service *service)
{
	const struct service *declared = figures_declared(walk->xlbd, service);

	for (size_t i = 0; service->in_force && i < service->real_count; i++)
		add_real(walk, service, &service->reals[i],
		         service->reals[i].weight > 0 ? "up" : "drained");
	for (size_t i = 0; declared && i < declared->real_count; i++) {
		const struct real_server *real = &declared->reals[i];
		bool there = service->in_force && service_real(service, &real->addr, real->port);

		if (!there && !real->sorry)
			add_real(walk, service, real, "down");
	}
}

/* Owners of ids that still have connections, and that neither table names any more. */
static void add_gone(struct reals_walk *walk)
{
	const struct flows_census *census = &walk->xlbd->census;

	for (unsigned id = 1; walk->xlbd->apply && id < XLB_IDS; id++) {
		struct service service = {};
		struct real_server real = {};
		struct xlb_name name;
		const struct service *known;

		if (walk->shown[id] || !(census->active[id] || census->inactive[id]) ||
		    !apply_name_of_real(walk->xlbd->apply, (uint16_t)id, &name))
			continue;
		known = walk->xlbd->services ? service_set_find(walk->xlbd->services, &name.service)
		                             : NULL;
		service.key = name.service;
		service.family = addr_family(&name.service.addr);
		real.addr = name.real;
		real.port = ntohs(name.real_port);
		real.forwarding = XLB_FORWARD_DIRECT;
		add_real(walk, known ? known : &service, &real, "gone");
	}
}

int show_real(struct control_call *call)
{
	struct reals_walk walk = {
		.xlbd = call_xlbd(call),
		.vip = pattern_make(control_text(call, "vip")),
		.real = pattern_make(control_text(call, "real")),
		.shown = calloc(XLB_IDS, sizeof(bool)),
		.list = json_array(),
	};
	const struct service *service;

	if (!walk.shown) {
		json_decref(walk.list);
		return -ENOMEM;
	}
	for (size_t i = 0;
	     walk.xlbd->services && (service = service_set_get(walk.xlbd->services, i)); i++)
		add_reals_of(&walk, service);
	add_gone(&walk);
	free(walk.shown);
	if ((walk.vip.text || walk.real.text) && json_array_size(walk.list) == 0) {
		json_decref(walk.list);
		return control_fail(call, -ENOENT, "no real server of '%.100s' fits",
		                    walk.vip.text ? walk.vip.text : walk.real.text);
	}
	return json_object_set_new(call->answer, "reals", walk.list);
}
