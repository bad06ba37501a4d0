// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_judge.c - every reason to leave a service to IPVS, one at a time, word for word.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ip_vs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/trial.h"
#include "xlbd/cleanup.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/judge.h"
#include "xlbd/model/ring.h"

/* ---- no reason -------------------------------------------------------------------------------- */

static void nothing_in_the_way_is_xdp(void **state)
{
	static const char *const schedulers[] = {"mh", "sh", "dh", "rr", "wrr"};
	struct trial trial;

	(void)state;
	make_trial(&trial);
	for (size_t i = 0; i < ARRAY_SIZE(schedulers); i++) {
		strcpy(trial.service.scheduler, schedulers[i]);
		expect(&trial, SIDE_XDP, NULL);
	}
	trial.service.key.protocol = IPPROTO_UDP;
	trial.declared.key = trial.service.key;
	trial.service.flags = IP_VS_SVC_F_SCHED1 | IP_VS_SVC_F_SCHED2 | IP_VS_SVC_F_HASHED;
	trial.world.kernel_ipvs = false;
	expect(&trial, SIDE_XDP, NULL);
}

static void an_address_that_is_not_ours_is_standby(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.foreign = true;
	expect(&trial, SIDE_STANDBY, NULL);
	trial.bypassed = true;
	expect(&trial, SIDE_IPVS,
	       "switched off by hand; 'xlbctl bypass off 192.0.2.1:80/tcp' switches it on again");
}

static void nobody_to_go_to_is_xdp_all_the_same(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.reals[0].weight = trial.reals[1].weight = 0;
	expect(&trial, SIDE_XDP, NULL);
	trial.service.real_count = 0;
	expect(&trial, SIDE_XDP, NULL);
}

static void a_world_that_says_nothing_is_no_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.world = (struct judge_world){.kernel_ipvs = true, .mh_size = RING_MH_SIZE};
	expect(&trial, SIDE_XDP, NULL);
}

/* ---- what the service is ---------------------------------------------------------------------- */

static void a_firewall_mark_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.service.key = (struct xlb_service_key){.protocol = 0};
	trial.service.fwmark = 7;
	trial.declared.key = trial.service.key;
	trial.declared.fwmark = 7;
	expect_hands_off(&trial,
	                 "firewall mark 7 is set by netfilter, which XDP comes before; name "
	                 "the service by address and port for XDP");
}

static void another_protocol_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.service.key.protocol = trial.declared.key.protocol = IPPROTO_SCTP;
	expect_hands_off(&trial, "protocol 'sctp' is not offered in XDP; 'tcp' and 'udp' are");
}

static void an_ipv4_address_written_as_ipv6_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.service.family = AF_INET6;
	expect_hands_off(&trial,
	                 "the address is an IPv4 one written as IPv6, which XDP cannot tell "
	                 "from the IPv4 one; write it as IPv4");
}

static void port_zero_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.service.key.port = trial.declared.key.port = 0;
	expect_hands_off(&trial,
	                 "port 0 (every port of the address) is not offered in XDP yet; name "
	                 "the ports for XDP");
}

static void a_scheduler_without_a_ring_is_a_reason(void **state)
{
	static const char *const others[] = {"lc",  "wlc",  "sed",   "nq",   "fo",
	                                     "ovf", "lblc", "lblcr", "twos", "mine"};
	struct trial trial;
	char reason[200];

	(void)state;
	make_trial(&trial);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		strcpy(trial.service.scheduler, others[i]);
		snprintf(reason, sizeof(reason),
		         "scheduler '%s' is not offered in XDP yet; 'mh', 'sh', 'dh', 'rr' and "
		         "'wrr' are",
		         others[i]);
		expect_hands_off(&trial, reason);
	}
}

static void one_packet_scheduling_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.service.flags = IP_VS_SVC_F_ONEPACKET;
	expect_hands_off(&trial, "one-packet scheduling (ops) is not offered in XDP yet");
}

static void persistence_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.service.flags = IP_VS_SVC_F_PERSISTENT;
	trial.service.timeout = 360;
	expect_hands_off(&trial,
	                 "persistence (persistence_timeout 360) is not offered in XDP yet; "
	                 "schedulers 'mh' and 'sh' keep a client at its real server without "
	                 "it");
}

