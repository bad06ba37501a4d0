// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * virtual_server.c - the keywords of virtual_server and real_server blocks.
 *
 * Handlers for keywords.c: each takes one statement into the draft of the service (or real server) that is open,
 * as it stands in the file; the order of keywords matters to keepalived, and is kept (a scheduler's flag counts only
 * behind the scheduler, a real server takes over the method that was given before it). What can only be judged when
 * all is read, declare.c does.
 */
#include <arpa/inet.h>
#include <linux/ip_vs.h>
#include <string.h>
#include <strings.h>

#include "xlbd/cleanup.h"
#include "xlbd/keepalived/values.h"
#include "xlbd/model/addr.h"

#define TUNNEL_IPIP          0 /* IP_VS_CONN_F_TUNNEL_TYPE_* */
#define TUNNEL_GUE           1
#define TUNNEL_GRE           2
#define ENCAP_CSUM           (1 << 0) /* IP_VS_TUNNEL_ENCAP_FLAG_* */
#define ENCAP_REMCSUM        (1 << 1)
#define IPVS_NAME_MAX_LENGTH 15

static const char *word(const struct statement *statement, size_t index)
{
	return index < statement->count ? statement->words[index].text : "";
}

/* ---- virtual_server --------------------------------------------------------------------------- */

static bool parse_name(struct reader *reader, const struct statement *statement,
                       struct draft_service *draft)
{
	const char *first = word(statement, 1);

	if (!strcmp(first, "group") || !strcmp(first, "fwmark")) {
		if (statement->count < 3) {
			complain_word(reader, COMPLAINT_ERROR, statement, 1, NULL,
			              "'%s' lacks its name, skipping the virtual server", first);
			return false;
		}
		draft->kind = *first == 'g' ? DRAFT_GROUP : DRAFT_FWMARK;
		if (draft->kind == DRAFT_GROUP)
			draft->group_name = keep(reader, word(statement, 2));
		else
			return value_number(reader, statement, 2, 0, UINT32_MAX, TOLERANT,
			                    "skipping the virtual server", &draft->fwmark);
		return true;
	}
	if (!value_endpoint(reader, statement, 1, "virtual server", &draft->addr, &draft->port))
		return false;
	draft->family = strchr(first, ':') ? AF_INET6 : AF_INET;
	return true;
}

bool service_open(struct reader *reader, const struct statement *statement)
{
	struct draft_service *draft = obstack_alloc(&reader->scratch, sizeof(*draft));

	*draft = (struct draft_service){
		.family = AF_UNSPEC,
		.method.forwarding = DRAFT_UNSET,
		.weight = 1,
		.quorum = 1,
		.doubt = statement->doubt,
		.mark = mark_of(statement, statement->count > 1),
	};
	draft->last_real = &draft->reals;
	if (!parse_name(reader, statement, draft))
		return false;
	*reader->last_service = draft;
	reader->last_service = &draft->next;
	reader->service = draft;
	return true;
}

static void settle_family(struct draft_service *draft)
{
	bool mixed = false;

	if (draft->sorry)
		draft->family = addr_family(&draft->sorry->addr);
	for (const struct draft_real *real = draft->reals; real; real = real->next) {
		if (draft->family == AF_UNSPEC)
			draft->family = addr_family(&real->addr);
		else if (draft->family != addr_family(&real->addr))
			mixed = true;
	}
	if (mixed || draft->family == AF_UNSPEC)
		draft->family = AF_INET;
}

void service_close(struct reader *reader)
{
	struct draft_service *draft = reader->service;
	struct draft_real *sorry = draft->sorry;

	if (sorry && sorry->method.forwarding != XLB_FORWARD_TUNNEL) {
		int family = addr_family(&sorry->addr);

		if (draft->family == AF_UNSPEC)
			draft->family = family;
		if (draft->family != family) {
			complain_mark(reader, COMPLAINT_ERROR, &sorry->mark, NULL,
			              "sorry server is of another address family, skipping it");
			draft->sorry = NULL;
		}
	}
	if (draft->family == AF_UNSPEC && draft->kind != DRAFT_GROUP)
		settle_family(draft);
	reader->service = NULL;
}

void take_family(struct reader *reader, const struct statement *statement)
{
	struct draft_service *draft = reader->service;
	const char *name = word(statement, 1);
	int family = !strcmp(name, "inet")    ? AF_INET
	             : !strcmp(name, "inet6") ? AF_INET6
	                                      : AF_UNSPEC;

	if (family == AF_UNSPEC)
		complain_word(reader, COMPLAINT_ERROR, statement, 1, "inet or inet6",
		              "unknown address family '%s', ignoring", name);
	else if (draft->family != AF_UNSPEC && draft->family != family)
		complain_word(reader, COMPLAINT_ERROR, statement, 1, NULL,
		              "'%s' conflicts with the addresses, ignoring", name);
	else
		draft->family = family;
}

