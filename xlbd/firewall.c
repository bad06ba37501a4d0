// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * firewall.c - reads the host's rule sets and answers for each virtual server whether they accept it.
 *
 * A reading is a snapshot: tables, chains, rules, sets and elements are dumped one after the other over nfnetlink, and the number of the
 * generation before and after must be the same, else all is read again. The daemon asks for that number each second
 * (firewall_generation(), one question and two small files) and reads anew when it changed. iptables-nft lives in nf_tables and is
 * read as such; iptables-legacy is looked at by firewall_legacy.c and its state mixed into the number.
 *
 * What the rules mean is judged by firewall_rules.c. When something cannot be read the answer is "hands off" and never "accepted": a reading
 * that failed for good is returned as an error, and a kernel without netfilter as -ENOTSUP.
 */
#include <endian.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "xlbd/firewall.h"
#include "xlbd/firewall_legacy.h"
#include "xlbd/firewall_messages.h"
#include "xlbd/log.h"
#include "xlbd/model/addr.h"
#include "xlbd/netsocket.h"

#define TOPIC "firewall"

enum { ATTEMPTS = 5 }; /* to catch the rule sets standing still */

/* What is asked about a service, without what the answer did not depend on. Compared whole. */
struct question {
	struct xlb_addr addr;
	uint16_t port;
	uint8_t family, protocol;
	uint8_t asked;                    /* enum fw_asked: which of address and port are in here */
	uint8_t any_addr, forwarded, pad; /* forwarded: what is done to the packet, in bits */
};
_Static_assert(sizeof(struct question) == 24, "no holes: it is hashed by bytes");

struct answer {
	struct question question;
	const char *reason; /* lies in the rules; NULL: accepted */
	UT_hash_handle hh;
};

struct firewall {
	struct fw_rules *rules;                  /* NULL: this kernel has no nf_tables */
	struct answer *answers;                  /* uthash: of questions that were asked before */
	char legacy_ipv4[160], legacy_ipv6[160]; /* reasons; "": none */
};

/* ---- generation -------------------------------------------------------------------------------- */

struct generation {
	uint32_t number;
	int error;
};

static void put_generation(void *context, size_t index, char *buffer)
{
	(void)context;
	(void)index;
	fw_ask(buffer, NFT_MSG_GETGEN);
}

static void answer_generation(void *context, size_t index, const struct nlmsghdr *message,
                              int error)
{
	struct generation *generation = context;

	(void)index;
	generation->error = error;
	generation->number = message ? fw_generation(message) : 0;
}

/* -ENOTSUP: no nf_tables. */
static int ask_generation(struct netsocket *socket, uint32_t *ret)
{
	struct generation generation = {.error = -EPROTO};
	const struct netsocket_questions questions = {.count = 1,
	                                              .context = &generation,
	                                              .put = put_generation,
	                                              .answer = answer_generation};
	int result = netsocket_ask(socket, &questions);

	if (result == 0)
		result = generation.error;
	if (result == -EINVAL || result == -EOPNOTSUPP)
		return -ENOTSUP; /* nfnetlink has no such subsystem */
	if (result < 0)
		return result;
	*ret = generation.number;
	return 0;
}

static int open_socket(struct netsocket **ret)
{
	int result = netsocket_open(NETLINK_NETFILTER, NULL, 0, ret);

	return result == -EPROTONOSUPPORT || result == -EAFNOSUPPORT ? -ENOTSUP : result;
}

int firewall_generation(struct netsocket **socket, uint64_t *ret)
{
	char sentence[160];
	uint64_t digest = 1;
	uint32_t number = 0;
	int result = *socket ? 0 : open_socket(socket);

	if (result == 0)
		result = ask_generation(*socket, &number);
	if (result < 0 && result != -ENOTSUP) {
		*socket = netsocket_close(*socket);
		return result;
	}
	(void)firewall_legacy_look(AF_INET, sentence, sizeof(sentence), &digest);
	(void)firewall_legacy_look(AF_INET6, sentence, sizeof(sentence), &digest);
	*ret = (digest << 32) + number;
	return 0;
}

