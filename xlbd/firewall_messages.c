// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * firewall_messages.c - reads what nf_tables answers: tables, chains, rules, sets and their elements.
 *
 * Names are copied into the arena of the rule sets; references (sets, chains to jump to) stay names until fw_link(). Each of the kernel's
 * expressions is a row of a table: what it is for the judgement, how it is said, and, for those with contents that matter, who
 * reads them. An expression without a row is FW_UNKNOWN and becomes a reason if it can be reached, so a newer
 * kernel is never misread.
 *
 * nf_tables' numbers are in network order, registers come in two numberings (16-byte registers 1 to 4, 4-byte
 * registers from 8), and the user's comment lies in a blob of its own (type, length, value).
 *
 * firewall.c dumps and hands each message to fw_take(). Pure.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>

#include "xlbd/firewall_messages.h"
#include "xlbd/netattributes.h"
#include "xlbd/netsocket.h"
#include "xlbd/sync/guard.h"

enum {
	NAME = 256,         /* NFT_NAME_MAXLEN */
	EXPRESSIONS = 128,  /* NFT_RULE_MAXEXPRS */
	OBJECT_COUNTER = 1, /* NFT_OBJECT_COUNTER */
	OBJECT_SYNPROXY = 10,
};

/* Byte offset of a register; FW_REGISTERS: the verdict, or none of those there are. */
static uint8_t register_of(const struct attributes *attributes, int type)
{
	uint32_t number = attribute_be32(attributes, type);

	if (number >= NFT_REG_1 && number <= NFT_REG_4)
		return (uint8_t)((number - NFT_REG_1) * 16);
	if (number >= NFT_REG32_00 && number <= NFT_REG32_15)
		return (uint8_t)((number - NFT_REG32_00) * 4);
	return FW_REGISTERS;
}

/* NFTA_DATA_VALUE of a nested attribute, padded to the size of the register file. NULL: there is none. */
static const uint8_t *data_of(struct fw_rules *rules, const struct attributes *attributes, int type,
                              uint8_t *ret_length)
{
	struct attributes data = attributes_nested(attributes->at[type]);
	size_t length = attribute_length(&data, NFTA_DATA_VALUE);
	uint8_t bytes[FW_REGISTERS] = {};

	if (!length || length > sizeof(bytes))
		return NULL;
	memcpy(bytes, attribute_bytes(&data, NFTA_DATA_VALUE, length), length);
	*ret_length = (uint8_t)length;
	return fw_bytes(rules, bytes, sizeof(bytes));
}

static bool verdict_of(struct fw_rules *rules, const struct attributes *attributes, int type,
                       struct fw_verdict *ret)
{
	struct attributes data = attributes_nested(attributes->at[type]);
	struct attributes verdict = attributes_nested(data.at[NFTA_DATA_VERDICT]);
	char chain[NAME] = "";

	if (!verdict.at[NFTA_VERDICT_CODE])
		return false;
	*ret = (struct fw_verdict){.code = (int32_t)attribute_be32(&verdict, NFTA_VERDICT_CODE)};
	attribute_string(&verdict, NFTA_VERDICT_CHAIN, chain, sizeof(chain));
	if (chain[0])
		ret->target = fw_string(rules, "%s", chain);
	return true;
}

/* ---- expressions ------------------------------------------------------------------------------- */

typedef void read_expression(struct fw_rules *rules, const struct attributes *attributes,
                             struct fw_expression *ret);

static void read_meta(struct fw_rules *rules, const struct attributes *attributes,
                      struct fw_expression *ret)
{
	(void)rules;
	ret->key = attribute_be32(attributes, NFTA_META_KEY);
	ret->dreg = register_of(attributes, NFTA_META_DREG);
	if (!attributes->at[NFTA_META_SREG])
		return;
	ret->kind = ret->key == NFT_META_MARK ? FW_REFUSAL : FW_NOTHING;
	ret->words = ret->key == NFT_META_MARK ? "meta mark set" : "meta set";
	ret->why = "changes the packet's mark";
}