void take_protocol(struct reader *reader, const struct statement *statement)
{
	static const struct {
		const char *name;
		uint8_t number;
	} protocols[] = {{"TCP", IPPROTO_TCP}, {"UDP", IPPROTO_UDP}, {"SCTP", IPPROTO_SCTP}};

	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		if (strcasecmp(word(statement, 1), protocols[i].name))
			continue;
		reader->service->protocol = protocols[i].number;
		return;
	}
	complain_word(reader, COMPLAINT_ERROR, statement, 1, "TCP, UDP or SCTP",
	              "unknown protocol '%s', ignoring", word(statement, 1));
}

void take_scheduler(struct reader *reader, const struct statement *statement)
{
	static const char *const schedulers[] = {"rr", "wrr", "lc",  "wlc",   "lblc", "sh", "mh",
	                                         "dh", "fo",  "ovf", "lblcr", "sed",  "nq", "twos"};
	struct draft_service *draft = reader->service;
	const char *name = word(statement, 1);

	for (size_t i = 0; i < ARRAY_SIZE(schedulers); i++) {
		if (strcmp(name, schedulers[i]))
			continue;
		strncpy(draft->scheduler, name, sizeof(draft->scheduler) - 1);
		return;
	}
	complain_word(reader, COMPLAINT_ERROR, statement, 1, NULL,
	              "unknown scheduler '%s', ignoring", name);
}

/* sh-port and its kin count only behind the scheduler that they belong to. */
static void take_scheduler_flag(struct reader *reader, const struct statement *statement)
{
	struct draft_service *draft = reader->service;
	const char *name = word(statement, 0);
	const char *scheduler = draft->scheduler;

	if (strcmp(scheduler, "sh") && strcmp(scheduler, "mh")) {
		char hint[60];

		if (*name == 's' || *name == 'm')
			snprintf(hint, sizeof(hint), "write it below 'lb_algo %.2s'", name);
		complain_word(reader, COMPLAINT_ERROR, statement, 0, *name == 'h' ? NULL : hint,
		              *name == 'h' ? "'%s' has no effect, ignoring"
		                           : "'%s' counts only behind its scheduler, ignoring",
		              name);
		return;
	}
	if (strncmp(name, scheduler, 2)) {
		complain_word(reader, COMPLAINT_WARNING, statement, 0, NULL,
		              "'%s' is silently ignored with scheduler '%s'", name, scheduler);
		return;
	}
	draft->flags |= !strcmp(name + 2, "-port") ? DRAFT_FLAG_TWO : DRAFT_FLAG_ONE;
}

void take_flag(struct reader *reader, const struct statement *statement)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} flags[] = {
		{"ops", IP_VS_SVC_F_ONEPACKET},
		{"flag-1", DRAFT_FLAG_ONE},
		{"flag-2", DRAFT_FLAG_TWO},
		{"flag-3", DRAFT_FLAG_THREE},
	};

	reader->service->flag_mark = mark_of(statement, 0);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (strcmp(word(statement, 0), flags[i].name))
			continue;
		reader->service->flags |= flags[i].flag;
		return;
	}
	take_scheduler_flag(reader, statement);
}

static bool tunnel_option(struct reader *reader, const struct statement *statement, size_t *index,
                          struct draft_method *method)
{
	static const char *const types[] = {"ipip", "gue", "gre"};
	static const struct {
		const char *name;
		uint16_t flag;
	} sums[] = {{"nocsum", 0}, {"csum", ENCAP_CSUM}, {"remcsum", ENCAP_REMCSUM}};
	const char *option = word(statement, *index), *value = word(statement, *index + 1);
	uint32_t port;

