// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_attributes.c - messages of the kernel's IPVS family: as Debian's 6.1.192 sends them, and as no kernel should.
 *
 * The long texts were captured from the kernel (one machine of tests/vm, ipvsadm on the other side); in REAL the counters were
 * filled in afterwards, so that a mixed-up attribute shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>

#include "xlbd/ipvs/attributes.h"
#include "xlbd/model/addr.h"

#define ZERO8 "0000000000000000"
#define STATS_0                                                                         \
	"5c000a00 08000100 00000000 08000200 00000000 08000300 00000000 0c000400" ZERO8 \
	"0c000500" ZERO8 "08000600 00000000 08000700 00000000 08000800 00000000"        \
	"08000900 00000000 08000a00 00000000"
#define STATS64_0                                                                            \
	"7c000c00 0c000100" ZERO8 "0c000200" ZERO8 "0c000300" ZERO8 "0c000400" ZERO8         \
	"0c000500" ZERO8 "0c000600" ZERO8 "0c000700" ZERO8 "0c000800" ZERO8 "0c000900" ZERO8 \
	"0c000a00" ZERO8

/* ipvsadm -A -t 10.99.0.1:80 -s mh -b mh-port,mh-fallback -p 100 -M 255.255.255.0 */
#define SERVICE_MH                                                                          \
	"40010000 20000200 6a000000 82000000 01010000 2c010100 06000100 02000000 06000200 " \
	"06000000"                                                                          \
	"14000300 0a630001 00000000 00000000 00000000 06000400 00500000 07000600 6d680000"  \
	"0c000700 1b000000 ffffffff 08000800 64000000 08000900 ffffff00" STATS_0 STATS64_0
/* ipvsadm -A -u [2001:db8::1]:5060 --pe sip -p 360 -s wrr */
#define SERVICE_SIP                                                                                \
	"48010000 20000200 6a000000 82000000 01010000 34010100 06000100 0a000000 06000200 "        \
	"11000000"                                                                                 \
	"14000300 20010db8 00000000 00000000 00000001 06000400 13c40000 08000600 77727200"         \
	"08000b00 73697000 0c000700 03000000 ffffffff 08000800 68010000 08000900 80000000" STATS_0 \
		STATS64_0
/* ipvsadm -A -f 7 -6 -s rr */
#define SERVICE_MARK                                                                               \
	"24010000 20000200 6a000000 82000000 01010000 10010100 06000100 0a000000 08000500 "        \
	"07000000"                                                                                 \
	"07000600 72720000 0c000700 02000000 ffffffff 08000800 00000000 08000900 80000000" STATS_0 \
		STATS64_0
/* ipvsadm -a -t 10.99.0.1:80 -r 10.1.0.2 -i --tun-type gue --tun-port 6080 --tun-nocsum -w 300 -x 1000 -y 700 */
#define REAL_FIELDS                                                                         \
	"14000100 0a010002 00000000 00000000 00000000 06000200 00500000 08000300 02000000"  \
	"08000400 2c010000 05000d00 01000000 06000e00 17c00000 06000f00 01000000"           \
	"08000500 e8030000 08000600 bc020000 08000700 03000000 08000800 04000000 08000900 " \
	"05000000"
#define REAL                                                                          \
	"64010000 20000200 6a000000 82000000 05010000 50010200" REAL_FIELDS           \
	"06000b00 02000000" STATS_0                                                   \
	"7c000c00 0c000100 0600000000000000 0c000200 0700000001000000 0c000300" ZERO8 \
	"0c000400 0800000002000000 0c000500" ZERO8 "0c000600" ZERO8 "0c000700" ZERO8  \
	"0c000800" ZERO8 "0c000900" ZERO8 "0c000a00" ZERO8
/* A kernel before 4.1: no 64-bit set; and without the address family, as before 3.18. */
#define REAL_OLD                                                                                  \
	"e0000000 20000200 6a000000 82000000 05010000 cc000200" REAL_FIELDS                       \
	"5c000a00 08000100 06000000 08000200 07000000 08000300 00000000 0c000400"                 \
	"0800000002000000 0c000500" ZERO8 "08000600 00000000 08000700 00000000 08000800 00000000" \
	"08000900 00000000 08000a00 00000000"
