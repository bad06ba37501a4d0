// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * firewall_rules.c - walks rule sets for all packets of a virtual server at once.
 *
 * The question is not "what happens to this packet" but "may anything else than ACCEPT happen to any of them". So a rule that
 * matches some packets does both: its verdict must be harmless, and the walk goes on behind it as if it had not matched. A
 * rule that matches all ends the walk of its base chain. Every base chain that sees the packets must let them go: ACCEPT ends one base
 * chain, not the others.
 *
 * Hooks looked at: what XDP passes by on the way in (ingress, prerouting, input) and what a packet that IPVS forwards sees on
 * the way out (output, postrouting, egress). NAT chains on the way out are not: IPVS's packets are not tracked there unless
 * net.ipv4.vs.conntrack is on, which leaves the service to IPVS anyway. Bridge and arp families never see them.
 *
 * What ends in anything else (drop, reject, queue, NAT, changes of mark or packet, things that are not understood) is the reason, with
 * the rule quoted. Reasons are kept in the arena, each once. Rules may jump to and fro: a budget bounds the walk.
 */
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "xlbd/firewall_match.h"
#include "xlbd/firewall_rules.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

enum {
	DEPTH = 16,       /* jumps in each other, as in the kernel (NFT_JUMP_STACK_SIZE) */
	BUDGET = 1000000, /* rules looked at for one service: some 100 ms */
};

struct fw_reason {
	const char *text;
	UT_hash_handle hh;
};

/* ---- building ---------------------------------------------------------------------------------- */

struct fw_rules *fw_rules_new(void)
{
	struct fw_rules *rules = calloc(1, sizeof(*rules));

	if (rules)
		obstack_init(&rules->arena);
	return rules;
}

struct fw_rules *fw_rules_free(struct fw_rules *rules)
{
	struct fw_set *set, *next;

	if (!rules)
		return NULL;
	HASH_ITER(hh, rules->sets, set, next) {
		free(set->elements);
	}
	HASH_CLEAR(hh, rules->sets);
	HASH_CLEAR(hh, rules->chains);
	HASH_CLEAR(hh, rules->reasons);
	obstack_free(&rules->arena, NULL);
	free(rules->dormant);
	free(rules);
	return NULL;
}

void *fw_room(struct fw_rules *rules, size_t size)
{
	return memset(obstack_alloc(&rules->arena, size), 0, size);
}

const uint8_t *fw_bytes(struct fw_rules *rules, const void *bytes, size_t length)
{
	return obstack_copy(&rules->arena, bytes, length);
}

const char *fw_string(struct fw_rules *rules, const char *format, ...)
{
	char text[FW_QUOTE + 200];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return obstack_copy0(&rules->arena, text, strlen(text));
}

struct fw_chain *fw_chain(struct fw_rules *rules, int family, const char *table, const char *name)
{
	const char *id = fw_string(rules, "%d\n%s\n%s", family, table, name);
	struct fw_chain *chain;

	HASH_FIND_STR(rules->chains, id, chain);
	if (chain)
		return chain;
	chain = fw_room(rules, sizeof(*chain));
	chain->id = id;
	chain->family = family;
	chain->table = fw_string(rules, "%s", table);
	chain->name = fw_string(rules, "%s", name);
	chain->policy = NF_ACCEPT;
	chain->end = &chain->rules;
	HASH_ADD_KEYPTR(hh, rules->chains, chain->id, strlen(chain->id), chain);
	return chain;
}

struct fw_set *fw_set(struct fw_rules *rules, int family, const char *table, const char *name)
{
	const char *id = fw_string(rules, "%d\n%s\n%s", family, table, name);
	struct fw_set *set;

	HASH_FIND_STR(rules->sets, id, set);
	if (set)
		return set;
	set = fw_room(rules, sizeof(*set));
	set->id = id;
	set->family = family;
	set->table = fw_string(rules, "%s", table);
	set->name = fw_string(rules, "%s", name);
	HASH_ADD_KEYPTR(hh, rules->sets, set->id, strlen(set->id), set);
	return set;
}

void fw_add_rule(struct fw_rules *rules, struct fw_chain *chain, const struct fw_rule *rule)
{
	struct fw_rule *added = fw_room(rules, sizeof(*added));

	*added = *rule;
	added->next = NULL;
	added->expressions = obstack_copy(&rules->arena, rule->expressions,
	                                  rule->count * sizeof(*rule->expressions));
	*chain->end = added;
	chain->end = &added->next;
}

