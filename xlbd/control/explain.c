// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * explain.c - `explain CLIENT:PORT VIP:PORT`: the way that a packet of this connection would take
 * now, step by step.
 *
 * The same questions in the same order as the stages of the data plane (bpf/xlb.bpf.c), asked of
 * the same tables; each becomes a step with a sentence, and the first that decides becomes the
 * verdict, by the name that the program would count. It says what a first packet (SYN, or any of
 * UDP) would meet, and for a known connection what every packet does. Looks only: nothing is
 * inserted, no counter moves.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "xlbd/control/answer.h"
#include "xlbd/control/commands.h"
#include "xlbd/control/explain.h"
#include "xlbd/control/figures.h"
#include "xlbd/model/addr.h"
#include "xlbd/xlbd.h"

struct explanation {
	const struct xlbd *xlbd;
	json_t *steps;
	struct xlb_addr client, vip;
	uint16_t client_port, vip_port; /* host order */
	uint8_t protocol;
	const struct service *service;
	bool drains;   /* known connections only */
	uint16_t real; /* id */
	enum xlb_verdict verdict;
	const char *sentence; /* NULL: the verdict's own */
};

static void step(struct explanation *explanation, const char *name, const char *result,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static void step(struct explanation *explanation, const char *name, const char *result,
                 const char *format, ...)
{
	char text[500];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	json_array_append_new(explanation->steps,
	                      json_pack("{s:s, s:s, s:o}", "step", name, "result", result, "text",
	                                answer_text(text)));
}

/* Each look returns whether the packet goes on; if not, `verdict` is set. */

static bool look_at_packet(struct explanation *x)
{
	step(x, "parse", "ok", "%s %s, no options, not a fragment",
	     addr_is_ipv4(&x->client) ? "IPv4" : "IPv6",
	     x->protocol == IPPROTO_TCP ? "TCP" : "UDP");
	return true;
}

static bool look_for_service(struct explanation *x)
{
	struct xlb_service_key key = service_key(&x->vip, x->vip_port, x->protocol);
	const struct service_set *services = x->xlbd->services;
	char printed[64];

	x->service = services ? service_set_find(services, &key) : NULL;
	if (services && !x->service) {
		key.port = 0;
		x->service = service_set_find(services, &key);
	}
	if (!x->service) {
		step(x, "vip", "none", "no virtual server of this address, port and protocol");
		x->verdict = XLB_NOT_OURS;
		return false;
	}
	step(x, "vip", "hit", "%s%s%s%s", x->service->name ? x->service->name : "",
	     x->service->name ? " " : "", service_print(x->service, printed),
	     x->service->in_force ? "" : ", declared, but not in the IPVS table");
	return true;
}

static bool look_at_side(struct explanation *x)
{
	const char *side = figures_side(x->xlbd, x->service);
	const char *reason = x->service->reason ? x->service->reason : "no reason given";

	if (x->service->side == SIDE_XDP) {
		step(x, "side", side, "forwarded by XDP");
		return true;
	}
	if (x->service->side == SIDE_STANDBY) {
		step(x, "side", side, "this director does not own the address now%s%s",
		     x->service->instance ? ", VRRP instance " : "",
		     x->service->instance ? x->service->instance : "");
		x->verdict = XLB_STANDBY;
		return false;
	}
	step(x, "side", side, "%s: %s",
	     x->service->side == SIDE_IPVS ? "left to IPVS" : "nobody forwards it", reason);
	x->drains = figures_held(x->xlbd, x->service) > 0;
	x->verdict = XLB_NOT_OURS;
	x->sentence = x->service->side == SIDE_IPVS ? "left to IPVS"
	                                            : "left to the kernel, which has no IPVS";
	return x->drains;
}

static bool look_at_bypass(struct explanation *x)
{
	bool on = x->xlbd->bypass_all;

	for (size_t i = 0; !on && i < x->xlbd->bypass_count; i++)
		on = memcmp(&x->xlbd->bypass[i], &x->service->key, sizeof(x->service->key)) == 0;
	step(x, "bypass", on ? "on" : "off",
	     on ? "switched by hand: only known connections go on in XDP" : "not switched on");
	x->drains |= on;
	return true;
}

static bool look_at_heartbeat(struct explanation *x)
{
	const struct xlb_control *control = dataplane_control(x->xlbd->dataplane);
	uint64_t beat = __atomic_load_n(&control->heartbeat, __ATOMIC_RELAXED);
	uint64_t now = dataplane_now(x->xlbd->dataplane);
	unsigned tick_ms = dataplane_tick_ms(x->xlbd->dataplane);

	step(x, "heartbeat", "ok",
	     "the daemon was alive %llu ms ago; new connections stay in XDP until %llu ms",
	     (unsigned long long)(now > beat ? now - beat : 0) * tick_ms,
	     (unsigned long long)control->silence * tick_ms);
	return true;
}

static bool look_for_connection(struct explanation *x, struct flow *flow)
{
	const struct xlb_control *control = dataplane_control(x->xlbd->dataplane);
	uint64_t tick_ms = dataplane_tick_ms(x->xlbd->dataplane), left;
	bool any_port = x->service->key.port == 0;
	const struct flow who = {
		.client = x->client,
		.client_port = x->client_port,
		.virtual_port = any_port ? x->vip_port : 0,
		.service = apply_service_id(x->xlbd->apply, &x->service->key),
	};

	if (!who.service || !flows_look(x->xlbd->flows, dataplane_now(x->xlbd->dataplane), &who,
	                                any_port || !addr_is_ipv4(&x->client), flow)) {
		step(x, "connection", "miss", "not in the table");
		return false;
	}
	left = control->timeout[flow->phase] > flow->idle
	               ? control->timeout[flow->phase] - flow->idle
	               : 0;
	step(x, "connection", "hit", "found: %s, idle %llu s, expires in %llu s",
	     phase_name(flow->phase), (unsigned long long)(flow->idle * tick_ms / 1000),
	     (unsigned long long)(left * tick_ms / 1000));
	x->real = flow->real;
	return true;
}

static bool look_at_choice(struct explanation *x)
{
	const char *scheduler = x->service->scheduler;
	size_t place = 0;

	if (x->drains) {
		step(x, "choice", "none", "a new connection is the kernel's");
		x->verdict = XLB_DRAINING;
		return false;
	}
	x->real = apply_choose(x->xlbd->apply, x->service, &x->client, x->client_port, &place);
	if (!x->real) {
		step(x, "choice", "none", "scheduler %s has no usable real server", scheduler);
		x->verdict = XLB_NO_REAL;
		return false;
	}
	step(x, "choice", "chosen", "a SYN goes by scheduler %s, place %zu of its ring%s",
	     scheduler, place,
	     x->protocol == IPPROTO_TCP ? "; TCP without SYN is passed to the kernel (no-entry)"
	                                : "");
	return true;
}

static bool look_at_next_hop(struct explanation *x, const struct xlb_addr *real)
{
	const struct next_hop *hop =
		x->xlbd->neighbours ? neighbours_get(x->xlbd->neighbours, real) : NULL;
	const struct link_info *link = NULL;
	const uint8_t *mac;

	if (!hop || hop->state != NEXT_HOP_RESOLVED) {
		step(x, "next hop", "unresolved", "%s",
		     hop ? next_hop_state_name(hop->state) : "not looked for");
		x->verdict = XLB_DROP_UNRESOLVED;
		return false;
	}
	mac = hop->dmac;
	if (x->xlbd->network)
		link = network_link(x->xlbd->network, hop->ifindex);
	step(x, "next hop", "resolved", "%s %02x:%02x:%02x:%02x:%02x:%02x, MTU %u",
	     link ? link->name : "?", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], hop->mtu);
	x->verdict = XLB_SENT;
	return true;
}

