// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * firewall_text.c - a rule in words, near enough to what nft(8) prints for a person to find it.
 *
 * nf_tables keeps a rule as loads of registers and comparisons of registers. So this file remembers for each register what was loaded
 * into it ("ip daddr", "ct state") and how its values look, and writes field and value when they are compared. What the
 * dictionary below does not have is written as kind and bytes. The handle stands in front: `nft -a list ruleset` shows it.
 *
 * The quotation is for people alone; nothing is decided by it. firewall_rules.c calls it when it has found a reason.
 */
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "xlbd/firewall_rules.h"

enum look {
	LOOK_BYTES,
	LOOK_NUMBER,
	LOOK_PORT,
	LOOK_IPV4,
	LOOK_IPV6,
	LOOK_NAME,
	LOOK_PROTOCOL,
	LOOK_STATE
};

/* What stands in a register. */
struct field {
	const char *words; /* NULL: nothing that we know */
	enum look look;
	bool transport;      /* belongs to the protocol named before: "tcp dport" */
	const uint8_t *mask; /* of a bitwise expression since */
	unsigned length;
};

struct text {
	char *buffer;
	size_t used;
	struct field fields[FW_REGISTERS / 4];
	const char *protocol; /* compared and not written yet */
};

static const struct {
	uint32_t key;
	const char *words;
	enum look look;
} metas[] = {
	{NFT_META_NFPROTO, "meta nfproto", LOOK_BYTES},
	{NFT_META_PROTOCOL, "meta protocol", LOOK_BYTES},
	{NFT_META_L4PROTO, "meta l4proto", LOOK_PROTOCOL},
	{NFT_META_IIF, "iif", LOOK_NUMBER},
	{NFT_META_OIF, "oif", LOOK_NUMBER},
	{NFT_META_IIFNAME, "iifname", LOOK_NAME},
	{NFT_META_OIFNAME, "oifname", LOOK_NAME},
	{NFT_META_MARK, "meta mark", LOOK_NUMBER},
	{NFT_META_PKTTYPE, "meta pkttype", LOOK_BYTES},
	{NFT_META_LEN, "meta length", LOOK_NUMBER},
	{NFT_META_SKUID, "meta skuid", LOOK_NUMBER},
};

static const struct {
	uint8_t base;
	uint8_t offset, length; /* a shorter load from there is a prefix, for addresses */
	const char *words;
	enum look look;
} payloads[] = {
	{NFT_PAYLOAD_NETWORK_HEADER, 9, 1, "ip protocol", LOOK_PROTOCOL},
	{NFT_PAYLOAD_NETWORK_HEADER, 12, 4, "ip saddr", LOOK_IPV4},
	{NFT_PAYLOAD_NETWORK_HEADER, 16, 4, "ip daddr", LOOK_IPV4},
	{NFT_PAYLOAD_NETWORK_HEADER, 8, 16, "ip6 saddr", LOOK_IPV6},
	{NFT_PAYLOAD_NETWORK_HEADER, 24, 16, "ip6 daddr", LOOK_IPV6},
	{NFT_PAYLOAD_NETWORK_HEADER, 6, 1, "ip6 nexthdr", LOOK_PROTOCOL},
	{NFT_PAYLOAD_TRANSPORT_HEADER, 0, 2, "sport", LOOK_PORT},
	{NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, "dport", LOOK_PORT},
	{NFT_PAYLOAD_TRANSPORT_HEADER, 13, 1, "flags", LOOK_BYTES},
};

static const struct {
	uint8_t number;
	const char *name;
} protocols[] = {
	{IPPROTO_TCP, "tcp"},   {IPPROTO_UDP, "udp"},          {IPPROTO_ICMP, "icmp"},
	{IPPROTO_SCTP, "sctp"}, {IPPROTO_ICMPV6, "ipv6-icmp"},
};

static const struct {
	uint32_t bit;
	const char *name;
} states[] = {
	{1 << 0, "invalid"},
	{1 << (IP_CT_ESTABLISHED + 1), "established"},
	{1 << (IP_CT_RELATED + 1), "related"},
	{1 << (IP_CT_NEW + 1), "new"},
	{1 << 6, "untracked"},
};

