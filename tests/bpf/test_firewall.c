// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_firewall.c - rule sets as nft and iptables load them into the real kernel, and what they mean for a virtual server.
 *
 * One row is one rule set in a network namespace of its own, the service it is asked for, and the sentence that is expected: NULL for
 * "accepted for every source", else a part of the reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>

#include "tests/bpf/netlab.h"
#include "xlbd/firewall.h"
#include "xlbd/model/addr.h"

#define NFT(rules) "nft -f - <<'EOF'\n" rules "\nEOF"
#define INPUT(rules)                                                                            \
	NFT("table inet filter { chain input { type filter hook input priority 0; " rules "\n}" \
	    "\n}")
#define POLICY_DROP "policy drop; ct state established,related accept; iif lo accept; "
#define V4          "192.0.2.10:80/tcp"
#define V6          "[2001:db8::10]:80/tcp"

struct rule_case {
	const char *name;
	const char *command; /* shell */
	const char *service;
	const char *reason; /* part of it; NULL: accepted */
};

static const struct rule_case cases[] = {
	/* accepted */
	{"no rules at all", "true", V4, NULL},
	{"an empty chain", INPUT(""), V4, NULL},
	{"policy drop and the port accepted", INPUT(POLICY_DROP "tcp dport 80 accept"), V4, NULL},
	{"the same for IPv6", INPUT(POLICY_DROP "tcp dport 80 accept"), V6, NULL},
	{"the port in a set", INPUT(POLICY_DROP "tcp dport { 22, 80, 443 } accept"), V4, NULL},
	{"the port in a range", INPUT(POLICY_DROP "tcp dport 80-89 accept"), V4, NULL},
	{"the port in a set of ranges", INPUT(POLICY_DROP "tcp dport { 22, 70-90, 443 } accept"),
         V4, NULL},
	{"address and port", INPUT(POLICY_DROP "ip daddr 192.0.2.10 tcp dport 80 accept"), V4,
         NULL},
	{"network and port", INPUT(POLICY_DROP "ip daddr 192.0.2.0/25 tcp dport 80 accept"), V4,
         NULL},
	{"an odd network", INPUT(POLICY_DROP "ip daddr 192.0.2.8/30 accept"), V4, NULL},
	{"network of IPv6", INPUT(POLICY_DROP "ip6 daddr 2001:db8::/32 tcp dport 80 accept"), V6,
         NULL},
	{"address and port together",
         INPUT(POLICY_DROP "ip daddr . tcp dport { 192.0.2.10 . 80 } accept"), V4, NULL},
	{"intervals together",
         INPUT(POLICY_DROP "ip daddr . tcp dport { 192.0.2.0/24 . 79-81 } accept"), V4, NULL},
	{"protocol alone", INPUT(POLICY_DROP "meta l4proto { tcp, udp } accept"), V4, NULL},
	{"another port dropped", INPUT("tcp dport 81 drop"), V4, NULL},
	{"another protocol dropped", INPUT("udp dport 80 drop"), V4, NULL},
	{"another address dropped", INPUT("ip daddr 192.0.2.11 drop"), V4, NULL},
	{"the other family dropped", INPUT("ip6 daddr ::/0 drop; meta nfproto ipv6 drop"), V4,
         NULL},
	{"lo dropped", INPUT("iifname lo drop; iif lo drop"), V4, NULL},
	{"not lo accepted", INPUT(POLICY_DROP "iifname != lo tcp dport 80 accept"), V4, NULL},
	{"everything but the port dropped", INPUT("tcp dport != 80 drop"), V4, NULL},
	{"accepted before the drop", INPUT("tcp dport 80 accept; drop"), V4, NULL},
	{"counted and logged", INPUT("counter; log; tcp dport 80 counter accept; counter drop"), V4,
         NULL},
	{"some sources accepted, then all",
         INPUT(POLICY_DROP "ip saddr 10.0.0.0/8 accept; tcp dport 80 accept"), V4, NULL},
	{"a chain that accepts",
         NFT("table inet filter { chain web { tcp dport 80 accept; }; chain input { type filter "
             "hook input priority 0; policy drop; jump web;\n}\n}"),
         V4, NULL},
	{"a map to verdicts", INPUT(POLICY_DROP "tcp dport vmap { 22 : drop, 80 : accept }"), V4,
         NULL},
	{"a map that jumps",
         NFT("table inet filter { chain web { accept; }; chain input { type filter hook input "
             "priority 0; policy drop; meta l4proto vmap { tcp : goto web, udp : drop };\n}\n}"),
         V4, NULL},
	{"a chain that returns early for the port",
         NFT("table inet filter { chain block { tcp dport 80 return; drop; }; chain input { type "
             "filter hook input priority 0; jump block;\n}\n}"),
         V4, NULL},
	{"forwarding dropped",
         NFT("table inet filter { chain f { type filter hook forward priority "
             "0; policy drop;\n}\n}"),
         V4, NULL},
	{"a table that sleeps",
         NFT("table inet filter { flags dormant; chain input { type filter hook input priority 0; "
             "policy drop;\n}\n}"),
         V4, NULL},
	{"NAT of another port",
         NFT("table ip nat { chain prerouting { type nat hook prerouting priority -100; tcp dport "
             "8080 redirect to :80;\n}\n}"),
         V4, NULL},
	{"masquerading on the way out",
         NFT("table ip nat { chain postrouting { type nat hook postrouting priority 100; "
             "masquerade;\n}\n}"),
         V4, NULL},
	{"conntrack alone",
         NFT("table inet raw { chain prerouting { type filter hook prerouting "
             "priority -300; ct state new counter; notrack;\n}\n}"),
         V4, NULL},
	{"bridges",
         NFT("table bridge filter { chain input { type filter hook input priority 0; "
             "policy drop;\n}\n}"),
         V4, NULL},
	{"iptables-nft accepts the port",
         "iptables-nft -A INPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT && "
         "iptables-nft -A INPUT -p tcp --dport 80 -j ACCEPT && iptables-nft -P INPUT DROP",
         V4, NULL},
	{"iptables-nft accepts ports",
         "iptables-nft -A INPUT -p tcp -m multiport --dports 22,70:90,443 -m comment --comment "
         "web -j ACCEPT && iptables-nft -A INPUT -j REJECT",
         V4, NULL},
	{"iptables-nft rejects another port", "iptables-nft -A INPUT -p tcp --dport 8080 -j REJECT",
         V4, NULL},
	{"iptables-nft and IPv6", "iptables-nft -P INPUT DROP", V6, NULL},
	{"iptables-legacy with empty tables", "iptables-legacy -L >/dev/null", V4, NULL},
	/* refused */
	{"policy drop", INPUT("policy drop;"), V4,
         "firewall: table inet filter chain input: policy drop"},
	{"only what is established", INPUT(POLICY_DROP), V4, "chain input: policy drop"},
	{"the port dropped", INPUT("tcp dport 80 drop"), V4,
         "firewall: table inet filter chain input rule handle 2: tcp dport 80 drop"},
	{"the port rejected", INPUT("tcp dport 80 reject"), V4, "tcp dport 80 reject"},
	{"some sources dropped", INPUT("ip saddr 198.51.100.0/24 drop"), V4,
         "ip saddr 198.51.100.0/24 drop"},
	{"some sources of IPv6 dropped", INPUT("ip6 saddr 2001:db8:bad::/48 drop"), V6,
         "ip6 saddr 2001:db8:bad::/48 drop"},
	{"only some sources accepted", INPUT(POLICY_DROP "ip saddr 10.0.0.0/8 tcp dport 80 accept"),
         V4, "policy drop"},
	{"only some interfaces accepted", INPUT(POLICY_DROP "iifname \"eth0\" tcp dport 80 accept"),
         V4, "policy drop"},
	{"an interface dropped", INPUT("iifname \"eth9\" drop"), V4, "iifname \"eth9\" drop"},
	{"a blacklist",
         NFT("table inet filter { set bad { type ipv4_addr; flags interval; elements = { "
             "203.0.113.0/24 } }; chain input { type filter hook input priority 0; ip saddr @bad "
             "drop;\n}\n}"),
         V4, "ip saddr @bad drop"},
	{"an empty blacklist that may fill",
         NFT("table inet filter { set bad { type ipv4_addr; flags dynamic,timeout; timeout 1m; }; "
             "chain input { type filter hook input priority 0; ip saddr @bad drop;\n}\n}"),
         V4, "ip saddr @bad drop"},
	{"the port in a dynamic set",
         NFT("table inet filter { set open { type inet_service; flags dynamic,timeout; elements = "
             "{ 80 } }; chain input { type filter hook input priority 0; policy drop; tcp dport "
             "@open accept;\n}\n}"),
         V4, "policy drop"},
	{"a limit", INPUT("tcp dport 80 limit rate over 100/second drop"), V4,
         "tcp dport 80 limit drop"},
	{"invalid dropped", INPUT("ct state invalid drop"), V4, "ct state invalid drop"},
	{"invalid dropped by a map",
         INPUT("ct state vmap { established : accept, invalid : drop }"), V4, "ct state vmap"},
	{"drop behind a jump",
         NFT("table inet filter { chain deep { ip saddr 10.0.0.1 drop; }; chain mid { tcp dport "
             "80 jump deep; }; chain input { type filter hook input priority 0; goto mid;\n}\n}"),
         V4, "table inet filter chain deep rule handle"},
	{"a second base chain",
         NFT("table ip one { chain input { type filter hook input priority 0; accept;\n}\n}\n"
             "table ip two { chain input { type filter hook input priority 10; tcp dport 80 drop; "
             "\n}\n}"),
         V4, "table ip two chain input"},
	{"redirected",
         NFT("table ip nat { chain prerouting { type nat hook prerouting priority -100; tcp dport "
             "80 redirect to :8080;\n}\n}"),
         V4, "tcp dport 80 redir (changes the destination)"},
	{"DNAT of the address",
         NFT("table ip nat { chain prerouting { type nat hook prerouting priority -100; ip daddr "
             "192.0.2.10 dnat to 10.0.0.1;\n}\n}"),
         V4, "ip daddr 192.0.2.10 nat (changes an address)"},
	{"a mark",
         NFT("table ip mangle { chain prerouting { type filter hook prerouting priority "
             "-150; tcp dport 80 meta mark set 1;\n}\n}"),
         V4, "changes the packet's mark"},
	{"dropped before it is tracked",
         NFT("table inet raw { chain prerouting { type filter hook prerouting priority -300; "
             "fib saddr oif missing drop;\n}\n}"),
         V4, "chain prerouting rule handle 2:"},
	{"dropped at ingress",
         NFT("table netdev early { chain in { type filter hook ingress device one priority 0; ip "
             "saddr 10.66.0.0/16 drop;\n}\n}"),
         V4, "table netdev early chain in"},
	{"dropped on the way out",
         NFT("table inet filter { chain output { type filter hook output priority 0; policy drop; "
             "oif lo accept;\n}\n}"),
         V4, "table inet filter chain output: policy drop"},
	{"queued", "iptables-nft -A INPUT -p tcp --dport 80 -j NFQUEUE", V4,
         "-j NFQUEUE (hands packets to a program)"},
	{"with a comment", INPUT("tcp dport 80 drop comment \"no web\""), V4,
         "tcp dport 80 drop comment \"no web\""},
	{"iptables-nft rejects the rest",
         "iptables-nft -A INPUT -p tcp --dport 22 -j ACCEPT && iptables-nft -A INPUT -j REJECT", V4,
         "table ip filter chain INPUT rule handle"},
	{"iptables-nft limits",
         "iptables-nft -A INPUT -p tcp --dport 80 -m hashlimit --hashlimit-name "
         "x --hashlimit-above 10/sec -j DROP",
         V4, "-m hashlimit drop"},
	{"iptables-nft drops a source of its own", "iptables-nft -A INPUT -s 10.1.2.3 -j DROP", V4,
         "ip saddr 10.1.2.3 drop"},
	{"iptables-nft marks",
         "iptables-nft -t mangle -A PREROUTING -p tcp --dport 80 -j MARK "
         "--set-mark 1",
         V4, "-j MARK (changes the packet's mark)"},
	{"iptables-nft for IPv6", "ip6tables-nft -P INPUT DROP", V6,
         "table ip6 filter chain INPUT: policy drop"},
	{"iptables-legacy with a rule", "iptables-legacy -A INPUT -p tcp --dport 22 -j DROP", V4,
         "iptables-legacy has rules in table filter: not understood"},
	{"iptables-legacy with a policy", "iptables-legacy -P INPUT DROP", V4,
         "iptables-legacy has rules"},
	{"ip6tables-legacy with a rule", "ip6tables-legacy -A INPUT -j DROP", V6,
         "ip6tables-legacy has rules in table filter"},
};