int fw_add_element(struct fw_set *set, const struct fw_element *element)
{
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 8;
		void *grown = reallocarray(set->elements, room, sizeof(*set->elements));

		if (!grown)
			return -ENOMEM;
		set->elements = grown;
		set->room = room;
	}
	set->elements[set->count++] = *element;
	return 0;
}

static bool is_dormant(const struct fw_rules *rules, const struct fw_chain *chain)
{
	char id[300];

	snprintf(id, sizeof(id), "%d\n%s", chain->family, chain->table);
	for (size_t i = 0; i < rules->dormant_count; i++)
		if (strcmp(rules->dormant[i], id) == 0)
			return true;
	return false;
}

void fw_set_dormant(struct fw_rules *rules, int family, const char *table)
{
	void *grown = reallocarray(rules->dormant, rules->dormant_count + 1, sizeof(char *));

	if (!grown)
		return; /* looked at though it sleeps: on the safe side */
	rules->dormant = grown;
	rules->dormant[rules->dormant_count++] = fw_string(rules, "%d\n%s", family, table);
}

/* ---- linking ----------------------------------------------------------------------------------- */

static void link_verdict(struct fw_rules *rules, int family, const char *table,
                         struct fw_verdict *verdict)
{
	if (verdict->target)
		verdict->chain = fw_chain(rules, family, table, verdict->target);
}

static void link_rule(struct fw_rules *rules, const struct fw_chain *chain, struct fw_rule *rule)
{
	for (size_t i = 0; i < rule->count; i++) {
		struct fw_expression *expression = &rule->expressions[i];

		if (expression->set_name)
			expression->set =
				fw_set(rules, chain->family, chain->table, expression->set_name);
		link_verdict(rules, chain->family, chain->table, &expression->verdict);
	}
}

/* By key; the end of one interval stands before the begin of the next. Catch-alls go last. */
static int element_order(const void *left, const void *right)
{
	const struct fw_element *a = left, *b = right;
	int order;

	if (a->catchall || b->catchall)
		return a->catchall - b->catchall;
	order = memcmp(a->key, b->key, FW_REGISTERS);
	return order ? order : b->interval_end - a->interval_end;
}

void fw_link(struct fw_rules *rules)
{
	struct fw_chain *chain, *next_chain;
	struct fw_set *set, *next_set;

	HASH_ITER(hh, rules->chains, chain, next_chain) {
		for (struct fw_rule *rule = chain->rules; rule; rule = rule->next)
			link_rule(rules, chain, rule);
	}
	HASH_ITER(hh, rules->sets, set, next_set) {
		if (set->count)
			qsort(set->elements, set->count, sizeof(*set->elements), element_order);
		for (size_t i = 0; i < set->count; i++)
			link_verdict(rules, set->family, set->table, &set->elements[i].verdict);
	}
}

/* ---- walking ----------------------------------------------------------------------------------- */

enum flow {
	FLOW_ENDS,    /* all packets are accepted here */
	FLOW_GOES_ON, /* some or all go on with the next rule */
	FLOW_RETURNS, /* all go back to the chain that jumped here */
	FLOW_REFUSED, /* there is a reason */
};

struct walk {
	struct fw_rules *rules;
	struct fw_view view;
	unsigned budget;
	const char *reason;
};

static enum flow walk_chain(struct walk *walk, const struct fw_chain *chain, unsigned depth);

/* why NULL: the quotation says it all. */
static enum flow refuse(struct walk *walk, const struct fw_chain *chain, const struct fw_rule *rule,
                        const char *why)
{
	char quote[FW_QUOTE];
	struct fw_reason *reason;
	const char *text;

	fw_quote(chain, rule, quote);
	text = fw_string(walk->rules, "firewall: %s%s%s%s", quote, why ? " (" : "", why ? why : "",
	                 why ? ")" : "");
	HASH_FIND_STR(walk->rules->reasons, text, reason);
	if (!reason) {
		reason = fw_room(walk->rules, sizeof(*reason));
		reason->text = text;
		HASH_ADD_KEYPTR(hh, walk->rules->reasons, reason->text, strlen(reason->text),
		                reason);
	} else {
		obstack_free(&walk->rules->arena, (char *)text);
	}
	walk->reason = reason->text;
	return FLOW_REFUSED;
}

