// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guard.c - no resets from a director that is about to take over.
 *
 * keepalived adds the virtual address, tells the network at once, and only then can anybody know. For some milliseconds packets of
 * running connections arrive at a host that owns their address and has no socket for them, and that XDP still takes for a
 * standby's: the kernel would answer with a reset, and every connection that sync has saved would be lost. So while a service stands by,
 * and for some seconds afterwards, resets that this host itself sends from the service's address and port are dropped;
 * clients repeat what was not answered, and XDP forwards the repetition.
 *
 * One nf_tables table that belongs to our netlink socket (NFT_TABLE_F_OWNER, Linux 5.12): it is gone when we are, so a dead daemon
 * changes nothing. One chain at OUTPUT, one rule a service. Packets that are forwarded never come by. Called by sync.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include <libmnl/libmnl.h>

#include "xlbd/model/addr.h"
#include "xlbd/sync/guard.h"

#define CHAIN      "output"
#define RULE_BYTES 1024 /* more than one needs */
#define RST        0x04

struct guard {
	struct mnl_socket *socket;
	uint32_t sequence;
	struct xlb_service_key key[GUARD_MAX];
	size_t count;
	bool made;
};

/* ---- messages --------------------------------------------------------------------------------- */

static struct nlmsghdr *put_message(struct mnl_nlmsg_batch *batch, struct guard *guard,
                                    uint16_t type, uint16_t flags, uint8_t family)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(mnl_nlmsg_batch_current(batch));
	struct nfgenmsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));
	bool control = type < NLMSG_MIN_TYPE + 2 && type >= NFNL_MSG_BATCH_BEGIN;

	message->nlmsg_type = control ? type : (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type);
	message->nlmsg_flags = NLM_F_REQUEST | flags;
	message->nlmsg_seq = guard->sequence++;
	*header = (struct nfgenmsg){.nfgen_family = family, .version = NFNETLINK_V0};
	if (control)
		header->res_id = htons(NFNL_SUBSYS_NFTABLES);
	return message;
}

static void put_expression(struct nlmsghdr *message, const char *name, struct nlattr **ret_element,
                           struct nlattr **ret_data)
{
	*ret_element = mnl_attr_nest_start(message, NFTA_LIST_ELEM);
	mnl_attr_put_strz(message, NFTA_EXPR_NAME, name);
	*ret_data = mnl_attr_nest_start(message, NFTA_EXPR_DATA);
}

static void end_expression(struct nlmsghdr *message, struct nlattr *element, struct nlattr *data)
{
	mnl_attr_nest_end(message, data);
	mnl_attr_nest_end(message, element);
}

static void put_meta(struct nlmsghdr *message, uint32_t key)
{
	struct nlattr *element, *data;

	put_expression(message, "meta", &element, &data);
	mnl_attr_put_u32(message, NFTA_META_KEY, htonl(key));
	mnl_attr_put_u32(message, NFTA_META_DREG, htonl(NFT_REG_1));
	end_expression(message, element, data);
}

static void put_payload(struct nlmsghdr *message, uint32_t base, uint32_t offset, uint32_t length)
{
	struct nlattr *element, *data;

	put_expression(message, "payload", &element, &data);
	mnl_attr_put_u32(message, NFTA_PAYLOAD_DREG, htonl(NFT_REG_1));
	mnl_attr_put_u32(message, NFTA_PAYLOAD_BASE, htonl(base));
	mnl_attr_put_u32(message, NFTA_PAYLOAD_OFFSET, htonl(offset));
	mnl_attr_put_u32(message, NFTA_PAYLOAD_LEN, htonl(length));
	end_expression(message, element, data);
}

static void put_value(struct nlmsghdr *message, uint16_t type, const void *value, size_t length)
{
	struct nlattr *nest = mnl_attr_nest_start(message, type);

	mnl_attr_put(message, NFTA_DATA_VALUE, length, value);
	mnl_attr_nest_end(message, nest);
}

static void put_compare(struct nlmsghdr *message, uint32_t how, const void *value, size_t length)
{
	struct nlattr *element, *data;

	put_expression(message, "cmp", &element, &data);
	mnl_attr_put_u32(message, NFTA_CMP_SREG, htonl(NFT_REG_1));
	mnl_attr_put_u32(message, NFTA_CMP_OP, htonl(how));
	put_value(message, NFTA_CMP_DATA, value, length);
	end_expression(message, element, data);
}