static struct service service_of(const char *text)
{
	struct service service = {};
	struct xlb_addr addr = {};
	uint16_t port = 0;
	uint8_t protocol = 0;

	assert_true(endpoint_parse(text, &addr, &port, &protocol));
	service.key.addr = addr;
	service.key.port = htobe16(port);
	service.key.protocol = protocol;
	service.family = addr_family(&addr);
	return service;
}

static bool as_expected(const struct rule_case *test)
{
	_cleanup_(firewall_freep) struct firewall *firewall = NULL;
	struct service service = service_of(test->service);
	const char *reason;
	int result;

	netlab_again();
	netlab_run("ip link add name one type veth peer name two");
	if (!netlab_try("%s", test->command))
		return false;
	result = firewall_read(&firewall);
	if (result < 0) {
		printf("'%s': cannot be read: %s\n", test->name, strerror(-result));
		return false;
	}
	reason = firewall_reason(firewall, &service);
	if (!reason == !test->reason && (!reason || strstr(reason, test->reason)))
		return true;
	printf("'%s': expected %s\n%*s got %s\n", test->name,
	       test->reason ? test->reason : "accepted", (int)strlen(test->name) + 8, "",
	       reason ? reason : "accepted");
	return false;
}

static void rule_sets_mean_what_they_say(void **state)
{
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		failed += !as_expected(&cases[i]);
	printf("%zu rule sets, %zu not as expected\n", ARRAY_SIZE(cases), failed);
	assert_int_equal(failed, 0);
}