/* To another chain and, if it is a jump, back. */
static enum flow follow(struct walk *walk, const struct fw_chain *chain, const struct fw_rule *rule,
                        const struct fw_verdict *verdict, enum fw_match match, unsigned depth)
{
	enum flow flow;

	if (!verdict->chain || depth == DEPTH)
		return refuse(walk, chain, rule, "leads too far to be understood");
	flow = walk_chain(walk, verdict->chain, depth + 1);
	if (flow == FLOW_REFUSED)
		return flow;
	if (flow == FLOW_ENDS)
		return match == FW_ALWAYS ? FLOW_ENDS : FLOW_GOES_ON;
	if (verdict->code == NFT_JUMP)
		return FLOW_GOES_ON;
	return FLOW_RETURNS; /* the end of a chain that was gone to is the end of this one */
}

static enum flow take_verdict(struct walk *walk, const struct fw_chain *chain,
                              const struct fw_rule *rule, const struct fw_verdict *verdict,
                              enum fw_match match, unsigned depth)
{
	switch (verdict->code) {
	case NF_ACCEPT:
		return match == FW_ALWAYS ? FLOW_ENDS : FLOW_GOES_ON;
	case NFT_CONTINUE:
	case NFT_BREAK:
		return FLOW_GOES_ON;
	case NFT_RETURN:
		return FLOW_RETURNS;
	case NFT_JUMP:
	case NFT_GOTO:
		return follow(walk, chain, rule, verdict, match, depth);
	default: /* drop, queue, stolen, and what is not known */
		return refuse(walk, chain, rule, NULL);
	}
}

/* What one rule does to the walk; some: only part of the packets took the way that `flow` says. */
struct outcome {
	enum flow flow;
	bool some;
};

static struct outcome outcome_of(enum flow flow, enum fw_match match)
{
	return (struct outcome){flow, match != FW_ALWAYS};
}

/* A map from keys to verdicts: each element that may be hit is a rule of its own. */
static struct outcome walk_map(struct walk *walk, const struct fw_chain *chain,
                               const struct fw_rule *rule, const struct fw_expression *expression,
                               const struct fw_registers *registers, enum fw_match so_far,
                               unsigned depth)
{
	const struct fw_set *set = expression->set;
	bool returns = false;

	if (!set || set->flags & NFT_SET_EVAL)
		return outcome_of(refuse(walk, chain, rule, "not understood"), FW_ALWAYS);
	for (size_t i = 0; i < set->count; i++) {
		enum fw_match match = fw_match_element(registers, expression, i);
		enum flow flow;

		if (set->flags & NFT_SET_TIMEOUT)
			match = FW_PERHAPS;
		if (match > so_far)
			match = so_far;
		if (match == FW_NEVER)
			continue;
		flow = take_verdict(walk, chain, rule, &set->elements[i].verdict, match, depth);
		if (flow == FLOW_REFUSED || match == FW_ALWAYS)
			return outcome_of(flow, match);
		returns |= flow == FLOW_RETURNS;
	}
	return (struct outcome){returns ? FLOW_RETURNS : FLOW_GOES_ON, true};
}

static bool fills_registers(const struct fw_expression *expression)
{
	switch (expression->kind) {
	case FW_META:
	case FW_PAYLOAD:
	case FW_LOAD:
	case FW_BITWISE:
	case FW_VALUE:
		return true;
	default:
		return false;
	}
}

static struct outcome walk_rule(struct walk *walk, const struct fw_chain *chain,
                                const struct fw_rule *rule, unsigned depth)
{
	struct fw_registers registers = {};
	enum fw_match match = FW_ALWAYS, one;

	for (size_t i = 0; i < rule->count; i++) {
		const struct fw_expression *expression = &rule->expressions[i];

		if (fills_registers(expression)) {
			fw_load(&registers, expression, &walk->view);
			continue;
		}
		if (expression->kind == FW_NOTHING)
			continue;
		if (expression->kind == FW_VERDICT)
			return outcome_of(
				take_verdict(walk, chain, rule, &expression->verdict, match, depth),
				match);
		if (expression->kind == FW_LOOKUP && expression->set && expression->set->to_verdict)
			return walk_map(walk, chain, rule, expression, &registers, match, depth);
		if (expression->kind == FW_REFUSAL || expression->kind == FW_UNKNOWN)
			return outcome_of(
				refuse(walk, chain, rule,
			               expression->why ? expression->why : "not understood"),
				match);
		one = fw_compare(&registers, expression, &walk->view);
		match = one < match ? one : match;
		if (match == FW_NEVER)
			break;
	}
	return outcome_of(FLOW_GOES_ON, match);
}