static void a_persistence_engine_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.service.flags = IP_VS_SVC_F_PERSISTENT;
	strcpy(trial.service.engine, "sip");
	expect_hands_off(&trial, "persistence engine 'sip' reads the payload, which XDP does not");
}

static void an_unknown_flag_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.service.flags = IP_VS_SVC_F_SCHED1 | IP_VS_SVC_F_SCHED3;
	expect_hands_off(&trial, "the service has flag 0x20, whose meaning xlbd does not know");
}

/* ---- what its real servers are ---------------------------------------------------------------- */

static void another_forwarding_method_is_a_reason(void **state)
{
	static const struct {
		uint8_t forwarding;
		const char *reason;
	} rows[] = {
		{XLB_FORWARD_LOCAL,
	         "real server 10.0.0.2:80 is reached by local delivery, which XDP "
	         "does not offer yet; it offers DR, NAT and TUN"},
		{4, "real server 10.0.0.2:80 is reached by an unknown method, which XDP does not "
	            "offer yet; it offers DR, NAT and TUN"},
	};
	struct trial trial;

	(void)state;
	make_trial(&trial);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		trial.reals[1].forwarding = rows[i].forwarding;
		expect_hands_off(&trial, rows[i].reason);
	}
}

static void tunnels_are_offered_unless_they_carry_checksums(void **state)
{
	static const struct {
		uint8_t type;
		uint16_t flags;
		const char *reason;
	} rows[] = {
		{IP_VS_CONN_F_TUNNEL_TYPE_IPIP, 0, NULL},
		{IP_VS_CONN_F_TUNNEL_TYPE_GUE, 0, NULL},
		{IP_VS_CONN_F_TUNNEL_TYPE_GRE, 0, NULL},
		{IP_VS_CONN_F_TUNNEL_TYPE_GRE, IP_VS_TUNNEL_ENCAP_FLAG_CSUM,
	         "real server 10.0.0.2:80 is reached by a tunnel with checksums (csum), which XDP "
	         "does not offer yet; it offers DR, NAT and TUN"},
		{IP_VS_CONN_F_TUNNEL_TYPE_GUE, IP_VS_TUNNEL_ENCAP_FLAG_REMCSUM,
	         "real server 10.0.0.2:80 is reached by a tunnel with remote checksums (remcsum), "
	         "which XDP does not offer yet; it offers DR, NAT and TUN"},
		{3, 0,
	         "real server 10.0.0.2:80 is reached by a tunnel of an unknown type, which XDP "
	         "does "
	         "not offer yet; it offers DR, NAT and TUN"},
	};
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.reals[1].forwarding = XLB_FORWARD_TUNNEL;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		trial.reals[1].tunnel_type = rows[i].type;
		trial.reals[1].tunnel_flags = rows[i].flags;
		expect(&trial, rows[i].reason ? SIDE_IPVS : SIDE_XDP, rows[i].reason);
	}
}

static void nat_needs_a_host_that_forwards(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.reals[1].forwarding = XLB_FORWARD_NAT;
	expect(&trial, SIDE_XDP, NULL);
	trial.world.forwards_ipv6 = false;
	expect(&trial, SIDE_XDP, NULL);
	trial.world.forwards_ipv4 = false;
	expect_hands_off(&trial,
	                 "real server 10.0.0.2:80 is behind NAT and this host does not forward: "
	                 "set sysctl net.ipv4.ip_forward or net.ipv6.conf.all.forwarding to 1");
}

static void ftp_behind_nat_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.service.key.port = trial.declared.key.port = htons(21);
	expect(&trial, SIDE_XDP, NULL);
	trial.reals[1].forwarding = XLB_FORWARD_NAT;
	expect_hands_off(&trial, "FTP behind NAT (real server 10.0.0.2:80) carries addresses in "
	                         "its payload, which the kernel's ip_vs_ftp rewrites");
}

static void a_tunnel_may_lead_to_the_other_family(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.reals[1].addr = parsed("2001:db8::1");
	trial.reals[1].forwarding = XLB_FORWARD_TUNNEL;
	expect(&trial, SIDE_XDP, NULL);
}