static uint64_t generation(void)
{
	struct netsocket *socket = NULL;
	uint64_t number = 0, again = 0;

	assert_int_equal(firewall_generation(&socket, &number), 0);
	assert_non_null(socket);
	assert_int_equal(firewall_generation(&socket, &again), 0);
	assert_int_equal(number, again);
	netsocket_close(socket);
	return number;
}

static void the_generation_changes_with_the_rules(void **state)
{
	uint64_t before, after;

	(void)state;
	netlab_again();
	before = generation();
	assert_int_equal(generation(), before);
	netlab_run("nft add table inet filter");
	after = generation();
	assert_int_not_equal(after, before);
	netlab_run(
		"nft add set inet filter s '{ type ipv4_addr; }' && nft add element inet filter s "
		"'{ 10.0.0.1 }'");
	assert_int_not_equal(generation(), after);
	after = generation();
	netlab_run("iptables-legacy -L >/dev/null");
	assert_int_not_equal(generation(), after);
	after = generation();
	netlab_run("iptables-legacy -P INPUT DROP");
	assert_int_not_equal(generation(), after);
}

static void asking_for_the_generation_is_cheap(void **state)
{
	enum { TIMES = 1000 };
	double cpu;

	(void)state;
	netlab_again();
	netlab_run(INPUT(POLICY_DROP "tcp dport 80 accept"));
	cpu = netlab_cpu_ms();
	for (int i = 0; i < TIMES; i++)
		(void)generation();
	cpu = (netlab_cpu_ms() - cpu) / TIMES;
	printf("firewall.generation: %.1f us of CPU\n", cpu * 1e3);
	assert_true(cpu < 1);
}