#define CONFIG                                                                              \
	"2c000000 20000000 6a000000 82000000 0c010000 08000400 64000000 08000500 14000000 " \
	"08000600 1e000000"
#define FAMILY                                                                              \
	"28000000 10000000 6a000000 82000000 01020000 09000200 49505653 00000000 06000100 " \
	"20000000"

/* A message in a buffer of exactly its size, so that AddressSanitizer sees what reads too far. */
static struct nlmsghdr *from_hex(const char *hex)
{
	uint8_t bytes[1024];
	struct nlmsghdr *message;
	size_t length = 0;
	unsigned value;

	for (; *hex; hex++) {
		if (*hex == ' ')
			continue;
		assert_true(length < sizeof(bytes) && sscanf(hex++, "%2x", &value) == 1);
		bytes[length++] = value;
	}
	message = malloc(length);
	assert_non_null(message);
	memcpy(message, bytes, length);
	assert_int_equal(message->nlmsg_len, length);
	return message;
}

static int read_service(const char *hex, struct service *ret)
{
	_cleanup_free_ struct nlmsghdr *message = from_hex(hex);

	return attributes_service(message, ret);
}

static int read_real(const char *hex, int family, struct real_server *ret)
{
	_cleanup_free_ struct nlmsghdr *message = from_hex(hex);

	return attributes_real(message, family, ret);
}

static void a_service_has_key_scheduler_flags_and_persistence(void **state)
{
	struct service service;
	char text[64];

	(void)state;
	assert_int_equal(read_service(SERVICE_MH, &service), 0);
	assert_string_equal(service_print(&service, text), "10.99.0.1:80/tcp");
	assert_int_equal(service.family, AF_INET);
	assert_int_equal(service.fwmark, 0);
	assert_string_equal(service.scheduler, "mh");
	assert_string_equal(service.engine, "");
	assert_int_equal(service.flags, IP_VS_SVC_F_PERSISTENT | IP_VS_SVC_F_SCHED_SH_FALLBACK |
	                                        IP_VS_SVC_F_SCHED_SH_PORT);
	assert_int_equal(service.timeout, 100);
	assert_int_equal(service.netmask, htonl(0xffffff00));
	assert_true(service.in_force);
	assert_false(service.declared);
	assert_null(service.reals);
}

static void an_ipv6_service_can_have_an_engine(void **state)
{
	struct service service;
	char text[64];

	(void)state;
	assert_int_equal(read_service(SERVICE_SIP, &service), 0);
	assert_string_equal(service_print(&service, text), "[2001:db8::1]:5060/udp");
	assert_int_equal(service.family, AF_INET6);
	assert_string_equal(service.scheduler, "wrr");
	assert_string_equal(service.engine, "sip");
	assert_int_equal(service.flags, IP_VS_SVC_F_PERSISTENT);
	assert_int_equal(service.timeout, 360);
	assert_int_equal(service.netmask, 128);
}

static void a_fwmark_service_has_a_zero_key_and_a_family(void **state)
{
	static const struct xlb_service_key zero;
	struct service service;

	(void)state;
	assert_int_equal(read_service(SERVICE_MARK, &service), 0);
	assert_int_equal(service.fwmark, 7);
	assert_int_equal(service.family, AF_INET6);
	assert_int_equal(service.flags, 0); /* HASHED is the kernel's own business */
	assert_memory_equal(&service.key, &zero, sizeof(zero));
}

