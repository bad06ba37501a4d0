// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_views.c - answers of the daemon, and the tables that a person sees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "xlbd/ctl/views.h"

static json_t *parsed(const char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, 0, &error);

	if (!value)
		fail_msg("%s: %s", error.text, text);
	return value;
}

/* Shows the answer (and the one from 2 s before) and compares screen and exit status. */
static void expect(int (*show)(const struct view *), const char *answer, const char *before,
                   int status, const char *expected)
{
	json_t *now = parsed(answer), *old = before ? parsed(before) : NULL;
	char *text = NULL;
	size_t length = 0;
	struct style style = {.out = open_memstream(&text, &length)};
	struct view view = {.style = &style, .answer = now, .before = old, .seconds = 2};
	int got = show(&view);

	fclose(style.out);
	assert_string_equal(text, expected);
	assert_int_equal(got, status);
	free(text);
	json_decref(now);
	json_decref(old);
}

static const char vips[] =
	"{\"ok\":true,\"vips\":["
	"{\"name\":\"web\",\"virtual\":\"192.0.2.10:443/tcp\",\"method\":\"direct\","
	"\"scheduler\":\"mh\",\"in_force\":true,\"side\":\"xdp\",\"reason\":null,"
	"\"reals\":{\"usable\":2,\"total\":3,\"sorry\":false},\"active\":900000,"
	"\"inactive\":2114,\"connections\":1000000,\"packets\":3020000,\"bytes\":184000},"
	"{\"name\":null,\"virtual\":\"[2001:db8::10]:53/udp\",\"method\":\"tunnel\","
	"\"scheduler\":\"wlc\",\"in_force\":true,\"side\":\"ipvs\","
	"\"reason\":\"scheduler 'wlc' is not offered\","
	"\"reals\":{\"usable\":1,\"total\":1,\"sorry\":false}}%s]}";

static void a_virtual_server_is_a_row_and_its_reason_a_line(void **state)
{
	char answer[2000];

	(void)state;
	snprintf(answer, sizeof(answer), vips, "");
	expect(view_vip, answer, NULL, 0,
	       "NAME  VIRTUAL                METHOD  SCHED  REALS   OPEN   CONNS  PACKETS  BYTES  "
	       "SIDE\n"
	       "web   192.0.2.10:443/tcp     direct  mh       2/3  902 k  1.00 M   3.02 M  184 k  "
	       "xdp\n"
	       "-     [2001:db8::10]:53/udp  tunnel  wlc      1/1      0       0        0      0  "
	       "ipvs\n"
	       "    scheduler 'wlc' is not offered\n");
}

static void an_unserved_virtual_server_is_status_2(void **state)
{
	char answer[2000];

	(void)state;
	snprintf(answer, sizeof(answer), vips,
	         ",{\"virtual\":\"192.0.2.11:80/tcp\",\"scheduler\":\"rr\",\"in_force\":false,"
	         "\"side\":\"unserved\",\"reals\":{\"usable\":0,\"total\":1}}");
	expect(view_vip, answer, NULL, 2,
	       "NAME  VIRTUAL                METHOD  SCHED  REALS   OPEN   CONNS  PACKETS  BYTES  "
	       "SIDE\n"
	       "web   192.0.2.10:443/tcp     direct  mh       2/3  902 k  1.00 M   3.02 M  184 k  "
	       "xdp\n"
	       "-     [2001:db8::10]:53/udp  tunnel  wlc      1/1      0       0        0      0  "
	       "ipvs\n"
	       "    scheduler 'wlc' is not offered\n"
	       "-     192.0.2.11:80/tcp      -       rr       0/1      0       0        0      0  "
	       "unserved\n"
	       "    declared, but not in the IPVS table\n");
}

static void without_a_usable_real_server_it_is_status_2(void **state)
{
	(void)state;
	expect(view_vip,
	       "{\"vips\":[{\"virtual\":\"192.0.2.1:80/tcp\",\"in_force\":true,\"side\":\"xdp\","
	       "\"reals\":{\"usable\":0,\"total\":2,\"sorry\":true}}]}",
	       NULL, 2,
	       "NAME  VIRTUAL           METHOD  SCHED      REALS  OPEN  CONNS  PACKETS  BYTES  "
	       "SIDE\n"
	       "-     192.0.2.1:80/tcp  -       -      0/2 sorry     0      0        0      0  "
	       "xdp\n");
}

static void nothing_is_said_in_words(void **state)
{
	(void)state;
	expect(view_vip, "{\"vips\":[]}", NULL, 0, "no virtual server is declared or in force\n");
	expect(view_real, "{}", NULL, 0, "no real server is declared or in force\n");
	expect(view_drops, "{}", NULL, 0, "no packet has been counted yet\n");
}