static void read_ct(struct fw_rules *rules, const struct attributes *attributes,
                    struct fw_expression *ret)
{
	static const char *const words[] = {
		[NFT_CT_STATE] = "ct state",
		[NFT_CT_DIRECTION] = "ct direction",
		[NFT_CT_STATUS] = "ct status",
		[NFT_CT_MARK] = "ct mark",
	};

	(void)rules;
	ret->key = attribute_be32(attributes, NFTA_CT_KEY);
	ret->dreg = register_of(attributes, NFTA_CT_DREG);
	ret->length = ret->key == NFT_CT_STATE || ret->key == NFT_CT_MARK ? 4 : 16;
	ret->words = ret->key < ARRAY_SIZE(words) && words[ret->key] ? words[ret->key] : "ct";
	if (attributes->at[NFTA_CT_SREG])
		ret->kind = FW_NOTHING; /* of an entry that these packets do not need */
}

static void read_payload(struct fw_rules *rules, const struct attributes *attributes,
                         struct fw_expression *ret)
{
	uint32_t length = attribute_be32(attributes, NFTA_PAYLOAD_LEN);

	(void)rules;
	ret->base = (uint8_t)attribute_be32(attributes, NFTA_PAYLOAD_BASE);
	ret->offset = attribute_be32(attributes, NFTA_PAYLOAD_OFFSET);
	ret->length = length > FW_REGISTERS ? FW_REGISTERS : (uint8_t)length;
	ret->dreg = register_of(attributes, NFTA_PAYLOAD_DREG);
	if (!attributes->at[NFTA_PAYLOAD_SREG])
		return;
	ret->kind = FW_REFUSAL;
	ret->words = "payload set";
	ret->why = "changes the packet";
}

static void read_cmp(struct fw_rules *rules, const struct attributes *attributes,
                     struct fw_expression *ret)
{
	ret->sreg = register_of(attributes, NFTA_CMP_SREG);
	ret->op = (uint8_t)attribute_be32(attributes, NFTA_CMP_OP);
	ret->a = data_of(rules, attributes, NFTA_CMP_DATA, &ret->length);
}

static void read_range(struct fw_rules *rules, const struct attributes *attributes,
                       struct fw_expression *ret)
{
	uint8_t length = 0;

	ret->sreg = register_of(attributes, NFTA_RANGE_SREG);
	ret->op = (uint8_t)attribute_be32(attributes, NFTA_RANGE_OP);
	ret->a = data_of(rules, attributes, NFTA_RANGE_FROM_DATA, &length);
	ret->b = data_of(rules, attributes, NFTA_RANGE_TO_DATA, &ret->length);
	if (length != ret->length)
		ret->kind = FW_CONDITION;
}

static void read_bitwise(struct fw_rules *rules, const struct attributes *attributes,
                         struct fw_expression *ret)
{
	uint8_t mask = 0, flip = 0;

	ret->sreg = register_of(attributes, NFTA_BITWISE_SREG);
	ret->dreg = register_of(attributes, NFTA_BITWISE_DREG);
	ret->length = (uint8_t)attribute_be32(attributes, NFTA_BITWISE_LEN);
	ret->a = data_of(rules, attributes, NFTA_BITWISE_MASK, &mask);
	ret->b = data_of(rules, attributes, NFTA_BITWISE_XOR, &flip);
	/* shifts, and operations of two registers, give what is not known */
	if (attribute_be32(attributes, NFTA_BITWISE_OP) || mask != ret->length ||
	    flip != ret->length)
		ret->kind = FW_LOAD;
}

static void read_byteorder(struct fw_rules *rules, const struct attributes *attributes,
                           struct fw_expression *ret)
{
	(void)rules;
	ret->dreg = register_of(attributes, NFTA_BYTEORDER_DREG);
	ret->length = (uint8_t)attribute_be32(attributes, NFTA_BYTEORDER_LEN);
}

static void read_lookup(struct fw_rules *rules, const struct attributes *attributes,
                        struct fw_expression *ret)
{
	char set[NAME] = "";