static void mixed_families_are_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.reals[1].addr = parsed("2001:db8::1");
	expect_hands_off(&trial,
	                 "real server [2001:db8::1]:80 is not of the service's address family");
}

static void an_upper_threshold_is_a_reason_a_lower_one_is_not(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.reals[1].lower_threshold = 5;
	expect(&trial, SIDE_XDP, NULL);
	trial.reals[1].upper_threshold = 500;
	expect_hands_off(&trial,
	                 "real server 10.0.0.2:80 has uthreshold 500: limits of connections "
	                 "are not counted in XDP yet");
}

static void more_real_servers_than_places_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.service.real_count = 3;
	trial.world.mh_size = 3;
	expect(&trial, SIDE_XDP, NULL);
	trial.world.mh_size = 2;
	expect_hands_off(&trial,
	                 "scheduler 'mh' cannot give everybody a place: 3 real servers and 2 "
	                 "places");
	strcpy(trial.service.scheduler, "rr");
	expect(&trial, SIDE_XDP, NULL);
}

static void a_cycle_that_no_ring_holds_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	strcpy(trial.service.scheduler, "wrr");
	trial.reals[0].weight = 131071;
	expect(&trial, SIDE_XDP, NULL);
	trial.reals[0].weight = 131072;
	expect_hands_off(&trial,
	                 "the weights need too long a ring for 'wrr': 131073 places, 131072 "
	                 "are possible; use weights with a larger common divisor");
	strcpy(trial.service.scheduler, "sh");
	expect(&trial, SIDE_XDP, NULL);
}

static void an_unknown_share_of_mh_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.world.all_services = true;
	trial.is_declared = false;
	trial.reals[1].weight = 0;
	expect_hands_off(&trial,
	                 "real server 10.0.0.2:80 has weight 0 and its share in the kernel's "
	                 "'mh' table is not known until it gets a weight");
	trial.world.mh_exact = false;
	expect(&trial, SIDE_XDP, NULL);
	trial.world.mh_exact = true;
	strcpy(trial.service.scheduler, "sh");
	expect(&trial, SIDE_XDP, NULL);
}

static void a_real_server_on_this_host_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.local = trial.reals[1].addr;
	expect_hands_off(&trial, "real server 10.0.0.2:80 is an address of this host");
}

static void a_standby_that_is_a_real_server_itself_stands_by(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.local = trial.reals[1].addr;
	trial.foreign = true;
	expect(&trial, SIDE_STANDBY, NULL);
	trial.world.kernel_ipvs = false;
	expect(&trial, SIDE_STANDBY, NULL);
	trial.foreign = false;
	expect(&trial, SIDE_UNSERVED, "real server 10.0.0.2:80 is an address of this host");
}

static void a_real_server_that_xdp_cannot_reach_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.route = "no route to it";
	expect_hands_off(&trial, "real server 10.0.0.1:80: no route to it");
}

static void more_real_servers_than_ids_is_a_reason(void **state)
{
	struct service_set *in_force = service_set_new(), *set = NULL;
	struct real_server *reals = calloc(REALS_MAX, sizeof(*reals));
	struct trial trial;

	(void)state;
	assert_non_null(in_force);
	assert_non_null(reals);
	make_trial(&trial);
	trial.world.all_services = true;
	for (unsigned i = 0; i < REALS_MAX; i++) {
		reals[i] = trial.reals[0];
		reals[i].addr = addr_from_ipv4(htonl(0x0a000000 + i));
	}
	strcpy(trial.service.scheduler, "rr");
	trial.service.reals = reals;
	for (unsigned i = 0; i < 9; i++) {
		trial.service.key.port = htons(1000 + i);
		trial.service.real_count = i == 7 ? REALS_MAX : i == 8 ? REALS_MAX - 1 : REALS_MAX;
		assert_int_equal(service_set_add(in_force, &trial.service), 0);
	}
	assert_int_equal(judge(NULL, in_force, &trial.world, &set), 0);
	/* 7 x 4096 + 4096 is one more than there are ids, 7 x 4096 + 4095 are all */
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(service_set_get(set, i)->side, i == 7 ? SIDE_IPVS : SIDE_XDP);
	assert_string_equal(service_set_get(set, 7)->reason, "more than 32767 real servers in all");
	service_set_free(set);
	service_set_free(in_force);
	free(reals);
}

