// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_firewall_rules.c - the judgement of rule sets, without a kernel: rules are put together by hand, expression by expression.
 *
 * tests/bpf/test_firewall.c asks the same of rule sets that nft and iptables loaded. Here are the corners that these do not reach.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>

#include "xlbd/firewall_match.h"
#include "xlbd/firewall_rules.h"
#include "xlbd/model/addr.h"

/* 192.0.2.10:80/tcp */
static struct xlb_addr vip;
static struct fw_packet packet = {.family = AF_INET,
                                  .protocol = IPPROTO_TCP,
                                  .port = 80,
                                  .addr = &vip,
                                  .forwarded_unchanged = true};
static struct fw_rules *rules;
static struct fw_chain *input;

static int set_up(void **state)
{
	(void)state;
	assert_true(addr_parse("192.0.2.10", &vip));
	rules = fw_rules_new();
	input = fw_chain(rules, NFPROTO_INET, "filter", "input");
	input->base = true;
	input->hook = NF_INET_LOCAL_IN;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rules = fw_rules_free(rules);
	return 0;
}

/* ---- expressions ------------------------------------------------------------------------------- */

static const uint8_t *bytes(const void *data, size_t length)
{
	uint8_t padded[FW_REGISTERS] = {};

	memcpy(padded, data, length);
	return fw_bytes(rules, padded, sizeof(padded));
}

static struct fw_expression verdict(int32_t code, const char *target)
{
	return (struct fw_expression){.kind = FW_VERDICT,
	                              .verdict = {.code = code, .target = target}};
}

static struct fw_expression load_dport(uint8_t dreg)
{
	return (struct fw_expression){.kind = FW_PAYLOAD,
	                              .base = NFT_PAYLOAD_TRANSPORT_HEADER,
	                              .offset = 2,
	                              .length = 2,
	                              .dreg = dreg};
}

static struct fw_expression load_saddr(void)
{
	return (struct fw_expression){
		.kind = FW_PAYLOAD, .base = NFT_PAYLOAD_NETWORK_HEADER, .offset = 12, .length = 4};
}

static struct fw_expression compare_port(uint8_t op, uint16_t port)
{
	port = htons(port);
	return (struct fw_expression){.kind = FW_CMP, .op = op, .length = 2, .a = bytes(&port, 2)};
}

static void add(struct fw_chain *chain, uint64_t handle, const struct fw_expression *expressions,
                size_t count)
{
	struct fw_expression copied[8];

	memcpy(copied, expressions, count * sizeof(*expressions));
	fw_add_rule(rules, chain,
	            &(struct fw_rule){.handle = handle, .expressions = copied, .count = count});
}

#define RULE(chain, handle, ...)                                      \
	do {                                                          \
		const struct fw_expression listed_[] = {__VA_ARGS__}; \
		add(chain, handle, listed_, ARRAY_SIZE(listed_));     \
	} while (0)

static void expect(const char *reason)
{
	const char *said;

	fw_link(rules);
	said = fw_judge(rules, &packet, NULL);
	if (!reason)
		assert_null(said);
	else if (!said || strcmp(said, reason) != 0)
		fail_msg("expected '%s', got '%s'", reason, said ? said : "accepted");
}

/* ---- comparisons ------------------------------------------------------------------------------- */

