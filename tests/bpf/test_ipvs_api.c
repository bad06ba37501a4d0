// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_ipvs_api.c - the socket options of IPVS on a kernel without it: what each command answers, and what the table is then.
 *
 * Errnos are those that net/netfilter/ipvs gave for the same calls on Debian's 6.1 (tests/bpf/ipvs_calls.py holds the whole conversation);
 * those that are ours alone, where XDP cannot do what IPVS could, have a test of their own.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "ipvs_api.h"
#include "tests/bpf/ipvs_lab.h"
#include "xlbd/model/addr.h"

struct fixture {
	struct ipvs_lab lab;
	struct ipvs_api *api;
	int fd;
};

static int open_fixture(void **state)
{
	struct fixture *fixture = *state;

	fixture->api = ipvs_lab_open(&fixture->lab);
	fixture->fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	return fixture->fd < 0;
}

static int close_fixture(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->fd);
	if (ipvs_api_detach(fixture->api) < 0)
		return -1;
	fixture->api = ipvs_api_close(fixture->api);
	return 0;
}

static struct service_set *read_table(struct fixture *fixture)
{
	struct service_set *set = NULL;

	assert_int_equal(ipvs_api_read(fixture->api, &set), 0);
	return set;
}

/* ---- errnos ------------------------------------------------------------------------------------ */

struct call {
	const char *name;
	int command;
	int expected;
	socklen_t length; /* 0: what the command takes */
	struct ipvs_words words;
};

#define VIP(protocol_, port_, scheduler_, flags_, fwmark_)                            \
	{                                                                             \
		.protocol = IPPROTO_##protocol_, .addr = 0x010200c0, .port = (port_), \
		.sched_name = scheduler_, .flags = (flags_), .fwmark = (fwmark_)      \
	}
#define REAL(addr_, port_, method_, weight_, upper_, lower_)                                    \
	{                                                                                       \
		.addr = (addr_), .port = (port_), .conn_flags = (method_), .weight = (weight_), \
		.u_threshold = (upper_), .l_threshold = (lower_)                                \
	}
#define SOME 0x026433c6 /* 198.51.100.2, in network order here */