/* ---- reading ----------------------------------------------------------------------------------- */

static void take(void *context, const struct nlmsghdr *message)
{
	fw_take(context, message);
}

static int dump(struct netsocket *socket, char *buffer, struct fw_rules *rules)
{
	return netsocket_dump(socket, (struct nlmsghdr *)buffer, take, rules);
}

static int read_sets(struct netsocket *socket, struct fw_rules *rules)
{
	char buffer[2 * NETSOCKET_QUESTION] __attribute__((aligned(8)));
	struct fw_set *set, *next;

	HASH_ITER(hh, rules->sets, set, next) {
		int result;

		memset(buffer, 0, sizeof(buffer));
		result = fw_ask_elements(buffer, set);
		if (result == 0)
			result = dump(socket, buffer, rules);
		if (result < 0)
			return result == -ENOENT ? -EINTR : result;
	}
	return 0;
}

static int read_once(struct netsocket *socket, struct fw_rules **ret)
{
	static const int messages[] = {NFT_MSG_GETTABLE, NFT_MSG_GETCHAIN, NFT_MSG_GETRULE,
	                               NFT_MSG_GETSET};
	_cleanup_(fw_rules_freep) struct fw_rules *rules = fw_rules_new();
	char buffer[NETSOCKET_QUESTION] __attribute__((aligned(8)));
	uint32_t before = 0, after = 0;
	int result = rules ? ask_generation(socket, &before) : -ENOMEM;

	for (size_t i = 0; result == 0 && i < ARRAY_SIZE(messages); i++) {
		memset(buffer, 0, sizeof(buffer));
		fw_ask(buffer, messages[i]);
		result = dump(socket, buffer, rules);
	}
	if (result == 0)
		result = read_sets(socket, rules);
	if (result == 0)
		result = ask_generation(socket, &after);
	if (result < 0)
		return result;
	if (before != after)
		return -EINTR;
	fw_link(rules);
	*ret = take_ptr(rules);
	return 0;
}

/* *ret stays NULL if there is no nf_tables. */
static int read_tables(struct fw_rules **ret)
{
	_cleanup_(netsocket_closep) struct netsocket *socket = NULL;
	int result = open_socket(&socket);

	if (result < 0)
		return result;
	result = -EINTR;
	for (int i = 0; i < ATTEMPTS && result == -EINTR; i++)
		result = read_once(socket, ret);
	return result == -EINTR ? -EAGAIN : result;
}

int firewall_read(struct firewall **ret)
{
	_cleanup_(firewall_freep) struct firewall *firewall = calloc(1, sizeof(*firewall));
	uint64_t digest = 0;
	int result, ipv4, ipv6;

	if (!firewall)
		return log_errno(-ENOMEM, TOPIC, "cannot read rule sets");
	result = read_tables(&firewall->rules);
	if (result < 0 && result != -ENOTSUP)
		return log_errno(result, TOPIC, "cannot read rule sets of nf_tables");
	ipv4 = firewall_legacy_look(AF_INET, firewall->legacy_ipv4, sizeof(firewall->legacy_ipv4),
	                            &digest);
	ipv6 = firewall_legacy_look(AF_INET6, firewall->legacy_ipv6, sizeof(firewall->legacy_ipv6),
	                            &digest);
	if (ipv4 < 0 || ipv6 < 0)
		return log_errno(ipv4 < 0 ? ipv4 : ipv6, TOPIC,
		                 "cannot read rule sets of iptables-legacy");
	if (result == -ENOTSUP && !ipv4 && !ipv6) {
		log_debug(TOPIC, "this kernel has no nf_tables");
		return -ENOTSUP;
	}
	*ret = take_ptr(firewall);
	return 0;
}

/* ---- answers ----------------------------------------------------------------------------------- */

static void forget_answers(struct firewall *firewall)
{
	struct answer *answer, *next;

	HASH_ITER(hh, firewall->answers, answer, next) {
		HASH_DEL(firewall->answers, answer);
		free(answer);
	}
}