static void put_mask(struct nlmsghdr *message, uint8_t mask)
{
	const uint8_t zero = 0;
	struct nlattr *element, *data;

	put_expression(message, "bitwise", &element, &data);
	mnl_attr_put_u32(message, NFTA_BITWISE_SREG, htonl(NFT_REG_1));
	mnl_attr_put_u32(message, NFTA_BITWISE_DREG, htonl(NFT_REG_1));
	mnl_attr_put_u32(message, NFTA_BITWISE_LEN, htonl(1));
	put_value(message, NFTA_BITWISE_MASK, &mask, 1);
	put_value(message, NFTA_BITWISE_XOR, &zero, 1);
	end_expression(message, element, data);
}

static void put_drop(struct nlmsghdr *message)
{
	struct nlattr *element, *data, *value, *verdict;

	put_expression(message, "immediate", &element, &data);
	mnl_attr_put_u32(message, NFTA_IMMEDIATE_DREG, htonl(NFT_REG_VERDICT));
	value = mnl_attr_nest_start(message, NFTA_IMMEDIATE_DATA);
	verdict = mnl_attr_nest_start(message, NFTA_DATA_VERDICT);
	mnl_attr_put_u32(message, NFTA_VERDICT_CODE, htonl(NF_DROP));
	mnl_attr_nest_end(message, verdict);
	mnl_attr_nest_end(message, value);
	end_expression(message, element, data);
}

/* nft: ip saddr VIP tcp sport PORT tcp flags & rst != 0 drop */
static void put_rule(struct nlmsghdr *message, const struct xlb_service_key *key)
{
	const bool ipv4 = addr_is_ipv4(&key->addr);
	const uint8_t family = ipv4 ? NFPROTO_IPV4 : NFPROTO_IPV6, tcp = IPPROTO_TCP, zero = 0;
	struct nlattr *list;

	mnl_attr_put_strz(message, NFTA_RULE_TABLE, GUARD_TABLE);
	mnl_attr_put_strz(message, NFTA_RULE_CHAIN, CHAIN);
	list = mnl_attr_nest_start(message, NFTA_RULE_EXPRESSIONS);
	put_meta(message, NFT_META_NFPROTO);
	put_compare(message, NFT_CMP_EQ, &family, 1);
	put_payload(message, NFT_PAYLOAD_NETWORK_HEADER, ipv4 ? 12 : 8, ipv4 ? 4 : 16);
	put_compare(message, NFT_CMP_EQ, ipv4 ? key->addr.byte + 12 : key->addr.byte,
	            ipv4 ? 4 : 16);
	put_meta(message, NFT_META_L4PROTO);
	put_compare(message, NFT_CMP_EQ, &tcp, 1);
	if (key->port) {
		put_payload(message, NFT_PAYLOAD_TRANSPORT_HEADER, 0, 2);
		put_compare(message, NFT_CMP_EQ, &key->port, 2);
	}
	put_payload(message, NFT_PAYLOAD_TRANSPORT_HEADER, 13, 1);
	put_mask(message, RST);
	put_compare(message, NFT_CMP_NEQ, &zero, 1);
	put_drop(message);
	mnl_attr_nest_end(message, list);
}

static void put_table(struct nlmsghdr *message)
{
	mnl_attr_put_strz(message, NFTA_TABLE_NAME, GUARD_TABLE);
	mnl_attr_put_u32(message, NFTA_TABLE_FLAGS, htonl(NFT_TABLE_F_OWNER));
}

static void put_chain(struct nlmsghdr *message)
{
	struct nlattr *hook;

	mnl_attr_put_strz(message, NFTA_CHAIN_TABLE, GUARD_TABLE);
	mnl_attr_put_strz(message, NFTA_CHAIN_NAME, CHAIN);
	hook = mnl_attr_nest_start(message, NFTA_CHAIN_HOOK);
	mnl_attr_put_u32(message, NFTA_HOOK_HOOKNUM, htonl(NF_INET_LOCAL_OUT));
	mnl_attr_put_u32(message, NFTA_HOOK_PRIORITY, htonl((uint32_t)-400));
	mnl_attr_nest_end(message, hook);
	mnl_attr_put_u32(message, NFTA_CHAIN_POLICY, htonl(NF_ACCEPT));
	mnl_attr_put_strz(message, NFTA_CHAIN_TYPE, "filter");
}

