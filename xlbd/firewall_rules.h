/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firewall_rules.h - rule sets of nf_tables as plain structures, and whether they let a virtual server's packets through. Pure.
 *
 * Built by firewall_messages.c from netlink (by tests by hand), judged by firewall_rules.c, put into words by firewall_text.c.
 */
#ifndef XLBD_FIREWALL_RULES_H
#define XLBD_FIREWALL_RULES_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_FUNCTION HASH_FNV /* uthash's default has fall-throughs that clang reports */
#include <uthash.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"

#define FW_REGISTERS 64  /* bytes of the register file */
#define FW_QUOTE     400 /* room for a rule in words */

struct fw_chain;
struct fw_set;

struct fw_verdict {
	int32_t code;           /* NF_ACCEPT, NF_DROP, NFT_JUMP, ... */
	const char *target;     /* of NFT_JUMP, NFT_GOTO: chain of the same table */
	struct fw_chain *chain; /* the same, after fw_link(); NULL: unknown */
};

enum fw_kind {
	FW_META,      /* key -> dreg */
	FW_PAYLOAD,   /* base, offset, length -> dreg */
	FW_LOAD,      /* something that is not known here -> dreg; `words` says what */
	FW_CMP,       /* sreg, op, a */
	FW_RANGE,     /* sreg, op (equal or not), a to b */
	FW_BITWISE,   /* dreg = sreg & a ^ b */
	FW_LOOKUP,    /* sreg in set; map: -> dreg, or verdict */
	FW_VALUE,     /* a -> dreg */
	FW_VERDICT,   /* verdict */
	FW_NOTHING,   /* counter, log, ...: changes neither packet nor verdict */
	FW_CONDITION, /* a condition that is not known here: may hold or not */
	FW_PORTS, /* xt tcp, udp, multiport: destination port in one of the ranges in a; `inverted` */
	FW_REFUSAL, /* ends or changes the packet: reject, dnat, mark ...; `words` say what, `why` in a sentence */
	FW_UNKNOWN, /* an expression that this program does not know */
};

struct fw_expression {
	enum fw_kind kind;
	uint8_t sreg, dreg; /* byte offset in the register file */
	uint8_t length;     /* bytes */
	uint8_t base;       /* FW_PAYLOAD: NFT_PAYLOAD_* */
	uint8_t op;         /* FW_CMP: NFT_CMP_*, FW_RANGE: NFT_RANGE_* */
	bool inverted;      /* FW_LOOKUP, FW_PORTS */
	bool conditional;   /* FW_PORTS: has more conditions, about the source */
	uint32_t key;       /* FW_META: NFT_META_*; FW_LOAD of ct: NFT_CT_* */
	uint32_t offset;    /* FW_PAYLOAD */
	const uint8_t *a,
		*b; /* `length` bytes; FW_PORTS: pairs of 16-bit host-order ports, `length` bytes in all */
	const char *set_name;
	struct fw_set *set; /* after fw_link(); NULL: unknown */
	struct fw_verdict verdict;
	const char *words; /* as a person would write it */
	const char *why;   /* FW_REFUSAL */
};

struct fw_rule {
	uint64_t handle;
	const char *comment; /* NULL: none */
	struct fw_expression *expressions;
	size_t count;
	struct fw_rule *next;
};

struct fw_element {
	const uint8_t *key,
		*key_end;  /* FW_REGISTERS bytes; key_end NULL: one value, or see interval_end */
	bool interval_end; /* key is the first value behind an interval */
	bool catchall, perishable; /* has no key: matches what no other does; has a timeout */
	struct fw_verdict verdict; /* of maps to verdicts */
};

#define FW_FIELDS 16
struct fw_set {
	const char *id; /* family, table, name */
	const char *table, *name;
	int family;
	uint32_t flags; /* NFT_SET_* */
	unsigned length;
	uint8_t fields[FW_FIELDS]; /* lengths of the parts of a concatenation; none: one part */
	size_t field_count;
	bool to_verdict;
	struct fw_element *elements;
	size_t count, room;
	UT_hash_handle hh;
};

struct fw_chain {
	const char *id; /* family, table, name */
	const char *table, *name;
	int family; /* NFPROTO_* */
	bool base, nat;
	uint32_t hook;
	uint32_t policy;    /* NF_ACCEPT or NF_DROP */
	bool loopback_only; /* netdev: bound to lo alone */
	struct fw_rule *rules, **end;
	UT_hash_handle hh;
};

struct fw_rules {
	struct obstack arena;
	struct fw_chain *chains; /* uthash, in order */
	struct fw_set *sets;
	const char **dormant; /* tables that sleep: family, table */
	size_t dormant_count;
	struct fw_reason *reasons; /* uthash: each sentence once */
};

struct fw_rules *fw_rules_new(void);                    /* NULL: out of memory */
struct fw_rules *fw_rules_free(struct fw_rules *rules); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct fw_rules, fw_rules_free)

/* Room in the arena, zeroed; strings and bytes copied to it. Never NULL: the arena aborts when memory is out. */
void *fw_room(struct fw_rules *rules, size_t size);
const uint8_t *fw_bytes(struct fw_rules *rules, const void *bytes, size_t length);
const char *fw_string(struct fw_rules *rules, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The chain or set of that name; made if it is not there. */
struct fw_chain *fw_chain(struct fw_rules *rules, int family, const char *table, const char *name);
struct fw_set *fw_set(struct fw_rules *rules, int family, const char *table, const char *name);
/* Appends; expressions and elements are copied, what they point at is not. */
void fw_add_rule(struct fw_rules *rules, struct fw_chain *chain, const struct fw_rule *rule);
int fw_add_element(struct fw_set *set, const struct fw_element *element);
void fw_set_dormant(struct fw_rules *rules, int family, const char *table);
/* After everything was added: names become pointers, intervals are put in order. */
void fw_link(struct fw_rules *rules);

/* What is known of the packets whose way is asked for. */
struct fw_packet {
	int family;                  /* AF_INET, AF_INET6 */
	uint8_t protocol;            /* 0: any */
	uint16_t port;               /* host order; 0: any */
	const struct xlb_addr *addr; /* NULL: any */
	bool forwarded_unchanged;    /* the destination is the same behind IPVS (DR) */
	bool wrapped;                /* what leaves is another protocol's packet (TUN) */
	bool answered;               /* answers come back through this host's forwarding (NAT) */
};

/* What of the above an answer depended on, beside family, protocol and method. */
enum fw_asked {
	FW_ASKED_ADDR = 1 << 0,
	FW_ASKED_PORT = 1 << 1,
};
/*
 * NULL: every one of them is accepted, from whatever source; else a sentence with the rule that may say otherwise, valid as long as
 * `rules`. *ret_asked (may be NULL): enum fw_asked; another address has the same answer if the rules that counted did not look at it.
 */
const char *fw_judge(struct fw_rules *rules, const struct fw_packet *packet, unsigned *ret_asked);

/* "table inet filter chain input rule handle 7: tcp dport 80 drop"; rule NULL: the chain's policy. Returns `buffer`. */
const char *fw_quote(const struct fw_chain *chain, const struct fw_rule *rule,
                     char buffer[FW_QUOTE]);

#endif