static struct question question_of(const struct fw_packet *packet, unsigned asked)
{
	struct question question = {.family = (uint8_t)packet->family,
	                            .protocol = packet->protocol,
	                            .asked = (uint8_t)asked,
	                            .forwarded = (uint8_t)(packet->forwarded_unchanged |
	                                                   packet->wrapped << 1 |
	                                                   packet->answered << 2)};

	if (asked & FW_ASKED_PORT)
		question.port = packet->port;
	if (asked & FW_ASKED_ADDR && packet->addr)
		question.addr = *packet->addr;
	question.any_addr = asked & FW_ASKED_ADDR && !packet->addr;
	return question;
}

static const struct answer *find_answer(const struct firewall *firewall,
                                        const struct fw_packet *packet)
{
	struct answer *answer = NULL;

	for (unsigned asked = 0; asked <= (FW_ASKED_ADDR | FW_ASKED_PORT) && !answer; asked++) {
		struct question question = question_of(packet, asked);

		HASH_FIND(hh, firewall->answers, &question, sizeof(question), answer);
	}
	return answer;
}

/*
 * The rules are gone through once for each question that is really another one: where no rule that counted looked at the address,
 * the answer holds for all addresses. Without memory for an answer it is worked out again the next time.
 */
static const char *ask_rules(struct firewall *firewall, const struct fw_packet *packet)
{
	const struct answer *known = find_answer(firewall, packet);
	struct answer *answer;
	unsigned asked = 0;
	const char *reason;

	if (known)
		return known->reason;
	reason = fw_judge(firewall->rules, packet, &asked);
	answer = calloc(1, sizeof(*answer));
	if (!answer)
		return reason;
	answer->question = question_of(packet, asked);
	answer->reason = reason;
	HASH_ADD(hh, firewall->answers, question, sizeof(answer->question), answer);
	return reason;
}

struct firewall *firewall_free(struct firewall *firewall)
{
	if (!firewall)
		return NULL;
	forget_answers(firewall);
	fw_rules_free(firewall->rules);
	free(firewall);
	return NULL;
}

/* What is done to the service's packets, by any of its real servers. */
static void describe_forwarding(const struct service *service, struct fw_packet *packet)
{
	packet->forwarded_unchanged = true;
	for (size_t i = 0; i < service->real_count; i++) {
		if (service->reals[i].forwarding != XLB_FORWARD_DIRECT)
			packet->forwarded_unchanged = false;
		if (service->reals[i].forwarding == XLB_FORWARD_TUNNEL)
			packet->wrapped = true;
		if (service->reals[i].forwarding == XLB_FORWARD_NAT)
			packet->answered = true;
	}
}

/* Tunnels over the other family: their packets meet that family's rules when they leave. */
static const char *judge_other_family(struct firewall *firewall, const struct service *service)
{
	int family = service->family == AF_INET ? AF_INET6 : AF_INET;
	const char *legacy = family == AF_INET ? firewall->legacy_ipv4 : firewall->legacy_ipv6;
	struct fw_packet packet = {.family = family, .wrapped = true};

	for (size_t i = 0; i < service->real_count; i++) {
		if (addr_family(&service->reals[i].addr) != family)
			continue;
		if (legacy[0])
			return legacy;
		return firewall->rules ? ask_rules(firewall, &packet) : NULL;
	}
	return NULL;
}

const char *firewall_reason(struct firewall *firewall, const struct service *service)
{
	struct fw_packet packet = {.family = service->family,
	                           .protocol = service->key.protocol,
	                           .port = be16toh(service->key.port),
	                           .addr = service->fwmark ? NULL : &service->key.addr};
	const char *legacy =
		service->family == AF_INET ? firewall->legacy_ipv4 : firewall->legacy_ipv6;
	const char *reason = legacy[0] ? legacy : NULL;

	describe_forwarding(service, &packet);
	if (!reason && firewall->rules)
		reason = ask_rules(firewall, &packet);
	return reason ? reason : judge_other_family(firewall, service);
}