static void expect_real_fields(const struct real_server *real)
{
	char text[ENDPOINT_TEXT];

	assert_string_equal(endpoint_print(&real->addr, real->port, 0, text), "10.1.0.2:80");
	assert_int_equal(real->forwarding, XLB_FORWARD_TUNNEL);
	assert_int_equal(real->tunnel_type, IP_VS_CONN_F_TUNNEL_TYPE_GUE);
	assert_int_equal(real->tunnel_port, 6080);
	assert_int_equal(real->tunnel_flags, IP_VS_TUNNEL_ENCAP_FLAG_CSUM);
	assert_int_equal(real->weight, 300);
	assert_int_equal(real->last_weight, 300);
	assert_int_equal(real->upper_threshold, 1000);
	assert_int_equal(real->lower_threshold, 700);
	assert_int_equal(real->active, 3);
	assert_int_equal(real->inactive, 4);
	assert_int_equal(real->persistent, 5);
	assert_int_equal(real->connections, 6);
	assert_false(real->sorry);
}

static void a_real_server_has_method_weight_tunnel_thresholds_and_counters(void **state)
{
	struct real_server real;

	(void)state;
	assert_int_equal(read_real(REAL, AF_INET6, &real), 0); /* it tells its own family */
	expect_real_fields(&real);
	assert_int_equal(real.packets, 0x100000007);
	assert_int_equal(real.bytes, 0x200000008);
}

static void an_old_kernel_gives_the_family_of_the_service_and_32_bit_counters(void **state)
{
	struct real_server real;

	(void)state;
	assert_int_equal(read_real(REAL_OLD, AF_INET, &real), 0);
	expect_real_fields(&real);
	assert_int_equal(real.packets, 7);
	assert_int_equal(real.bytes, 0x200000008);
}

static void timeouts_are_seconds(void **state)
{
	_cleanup_free_ struct nlmsghdr *message = from_hex(CONFIG);
	struct ipvs_timeouts timeouts;

	(void)state;
	assert_int_equal(attributes_timeouts(message, &timeouts), 0);
	assert_int_equal(timeouts.tcp, 100);
	assert_int_equal(timeouts.tcp_fin, 20);
	assert_int_equal(timeouts.udp, 30);
}

static void a_missing_timeout_is_malformed(void **state)
{
	_cleanup_free_ struct nlmsghdr *message = from_hex(CONFIG);
	struct ipvs_timeouts timeouts = {.tcp = 1};

	(void)state;
	message->nlmsg_len -= 8;
	assert_int_equal(attributes_timeouts(message, &timeouts), -EBADMSG);
	assert_int_equal(timeouts.tcp, 1);
}

static void the_family_is_known_by_its_name(void **state)
{
	_cleanup_free_ struct nlmsghdr *message = from_hex(FAMILY);
	char *name = (char *)message + 24;
	uint16_t family = 5;

	(void)state;
	assert_int_equal(attributes_family(message, &family), 0);
	assert_int_equal(family, 32);
	memcpy(name, "IPVT", 4);
	family = 5;
	assert_int_equal(attributes_family(message, &family), -ENOENT);
	assert_int_equal(family, 5);
}

/* The whole request of GET_DEST for 10.99.0.1:80/tcp, 68 bytes; libmnl sets NLA_F_NESTED, which the kernel takes too. */
static void the_request_for_real_servers_is_byte_exact(void **state)
{
	static const char expected[] =
		"44000000 20000103 6a000000 00000000 08010000 30000180 06000100 02000000"
		"06000200 06000000 14000300 0a630001 00000000 00000000 00000000 06000400 00500000";
	_cleanup_free_ struct nlmsghdr *wanted = from_hex(expected);
	_Alignas(4) char buffer[256] = {};
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *generic = mnl_nlmsg_put_extra_header(message, sizeof(*generic));
	struct service service;

	(void)state;
	assert_int_equal(read_service(SERVICE_MH, &service), 0);
	message->nlmsg_type = 32;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	message->nlmsg_seq = 106;
	*generic = (struct genlmsghdr){.cmd = IPVS_CMD_GET_DEST, .version = IPVS_GENL_VERSION};
	attributes_put_service(message, &service);
	assert_int_equal(message->nlmsg_len, wanted->nlmsg_len);
	assert_memory_equal(message, wanted, wanted->nlmsg_len);
}