	for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
		if (strcmp(option, sums[i].name))
			continue;
		method->tunnel_flags = sums[i].flag;
		return true;
	}
	if (strcmp(option, "type") && strcmp(option, "port")) {
		complain_word(reader, COMPLAINT_ERROR, statement, *index,
		              "type, port, nocsum, csum or remcsum",
		              "unknown option '%s': all options of the tunnel are ignored", option);
		return false;
	}
	if (*index + 1 == statement->count) {
		complain_word(reader, COMPLAINT_ERROR, statement, *index, NULL,
		              "'%s' lacks its value: all options of the tunnel are ignored",
		              option);
		return false;
	}
	++*index;
	if (*option == 'p') {
		if (!value_number(reader, statement, *index, 1, 65535, STRICT,
		                  "all options of the tunnel are ignored", &port))
			return false;
		method->tunnel_port = (uint16_t)port;
		return true;
	}
	for (uint8_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(value, types[i]))
			continue;
		method->tunnel_type = i; /* TUNNEL_IPIP, TUNNEL_GUE, TUNNEL_GRE */
		return true;
	}
	complain_word(reader, COMPLAINT_ERROR, statement, *index, "ipip, gue or gre",
	              "unknown tunnel '%s': all options of the tunnel are ignored", value);
	return false;
}

static const char *tunnel_problem(const struct draft_method *method)
{
	if ((method->tunnel_type == TUNNEL_GUE) != (method->tunnel_port != 0))
		return "a gue tunnel needs a port, and only that: the options are ignored";
	if (method->tunnel_type == TUNNEL_IPIP && method->tunnel_flags)
		return "an ipip tunnel has no checksum: the options are ignored";
	if (method->tunnel_type == TUNNEL_GRE && method->tunnel_flags & ENCAP_REMCSUM)
		return "a gre tunnel has no remcsum: the options are ignored";
	return NULL;
}

/* The method itself counts even if its options are wrong; these are then as they were. */
static void parse_method(struct reader *reader, const struct statement *statement,
                         struct draft_method *method)
{
	static const struct {
		const char *name;
		int forwarding;
	} methods[] = {
		{"NAT", XLB_FORWARD_NAT}, {"DR", XLB_FORWARD_DIRECT}, {"TUN", XLB_FORWARD_TUNNEL}};
	struct draft_method options = {};
	const char *problem;
	size_t found = 0;

	while (found < ARRAY_SIZE(methods) && strcmp(word(statement, 1), methods[found].name))
		found++;
	if (found == ARRAY_SIZE(methods)) {
		complain_word(reader, COMPLAINT_ERROR, statement, 1, "NAT, DR or TUN",
		              "unknown forwarding method '%s', ignoring", word(statement, 1));
		return;
	}
	method->forwarding = methods[found].forwarding;
	for (size_t i = 2; i < statement->count; i++)
		if (!tunnel_option(reader, statement, &i, &options))
			return;
	problem = tunnel_problem(&options);
	if (problem) {
		complain_word(reader, COMPLAINT_ERROR, statement, 1, NULL, "%s", problem);
		return;
	}
	options.forwarding = method->forwarding;
	*method = options;
}

void take_method(struct reader *reader, const struct statement *statement)
{
	parse_method(reader, statement, &reader->service->method);
}

void take_timeout(struct reader *reader, const struct statement *statement)
{
	struct draft_service *draft = reader->service;

	if (statement->count < 2)
		draft->timeout = DRAFT_PERSISTENT;
	else if (!strcmp(word(statement, 1), "0"))
		complain_word(reader, COMPLAINT_ERROR, statement, 1,
		              "leave the keyword out where persistence is not wanted",
		              "0 does not switch persistence off, ignoring");
	else
		(void)value_number(reader, statement, 1, 1, DRAFT_TIMEOUT_MAX, STRICT, "ignoring",
		                   &draft->timeout);
}

void take_granularity(struct reader *reader, const struct statement *statement)
{
	struct draft_service *draft = reader->service;
	const char *text = word(statement, 1);
	int family = draft->family != AF_UNSPEC ? draft->family
	             : strchr(text, '.')        ? AF_INET
	                                        : AF_INET6;
	struct in_addr mask;

	if (family == AF_INET6) {
		if (!value_number(reader, statement, 1, 1, 128, STRICT, "ignoring",
		                  &draft->netmask))
			return;
	} else if (inet_aton(text, &mask)) { /* short forms too, as keepalived */
		draft->netmask = mask.s_addr;
	} else {
		complain_word(reader, COMPLAINT_ERROR, statement, 1, "255.255.255.0",
		              "'%s' is not a mask, ignoring", text);
		return;
	}
	draft->family = family;
	draft->has_netmask = true;
	if (!draft->timeout)
		draft->timeout = DRAFT_PERSISTENT;
}

void take_engine(struct reader *reader, const struct statement *statement)
{
	struct draft_service *draft = reader->service;
	const char *name = word(statement, 1);

	if (strlen(name) > IPVS_NAME_MAX_LENGTH)
		complain_word(reader, COMPLAINT_ERROR, statement, 1, NULL,
		              "name of the persistence engine is cut to %d characters",
		              IPVS_NAME_MAX_LENGTH);
	strncpy(draft->engine, name, sizeof(draft->engine) - 1);
}