/* ---- what keepalived and the operator say ----------------------------------------------------- */

static void declared_but_not_in_force_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.is_in_force = false;
	expect(&trial, SIDE_UNSERVED,
	       "keepalived declares it but IPVS does not have it: is keepalived running, and can "
	       "the kernel load the module of scheduler 'mh'?");
	/* our own table refuses what XDP cannot do: then that is the reason */
	trial.world.kernel_ipvs = false;
	expect(&trial, SIDE_UNSERVED,
	       "keepalived declares it but the IPVS table does not have it: is keepalived "
	       "running? After a refusal it must be restarted: a reload only edits the service");
	strcpy(trial.declared.scheduler, "wlc");
	expect(&trial, SIDE_UNSERVED,
	       "scheduler 'wlc' is not offered in XDP yet; 'mh', 'sh', 'dh', 'rr' and 'wrr' are");
}

static void in_force_but_not_declared_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.is_declared = false;
	expect_hands_off(&trial,
	                 "keepalived.conf does not declare it; 'services: all' in xlbd.yaml "
	                 "takes all that IPVS has");
	trial.world.all_services = true;
	expect(&trial, SIDE_XDP, NULL);
}

static bool answer_declared_before(void *context, const struct xlb_service_key *key)
{
	struct trial *trial = context;

	return memcmp(key, &trial->service.key, sizeof(*key)) == 0;
}

static void what_was_declared_stays_so_as_long_as_it_is_in_force(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.is_declared = false;
	trial.world.declared_before = answer_declared_before;
	expect(&trial, SIDE_XDP, NULL);
}

static void ipv6_without_ipvs_in_the_kernel_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.is_in_force = false;
	trial.world.kernel_ipvs = false;
	trial.declared.family = AF_INET6;
	trial.declared.real_count = 0;
	trial.declared.key.addr = parsed("2001:db8::1");
	expect(&trial, SIDE_UNSERVED,
	       "IPv6 needs IPVS in the kernel: the interface by which xlbd stands in for it "
	       "carries IPv4 only");
}

static void no_readable_configuration_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.no_configuration = true;
	expect_hands_off(&trial, "keepalived.conf could not be read, so nothing declares it; "
	                         "'services: all' in xlbd.yaml takes all that IPVS has");
	trial.world.all_services = true;
	expect(&trial, SIDE_XDP, NULL);
}

static void a_doubtful_declaration_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.doubt = "${_RANDOM} in its block gives every process another value";
	expect_hands_off(&trial, trial.doubt);
}

static void bypass_by_hand_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.bypassed = true;
	expect_hands_off(&trial,
	                 "switched off by hand; 'xlbctl bypass off 192.0.2.1:80/tcp' switches "
	                 "it on again");
}

/* ---- what the system is like ------------------------------------------------------------------ */

static void sysctls_that_xdp_does_not_honour_are_reasons(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.world.conntrack = 1;
	expect_hands_off(&trial,
	                 "sysctl net.ipv4.vs.conntrack is on: IPVS makes conntrack entries, "
	                 "XDP does not");
	trial.world.conntrack = 0;
	trial.world.drop_entry = 1;
	expect_hands_off(&trial, "sysctl net.ipv4.vs.drop_entry is not 0: that defence is IPVS's "
	                         "alone");
	trial.world.drop_entry = 0;
	trial.world.drop_packet = 3;
	expect_hands_off(&trial, "sysctl net.ipv4.vs.drop_packet is not 0: that defence is IPVS's "
	                         "alone");
	trial.world.drop_packet = 0;
	trial.world.schedule_icmp = trial.world.cache_bypass = trial.world.backup_only = 1;
	expect(&trial, SIDE_XDP, NULL);
}