	attribute_string(attributes, NFTA_LOOKUP_SET, set, sizeof(set));
	ret->set_name = fw_string(rules, "%s", set);
	ret->sreg = register_of(attributes, NFTA_LOOKUP_SREG);
	ret->dreg = register_of(attributes, NFTA_LOOKUP_DREG);
	ret->inverted = attribute_be32(attributes, NFTA_LOOKUP_FLAGS) & NFT_LOOKUP_F_INV;
}

static void read_immediate(struct fw_rules *rules, const struct attributes *attributes,
                           struct fw_expression *ret)
{
	if (verdict_of(rules, attributes, NFTA_IMMEDIATE_DATA, &ret->verdict)) {
		ret->kind = FW_VERDICT;
		return;
	}
	ret->dreg = register_of(attributes, NFTA_IMMEDIATE_DREG);
	ret->a = data_of(rules, attributes, NFTA_IMMEDIATE_DATA, &ret->length);
	if (!ret->a)
		ret->kind = FW_UNKNOWN;
}

static void read_exthdr(struct fw_rules *rules, const struct attributes *attributes,
                        struct fw_expression *ret)
{
	(void)rules;
	ret->dreg = register_of(attributes, NFTA_EXTHDR_DREG);
	if (!attributes->at[NFTA_EXTHDR_SREG])
		return;
	ret->kind = FW_REFUSAL;
	ret->why = "changes the packet";
}

static void read_objref(struct fw_rules *rules, const struct attributes *attributes,
                        struct fw_expression *ret)
{
	uint32_t type = attribute_be32(attributes, NFTA_OBJREF_IMM_TYPE);

	(void)rules;
	if (type == OBJECT_COUNTER)
		ret->kind = FW_NOTHING;
	if (type != OBJECT_SYNPROXY)
		return;
	ret->kind = FW_REFUSAL;
	ret->why = "answers in the server's place";
}

static void read_match(struct fw_rules *rules, const struct attributes *attributes,
                       struct fw_expression *ret)
{
	size_t length = attribute_length(attributes, NFTA_MATCH_INFO);
	char name[NAME] = "";

	attribute_string(attributes, NFTA_MATCH_NAME, name, sizeof(name));
	fw_compat_match(rules, name, attribute_be32(attributes, NFTA_MATCH_REV),
	                attribute_bytes(attributes, NFTA_MATCH_INFO, 0), length, ret);
}

static void read_target(struct fw_rules *rules, const struct attributes *attributes,
                        struct fw_expression *ret)
{
	char name[NAME] = "";

	attribute_string(attributes, NFTA_TARGET_NAME, name, sizeof(name));
	fw_compat_target(rules, name, ret);
}

/* Loads of something that is not known here, to the register that stands in attribute 1 or 2. */
static void read_load_1(struct fw_rules *rules, const struct attributes *attributes,
                        struct fw_expression *ret)
{
	(void)rules;
	ret->dreg = register_of(attributes, 1);
}

static void read_load_2(struct fw_rules *rules, const struct attributes *attributes,
                        struct fw_expression *ret)
{
	(void)rules;
	ret->dreg = register_of(attributes, 2);
}