/* The last steps: the real server, and how to reach it. */
static void look_at_real(struct explanation *x, struct xlb_name *name)
{
	const struct real_server *real;
	char printed[ENDPOINT_TEXT];

	if (!apply_name_of_real(x->xlbd->apply, x->real, name)) {
		step(x, "real", "gone", "its id (%u) belongs to nobody any more", x->real);
		x->verdict = XLB_DROP_REAL_GONE;
		return;
	}
	endpoint_print(&name->real, ntohs(name->real_port), 0, printed);
	real = service_real(x->service, &name->real, ntohs(name->real_port));
	if (!real) {
		step(x, "real", "gone", "%s was removed from the virtual server", printed);
		x->verdict = XLB_DROP_REAL_GONE;
		return;
	}
	step(x, "real", real->weight > 0 ? "up" : "drained", "%s, weight %d, %s", printed,
	     real->weight, forwarding_name(real->forwarding));
	look_at_next_hop(x, &name->real);
}

static void follow(struct explanation *x, struct xlb_name *name)
{
	struct flow flow = {};

	if (!look_at_packet(x) || !look_for_service(x) || !look_at_side(x) || !look_at_bypass(x))
		return;
	if (!x->xlbd->dataplane || !x->xlbd->apply || !x->xlbd->flows) {
		step(x, "data plane", "none", "it is not loaded");
		x->verdict = XLB_NOT_OURS;
		return;
	}
	if (!look_at_heartbeat(x))
		return;
	if (look_for_connection(x, &flow) || look_at_choice(x))
		look_at_real(x, name);
}

static int read_ends(struct control_call *call, struct explanation *x)
{
	const char *client = control_text(call, "client"), *vip = control_text(call, "vip");
	uint8_t client_protocol = 0;

	if (!endpoint_parse(client, &x->client, &x->client_port, &client_protocol))
		return control_fail(call, -EINVAL, "'%.100s' is not ADDRESS:PORT", client);
	if (!endpoint_parse(vip, &x->vip, &x->vip_port, &x->protocol))
		return control_fail(call, -EINVAL, "'%.100s' is not ADDRESS:PORT[/PROTOCOL]", vip);
	if (addr_is_ipv4(&x->client) != addr_is_ipv4(&x->vip))
		return control_fail(call, -EINVAL,
		                    "client and virtual server are of different families");
	if (!x->protocol)
		x->protocol = client_protocol ? client_protocol : IPPROTO_TCP;
	return 0;
}

int explain(struct control_call *call)
{
	struct explanation x = {.xlbd = call_xlbd(call), .verdict = XLB_NOT_OURS};
	struct xlb_name name = {};
	bool sent;
	int r = read_ends(call, &x);

	if (r < 0)
		return r;
	x.steps = json_array();
	follow(&x, &name);
	sent = x.verdict == XLB_SENT;
	if (sent)
		x.sentence = "forwarded by direct routing";
	else if (!x.sentence || x.verdict != XLB_NOT_OURS)
		x.sentence = verdict_sentence(x.verdict);
	json_object_update_new(
		call->answer, json_pack("{s:o, s:{s:s, s:s, s:s, s:o}}", "steps", x.steps,
	                                "verdict", "word", verdict_word(x.verdict), "action",
	                                verdict_action(x.verdict), "sentence", x.sentence, "real",
	                                sent ? answer_endpoint(&name.real, ntohs(name.real_port), 0)
	                                     : json_null()));
	return 0;
}