static const char *const comparisons[] = {
	[NFT_CMP_EQ] = "",     [NFT_CMP_NEQ] = "!= ", [NFT_CMP_LT] = "< ",
	[NFT_CMP_LTE] = "<= ", [NFT_CMP_GT] = "> ",   [NFT_CMP_GTE] = ">= ",
};

static const struct {
	int family;
	const char *name;
} families[] = {
	{NFPROTO_INET, "inet"},
	{NFPROTO_IPV4, "ip"},
	{NFPROTO_IPV6, "ip6"},
	{NFPROTO_NETDEV, "netdev"},
};

static void __attribute__((format(printf, 2, 3))) put(struct text *text, const char *format, ...)
{
	va_list arguments;
	int more;

	va_start(arguments, format);
	more = vsnprintf(text->buffer + text->used, FW_QUOTE - text->used, format, arguments);
	va_end(arguments);
	if (more > 0)
		text->used += (size_t)more;
	if (text->used >= FW_QUOTE)
		text->used = FW_QUOTE - 1;
}

/* ---- values ------------------------------------------------------------------------------------ */

static const char *protocol_word(uint8_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++)
		if (protocols[i].number == number)
			return protocols[i].name;
	return NULL;
}

static void put_bytes(struct text *text, const uint8_t *bytes, size_t length)
{
	put(text, "0x");
	for (size_t i = 0; i < length && i < 16; i++)
		put(text, "%02x", bytes[i]);
}

static void put_states(struct text *text, const uint8_t *bytes)
{
	const char *comma = "";
	uint32_t set;

	memcpy(&set, bytes, sizeof(set));
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (set & states[i].bit) {
			put(text, "%s%s", comma, states[i].name);
			comma = ",";
		}
}

/* An address; fewer bytes than it has are a prefix. */
static void put_address(struct text *text, int family, const uint8_t *bytes, size_t length)
{
	size_t whole = family == AF_INET ? 4 : 16;
	uint8_t address[16] = {};
	char printed[INET6_ADDRSTRLEN];

	memcpy(address, bytes, length < whole ? length : whole);
	put(text, "%s", inet_ntop(family, address, printed, sizeof(printed)));
	if (length < whole)
		put(text, "/%zu", length * 8);
}

static void put_value(struct text *text, enum look look, const uint8_t *bytes, size_t length)
{
	uint32_t number = 0;

	memcpy(&number, bytes, length < sizeof(number) ? length : sizeof(number));
	if (look == LOOK_PORT && length == 2)
		put(text, "%u", bytes[0] << 8 | bytes[1]);
	else if (look == LOOK_NUMBER && length <= 4)
		put(text, "%u", number);
	else if (look == LOOK_IPV4)
		put_address(text, AF_INET, bytes, length);
	else if (look == LOOK_IPV6)
		put_address(text, AF_INET6, bytes, length);
	else if (look == LOOK_NAME)
		put(text, "\"%.*s%s\"", (int)length, (const char *)bytes,
		    memchr(bytes, 0, length) ? "" : "*");
	else if (look == LOOK_PROTOCOL && length == 1 && protocol_word(bytes[0]))
		put(text, "%s", protocol_word(bytes[0]));
	else if (look == LOOK_STATE && length == 4)
		put_states(text, bytes);
	else
		put_bytes(text, bytes, length);
}

/* ---- registers --------------------------------------------------------------------------------- */

static struct field *field_at(struct text *text, uint8_t offset)
{
	return &text->fields[offset / 4 % ARRAY_SIZE(text->fields)];
}

static void load_meta(struct text *text, const struct fw_expression *expression)
{
	struct field *field = field_at(text, expression->dreg);

	*field = (struct field){.words = "meta", .look = LOOK_BYTES};
	for (size_t i = 0; i < ARRAY_SIZE(metas); i++)
		if (metas[i].key == expression->key)
			*field = (struct field){.words = metas[i].words, .look = metas[i].look};
}

static void load_payload(struct text *text, const struct fw_expression *expression)
{
	struct field *field = field_at(text, expression->dreg);

	*field = (struct field){.words = "payload", .look = LOOK_BYTES};
	for (size_t i = 0; i < ARRAY_SIZE(payloads); i++) {
		bool address = payloads[i].look == LOOK_IPV4 || payloads[i].look == LOOK_IPV6;

		if (payloads[i].base != expression->base ||
		    payloads[i].offset != expression->offset ||
		    (address ? payloads[i].length < expression->length
		             : payloads[i].length != expression->length))
			continue;
		*field = (struct field){.words = payloads[i].words,
		                        .look = payloads[i].look,
		                        .transport =
		                                payloads[i].base == NFT_PAYLOAD_TRANSPORT_HEADER};
		return;
	}
}