static const struct {
	const char *name;
	enum fw_kind kind;
	const char *why; /* FW_REFUSAL */
	read_expression *read;
} expressions[] = {
	{"meta", FW_META, NULL, read_meta},
	{"payload", FW_PAYLOAD, NULL, read_payload},
	{"cmp", FW_CMP, NULL, read_cmp},
	{"immediate", FW_VALUE, NULL, read_immediate},
	{"lookup", FW_LOOKUP, NULL, read_lookup},
	{"bitwise", FW_BITWISE, NULL, read_bitwise},
	{"range", FW_RANGE, NULL, read_range},
	{"ct", FW_LOAD, NULL, read_ct},
	{"byteorder", FW_LOAD, NULL, read_byteorder},
	{"exthdr", FW_LOAD, NULL, read_exthdr},
	{"fib", FW_LOAD, NULL, read_load_1},
	{"numgen", FW_LOAD, NULL, read_load_1},
	{"rt", FW_LOAD, NULL, read_load_1},
	{"osf", FW_LOAD, NULL, read_load_1},
	{"xfrm", FW_LOAD, NULL, read_load_1},
	{"hash", FW_LOAD, NULL, read_load_2},
	{"socket", FW_LOAD, NULL, read_load_2},
	{"tunnel", FW_LOAD, NULL, read_load_2},
	{"counter", FW_NOTHING, NULL, NULL},
	{"log", FW_NOTHING, NULL, NULL},
	{"last", FW_NOTHING, NULL, NULL},
	{"notrack", FW_NOTHING, NULL, NULL},
	{"limit", FW_CONDITION, NULL, NULL},
	{"quota", FW_CONDITION, NULL, NULL},
	{"connlimit", FW_CONDITION, NULL, NULL},
	{"dynset", FW_CONDITION, NULL, NULL},
	{"objref", FW_CONDITION, NULL, read_objref},
	{"match", FW_CONDITION, NULL, read_match},
	{"target", FW_UNKNOWN, NULL, read_target},
	{"reject", FW_REFUSAL, NULL, NULL},
	{"queue", FW_REFUSAL, "hands packets to a program", NULL},
	{"nat", FW_REFUSAL, "changes an address", NULL},
	{"redir", FW_REFUSAL, "changes the destination", NULL},
	{"masq", FW_REFUSAL, "changes the source", NULL},
	{"tproxy", FW_REFUSAL, "hands packets to a local socket", NULL},
	{"synproxy", FW_REFUSAL, "answers in the server's place", NULL},
	{"fwd", FW_REFUSAL, "sends packets elsewhere", NULL},
	{"dup", FW_REFUSAL, "copies packets", NULL},
};

static void read_one(struct fw_rules *rules, const struct nlattr *element,
                     struct fw_expression *ret)
{
	struct attributes outer = attributes_nested(element);
	struct attributes inner = attributes_nested(outer.at[NFTA_EXPR_DATA]);
	char name[NAME] = "";

	attribute_string(&outer, NFTA_EXPR_NAME, name, sizeof(name));
	*ret = (struct fw_expression){.kind = FW_UNKNOWN};
	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++) {
		if (strcmp(expressions[i].name, name) != 0)
			continue;
		ret->kind = expressions[i].kind;
		ret->why = expressions[i].why;
		ret->words = expressions[i].name;
		if (expressions[i].read)
			expressions[i].read(rules, &inner, ret);
	}
	if (!ret->words)
		ret->words = fw_string(rules, "%s", name);
}

/* ---- messages ---------------------------------------------------------------------------------- */

/* The first attributes of all messages name the table. False: it is not there, or it is our own, which stops no packet to anybody. */
static bool table_of(const struct attributes *attributes, char table[NAME])
{
	table[0] = '\0';
	attribute_string(attributes, 1, table, NAME);
	return table[0] && strcmp(table, GUARD_TABLE) != 0;
}

static void take_table(struct fw_rules *rules, int family, const struct attributes *attributes)
{
	char table[NAME];

	if (table_of(attributes, table) &&
	    attribute_be32(attributes, NFTA_TABLE_FLAGS) & NFT_TABLE_F_DORMANT)
		fw_set_dormant(rules, family, table);
}

static bool is_loopback_alone(const struct attributes *hook)
{
	const struct nlattr *list = hook->at[NFTA_HOOK_DEVS], *device;
	char name[NAME] = "";

	attribute_string(hook, NFTA_HOOK_DEV, name, sizeof(name));
	if (list)
		mnl_attr_for_each_nested(device, list)
			if (strcmp(mnl_attr_get_str(device), "lo") != 0)
				return false;
	return strcmp(name, "lo") == 0;
}