static void many_rules_and_services_are_judged_in_time(void **state)
{
	enum { SERVICES = 1000 };
	_cleanup_(firewall_freep) struct firewall *firewall = NULL;
	struct service service = service_of(V4);
	double cpu;

	(void)state;
	netlab_again();
	netlab_run(
		"(echo 'table inet filter { chain input { type filter hook input priority 0;'; for "
		"i in $(seq 10001 20000); do echo \"ip daddr 10.0.0.1 tcp dport $i drop\"; done; "
		"printf '}\\n}\\n') | nft -f -");
	cpu = netlab_cpu_ms();
	assert_int_equal(firewall_read(&firewall), 0);
	printf("firewall.read.10000: %.1f ms of CPU\n", netlab_cpu_ms() - cpu);
	cpu = netlab_cpu_ms();
	for (int i = 0; i < SERVICES; i++) {
		service.key.port = htobe16((uint16_t)(100 + i));
		assert_null(firewall_reason(firewall, &service));
	}
	printf("firewall.judge.10000: %.3f ms of CPU a service, of one address\n",
	       (netlab_cpu_ms() - cpu) / SERVICES);
	cpu = netlab_cpu_ms();
	for (int i = 0; i < SERVICES; i++) {
		service.key.addr.word[3] = htobe32(0xc0000200u + (uint32_t)i % 200);
		assert_null(firewall_reason(firewall, &service));
	}
	printf("firewall.judge.10000: %.3f ms of CPU a service, of 200 addresses\n",
	       (netlab_cpu_ms() - cpu) / SERVICES);
	cpu = netlab_cpu_ms();
	for (int i = 0; i < SERVICES; i++) {
		service.key.addr.word[3] = htobe32(0xc0000200u + (uint32_t)i % 200);
		assert_null(firewall_reason(firewall, &service));
	}
	printf("firewall.judge.10000: %.4f ms of CPU a service, asked again\n",
	       (netlab_cpu_ms() - cpu) / SERVICES);
}