static void the_answer_before_makes_rates(void **state)
{
	(void)state;
	expect(view_drops,
	       "{\"verdicts\":["
	       "{\"number\":1,\"word\":\"sent\",\"action\":\"forward\",\"sentence\":\"forwarded\","
	       "\"packets\":3000,\"bytes\":200000},"
	       "{\"number\":7,\"word\":\"no-entry\",\"action\":\"pass\",\"sentence\":\"unknown\","
	       "\"packets\":5,\"bytes\":300}]}",
	       "{\"verdicts\":["
	       "{\"number\":1,\"packets\":1000,\"bytes\":100000},"
	       "{\"number\":7,\"packets\":9,\"bytes\":900}]}",
	       0,
	       "VERDICT   ACTION   PACKETS/s  BIT/s  MEANING\n"
	       "sent      forward      1,000  400 k  forwarded\n"
	       "no-entry  pass             0      0  unknown\n");
}

static void real_servers_stand_below_their_virtual_server(void **state)
{
	(void)state;
	expect(view_real,
	       "{\"reals\":["
	       "{\"vip\":\"192.0.2.1:80/tcp\",\"real\":\"10.0.0.1:80\",\"method\":\"direct\","
	       "\"weight\":100,\"state\":\"up\",\"active\":3,\"inactive\":1,\"connections\":7,"
	       "\"packets\":20,\"bytes\":2000,\"next_hop\":{\"state\":\"resolved\","
	       "\"device\":\"eth1\",\"mac\":\"02:00:00:00:00:01\"}},"
	       "{\"vip\":\"192.0.2.1:80/tcp\",\"real\":\"10.0.0.2:80\",\"method\":\"direct\","
	       "\"weight\":0,\"state\":\"drained\",\"next_hop\":{\"state\":\"resolving\","
	       "\"device\":\"eth1\",\"mac\":null}},"
	       "{\"vip\":\"192.0.2.2:80/tcp\",\"real\":\"10.0.0.1:80\",\"method\":\"direct\","
	       "\"weight\":1,\"state\":\"down\",\"next_hop\":null}]}",
	       NULL, 0,
	       "VIRTUAL           REAL         METHOD  WEIGHT  STATE    ACTIVE  INACTIVE  CONNS  "
	       "PACKETS  BYTES  DEVICE  NEXT HOP\n"
	       "192.0.2.1:80/tcp  10.0.0.1:80  direct     100  up            3         1      7    "
	       "   20  2,000  eth1    02:00:00:00:00:01\n"
	       "                  10.0.0.2:80  direct       0  drained       0         0      0    "
	       "    0      0  eth1    resolving\n"
	       "192.0.2.2:80/tcp  10.0.0.1:80  direct       1  down          0         0      0    "
	       "    0      0  -       -\n");
}

static void status_says_problems_first(void **state)
{
	(void)state;
	expect(view_status,
	       "{\"version\":\"0.1.0\",\"host\":\"lb1\",\"uptime_ms\":3600000,\"generation\":41,"
	       "\"changed_ms\":61000,\"healthy\":false,\"problems\":["
	       "{\"level\":\"error\",\"about\":\"web 192.0.2.1:80/tcp\","
	       "\"text\":\"no real server is usable\"},"
	       "{\"level\":\"warning\",\"about\":null,\"text\":\"bypass is on\"}],"
	       "\"roles\":[{\"instance\":\"VI_1\",\"state\":\"MASTER\",\"active\":true,"
	       "\"addresses\":2,\"present\":2,\"since_ms\":61000}],"
	       "\"devices\":[{\"name\":\"eth0\",\"mode\":\"native\"},"
	       "{\"name\":\"br0\",\"mode\":\"generic\"},{\"name\":\"eth1\",\"mode\":\"native\"}],"
	       "\"packets\":{\"forwarded\":1},\"per_second\":{\"forwarded\":4190000,"
	       "\"forwarded_bytes\":3000000000,\"passed\":12000,\"dropped\":8},"
	       "\"connections\":{\"live\":1204311,\"slots\":4194304,"
	       "\"resize\":{\"percent\":37,\"moved\":444000,\"to\":8388608}},"
	       "\"services\":{\"declared\":3,\"in_force\":3,\"xdp\":2,\"ipvs\":1},"
	       "\"truth\":\"kernel\",\"firewall\":\"ignore\",\"bypass\":{\"all\":true,\"vips\":[]}"
	       "}",
	       NULL, 2,
	       "xlbd 0.1.0  lb1  up 1 h 00 min  generation 41, since 1 min 01 s\n"
	       "  ! error      web 192.0.2.1:80/tcp: no real server is usable\n"
	       "  ! warning    bypass is on\n"
	       "  role         VI_1 active (last told: MASTER) for 1 min 01 s, 2 of 2 addresses "
	       "here\n"
	       "  data plane   native XDP on eth0, eth1; generic XDP on br0\n"
	       "  packets      forwarded 4.19 M/s (24.0 Gbit/s), passed 12.0 k/s, dropped 8/s\n"
	       "  connections  1.20 M of 4.19 M slots (28.7 %)\n"
	       "  moving       37 % looked at, 444 k moved, for a table of 8.39 M slots\n"
	       "  services     3 declared, 3 in force, 2 in XDP, 1 left to IPVS\n"
	       "  IPVS table   the kernel's IPVS\n"
	       "  firewall     not looked at (firewall: ignore)\n"
	       "  bypass       on for all virtual servers\n");
}