/* clang-format off */
static const struct call calls[] = {
	{"no such service to edit", IP_VS_SO_SET_EDIT, -ESRCH, 0, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	{"no such service to delete", IP_VS_SO_SET_DEL, -ESRCH, 0, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	{"no such service to zero", IP_VS_SO_SET_ZERO, -ESRCH, 0, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	{"no such service for a real server", IP_VS_SO_SET_ADDDEST, -ESRCH, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 80, 3, 1, 0, 0)}},
	{"missing service before bad weight", IP_VS_SO_SET_ADDDEST, -ESRCH, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 80, 3, -1, 0, 0)}},
	{"service", IP_VS_SO_SET_ADD, 0, 0, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	{"service again", IP_VS_SO_SET_ADD, -EEXIST, 0, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	{"service there before bad scheduler", IP_VS_SO_SET_ADD, -EEXIST, 0, {VIP(TCP, 80, "nope", 0, 0), {0}}},
	{"same address, udp", IP_VS_SO_SET_ADD, 0, 0, {VIP(UDP, 80, "rr", 0, 0), {0}}},
	{"unknown scheduler", IP_VS_SO_SET_ADD, -ENOENT, 0, {VIP(TCP, 1, "nope", 0, 0), {0}}},
	{"no scheduler", IP_VS_SO_SET_ADD, -ENOENT, 0, {VIP(TCP, 1, "", 0, 0), {0}}},
	{"prefix of a scheduler", IP_VS_SO_SET_ADD, -ENOENT, 0, {VIP(TCP, 1, "wr", 0, 0), {0}}},
	{"scheduler and more", IP_VS_SO_SET_ADD, -ENOENT, 0, {VIP(TCP, 1, "rrr", 0, 0), {0}}},
	{"scheduler, then rubbish", IP_VS_SO_SET_ADD, 0, 0, {VIP(TCP, 2, "mh\0junk", 0, 0), {0}}},
	{"unterminated scheduler", IP_VS_SO_SET_ADD, -EINVAL, 0, {VIP(TCP, 1, "0123456789abcdef", 0, 0), {0}}},
	{"icmp", IP_VS_SO_SET_ADD, -EFAULT, 0, {VIP(ICMP, 80, "rr", 0, 0), {0}}},
	{"icmp to delete", IP_VS_SO_SET_DEL, -EFAULT, 0, {VIP(ICMP, 80, "rr", 0, 0), {0}}},
	{"too short", IP_VS_SO_SET_ADD, -EINVAL, 43, {VIP(TCP, 1, "rr", 0, 0), {0}}},
	{"too long", IP_VS_SO_SET_ADD, -EINVAL, 45, {VIP(TCP, 1, "rr", 0, 0), {0}}},
	{"edit to unknown scheduler", IP_VS_SO_SET_EDIT, -ENOENT, 0, {VIP(TCP, 80, "nope", 0, 0), {0}}},
	{"edit", IP_VS_SO_SET_EDIT, 0, 0, {VIP(TCP, 80, "wrr", 0, 0), {0}}},
	{"real server to edit is missing", IP_VS_SO_SET_EDITDEST, -ENOENT, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 80, 3, 1, 0, 0)}},
	{"real server to delete is missing", IP_VS_SO_SET_DELDEST, -ENOENT, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 80, 3, 1, 0, 0)}},
	{"real server", IP_VS_SO_SET_ADDDEST, 0, 0, {VIP(TCP, 80, "", 0, 0), REAL(SOME, 80, 3, 1, 0, 0)}},
	{"real server again", IP_VS_SO_SET_ADDDEST, -EEXIST, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 80, 3, 1, 0, 0)}},
	{"same real server, other port", IP_VS_SO_SET_ADDDEST, 0, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 1, 3, 1, 0, 0)}},
	{"weight below 0", IP_VS_SO_SET_ADDDEST, -ERANGE, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 2, 3, -1, 0, 0)}},
	{"lower over upper", IP_VS_SO_SET_ADDDEST, -ERANGE, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 2, 3, 1, 1, 2)}},
	{"edit: lower over upper", IP_VS_SO_SET_EDITDEST, -ERANGE, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 80, 3, 1, 1, 2)}},
	{"upper of 2^31", IP_VS_SO_SET_ADDDEST, -EINVAL, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 2, 3, 1, 0x80000000, 0)}},
	{"real server 0.0.0.0", IP_VS_SO_SET_ADDDEST, -EINVAL, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(0, 80, 3, 1, 0, 0)}},
	{"real server 224.0.0.1", IP_VS_SO_SET_ADDDEST, -EINVAL, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(0x010000e0, 80, 3, 1, 0, 0)}},
	{"real server 255.255.255.255", IP_VS_SO_SET_ADDDEST, -EINVAL, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(0xffffffff, 80, 3, 1, 0, 0)}},
	{"real server 240.0.0.1", IP_VS_SO_SET_ADDDEST, 0, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(0x010000f0, 80, 3, 1, 0, 0)}},
	{"by NAT", IP_VS_SO_SET_ADDDEST, 0, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 3, 0, 1, 0, 0)}},
	{"by tunnel", IP_VS_SO_SET_ADDDEST, 0, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 4, 2, 1, 0, 0)}},
	{"weight and thresholds", IP_VS_SO_SET_EDITDEST, 0, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 80, 3, 7, 2, 1)}},
	{"delete", IP_VS_SO_SET_DELDEST, 0, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 80, 3, 1, 0, 0)}},
	{"delete again", IP_VS_SO_SET_DELDEST, -ENOENT, 0, {VIP(TCP, 80, "rr", 0, 0), REAL(SOME, 80, 3, 1, 0, 0)}},
	{"zero", IP_VS_SO_SET_ZERO, 0, 0, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	{"zero all", IP_VS_SO_SET_ZERO, 0, 0, {{0}, {0}}},
	{"stop a daemon that does not run", IP_VS_SO_SET_STOPDAEMON, -ESRCH, 24, {{0}, {0}}},
	{"start a daemon", IP_VS_SO_SET_STARTDAEMON, -EOPNOTSUPP, 24, {{0}, {0}}},
	{"LIST was never made", IP_VS_SO_SET_LIST, -EINVAL, 44, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	{"SAVE neither", IP_VS_SO_SET_SAVE, -EINVAL, 44, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	{"flush takes nothing", IP_VS_SO_SET_FLUSH, -EINVAL, 3, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	{"delete service", IP_VS_SO_SET_DEL, 0, 0, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	{"delete service again", IP_VS_SO_SET_DEL, -ESRCH, 0, {VIP(TCP, 80, "rr", 0, 0), {0}}},
	/* ours alone: what XDP cannot do */
	{"wlc", IP_VS_SO_SET_ADD, -ENOENT, 0, {VIP(TCP, 5, "wlc", 0, 0), {0}}},
	{"scheduler none", IP_VS_SO_SET_ADD, -ENOENT, 0, {VIP(TCP, 5, "none", 0, 0), {0}}},
	{"persistence", IP_VS_SO_SET_ADD, -EINVAL, 0, {VIP(TCP, 5, "rr", IP_VS_SVC_F_PERSISTENT, 0), {0}}},
	{"one packet", IP_VS_SO_SET_ADD, -EINVAL, 0, {VIP(TCP, 5, "rr", IP_VS_SVC_F_ONEPACKET, 0), {0}}},
	{"fwmark", IP_VS_SO_SET_ADD, -EINVAL, 0, {VIP(TCP, 5, "rr", 0, 7), {0}}},
	{"edit fwmark", IP_VS_SO_SET_EDIT, -ESRCH, 0, {VIP(TCP, 5, "rr", 0, 7), {0}}},
	{"sctp", IP_VS_SO_SET_ADD, -EPROTONOSUPPORT, 0, {VIP(SCTP, 5, "rr", 0, 0), {0}}},
};
/* clang-format on */

static socklen_t usual_length(int command)
{
	switch (command) {
	case IP_VS_SO_SET_ADDDEST:
	case IP_VS_SO_SET_EDITDEST:
	case IP_VS_SO_SET_DELDEST:
		return sizeof(struct ipvs_words);
	}
	return sizeof(struct ip_vs_service_user);
}

static void every_command_gives_the_errno_of_ipvs(void **state)
{
	struct fixture *fixture = *state;
	struct ipvs_api_counts counts;
	unsigned refused = 0;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct call *call = &calls[i];
		socklen_t length = call->length ? call->length : usual_length(call->command);
		int r = ipvs_set(fixture->fd, call->command, &call->words, length);

		if (r != call->expected)
			fail_msg("%s: %s, expected %s", call->name, strerror(-r),
			         strerror(-call->expected));
		refused += r != 0;
	}
	assert_int_equal(ipvs_api_counts(fixture->api, &counts), 0);
	assert_int_equal(counts.refused, refused);
	assert_int_equal(counts.denied, 0);
}

static void a_get_wants_its_length(void **state)
{
	static const struct {
		int command, expected;
		socklen_t length;
	} gets[] = {
		{IP_VS_SO_GET_VERSION, -EINVAL, 63}, {IP_VS_SO_GET_VERSION, 0, 64},
		{IP_VS_SO_GET_INFO, -EINVAL, 11},    {IP_VS_SO_GET_INFO, 0, 100},
		{IP_VS_SO_GET_SERVICES, -EINVAL, 7}, {IP_VS_SO_GET_SERVICES, 0, 8},
		{IP_VS_SO_GET_SERVICES, -EINVAL, 9}, {IP_VS_SO_GET_SERVICE, -EINVAL, 103},
		{IP_VS_SO_GET_SERVICE, -ESRCH, 104}, {IP_VS_SO_GET_DESTS, -EINVAL, 23},
		{IP_VS_SO_GET_DESTS, -ESRCH, 24},    {IP_VS_SO_GET_DESTS, -EINVAL, 25},
		{IP_VS_SO_GET_DEST, -EINVAL, 100},   {IP_VS_SO_GET_TIMEOUT, -EINVAL, 11},
		{IP_VS_SO_GET_TIMEOUT, 0, 12},       {IP_VS_SO_GET_DAEMON, -EINVAL, 47},
		{IP_VS_SO_GET_DAEMON, 0, 48},        {IP_VS_SO_GET_MAX + 1, -ENOPROTOOPT, 100},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(gets); i++) {
		char value[128] = "";
		socklen_t length = gets[i].length;
		int r = ipvs_get(fixture->fd, gets[i].command, value, &length);

		if (r != gets[i].expected)
			fail_msg("+%d with %u bytes: %s, expected %s",
			         gets[i].command - IP_VS_BASE_CTL, gets[i].length, strerror(-r),
			         strerror(-gets[i].expected));
	}
}

/* ---- what the table is ------------------------------------------------------------------------- */

static void real_servers_are_listed_newest_first(void **state)
{
	struct fixture *fixture = *state;
	struct ipvs_words words = {a_service(80), a_real(2, 80)};
	char text[256];

	assert_int_equal(add_service(fixture->fd, 80), 0);
	for (uint8_t n = 1; n <= 4; n++)
		assert_int_equal(add_real(fixture->fd, 80, n), 0);
	assert_string_equal(order_of_reals(fixture->fd, 80, text), "4 3 2 1");
	words.real.weight = 0;
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_EDITDEST, &words, sizeof(words)), 0);
	assert_string_equal(order_of_reals(fixture->fd, 80, text), "4 3 2 1");
	assert_int_equal(delete_real(fixture->fd, 80, 2), 0);
	assert_int_equal(delete_real(fixture->fd, 80, 1), 0);
	assert_string_equal(order_of_reals(fixture->fd, 80, text), "4 3");
	assert_int_equal(add_real(fixture->fd, 80, 1), 0);
	assert_string_equal(order_of_reals(fixture->fd, 80, text), "1 4 3");
	assert_int_equal(delete_real(fixture->fd, 80, 1), 0);
	assert_int_equal(delete_real(fixture->fd, 80, 4), 0);
	assert_int_equal(delete_real(fixture->fd, 80, 3), 0);
	assert_string_equal(order_of_reals(fixture->fd, 80, text), "");
	assert_int_equal(add_real(fixture->fd, 80, 9), 0);
	assert_string_equal(order_of_reals(fixture->fd, 80, text), "9");
}

static void the_daemon_reads_what_keepalived_wrote(void **state)
{
	struct fixture *fixture = *state;
	struct ip_vs_service_user written = a_service(443);
	struct ipvs_words words = {written, a_real(1, 443)};
	struct service_set *set;
	const struct service *service;

	memcpy(written.sched_name, "mh", 3);
	written.flags = IP_VS_SVC_F_SCHED1 | IP_VS_SVC_F_SCHED2;
	assert_int_equal(add_service(fixture->fd, 80), 0);
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_ADD, &written, sizeof(written)), 0);
	words.real.weight = 5;
	words.real.u_threshold = 9;
	words.real.l_threshold = 3;
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_ADDDEST, &words, sizeof(words)), 0);
	assert_int_equal(add_real(fixture->fd, 443, 2), 0);
	set = read_table(fixture);
	assert_int_equal(service_set_count(set), 2);
	service = service_set_get(set, 1);
	assert_int_equal(service->key.port, htons(443));
	assert_int_equal(service->key.protocol, IPPROTO_TCP);
	assert_int_equal(addr_ipv4(&service->key.addr), htonl(0xc0000201));
	assert_string_equal(service->scheduler, "mh");
	assert_int_equal(service->flags, IP_VS_SVC_F_SCHED1 | IP_VS_SVC_F_SCHED2);
	assert_true(service->in_force && !service->declared);
	assert_int_equal(service->real_count, 2);
	assert_int_equal(ntohl(addr_ipv4(&service->reals[0].addr)) & 255, 2);
	assert_int_equal(service->reals[1].weight, 5);
	assert_int_equal(service->reals[1].upper_threshold, 9);
	assert_int_equal(service->reals[1].lower_threshold, 3);
	assert_int_equal(service->reals[1].forwarding, XLB_FORWARD_DIRECT);
	assert_int_equal(service->reals[1].port, 443);
	service_set_free(set);
}