static void sysctls_of_tcp_are_reasons_for_tcp_alone(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.world.secure_tcp = 1;
	expect_hands_off(&trial, "sysctl net.ipv4.vs.secure_tcp is not 0: that defence is IPVS's "
	                         "alone");
	trial.world.secure_tcp = 0;
	trial.world.sloppy_tcp = 1;
	expect_hands_off(&trial, "sysctl net.ipv4.vs.sloppy_tcp is on, which is not offered in XDP "
	                         "yet");
	trial.world.secure_tcp = 3;
	trial.service.key.protocol = trial.declared.key.protocol = IPPROTO_UDP;
	expect(&trial, SIDE_XDP, NULL);
}

static void a_firewall_rule_is_a_reason(void **state)
{
	struct trial trial;

	(void)state;
	make_trial(&trial);
	trial.firewall = "rule 'tcp dport 80 drop' of chain 'input'";
	expect_hands_off(&trial, trial.firewall);
}

static void a_very_long_reason_is_cut_not_lost(void **state)
{
	char text[4000];
	struct service_set *set;
	struct trial trial;

	(void)state;
	make_trial(&trial);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	trial.firewall = text;
	expect(&trial, SIDE_IPVS, text);
	trial.firewall = NULL;
	trial.route = text;
	set = judged(&trial);
	assert_int_equal(
		strncmp(service_set_get(set, 0)->reason, "real server 10.0.0.1:80: xxx", 28), 0);
	service_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_in_the_way_is_xdp),
		cmocka_unit_test(an_address_that_is_not_ours_is_standby),
		cmocka_unit_test(nobody_to_go_to_is_xdp_all_the_same),
		cmocka_unit_test(a_world_that_says_nothing_is_no_reason),
		cmocka_unit_test(a_firewall_mark_is_a_reason),
		cmocka_unit_test(another_protocol_is_a_reason),
		cmocka_unit_test(an_ipv4_address_written_as_ipv6_is_a_reason),
		cmocka_unit_test(port_zero_is_a_reason),
		cmocka_unit_test(a_scheduler_without_a_ring_is_a_reason),
		cmocka_unit_test(one_packet_scheduling_is_a_reason),
		cmocka_unit_test(persistence_is_a_reason),
		cmocka_unit_test(a_persistence_engine_is_a_reason),
		cmocka_unit_test(an_unknown_flag_is_a_reason),
		cmocka_unit_test(another_forwarding_method_is_a_reason),
		cmocka_unit_test(tunnels_are_offered_unless_they_carry_checksums),
		cmocka_unit_test(nat_needs_a_host_that_forwards),
		cmocka_unit_test(ftp_behind_nat_is_a_reason),
		cmocka_unit_test(a_tunnel_may_lead_to_the_other_family),
		cmocka_unit_test(mixed_families_are_a_reason),
		cmocka_unit_test(an_upper_threshold_is_a_reason_a_lower_one_is_not),
		cmocka_unit_test(more_real_servers_than_places_is_a_reason),
		cmocka_unit_test(a_cycle_that_no_ring_holds_is_a_reason),
		cmocka_unit_test(an_unknown_share_of_mh_is_a_reason),
		cmocka_unit_test(a_real_server_on_this_host_is_a_reason),
		cmocka_unit_test(a_standby_that_is_a_real_server_itself_stands_by),
		cmocka_unit_test(a_real_server_that_xdp_cannot_reach_is_a_reason),
		cmocka_unit_test(more_real_servers_than_ids_is_a_reason),
		cmocka_unit_test(declared_but_not_in_force_is_a_reason),
		cmocka_unit_test(in_force_but_not_declared_is_a_reason),
		cmocka_unit_test(what_was_declared_stays_so_as_long_as_it_is_in_force),
		cmocka_unit_test(ipv6_without_ipvs_in_the_kernel_is_a_reason),
		cmocka_unit_test(no_readable_configuration_is_a_reason),
		cmocka_unit_test(a_doubtful_declaration_is_a_reason),
		cmocka_unit_test(bypass_by_hand_is_a_reason),
		cmocka_unit_test(sysctls_that_xdp_does_not_honour_are_reasons),
		cmocka_unit_test(sysctls_of_tcp_are_reasons_for_tcp_alone),
		cmocka_unit_test(a_firewall_rule_is_a_reason),
		cmocka_unit_test(a_very_long_reason_is_cut_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