static void load_other(struct text *text, const struct fw_expression *expression)
{
	bool state = expression->words && strcmp(expression->words, "ct state") == 0;

	*field_at(text, expression->dreg) =
		(struct field){.words = expression->words, .look = state ? LOOK_STATE : LOOK_BYTES};
}

static void load_bitwise(struct text *text, const struct fw_expression *expression)
{
	struct field from = *field_at(text, expression->sreg);

	from.mask = expression->a;
	from.length = expression->length;
	*field_at(text, expression->dreg) = from;
}

/* ---- comparisons ------------------------------------------------------------------------------- */

static void put_protocol(struct text *text)
{
	if (text->protocol)
		put(text, " meta l4proto %s", text->protocol);
	text->protocol = NULL;
}

static void put_field(struct text *text, const struct field *field)
{
	if (field->transport && text->protocol) {
		put(text, " %s %s ", text->protocol, field->words);
		text->protocol = NULL;
		return;
	}
	put_protocol(text);
	put(text, " %s%s ", field->transport ? "th " : "", field->words ? field->words : "?");
}

static bool is_zero(const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Length of the prefix that a mask stands for; -1: it is none. */
static int prefix_of(const uint8_t *mask, size_t length)
{
	size_t bits = 0;

	while (bits < length * 8 && mask[bits / 8] & 0x80 >> bits % 8)
		bits++;
	for (size_t i = bits; i < length * 8; i++)
		if (mask[i / 8] & 0x80 >> i % 8)
			return -1;
	return (int)bits;
}

static void put_masked(struct text *text, const struct field *field,
                       const struct fw_expression *expression)
{
	int prefix = prefix_of(field->mask, expression->length);
	bool address = field->look == LOOK_IPV4 || field->look == LOOK_IPV6;

	if (expression->op == NFT_CMP_NEQ && is_zero(expression->a, expression->length)) {
		put_value(text, field->look, field->mask, expression->length);
		return;
	}
	if (address && prefix >= 0) {
		put(text, "%s", comparisons[expression->op]);
		put_value(text, field->look, expression->a, expression->length);
		put(text, "/%d", prefix);
		return;
	}
	put(text, "& ");
	put_value(text, field->look, field->mask, expression->length);
	put(text, " %s", expression->op == NFT_CMP_EQ ? "== " : comparisons[expression->op]);
	put_value(text, field->look, expression->a, expression->length);
}

/* nft writes "tcp dport 80" and "ip daddr": what only prepares these is held back or left out. */
static bool held_back(struct text *text, const struct field *field,
                      const struct fw_expression *expression)
{
	if (expression->op != NFT_CMP_EQ || !field->words)
		return false;
	if (strcmp(field->words, "meta nfproto") == 0 || strcmp(field->words, "meta protocol") == 0)
		return true;
	if (field->look != LOOK_PROTOCOL || !protocol_word(expression->a[0]))
		return false;
	text->protocol = protocol_word(expression->a[0]);
	return true;
}

static void put_comparison(struct text *text, const struct fw_expression *expression)
{
	const struct field *field = field_at(text, expression->sreg);

	if (!expression->a || expression->op >= ARRAY_SIZE(comparisons) ||
	    held_back(text, field, expression))
		return;
	put_field(text, field);
	if (field->mask && field->length == expression->length) {
		put_masked(text, field, expression);
		return;
	}
	put(text, "%s", comparisons[expression->op]);
	put_value(text, field->look, expression->a, expression->length);
}

static void put_range(struct text *text, const struct fw_expression *expression)
{
	const struct field *field = field_at(text, expression->sreg);

	if (!expression->a || !expression->b)
		return;
	put_field(text, field);
	put(text, "%s", expression->op == NFT_RANGE_NEQ ? "!= " : "");
	put_value(text, field->look, expression->a, expression->length);
	put(text, "-");
	put_value(text, field->look, expression->b, expression->length);
}

static void put_ports(struct text *text, const struct fw_expression *expression)
{
	put_protocol(text);
	put(text, " %s %s", expression->words, expression->inverted ? "!= " : "");
	for (size_t i = 0; i + 4 <= expression->length; i += 4) {
		uint16_t range[2];

		memcpy(range, expression->a + i, sizeof(range));
		put(text, "%s%u", i ? "," : "", range[0]);
		if (range[1] != range[0])
			put(text, "-%u", range[1]);
	}
}

/* ---- verdicts and sets ------------------------------------------------------------------------- */

static void put_verdict(struct text *text, const struct fw_verdict *verdict)
{
	static const struct {
		int32_t code;
		const char *word;
	} words[] = {
		{NF_ACCEPT, "accept"},      {NF_DROP, "drop"},      {NF_QUEUE, "queue"},
		{NFT_CONTINUE, "continue"}, {NFT_RETURN, "return"}, {NFT_JUMP, "jump"},
		{NFT_GOTO, "goto"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].code == verdict->code)
			put(text, "%s", words[i].word);
	if (verdict->target)
		put(text, " %s", verdict->target);
}

static void put_element(struct text *text, const struct field *field, const struct fw_set *set,
                        size_t index)
{
	const struct fw_element *element = &set->elements[index];

	if (element->catchall)
		put(text, "*");
	else
		put_value(text, field->look, element->key, set->length);
	if (!element->catchall && element->key_end) {
		put(text, "-");
		put_value(text, field->look, element->key_end, set->length);
	}
	if (!set->to_verdict)
		return;
	put(text, " : ");
	put_verdict(text, &element->verdict);
}

static void put_lookup(struct text *text, const struct fw_expression *expression)
{
	const struct field *field = field_at(text, expression->sreg);
	const struct fw_set *set = expression->set;
	bool anonymous = expression->set_name && strncmp(expression->set_name, "__", 2) == 0;
	const char *comma = "";

	put_field(text, field);
	put(text, "%s%s", expression->inverted ? "!= " : "", set && set->to_verdict ? "vmap " : "");
	if (!set || !anonymous || set->flags & NFT_SET_INTERVAL || set->count > 6) {
		put(text, "@%s", expression->set_name ? expression->set_name : "?");
		return;
	}
	put(text, "{ ");
	for (size_t i = 0; i < set->count; i++) {
		put(text, "%s", comma);
		put_element(text, field, set, i);
		comma = ", ";
	}
	put(text, " }");
}

static void put_words(struct text *text, const char *words)
{
	put_protocol(text);
	if (words)
		put(text, " %s", words);
}

static void put_expression(struct text *text, const struct fw_expression *expression)
{
	switch (expression->kind) {
	case FW_META:
		load_meta(text, expression);
		break;
	case FW_PAYLOAD:
		load_payload(text, expression);
		break;
	case FW_LOAD:
		load_other(text, expression);
		break;
	case FW_BITWISE:
		load_bitwise(text, expression);
		break;
	case FW_VALUE:
		break;
	case FW_CMP:
		put_comparison(text, expression);
		break;
	case FW_RANGE:
		put_range(text, expression);
		break;
	case FW_PORTS:
		put_ports(text, expression);
		break;
	case FW_LOOKUP:
		put_lookup(text, expression);
		break;
	case FW_VERDICT:
		put_words(text, "");
		put_verdict(text, &expression->verdict);
		break;
	case FW_NOTHING:
		if (strcmp(expression->words, "counter") != 0)
			put_words(text, expression->words);
		break;
	case FW_CONDITION:
	case FW_REFUSAL:
	case FW_UNKNOWN:
		put_words(text, expression->words);
		break;
	}
}

const char *fw_quote(const struct fw_chain *chain, const struct fw_rule *rule,
                     char buffer[FW_QUOTE])
{
	struct text text = {.buffer = buffer};
	const char *family = "?";

	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (families[i].family == chain->family)
			family = families[i].name;
	put(&text, "table %s %s chain %s", family, chain->table, chain->name);
	if (!rule) {
		put(&text, ": policy drop");
		return buffer;
	}
	put(&text, " rule handle %llu:", (unsigned long long)rule->handle);
	for (size_t i = 0; i < rule->count; i++)
		put_expression(&text, &rule->expressions[i]);
	put_protocol(&text);
	if (rule->comment)
		put(&text, " comment \"%s\"", rule->comment);
	return buffer;
}