static enum flow walk_chain(struct walk *walk, const struct fw_chain *chain, unsigned depth)
{
	bool some_returned = false;

	for (const struct fw_rule *rule = chain->rules; rule; rule = rule->next) {
		struct outcome outcome;

		if (!walk->budget--) {
			walk->budget = 1;
			return refuse(walk, chain, rule, "too many rules to be looked at");
		}
		outcome = walk_rule(walk, chain, rule, depth);
		if (outcome.flow == FLOW_REFUSED)
			return FLOW_REFUSED;
		if (outcome.flow == FLOW_GOES_ON)
			continue;
		if (outcome.flow == FLOW_RETURNS && outcome.some) {
			some_returned = true;
			continue;
		}
		return some_returned && outcome.flow == FLOW_ENDS ? FLOW_RETURNS : outcome.flow;
	}
	return FLOW_RETURNS;
}

/* ---- base chains ------------------------------------------------------------------------------- */

/* Hooks that the packets pass, by numbering of families: netdev counts otherwise than IP. */
static const struct {
	bool netdev;
	uint32_t hook;
	enum fw_side side;
	bool nat; /* NAT chains too */
} hooks[] = {
	{true, NF_NETDEV_INGRESS, FW_ARRIVING, false},
	{true, NF_NETDEV_EGRESS, FW_LEAVING, false},
	{false, NF_INET_INGRESS, FW_ARRIVING, false},
	{false, NF_INET_PRE_ROUTING, FW_ARRIVING, true},
	{false, NF_INET_LOCAL_IN, FW_ARRIVING, true},
	{false, NF_INET_FORWARD, FW_LEAVING, false},
	{false, NF_INET_LOCAL_OUT, FW_LEAVING, false},
	{false, NF_INET_POST_ROUTING, FW_LEAVING, false},
};

static bool family_sees(const struct fw_chain *chain, const struct fw_packet *packet)
{
	int own = packet->family == AF_INET ? NFPROTO_IPV4 : NFPROTO_IPV6;

	return chain->family == own || chain->family == NFPROTO_INET ||
	       chain->family == NFPROTO_NETDEV;
}

/* Whether the packets come by this base chain, and where they are then. */
static bool sees(const struct fw_rules *rules, const struct fw_chain *chain,
                 const struct fw_packet *packet, enum fw_side *ret_side)
{
	if (!chain->base || chain->loopback_only || !family_sees(chain, packet) ||
	    is_dormant(rules, chain))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (hooks[i].hook == NF_INET_FORWARD && !hooks[i].netdev && !packet->answered)
			continue;
		if (hooks[i].netdev != (chain->family == NFPROTO_NETDEV) ||
		    hooks[i].hook != chain->hook || (chain->nat && !hooks[i].nat))
			continue;
		*ret_side = hooks[i].side;
		return true;
	}
	return false;
}

/* NULL: the chain lets all of them through. */
static const char *judge_chain(struct walk *walk, const struct fw_chain *chain,
                               const struct fw_packet *packet, enum fw_side side)
{
	enum flow flow;

	fw_view_open(&walk->view, packet, side);
	flow = walk_chain(walk, chain, 0);
	if (flow == FLOW_REFUSED)
		return walk->reason;
	if (flow == FLOW_ENDS || chain->policy == NF_ACCEPT)
		return NULL;
	refuse(walk, chain, NULL, NULL);
	return walk->reason;
}

const char *fw_judge(struct fw_rules *rules, const struct fw_packet *packet, unsigned *ret_asked)
{
	struct walk walk = {.rules = rules, .budget = BUDGET};
	struct fw_chain *chain, *next;
	const char *reason = NULL;
	unsigned asked = 0;

	HASH_ITER(hh, rules->chains, chain, next) {
		enum fw_side side;

		if (reason || !sees(rules, chain, packet, &side))
			continue;
		reason = judge_chain(&walk, chain, packet, side);
		asked |= walk.view.asked;
	}
	if (ret_asked)
		*ret_asked = asked;
	return reason;
}