static void an_edit_replaces_all_flags(void **state)
{
	struct fixture *fixture = *state;
	struct ip_vs_service_entry entry = {.protocol = IPPROTO_TCP};
	struct ip_vs_service_user service = a_service(80);
	socklen_t length = sizeof(entry);

	memcpy(service.sched_name, "sh", 3);
	service.flags = IP_VS_SVC_F_SCHED1;
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_ADD, &service, sizeof(service)), 0);
	service.flags = IP_VS_SVC_F_SCHED2;
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_EDIT, &service, sizeof(service)), 0);
	service.flags = IP_VS_SVC_F_ONEPACKET; /* refused, and nothing of it done */
	memcpy(service.sched_name, "dh", 3);
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_EDIT, &service, sizeof(service)),
	                 -EINVAL);
	entry.addr = service.addr;
	entry.port = service.port;
	assert_int_equal(ipvs_get(fixture->fd, IP_VS_SO_GET_SERVICE, &entry, &length), 0);
	assert_int_equal(entry.flags, IP_VS_SVC_F_SCHED2 | IP_VS_SVC_F_HASHED);
	assert_string_equal(entry.sched_name, "sh");
	assert_int_equal(length, sizeof(entry));
}

static void what_does_not_fit_a_page_is_cut_to_whole_entries_and_counted(void **state)
{
	const size_t fit =
		(4096 - sizeof(struct ip_vs_get_dests)) / sizeof(struct ip_vs_dest_entry);
	struct fixture *fixture = *state;
	struct ipvs_api_counts counts;
	struct ip_vs_get_dests *reals;
	struct ip_vs_get_services *services;
	socklen_t length = sizeof(*services) + 60 * sizeof(struct ip_vs_service_entry);

	for (uint16_t port = 1; port <= 60; port++)
		assert_int_equal(add_service(fixture->fd, port), 0);
	for (uint8_t n = 1; n <= 100; n++)
		assert_int_equal(add_real(fixture->fd, 1, n), 0);
	reals = get_reals(fixture->fd, 1, 100);
	assert_non_null(reals);
	assert_int_equal(reals->num_dests, fit);
	assert_int_equal(ntohl(reals->entrytable[0].addr) & 255, 100);
	assert_int_equal(ntohl(reals->entrytable[fit - 1].addr) & 255, 101 - fit);
	assert_int_equal(reals->entrytable[fit].addr, 0);
	free(reals);
	services = calloc(1, length);
	assert_non_null(services);
	services->num_services = 60;
	assert_int_equal(ipvs_get(fixture->fd, IP_VS_SO_GET_SERVICES, services, &length), 0);
	assert_int_equal(services->num_services, 39);
	assert_int_equal(services->entrytable[0].num_dests, 100);
	assert_int_equal(services->entrytable[38].port, htons(39));
	free(services);
	assert_int_equal(ipvs_api_counts(fixture->api, &counts), 0);
	assert_int_equal(counts.truncated, 2);
	reals = get_reals(fixture->fd, 1, 10); /* asked for less: not truncated */
	assert_int_equal(reals->num_dests, 10);
	free(reals);
	assert_int_equal(ipvs_api_counts(fixture->api, &counts), 0);
	assert_int_equal(counts.truncated, 2);
	assert_int_equal(counts.unanswerable, 0);
}