/* One answer serves many services, but never one that the rules tell apart. */
static void services_share_an_answer_only_if_no_rule_tells_them_apart(void **state)
{
	static const struct {
		const char *rules;
		const char *service;
		bool accepted;
	} rows[] = {
		{INPUT("ip daddr 192.0.2.11 tcp dport 80 drop; udp dport 53 drop"), NULL, false},
		{NULL, "192.0.2.10:80/tcp", true},
		{NULL, "192.0.2.11:80/tcp", false},
		{NULL, "192.0.2.11:81/tcp", true},
		{NULL, "192.0.2.12:80/tcp", true},
		{NULL, "192.0.2.11:80/udp", true},
		{NULL, "192.0.2.11:53/udp", false},
		{NULL, "192.0.2.10:53/tcp", true},
		{NULL, "[2001:db8::11]:80/tcp", true},
		{NULL, "[2001:db8::11]:53/udp", false},
		{INPUT("tcp dport 80 drop; ip daddr 192.0.2.13 drop"), NULL, false},
		{NULL, "192.0.2.10:80/tcp", false},
		{NULL, "192.0.2.11:80/tcp", false},
		{NULL, "192.0.2.11:81/tcp", true},
		{NULL, "192.0.2.13:81/tcp", false},
	};
	struct firewall *firewall = NULL;

	(void)state;
	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct service service;

			if (rows[i].rules) {
				netlab_again();
				netlab_run("%s", rows[i].rules);
				firewall_free(firewall);
				firewall = NULL;
				assert_int_equal(firewall_read(&firewall), 0);
				continue;
			}
			service = service_of(rows[i].service);
			for (int again = 0; again < 2; again++)
				if (!firewall_reason(firewall, &service) != rows[i].accepted)
					fail_msg("%s, round %zu", rows[i].service, round);
		}
	firewall_free(firewall);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rule_sets_mean_what_they_say),
		cmocka_unit_test(the_generation_changes_with_the_rules),
		cmocka_unit_test(asking_for_the_generation_is_cheap),
		cmocka_unit_test(services_share_an_answer_only_if_no_rule_tells_them_apart),
		cmocka_unit_test(many_rules_and_services_are_judged_in_time),
	};

	netlab_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