/* ---- one transaction -------------------------------------------------------------------------- */

static void put_all(struct mnl_nlmsg_batch *batch, struct guard *guard,
                    const struct xlb_service_key *keys, size_t count)
{
	struct nlmsghdr *message;

	put_message(batch, guard, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC);
	mnl_nlmsg_batch_next(batch);
	if (!guard->made) {
		put_table(put_message(batch, guard, NFT_MSG_NEWTABLE, NLM_F_CREATE, NFPROTO_INET));
		mnl_nlmsg_batch_next(batch);
		put_chain(put_message(batch, guard, NFT_MSG_NEWCHAIN, NLM_F_CREATE, NFPROTO_INET));
		mnl_nlmsg_batch_next(batch);
	} else {
		message = put_message(batch, guard, NFT_MSG_DELRULE, 0, NFPROTO_INET);
		mnl_attr_put_strz(message, NFTA_RULE_TABLE, GUARD_TABLE);
		mnl_attr_put_strz(message, NFTA_RULE_CHAIN, CHAIN);
		mnl_nlmsg_batch_next(batch);
	}
	for (size_t i = 0; i < count; i++) {
		put_rule(put_message(batch, guard, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND,
		                     NFPROTO_INET),
		         &keys[i]);
		mnl_nlmsg_batch_next(batch);
	}
	/* the last one asks for an answer; mistakes of others are answered in any case */
	put_message(batch, guard, NFNL_MSG_BATCH_END, NLM_F_ACK, AF_UNSPEC);
	mnl_nlmsg_batch_next(batch);
}

/* What the kernel says of the transaction: the first mistake, or 0. */
static int read_answer(struct guard *guard)
{
	char buffer[8192];
	int result = 0;

	for (;;) {
		ssize_t size = recv(mnl_socket_get_fd(guard->socket), buffer, sizeof(buffer),
		                    MSG_DONTWAIT);
		const struct nlmsghdr *message = (const struct nlmsghdr *)buffer;
		int left = (int)size;

		if (size <= 0)
			return result;
		for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
			const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);

			if (message->nlmsg_type == NLMSG_ERROR && error->error && !result)
				result = error->error;
		}
	}
}

static int commit(struct guard *guard, const struct xlb_service_key *keys, size_t count)
{
	size_t room = (count + 8) * RULE_BYTES;
	_cleanup_free_ char *buffer = malloc(room + RULE_BYTES);
	struct mnl_nlmsg_batch *batch;
	int r = 0;

	if (!buffer)
		return -ENOMEM;
	batch = mnl_nlmsg_batch_start(buffer, room);
	if (!batch)
		return -ENOMEM;
	put_all(batch, guard, keys, count);
	if (mnl_socket_sendto(guard->socket, mnl_nlmsg_batch_head(batch),
	                      mnl_nlmsg_batch_size(batch)) < 0)
		r = -errno;
	mnl_nlmsg_batch_stop(batch);
	/* nf_tables has done everything before sendto() returns */
	return r < 0 ? r : read_answer(guard);
}

int guard_open(struct guard **ret)
{
	_cleanup_(guard_closep) struct guard *guard = calloc(1, sizeof(*guard));
	int r;

	if (!guard)
		return -ENOMEM;
	guard->sequence = (uint32_t)time(NULL);
	guard->socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	if (!guard->socket || mnl_socket_bind(guard->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	r = commit(guard, NULL, 0);
	if (r < 0)
		return r;
	guard->made = true;
	*ret = take_ptr(guard);
	return 0;
}

struct guard *guard_close(struct guard *guard)
{
	if (!guard)
		return NULL;
	if (guard->socket)
		mnl_socket_close(guard->socket);
	free(guard);
	return NULL;
}

int guard_set(struct guard *guard, const struct xlb_service_key *keys, size_t count)
{
	int r;

	if (count > GUARD_MAX)
		count = GUARD_MAX;
	if (count == guard->count && memcmp(keys, guard->key, count * sizeof(*keys)) == 0)
		return 0;
	r = commit(guard, keys, count);
	if (r < 0)
		return r;
	memcpy(guard->key, keys, count * sizeof(*keys));
	guard->count = count;
	return 0;
}