void take_quorum(struct reader *reader, const struct statement *statement)
{
	if (!value_number(reader, statement, 1, 1, UINT32_MAX, TOLERANT, "taking 1",
	                  &reader->service->quorum))
		reader->service->quorum = 1;
}

void take_hysteresis(struct reader *reader, const struct statement *statement)
{
	(void)value_number(reader, statement, 1, 0, UINT32_MAX, TOLERANT, "ignoring",
	                   &reader->service->hysteresis);
}

void take_service_weight(struct reader *reader, const struct statement *statement)
{
	(void)value_number(reader, statement, 1, 1, INT32_MAX, TOLERANT, "ignoring",
	                   &reader->service->weight);
}

void take_service_switch(struct reader *reader, const struct statement *statement)
{
	if (!strcmp(word(statement, 0), "ha_suspend"))
		reader->service->ha_suspend = true;
	else
		reader->service->inhibit = true;
}

void take_snmp_name(struct reader *reader, const struct statement *statement)
{
	if (statement->count != 2)
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "snmp_name takes one word, ignoring");
	else
		reader->service->snmp_name = keep(reader, word(statement, 1));
}

/* ---- servers ---------------------------------------------------------------------------------- */

static struct draft_real *new_real(struct reader *reader, const struct statement *statement)
{
	struct draft_real *real = obstack_alloc(&reader->scratch, sizeof(*real));

	*real = (struct draft_real){
		.method = reader->service->method,
		.weight = DRAFT_UNSET,
		.inhibit = DRAFT_UNSET,
		.mark = mark_of(statement, 1),
	};
	if (value_endpoint(reader, statement, 1, "real server", &real->addr, &real->port))
		return real;
	return NULL;
}

void take_sorry(struct reader *reader, const struct statement *statement)
{
	struct draft_real *sorry = new_real(reader, statement);

	if (!sorry)
		return;
	sorry->weight = 1;
	sorry->inhibit = 0;
	reader->service->sorry = sorry;
}

static bool has_sorry(struct reader *reader, const struct statement *statement)
{
	if (reader->service->sorry)
		return true;
	complain_word(reader, COMPLAINT_ERROR, statement, 0, "write it below 'sorry_server'",
	              "'%s' in front of or without a sorry_server, ignoring", word(statement, 0));
	return false;
}

void take_sorry_inhibit(struct reader *reader, const struct statement *statement)
{
	if (has_sorry(reader, statement))
		reader->service->sorry->inhibit = 1;
}

void take_sorry_method(struct reader *reader, const struct statement *statement)
{
	if (has_sorry(reader, statement))
		parse_method(reader, statement, &reader->service->sorry->method);
}

bool real_open(struct reader *reader, const struct statement *statement)
{
	reader->real = new_real(reader, statement);
	return reader->real != NULL;
}

void real_close(struct reader *reader)
{
	struct draft_service *draft = reader->service;
	struct draft_real *real = take_ptr(reader->real);
	int family = addr_family(&real->addr);

	if (real->method.forwarding != XLB_FORWARD_TUNNEL) {
		if (draft->family == AF_UNSPEC)
			draft->family = family;
		if (draft->family != family) {
			complain_mark(reader, COMPLAINT_ERROR, &real->mark,
			              "only tunnels (written before it) can change the family",
			              "real server is of another address family, skipping it");
			return;
		}
	}
	*draft->last_real = real;
	draft->last_real = &real->next;
	draft->real_count++;
}

void take_weight(struct reader *reader, const struct statement *statement)
{
	uint32_t weight;

	if (value_number(reader, statement, 1, 0, INT32_MAX, TOLERANT, "ignoring", &weight))
		reader->real->weight = weight;
}

void take_real_method(struct reader *reader, const struct statement *statement)
{
	parse_method(reader, statement, &reader->real->method);
}

void take_threshold(struct reader *reader, const struct statement *statement)
{
	struct draft_real *real = reader->real;

	(void)value_number(reader, statement, 1, 0, UINT32_MAX, TOLERANT, "ignoring",
	                   *word(statement, 0) == 'u' ? &real->upper_threshold
	                                              : &real->lower_threshold);
}

void take_inhibit(struct reader *reader, const struct statement *statement)
{
	bool on;

	if (value_switch(reader, statement, &on))
		reader->real->inhibit = on;
}