/* What is asked with is what the kernel answered: every kind of service survives the way there and back. */
static void a_service_is_asked_for_by_what_named_it(void **state)
{
	static const char *const services[] = {SERVICE_MH, SERVICE_SIP, SERVICE_MARK};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
		_Alignas(4) char buffer[512] = {};
		struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
		struct service service, again;
		struct nlattr *nest;
		struct ip_vs_flags flags = {.mask = ~0u};

		assert_int_equal(read_service(services[i], &service), 0);
		mnl_nlmsg_put_extra_header(message, sizeof(struct genlmsghdr));
		attributes_put_service(message, &service);
		nest = (struct nlattr *)(buffer + NLMSG_HDRLEN + GENL_HDRLEN);
		mnl_attr_put_strz(message, IPVS_SVC_ATTR_SCHED_NAME, "rr");
		mnl_attr_put(message, IPVS_SVC_ATTR_FLAGS, sizeof(flags), &flags);
		mnl_attr_put_u32(message, IPVS_SVC_ATTR_TIMEOUT, 0);
		mnl_attr_put_u32(message, IPVS_SVC_ATTR_NETMASK, 0);
		mnl_attr_nest_end(message, nest);
		assert_int_equal(attributes_service(message, &again), 0);
		assert_memory_equal(&service.key, &again.key, sizeof(service.key));
		assert_int_equal(service.fwmark, again.fwmark);
		assert_int_equal(service.family, again.family);
	}
}

/* Replaces `from` by `to` in a copy of `hex`: both as written in the texts above. */
static int read_changed(const char *hex, const char *from, const char *to, bool is_service)
{
	char changed[2048];
	const char *at = strstr(hex, from);
	struct real_server real;
	struct service service;

	assert_non_null(at);
	assert_int_equal(strlen(from), strlen(to));
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - hex), hex, to, at + strlen(from));
	return is_service ? read_service(changed, &service) : read_real(changed, AF_INET, &real);
}