static void take_chain(struct fw_rules *rules, int family, const struct attributes *attributes)
{
	struct attributes hook = attributes_nested(attributes->at[NFTA_CHAIN_HOOK]);
	char table[NAME], name[NAME] = "", type[NAME] = "";
	struct fw_chain *chain;

	attribute_string(attributes, NFTA_CHAIN_NAME, name, sizeof(name));
	attribute_string(attributes, NFTA_CHAIN_TYPE, type, sizeof(type));
	if (!table_of(attributes, table))
		return;
	chain = fw_chain(rules, family, table, name);
	if (!attributes->at[NFTA_CHAIN_HOOK])
		return;
	chain->base = true;
	chain->nat = strcmp(type, "nat") == 0;
	chain->hook = attribute_be32(&hook, NFTA_HOOK_HOOKNUM);
	chain->loopback_only = is_loopback_alone(&hook);
	if (attributes->at[NFTA_CHAIN_POLICY])
		chain->policy = attribute_be32(attributes, NFTA_CHAIN_POLICY);
}

/* The comment in nft's user data: type 0, length, text. */
static const char *comment_of(struct fw_rules *rules, const struct attributes *attributes)
{
	const uint8_t *bytes = attribute_bytes(attributes, NFTA_RULE_USERDATA, 2);
	size_t length = attribute_length(attributes, NFTA_RULE_USERDATA);

	for (; bytes && length >= 2 && bytes[1] <= length - 2;
	     length -= 2u + bytes[1], bytes += 2u + bytes[1])
		if (bytes[0] == 0)
			return fw_string(rules, "%.*s", bytes[1], (const char *)bytes + 2);
	return NULL;
}

static uint64_t handle_of(const struct attributes *attributes)
{
	const void *bytes = attribute_bytes(attributes, NFTA_RULE_HANDLE, sizeof(uint64_t));
	uint64_t handle = 0;

	if (bytes)
		memcpy(&handle, bytes, sizeof(handle));
	return be64toh(handle);
}

static void take_rule(struct fw_rules *rules, int family, const struct attributes *attributes)
{
	const struct nlattr *list = attributes->at[NFTA_RULE_EXPRESSIONS], *element;
	struct fw_expression read[EXPRESSIONS];
	struct fw_rule rule = {.expressions = read};
	char table[NAME], chain[NAME] = "";

	attribute_string(attributes, NFTA_RULE_CHAIN, chain, sizeof(chain));
	if (!table_of(attributes, table))
		return;
	if (list)
		mnl_attr_for_each_nested(element, list)
			if (rule.count < EXPRESSIONS)
				read_one(rules, element, &read[rule.count++]);
	rule.handle = handle_of(attributes);
	rule.comment = comment_of(rules, attributes);
	fw_add_rule(rules, fw_chain(rules, family, table, chain), &rule);
}

static void take_fields(struct fw_set *set, const struct nlattr *description)
{
	struct attributes parts = attributes_nested(description);
	const struct nlattr *list = parts.at[NFTA_SET_DESC_CONCAT], *part;

	set->field_count = 0;
	if (!list)
		return;
	mnl_attr_for_each_nested(part, list) {
		struct attributes field = attributes_nested(part);

		if (set->field_count < FW_FIELDS)
			set->fields[set->field_count++] =
				(uint8_t)attribute_be32(&field, NFTA_SET_FIELD_LEN);
	}
}

static void take_set(struct fw_rules *rules, int family, const struct attributes *attributes)
{
	char table[NAME], name[NAME] = "";
	struct fw_set *set;
	uint32_t length;

	attribute_string(attributes, NFTA_SET_NAME, name, sizeof(name));
	if (!table_of(attributes, table))
		return;
	set = fw_set(rules, family, table, name);
	length = attribute_be32(attributes, NFTA_SET_KEY_LEN);
	set->length = length > FW_REGISTERS ? FW_REGISTERS : length;
	set->flags = attribute_be32(attributes, NFTA_SET_FLAGS);
	set->to_verdict = set->flags & NFT_SET_MAP &&
	                  attribute_be32(attributes, NFTA_SET_DATA_TYPE) == NFT_DATA_VERDICT;
	take_fields(set, attributes->at[NFTA_SET_DESC]);
}