static void a_healthy_status_is_0_and_missing_fields_do_no_harm(void **state)
{
	(void)state;
	expect(view_status, "{\"healthy\":true}", NULL, 0,
	       "xlbd -  -  up 0.0 s  generation 0, since 0.0 s\n"
	       "  problems     none\n"
	       "  data plane   attached to no device\n"
	       "  packets      forwarded 0 (0 bytes), passed 0, dropped 0\n"
	       "  connections  0 of 0 slots (0.0 %)\n"
	       "  services     0 declared, 0 in force\n"
	       "  IPVS table   none\n");
}

static void an_explanation_is_numbered_steps_and_a_verdict(void **state)
{
	(void)state;
	expect(view_explain,
	       "{\"steps\":[{\"step\":\"parse\",\"result\":\"ok\",\"text\":\"IPv4 TCP\"},"
	       "{\"step\":\"vip\",\"result\":\"hit\",\"text\":\"web 192.0.2.1:80/tcp\"}],"
	       "\"verdict\":{\"word\":\"sent\",\"action\":\"forward\","
	       "\"sentence\":\"forwarded by direct routing\",\"real\":\"10.0.0.1:80\"}}",
	       NULL, 0,
	       " 1 parse       ok: IPv4 TCP\n"
	       " 2 vip         hit: web 192.0.2.1:80/tcp\n"
	       "=> forward (sent): forwarded by direct routing, to 10.0.0.1:80\n");
}

static void connections_end_with_how_many_there_are(void **state)
{
	struct table *table = view_conn_table();
	json_t *item =
		parsed("{\"client\":\"198.51.100.7:51812\",\"vip\":\"192.0.2.1:80/tcp\","
	               "\"real\":\"10.0.0.1:80\",\"state\":\"ESTABLISHED\",\"idle_ms\":3000}");
	json_t *answer = parsed("{\"shown\":1,\"matched\":1204311,\"more\":true}");
	char *text = NULL;
	size_t length = 0;
	struct style style = {.out = open_memstream(&text, &length)};

	(void)state;
	view_conn_item(table, item);
	assert_int_equal(view_conn(&(struct view){.style = &style, .answer = answer}, table), 0);
	fclose(style.out);
	assert_string_equal(
		text, "CLIENT              VIRTUAL           REAL         STATE         IDLE\n"
		      "198.51.100.7:51812  192.0.2.1:80/tcp  10.0.0.1:80  ESTABLISHED  3.0 s\n"
		      "1 of 1,204,311 connections shown; --limit shows more, a filter fewer\n");
	free(text);
	table_free(table);
	json_decref(item);
	json_decref(answer);
}

static void a_reload_shows_what_was_complained_of(void **state)
{
	(void)state;
	expect(view_reload,
	       "{\"generation\":42,\"complaints\":[{\"level\":\"warning\",\"file\":\"k.conf\","
	       "\"line\":48,\"column\":5,\"length\":3,\"text\":\"odd scheduler\","
	       "\"hint\":\"use 'mh'\",\"source\":\"    wlc\"}]}",
	       NULL, 0,
	       "k.conf:48:5: warning: odd scheduler\n"
	       "   48 |     wlc\n"
	       "      |     ^~~ use 'mh'\n"
	       "reloaded, generation 42\n");
}

static void a_bypass_says_what_it_means(void **state)
{
	(void)state;
	expect(view_bypass, "{\"on\":true,\"ipvs\":true}", NULL, 0,
	       "bypass is on for all virtual servers: new connections are IPVS's, known ones "
	       "finish in XDP\n");
	expect(view_bypass, "{\"on\":true,\"ipvs\":false,\"vips\":2}", NULL, 0,
	       "bypass is on for 2 virtual servers: known connections finish in XDP, new ones are "
	       "nobody's, the kernel has no IPVS\n");
	expect(view_bypass, "{\"on\":false,\"vips\":1}", NULL, 0,
	       "bypass is off for 1 virtual server\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_virtual_server_is_a_row_and_its_reason_a_line),
		cmocka_unit_test(an_unserved_virtual_server_is_status_2),
		cmocka_unit_test(without_a_usable_real_server_it_is_status_2),
		cmocka_unit_test(nothing_is_said_in_words),
		cmocka_unit_test(the_answer_before_makes_rates),
		cmocka_unit_test(real_servers_stand_below_their_virtual_server),
		cmocka_unit_test(status_says_problems_first),
		cmocka_unit_test(a_healthy_status_is_0_and_missing_fields_do_no_harm),
		cmocka_unit_test(an_explanation_is_numbered_steps_and_a_verdict),
		cmocka_unit_test(connections_end_with_how_many_there_are),
		cmocka_unit_test(a_reload_shows_what_was_complained_of),
		cmocka_unit_test(a_bypass_says_what_it_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