static void ports_are_compared_in_all_ways(void **state)
{
	static const struct {
		uint8_t op;
		uint16_t port;
		bool drops;
	} rows[] = {
		{NFT_CMP_EQ, 80, true},   {NFT_CMP_EQ, 81, false},  {NFT_CMP_NEQ, 80, false},
		{NFT_CMP_NEQ, 81, true},  {NFT_CMP_LT, 80, false},  {NFT_CMP_LT, 81, true},
		{NFT_CMP_LTE, 79, false}, {NFT_CMP_LTE, 80, true},  {NFT_CMP_GT, 80, false},
		{NFT_CMP_GT, 79, true},   {NFT_CMP_GTE, 81, false}, {NFT_CMP_GTE, 80, true},
		{NFT_CMP_GT, 255, false}, {NFT_CMP_LT, 256, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		RULE(input, 7, load_dport(0), compare_port(rows[i].op, rows[i].port),
		     verdict(NF_DROP, NULL));
		fw_link(rules);
		if (!fw_judge(rules, &packet, NULL) == rows[i].drops)
			fail_msg("row %zu", i);
		tear_down(state);
		set_up(state);
	}
}

static void a_source_is_never_certain(void **state)
{
	(void)state;
	/* != 10.0.0.0 accepts some, drops the rest */
	RULE(input, 1, load_saddr(),
	     (struct fw_expression){
		     .kind = FW_CMP, .op = NFT_CMP_NEQ, .length = 4, .a = bytes("\12\0\0\0", 4)},
	     verdict(NF_ACCEPT, NULL));
	expect(NULL);
	input->policy = NF_DROP;
	expect("firewall: table inet filter chain input: policy drop");
}

static void masked_bits_are_known_whatever_the_source(void **state)
{
	(void)state;
	input->policy = NF_DROP;
	/* saddr & 0.0.0.0 == 0.0.0.0: everybody */
	RULE(input, 1, load_saddr(),
	     (struct fw_expression){.kind = FW_BITWISE,
	                            .length = 4,
	                            .a = bytes("\0\0\0\0", 4),
	                            .b = bytes("\0\0\0\0", 4)},
	     (struct fw_expression){
		     .kind = FW_CMP, .op = NFT_CMP_EQ, .length = 4, .a = bytes("\0\0\0\0", 4)},
	     verdict(NF_ACCEPT, NULL));
	expect(NULL);
}

static void a_range_of_sources_is_everybody_only_if_it_is_all(void **state)
{
	(void)state;
	input->policy = NF_DROP;
	RULE(input, 1, load_saddr(),
	     (struct fw_expression){.kind = FW_RANGE,
	                            .op = NFT_RANGE_EQ,
	                            .length = 4,
	                            .a = bytes("\0\0\0\0", 4),
	                            .b = bytes("\377\377\377\376", 4)},
	     verdict(NF_ACCEPT, NULL));
	expect("firewall: table inet filter chain input: policy drop");
	RULE(input, 2, load_saddr(),
	     (struct fw_expression){.kind = FW_RANGE,
	                            .op = NFT_RANGE_EQ,
	                            .length = 4,
	                            .a = bytes("\0\0\0\0", 4),
	                            .b = bytes("\377\377\377\377", 4)},
	     verdict(NF_ACCEPT, NULL));
	expect(NULL);
}

static void a_service_without_a_port_is_any_port(void **state)
{
	(void)state;
	packet.port = 0;
	RULE(input, 9, load_dport(0), compare_port(NFT_CMP_EQ, 22), verdict(NF_DROP, NULL));
	expect("firewall: table inet filter chain input rule handle 9: th dport 22 drop");
	packet.port = 80;
}

static void registers_beyond_the_file_are_perhaps(void **state)
{
	(void)state;
	RULE(input, 3, load_dport(63),
	     (struct fw_expression){
		     .kind = FW_CMP, .sreg = 63, .op = NFT_CMP_EQ, .length = 16, .a = bytes("", 1)},
	     verdict(NF_DROP, NULL));
	fw_link(rules);
	assert_non_null(fw_judge(rules, &packet, NULL));
}

/* ---- sets -------------------------------------------------------------------------------------- */

static struct fw_set *ports_set(const char *name, uint32_t flags)
{
	struct fw_set *set = fw_set(rules, NFPROTO_INET, "filter", name);

	set->length = 2;
	set->flags = flags;
	return set;
}

static void put_port(struct fw_set *set, uint16_t port, bool end, int32_t code)
{
	port = htons(port);
	assert_int_equal(fw_add_element(set, &(struct fw_element){.key = bytes(&port, 2),
	                                                          .interval_end = end,
	                                                          .verdict = {.code = code}}),
	                 0);
}

static struct fw_expression look_up(const char *set, bool inverted)
{
	return (struct fw_expression){.kind = FW_LOOKUP, .set_name = set, .inverted = inverted};
}

static void intervals_are_put_in_order_first(void **state)
{
	static const struct {
		uint16_t from, behind; /* of the second interval; the first is 10 to 19 */
		bool inside;
	} rows[] = {{80, 81, true}, {70, 80, false}, {81, 90, false}, {20, 65535, true}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fw_set *set = ports_set("s", NFT_SET_INTERVAL);

		/* backwards, as the kernel's tree hands them out; the two may touch */
		put_port(set, rows[i].behind, true, 0);
		put_port(set, rows[i].from, false, 0);
		put_port(set, 20, true, 0);
		put_port(set, 10, false, 0);
		RULE(input, 1, load_dport(0), look_up("s", false), verdict(NF_DROP, NULL));
		fw_link(rules);
		if (!fw_judge(rules, &packet, NULL) == rows[i].inside)
			fail_msg("row %zu", i);
		tear_down(state);
		set_up(state);
	}
}

static void an_inverted_lookup_is_the_reverse(void **state)
{
	(void)state;
	put_port(ports_set("s", 0), 80, false, 0);
	RULE(input, 1, load_dport(0), look_up("s", true), verdict(NF_DROP, NULL));
	expect(NULL);
	RULE(input, 2, load_dport(0), look_up("s", false), verdict(NF_DROP, NULL));
	expect("firewall: table inet filter chain input rule handle 2: th dport @s drop");
}

static void a_set_that_is_not_there_is_perhaps(void **state)
{
	(void)state;
	fw_set(rules, NFPROTO_INET, "filter", "s")->flags = NFT_SET_EVAL;
	RULE(input, 1, load_dport(0), look_up("s", true), verdict(NF_DROP, NULL));
	expect("firewall: table inet filter chain input rule handle 1: th dport != @s drop");
}

static void a_perishable_element_proves_nothing(void **state)
{
	uint16_t port = htons(80);

	(void)state;
	input->policy = NF_DROP;
	assert_int_equal(
		fw_add_element(ports_set("s", 0),
	                       &(struct fw_element){.key = bytes(&port, 2), .perishable = true}),
		0);
	RULE(input, 1, load_dport(0), look_up("s", false), verdict(NF_ACCEPT, NULL));
	expect("firewall: table inet filter chain input: policy drop");
}

static void a_catch_all_catches_what_no_other_does(void **state)
{
	struct fw_set *map = ports_set("__map0", NFT_SET_MAP);

	(void)state;
	map->to_verdict = true;
	put_port(map, 22, false, NF_ACCEPT);
	assert_int_equal(fw_add_element(map, &(struct fw_element){.catchall = true,
	                                                          .verdict = {.code = NF_DROP}}),
	                 0);
	RULE(input, 4, load_dport(0), look_up("__map0", false));
	expect("firewall: table inet filter chain input rule handle 4: th dport vmap { 22 : "
	       "accept, * "
	       ": drop }");
	packet.port = 22;
	assert_null(fw_judge(rules, &packet, NULL));
	packet.port = 80;
}

static void names_do_not_run_into_each_other(void **state)
{
	(void)state;
	assert_ptr_not_equal(fw_chain(rules, NFPROTO_INET, "a/b", "c"),
	                     fw_chain(rules, NFPROTO_INET, "a", "b/c"));
	assert_ptr_equal(fw_chain(rules, NFPROTO_INET, "a", "b"),
	                 fw_chain(rules, NFPROTO_INET, "a", "b"));
}

/* ---- chains ------------------------------------------------------------------------------------ */

static void what_returns_for_some_is_not_accepted_for_all(void **state)
{
	struct fw_chain *sub = fw_chain(rules, NFPROTO_INET, "filter", "sub");

	(void)state;
	input->policy = NF_DROP;
	RULE(sub, 1, load_saddr(),
	     (struct fw_expression){
		     .kind = FW_CMP, .op = NFT_CMP_EQ, .length = 4, .a = bytes("\12\0\0\0", 4)},
	     verdict(NFT_RETURN, NULL));
	RULE(sub, 2, verdict(NF_ACCEPT, NULL));
	RULE(input, 3, verdict(NFT_JUMP, "sub"));
	expect("firewall: table inet filter chain input: policy drop");
	input->policy = NF_ACCEPT;
	expect(NULL);
}

static void who_goes_to_a_chain_does_not_come_back(void **state)
{
	struct fw_chain *sub = fw_chain(rules, NFPROTO_INET, "filter", "sub");

	(void)state;
	RULE(sub, 1, load_dport(0), compare_port(NFT_CMP_EQ, 22), verdict(NF_DROP, NULL));
	RULE(input, 2, verdict(NFT_GOTO, "sub"));
	RULE(input, 3, verdict(NF_DROP, NULL)); /* never reached */
	expect(NULL);
}

static void who_jumps_does(void **state)
{
	(void)state;
	fw_chain(rules, NFPROTO_INET, "filter", "sub");
	RULE(input, 2, verdict(NFT_JUMP, "sub"));
	RULE(input, 3, verdict(NF_DROP, NULL));
	expect("firewall: table inet filter chain input rule handle 3: drop");
}

static void jumping_in_circles_ends(void **state)
{
	struct fw_chain *sub = fw_chain(rules, NFPROTO_INET, "filter", "sub");

	(void)state;
	RULE(sub, 1, verdict(NFT_JUMP, "sub"));
	RULE(input, 2, verdict(NFT_JUMP, "sub"));
	expect("firewall: table inet filter chain sub rule handle 1: jump sub (leads too far to be "
	       "understood)");
}

static void a_walk_that_multiplies_ends(void **state)
{
	char name[16], next[16];

	(void)state;
	for (int i = 0; i < 15; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		snprintf(next, sizeof(next), "c%d", i + 1);
		for (int k = 0; k < 8; k++)
			RULE(fw_chain(rules, NFPROTO_INET, "filter", name), 1,
			     verdict(NFT_JUMP, fw_string(rules, "%s", next)));
	}
	RULE(input, 2, verdict(NFT_JUMP, "c0"));
	fw_link(rules);
	assert_non_null(strstr(fw_judge(rules, &packet, NULL), "too many rules to be looked at"));
}

static void what_is_not_known_matters_only_if_it_is_reached(void **state)
{
	struct fw_expression unknown = {.kind = FW_UNKNOWN, .words = "novelty"};

	(void)state;
	RULE(input, 1, load_dport(0), compare_port(NFT_CMP_EQ, 22), unknown);
	expect(NULL);
	RULE(input, 2, unknown, verdict(NF_ACCEPT, NULL));
	expect("firewall: table inet filter chain input rule handle 2: novelty accept (not "
	       "understood)");
}

static void a_reason_is_kept_once(void **state)
{
	const char *first;

	(void)state;
	input->policy = NF_DROP;
	fw_link(rules);
	first = fw_judge(rules, &packet, NULL);
	for (int i = 0; i < 1000; i++)
		assert_ptr_equal(fw_judge(rules, &packet, NULL), first);
}

static unsigned asked(void)
{
	unsigned said = 99;

	fw_link(rules);
	(void)fw_judge(rules, &packet, &said);
	return said;
}

static void an_answer_says_what_it_depended_on(void **state)
{
	static const struct {
		uint8_t base, offset, length;
		unsigned asked;
	} rows[] = {
		{NFT_PAYLOAD_NETWORK_HEADER, 12, 4, 0},
		{NFT_PAYLOAD_NETWORK_HEADER, 16, 4, FW_ASKED_ADDR},
		{NFT_PAYLOAD_NETWORK_HEADER, 19, 1, FW_ASKED_ADDR},
		{NFT_PAYLOAD_NETWORK_HEADER, 12, 8, FW_ASKED_ADDR},
		{NFT_PAYLOAD_NETWORK_HEADER, 20, 4, 0},
		{NFT_PAYLOAD_TRANSPORT_HEADER, 0, 2, 0},
		{NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, FW_ASKED_PORT},
		{NFT_PAYLOAD_TRANSPORT_HEADER, 0, 4, FW_ASKED_PORT},
		{NFT_PAYLOAD_TRANSPORT_HEADER, 4, 4, 0},
	};

	assert_int_equal(asked(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct fw_expression load = {.kind = FW_PAYLOAD,
		                                   .base = rows[i].base,
		                                   .offset = rows[i].offset,
		                                   .length = rows[i].length};

		RULE(input, 1, load, verdict(NF_ACCEPT, NULL));
		if (asked() != rows[i].asked)
			fail_msg("row %zu: %u", i, asked());
		tear_down(state);
		set_up(state);
	}
	/* behind a rule that ends the walk nothing is asked any more */
	RULE(input, 1, verdict(NF_ACCEPT, NULL));
	RULE(input, 2, load_dport(0), compare_port(NFT_CMP_EQ, 80), verdict(NF_DROP, NULL));
	assert_int_equal(asked(), 0);
}

static void only_hooks_on_the_way_count(void **state)
{
	static const struct {
		int family;
		uint32_t hook;
		bool nat, counts;
	} rows[] = {
		{NFPROTO_IPV4, NF_INET_LOCAL_IN, false, true},
		{NFPROTO_IPV6, NF_INET_LOCAL_IN, false, false},
		{NFPROTO_INET, NF_INET_PRE_ROUTING, true, true},
		{NFPROTO_INET, NF_INET_FORWARD, false, false},
		{NFPROTO_INET, NF_INET_INGRESS, false, true},
		{NFPROTO_IPV4, NF_INET_LOCAL_OUT, false, true},
		{NFPROTO_IPV4, NF_INET_POST_ROUTING, false, true},
		{NFPROTO_IPV4, NF_INET_POST_ROUTING, true, false},
		{NFPROTO_NETDEV, NF_NETDEV_INGRESS, false, true},
		{NFPROTO_NETDEV, NF_NETDEV_EGRESS, false, true},
		{NFPROTO_BRIDGE, NF_INET_LOCAL_IN, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fw_chain *chain = fw_chain(rules, rows[i].family, "t", "c");

		chain->base = true;
		chain->hook = rows[i].hook;
		chain->nat = rows[i].nat;
		chain->policy = NF_DROP;
		if (!fw_judge(rules, &packet, NULL) == rows[i].counts)
			fail_msg("row %zu", i);
		tear_down(state);
		set_up(state);
	}
}

static void behind_ipvs_the_destination_is_known_only_if_it_stays(void **state)
{
	(void)state;
	input->hook = NF_INET_LOCAL_OUT;
	RULE(input, 1, load_dport(0), compare_port(NFT_CMP_EQ, 8080), verdict(NF_DROP, NULL));
	expect(NULL);
	packet.forwarded_unchanged = false; /* NAT: may go to any port */
	assert_non_null(fw_judge(rules, &packet, NULL));
	packet.forwarded_unchanged = true;
}

static void a_long_rule_is_quoted_as_far_as_there_is_room(void **state)
{
	struct fw_expression words = {.kind = FW_CONDITION};
	char quote[FW_QUOTE];

	(void)state;
	words.words = fw_string(rules, "%0250d", 1);
	RULE(input, 1, words, words, words, verdict(NF_DROP, NULL));
	fw_quote(input, input->rules, quote);
	assert_int_equal(strlen(quote), FW_QUOTE - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ports_are_compared_in_all_ways),
		TEST(a_source_is_never_certain),
		TEST(masked_bits_are_known_whatever_the_source),
		TEST(a_range_of_sources_is_everybody_only_if_it_is_all),
		TEST(a_service_without_a_port_is_any_port),
		TEST(registers_beyond_the_file_are_perhaps),
		TEST(intervals_are_put_in_order_first),
		TEST(an_inverted_lookup_is_the_reverse),
		TEST(a_set_that_is_not_there_is_perhaps),
		TEST(a_perishable_element_proves_nothing),
		TEST(a_catch_all_catches_what_no_other_does),
		TEST(names_do_not_run_into_each_other),
		TEST(what_returns_for_some_is_not_accepted_for_all),
		TEST(who_goes_to_a_chain_does_not_come_back),
		TEST(who_jumps_does),
		TEST(jumping_in_circles_ends),
		TEST(a_walk_that_multiplies_ends),
		TEST(what_is_not_known_matters_only_if_it_is_reached),
		TEST(a_reason_is_kept_once),
		TEST(an_answer_says_what_it_depended_on),
		TEST(only_hooks_on_the_way_count),
		TEST(behind_ipvs_the_destination_is_known_only_if_it_stays),
		TEST(a_long_rule_is_quoted_as_far_as_there_is_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