static void take_element(struct fw_rules *rules, struct fw_set *set, const struct nlattr *nest)
{
	struct attributes attributes = attributes_nested(nest);
	uint32_t flags = attribute_be32(&attributes, NFTA_SET_ELEM_FLAGS);
	struct fw_element element = {
		.interval_end = flags & NFT_SET_ELEM_INTERVAL_END,
		.catchall = flags & NFT_SET_ELEM_CATCHALL,
		.perishable = attributes.at[NFTA_SET_ELEM_EXPIRATION] ||
	                      attributes.at[NFTA_SET_ELEM_EXPR] ||
	                      attributes.at[NFTA_SET_ELEM_EXPRESSIONS],
	};
	uint8_t length = 0;

	element.key = data_of(rules, &attributes, NFTA_SET_ELEM_KEY, &length);
	element.key_end = data_of(rules, &attributes, NFTA_SET_ELEM_KEY_END, &length);
	(void)verdict_of(rules, &attributes, NFTA_SET_ELEM_DATA, &element.verdict); /* or data */
	if (!element.key && !element.catchall)
		return;
	if (fw_add_element(set, &element) < 0)
		set->flags |= NFT_SET_EVAL; /* one is missing: nothing is certain any more */
}

static void take_elements(struct fw_rules *rules, int family, const struct attributes *attributes)
{
	const struct nlattr *list = attributes->at[NFTA_SET_ELEM_LIST_ELEMENTS], *element;
	char table[NAME], name[NAME] = "";
	struct fw_set *set;

	attribute_string(attributes, NFTA_SET_ELEM_LIST_SET, name, sizeof(name));
	if (!table_of(attributes, table) || !list)
		return;
	set = fw_set(rules, family, table, name);
	mnl_attr_for_each_nested(element, list)
		take_element(rules, set, element);
}

static const struct {
	uint16_t message;
	void (*take)(struct fw_rules *rules, int family, const struct attributes *attributes);
} takers[] = {
	{NFT_MSG_NEWTABLE, take_table},      {NFT_MSG_NEWCHAIN, take_chain},
	{NFT_MSG_NEWRULE, take_rule},        {NFT_MSG_NEWSET, take_set},
	{NFT_MSG_NEWSETELEM, take_elements},
};

void fw_take(struct fw_rules *rules, const struct nlmsghdr *message)
{
	const struct nfgenmsg *header = mnl_nlmsg_get_payload(message);
	struct attributes attributes;

	if (NFNL_SUBSYS_ID(message->nlmsg_type) != NFNL_SUBSYS_NFTABLES ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(*header))
		return;
	attributes = attributes_of(message, sizeof(*header));
	for (size_t i = 0; i < ARRAY_SIZE(takers); i++)
		if (takers[i].message == NFNL_MSG_TYPE(message->nlmsg_type))
			takers[i].take(rules, header->nfgen_family, &attributes);
}

/* ---- questions --------------------------------------------------------------------------------- */

static struct nlmsghdr *put_header(char *buffer, int message, int family)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct nfgenmsg *general = mnl_nlmsg_put_extra_header(header, sizeof(*general));

	header->nlmsg_type = (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | message);
	general->nfgen_family = (uint8_t)family;
	general->version = NFNETLINK_V0;
	return header;
}

void fw_ask(char *buffer, int message)
{
	put_header(buffer, message, NFPROTO_UNSPEC);
}

int fw_ask_elements(char *buffer, const struct fw_set *set)
{
	struct nlmsghdr *header = put_header(buffer, NFT_MSG_GETSETELEM, set->family);

	if (!mnl_attr_put_strz_check(header, NETSOCKET_QUESTION, NFTA_SET_ELEM_LIST_TABLE,
	                             set->table) ||
	    !mnl_attr_put_strz_check(header, NETSOCKET_QUESTION, NFTA_SET_ELEM_LIST_SET, set->name))
		return -EMSGSIZE;
	return 0;
}

uint32_t fw_generation(const struct nlmsghdr *message)
{
	struct attributes attributes;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(struct nfgenmsg))
		return 0;
	attributes = attributes_of(message, sizeof(struct nfgenmsg));
	return attribute_be32(&attributes, NFTA_GEN_ID);
}