static void what_is_malformed_is_refused_whole(void **state)
{
	static const struct {
		const char *hex, *from, *to;
	} cases[] = {
		{SERVICE_MH, "06000100 02000000", "06000100 01000000"}, /* AF_UNIX */
		{SERVICE_MH, "06000100 02000000", "06001500 02000000"}, /* no family at all */
		{SERVICE_MH, "06000200 06000000", "06000200 06010000"}, /* protocol 262 */
		{SERVICE_MH, "06000200 06000000", "06001500 06000000"}, /* no protocol, no mark */
		{SERVICE_MH, "06000400 00500000", "05000400 00500000"}, /* a port of one byte */
		{SERVICE_MH, "07000600 6d680000", "06000600 6d680000"}, /* name without its NUL */
		{SERVICE_MH, "07000600 6d680000",
	         "04000600 6d680000"}, /* empty name, then rubbish */
		{SERVICE_MH, "08000800 64000000",
	         "02000800 64000000"}, /* shorter than its header */
		{SERVICE_MH, "08000800 64000000", "ff7f0800 64000000"}, /* longer than the nest */
		{SERVICE_MH, "2c010100 06000100",
	         "2d010100 06000100"}, /* nest longer than the message */
		{SERVICE_MH, "2c010100 06000100", "04000100 06000100"},   /* an empty nest */
		{SERVICE_MARK, "08000500 07000000", "08000500 00000000"}, /* mark 0 is no mark */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (read_changed(cases[i].hex, cases[i].from, cases[i].to, true) != -EBADMSG)
			fail_msg("case %zu: '%s' was taken", i, cases[i].to);
	assert_int_equal(read_changed(REAL, "06000b00 02000000", "06000b00 03000000", false),
	                 -EBADMSG);
	assert_int_equal(read_changed(REAL, "08000400 2c010000", "08001500 2c010000", false),
	                 -EBADMSG);
	assert_int_equal(read_changed(REAL, "7c000c00 0c000100", "7c000c00 0c001500", false),
	                 -EBADMSG);
}

static void a_name_must_fit_its_field(void **state)
{
	static const struct {
		const char *name;
		int expected;
	} cases[] = {{"fifteen letters", -ENOENT}, {"sixteen letters!", -EBADMSG}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_Alignas(4) char buffer[256] = {};
		struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
		uint16_t family;

		mnl_nlmsg_put_extra_header(message, sizeof(struct genlmsghdr));
		mnl_attr_put_u16(message, CTRL_ATTR_FAMILY_ID, 32);
		mnl_attr_put_strz(message, CTRL_ATTR_FAMILY_NAME, cases[i].name);
		assert_int_equal(attributes_family(message, &family), cases[i].expected);
	}
}

static void what_is_not_known_is_passed_over(void **state)
{
	(void)state;
	/* NLA_F_NESTED set; an attribute of the future in the place of the thresholds */
	assert_int_equal(read_changed(SERVICE_MH, "2c010100 06000100", "2c010180 06000100", true),
	                 0);
	assert_int_equal(read_changed(REAL, "08000500 e8030000", "0800ff00 e8030000", false), 0);
}

static void another_nest_is_no_service(void **state)
{
	struct service service = {.fwmark = 9};
	struct real_server real = {.weight = 9};

	(void)state;
	assert_int_equal(read_service(REAL, &service), -EBADMSG);
	assert_int_equal(read_real(SERVICE_MH, AF_INET, &real), -EBADMSG);
	assert_int_equal(read_service(CONFIG, &service), -EBADMSG);
	assert_int_equal(service.fwmark, 9);
	assert_int_equal(real.weight, 9);
}

static void read_with_all(const struct nlmsghdr *message)
{
	struct ipvs_timeouts timeouts;
	struct real_server real;
	struct service service;
	uint16_t family;

	if (attributes_service(message, &service) == 0)
		assert_true(strnlen(service.scheduler, 16) < 16 &&
		            strnlen(service.engine, 16) < 16);
	(void)attributes_real(message, AF_INET, &real);
	(void)attributes_timeouts(message, &timeouts);
	(void)attributes_family(message, &family);
}

/* Read for its memory accesses: worth most with --enable-sanitizers. */
static void no_message_makes_it_read_past_the_end(void **state)
{
	static const char *const all[] = {SERVICE_MH, SERVICE_SIP, SERVICE_MARK, REAL,
	                                  REAL_OLD,   CONFIG,      FAMILY};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		_cleanup_free_ struct nlmsghdr *message = from_hex(all[i]);
		size_t length = message->nlmsg_len;

		for (size_t cut = NLMSG_HDRLEN; cut < length; cut++) {
			struct nlmsghdr *shorter = malloc(cut);

			assert_non_null(shorter);
			memcpy(shorter, message, cut);
			shorter->nlmsg_len = cut;
			read_with_all(shorter);
			free(shorter);
		}
		for (size_t at = NLMSG_HDRLEN; at < length; at++) {
			uint8_t *byte = (uint8_t *)message + at, kept = *byte;

			for (unsigned value = 0; value < 256; value++) {
				*byte = value;
				read_with_all(message);
			}
			*byte = kept;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_has_key_scheduler_flags_and_persistence),
		cmocka_unit_test(an_ipv6_service_can_have_an_engine),
		cmocka_unit_test(a_fwmark_service_has_a_zero_key_and_a_family),
		cmocka_unit_test(a_real_server_has_method_weight_tunnel_thresholds_and_counters),
		cmocka_unit_test(an_old_kernel_gives_the_family_of_the_service_and_32_bit_counters),
		cmocka_unit_test(timeouts_are_seconds),
		cmocka_unit_test(a_missing_timeout_is_malformed),
		cmocka_unit_test(the_family_is_known_by_its_name),
		cmocka_unit_test(the_request_for_real_servers_is_byte_exact),
		cmocka_unit_test(a_service_is_asked_for_by_what_named_it),
		cmocka_unit_test(what_is_malformed_is_refused_whole),
		cmocka_unit_test(a_name_must_fit_its_field),
		cmocka_unit_test(what_is_not_known_is_passed_over),
		cmocka_unit_test(another_nest_is_no_service),
		cmocka_unit_test(no_message_makes_it_read_past_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