static void a_request_that_cannot_be_read_is_a_fault_and_counted(void **state)
{
	struct fixture *fixture = *state;
	struct ipvs_api_counts counts;
	socklen_t length = 24;

	assert_int_equal(ipvs_get(fixture->fd, IP_VS_SO_GET_DESTS, (void *)8, &length), -EFAULT);
	assert_int_equal(ipvs_api_counts(fixture->api, &counts), 0);
	assert_int_equal(counts.unanswerable, 1);
}

static void a_flushed_table_is_empty_and_usable(void **state)
{
	struct fixture *fixture = *state;
	struct service_set *set;
	char text[256];

	assert_int_equal(add_service(fixture->fd, 80), 0);
	assert_int_equal(add_service(fixture->fd, 81), 0);
	assert_int_equal(add_real(fixture->fd, 80, 1), 0);
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_FLUSH, NULL, 0), 0);
	set = read_table(fixture);
	assert_int_equal(service_set_count(set), 0);
	service_set_free(set);
	assert_int_equal(add_real(fixture->fd, 80, 1), -ESRCH);
	assert_int_equal(add_service(fixture->fd, 80), 0);
	assert_string_equal(order_of_reals(fixture->fd, 80, text), "");
}

static void a_timeout_of_zero_leaves_what_was(void **state)
{
	struct fixture *fixture = *state;
	struct ip_vs_timeout_user timeouts = {.tcp_timeout = 1000, .udp_timeout = 30};
	struct ip_vs_timeout_user bad = {.udp_timeout = -1};
	struct ipvs_timeouts seen;
	socklen_t length = sizeof(timeouts);

	assert_int_equal(ipvs_api_timeouts(fixture->api, &seen), 0);
	assert_int_equal(seen.tcp, 900);
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_TIMEOUT, &timeouts, length), 0);
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_TIMEOUT, &bad, length), -EINVAL);
	assert_int_equal(ipvs_get(fixture->fd, IP_VS_SO_GET_TIMEOUT, &timeouts, &length), 0);
	assert_int_equal(timeouts.tcp_timeout, 1000);
	assert_int_equal(timeouts.tcp_fin_timeout, 120);
	assert_int_equal(timeouts.udp_timeout, 30);
	assert_int_equal(ipvs_api_timeouts(fixture->api, &seen), 0);
	assert_int_equal(seen.udp, 30);
	assert_int_equal(seen.tcp_fin, 120);
}

static void the_table_has_an_end(void **state)
{
	struct fixture *fixture = *state;
	struct ipvs_words words = {a_service(80), a_real(0, 80)};
	unsigned added = 0;
	int r = 0;

	for (uint16_t port = 80; port < 85; port++) {
		assert_int_equal(add_service(fixture->fd, port), 0);
		words.service.port = htons(port);
		for (uint32_t n = 1; n <= IPVS_API_REALS_OF_SERVICE; n++) {
			words.real.addr = htonl(0x0a000000 | n);
			r = ipvs_set(fixture->fd, IP_VS_SO_SET_ADDDEST, &words, sizeof(words));
			if (r < 0)
				break;
			added++;
		}
	}
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(added, IPVS_API_REALS - 1);
	words.service.port =
		htons(80); /* this service is full, and the oldest is at the end of the list */
	words.real.addr = htonl(0x0a100000);
	r = ipvs_set(fixture->fd, IP_VS_SO_SET_ADDDEST, &words, sizeof(words));
	assert_int_equal(r, -ENOMEM);
	words.real.addr = htonl(0x0a000001);
	r = ipvs_set(fixture->fd, IP_VS_SO_SET_DELDEST, &words, sizeof(words));
	assert_int_equal(r, 0);
	words.service = a_service(84);
	r = ipvs_set(fixture->fd, IP_VS_SO_SET_DEL, &words.service, sizeof(words.service));
	assert_int_equal(r, 0);
	assert_int_equal(add_service(fixture->fd, 90), 0);
	assert_int_equal(add_real(fixture->fd, 90, 1), 0);
}

static void options_of_others_pass_untouched(void **state)
{
	struct fixture *fixture = *state;
	char large[8192] = {0};
	int value = 33;
	socklen_t length = sizeof(value);

	assert_int_equal(setsockopt(fixture->fd, IPPROTO_IP, IP_TTL, &value, sizeof(value)), 0);
	value = 0;
	assert_int_equal(getsockopt(fixture->fd, IPPROTO_IP, IP_TTL, &value, &length), 0);
	assert_int_equal(value, 33);
	/* longer than a page: programs see no more, and older kernels fail the call if they do not say so */
	memcpy(large, &(int){100000}, sizeof(int));
	assert_int_equal(setsockopt(fixture->fd, SOL_SOCKET, SO_RCVBUF, large, sizeof(large)), 0);
	length = sizeof(large);
	assert_int_equal(getsockopt(fixture->fd, SOL_SOCKET, SO_RCVBUF, large, &length), 0);
	assert_int_equal(length, sizeof(int));
	length = sizeof(value);
	assert_int_equal(getsockopt(fixture->fd, IPPROTO_IP, 1151, &value, &length), -1);
	assert_int_equal(errno, ENOPROTOOPT);
}

static void ipv6_sockets_carry_the_commands_too_but_raw_ones(void **state)
{
	int datagram = socket(AF_INET6, SOCK_DGRAM, 0), raw = socket(AF_INET6, SOCK_RAW, 58);
	struct ip_vs_getinfo info;
	socklen_t length = sizeof(info);

	(void)state;
	assert_int_equal(ipvs_get(datagram, IP_VS_SO_GET_INFO, &info, &length), 0);
	assert_int_equal(info.version, IP_VS_VERSION_CODE);
	length = sizeof(info);
	assert_int_equal(ipvs_get(raw, IP_VS_SO_GET_INFO, &info, &length), -ENOPROTOOPT);
	close(datagram);
	close(raw);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void)
{
	struct fixture fixture = {.fd = -1};
	struct CMUnitTest tests[] = {
		TEST(every_command_gives_the_errno_of_ipvs),
		TEST(a_get_wants_its_length),
		TEST(real_servers_are_listed_newest_first),
		TEST(the_daemon_reads_what_keepalived_wrote),
		TEST(an_edit_replaces_all_flags),
		TEST(what_does_not_fit_a_page_is_cut_to_whole_entries_and_counted),
		TEST(a_request_that_cannot_be_read_is_a_fault_and_counted),
		TEST(a_flushed_table_is_empty_and_usable),
		TEST(a_timeout_of_zero_leaves_what_was),
		TEST(the_table_has_an_end),
		TEST(options_of_others_pass_untouched),
		TEST(ipv6_sockets_carry_the_commands_too_but_raw_ones),
	};
	int failed;

	ipvs_lab_enter(&fixture.lab);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tests[i].initial_state = &fixture;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	ipvs_lab_leave(&fixture.lab);
	return failed;
}
