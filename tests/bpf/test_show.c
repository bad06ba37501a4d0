// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_show.c - what the control socket shows of a loaded data plane: vip, real, conn, explain,
 * drops, status, and the problems.
 *
 * The data plane is a real one (lab.h): services go in by plan and apply, packets by
 * BPF_PROG_TEST_RUN, next hops come from the kernel of a network namespace. struct xlbd is filled
 * by hand with these modules. Where a packet is sent after an explanation, it must go where the
 * explanation said.
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "tests/bpf/lab.h"
#include "xlbd/control/commands.h"
#include "xlbd/control/explain.h"
#include "xlbd/control/problems.h"
#include "xlbd/control/show.h"
#include "xlbd/control/show_flows.h"
#include "xlbd/control/show_services.h"
#include "xlbd/model/addr.h"
#include "xlbd/xlbd.h"

static const struct lab_service services[] = {
	{"192.0.2.10:80/tcp", "mh", 0x10, .real = {"10.0.0.1", "10.0.0.2*3"}},
	{"192.0.2.11:53/udp", "rr", .real = {"10.0.0.1"}},
	{"[2001:db8::10]:80/tcp", "rr", .real = {"2001:db8:1::1"}},
	{"192.0.2.12:80/tcp", "rr", .real = {"10.0.0.1"}, .side = SIDE_STANDBY},
	{"192.0.2.13:80/tcp", "rr", .real = {NULL}},
	{"192.0.2.14:80/tcp", "mh", 0x18, .real = {"10.0.0.1", "10.0.0.2", "10.0.0.3*0"}},
	{"192.0.2.15:80/tcp", "mh", 0x10, .real = {"10.0.0.1", "10.0.0.2", "10.0.0.3*0"}},
	{"192.0.2.16:80/tcp", "wrr", .real = {"10.0.0.1", "10.0.0.2*3"}},
	{.endpoint = NULL},
};

static const struct control_command commands[] = {
	{.name = "status", .run = show_status},
	{.name = "drops", .run = show_drops},
	{.name = "vip", .argument = {{"vip", 's', false}}, .run = show_vip},
	{.name = "real", .argument = {{"vip", 's', false}, {"real", 's', false}}, .run = show_real},
	{.name = "conn",
         .argument = {{"client", 's', false},
                      {"vip", 's', false},
                      {"real", 's', false},
                      {"state", 's', false},
                      {"limit", 'i', false}},
         .run = show_conn},
	{.name = "explain",
         .argument = {{"client", 's', true}, {"vip", 's', true}},
         .run = explain},
	{},
};

struct world {
	struct lab *lab;
	struct xlbd xlbd;
	struct commands context;
};

static void nothing(void *context)
{
	(void)context;
}

static void no_hop(void *context, const struct xlb_addr *addr, const struct next_hop *hop)
{
	(void)context;
	(void)addr;
	(void)hop;
}

static void find_next_hops(struct xlbd *xlbd)
{
	struct xlb_addr targets[4];

	assert_true(addr_parse("10.0.0.1", &targets[0]));
	assert_true(addr_parse("10.0.0.2", &targets[1]));
	assert_true(addr_parse("10.0.0.3", &targets[2]));
	assert_true(addr_parse("2001:db8:1::1", &targets[3]));
	assert_int_equal(
		system("ip addr add 10.0.0.254/24 dev other && "
	               "ip addr add 2001:db8:1::ffff/64 dev other nodad && "
	               "ip neigh add 10.0.0.1 lladdr 02:00:00:00:01:01 dev other nud permanent && "
	               "ip neigh add 10.0.0.2 lladdr 02:00:00:00:01:02 dev other nud permanent && "
	               "ip neigh add 2001:db8:1::1 lladdr 02:00:00:00:01:01 dev other "
	               "nud permanent"),
		0);
	xlbd->base = event_base_new();
	assert_int_equal(network_start(xlbd->base, nothing, NULL, &xlbd->network), 0);
	assert_int_equal(
		neighbours_start(xlbd->base, xlbd->network, no_hop, NULL, &xlbd->neighbours), 0);
	assert_int_equal(neighbours_set(xlbd->neighbours, targets, 4), 0);
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct xlbd *xlbd = &world->xlbd;

	world->lab = lab_open();
	lab_serve(world->lab, services);
	xlbd->dataplane = world->lab->dataplane;
	xlbd->counters = world->lab->counters;
	xlbd->apply = world->lab->apply;
	xlbd->flows = world->lab->flows;
	xlbd->services = world->lab->services;
	find_next_hops(xlbd);
	world->context.xlbd = xlbd;
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	neighbours_stop(world->xlbd.neighbours);
	network_stop(world->xlbd.network);
	event_base_free(world->xlbd.base);
	lab_close(world->lab);
	free(world);
	return 0;
}

/* Asks; the answer, to be freed. Items of a stream are put into "items". */
static json_t *ask(struct world *world, const char *request)
{
	struct control_call call = {.context = &world->context};
	json_t *items = json_array(), *item;

	command_run(commands, request, strlen(request), &call);
	while (call.stream.next && (item = call.stream.next(call.stream.state)))
		json_array_append_new(items, item);
	if (call.stream.release)
		call.stream.release(call.stream.state);
	json_object_set_new(call.answer, "items", items);
	return call.answer;
}

/* "vips.0.reals.usable" */
static const json_t *at(const json_t *value, const char *path)
{
	char copy[200], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((word = strsep(&rest, ".")))
		value = json_is_array(value) ? json_array_get(value, (size_t)atoi(word))
		                             : json_object_get(value, word);
	return value;
}

static void expect_number(const json_t *answer, const char *path, json_int_t expected)
{
	const json_t *value = at(answer, path);

	if (!json_is_integer(value))
		fail_msg("no number at %s", path);
	if (json_integer_value(value) != expected)
		fail_msg("%s is %lld, not %lld", path, (long long)json_integer_value(value),
		         (long long)expected);
}

static void expect_text(const json_t *answer, const char *path, const char *expected)
{
	const char *value = json_string_value(at(answer, path));

	if (!value)
		fail_msg("no text at %s", path);
	if (strcmp(value, expected) != 0)
		fail_msg("%s is '%s', not '%s'", path, value, expected);
}

static void open_connection(struct world *world, uint16_t port, const char *vip, uint8_t protocol)
{
	struct packet_spec packet = {.dest = vip,
	                             .source_port = port,
	                             .protocol = protocol,
	                             .dest_port = protocol == IPPROTO_UDP ? 53 : 80,
	                             .ipv6 = strchr(vip, ':') != NULL,
	                             .payload = protocol == IPPROTO_UDP ? 10 : 0};
	struct lab_result result = lab_send(world->lab, &packet);

	if (result.verdict != XLB_SENT && result.verdict != XLB_REDIRECTED)
		fail_msg("%s from port %u: verdict %d", vip, port, result.verdict);
}

static void look(struct world *world)
{
	lab_sweep(world->lab);
	world->xlbd.census = world->lab->census;
	world->xlbd.services = world->lab->services;
}

static void a_virtual_server_shows_what_its_packets_did(void **state)
{
	struct world *world = *state;
	json_t *answer;

	for (uint16_t port = 1000; port < 1010; port++)
		open_connection(world, port, "192.0.2.10", 0);
	open_connection(world, 1000, "192.0.2.11", IPPROTO_UDP);
	open_connection(world, 1000, "192.0.2.11", IPPROTO_UDP);
	look(world);
	answer = ask(world, "{\"command\":\"vip\"}");
	assert_int_equal(json_array_size(at(answer, "vips")), 8);
	expect_text(answer, "vips.0.virtual", "192.0.2.10:80/tcp");
	expect_text(answer, "vips.0.side", "xdp");
	expect_text(answer, "vips.0.method", "direct");
	expect_text(answer, "vips.0.scheduler", "mh");
	expect_number(answer, "vips.0.reals.usable", 2);
	expect_number(answer, "vips.0.reals.total", 2);
	expect_number(answer, "vips.0.active", 10);
	expect_number(answer, "vips.0.held", 10);
	expect_number(answer, "vips.0.connections", 10);
	expect_number(answer, "vips.0.packets", 10);
	expect_number(answer, "vips.0.bytes", 10 * 40);
	expect_number(answer, "vips.1.connections", 1);
	expect_number(answer, "vips.1.packets", 2);
	expect_number(answer, "vips.1.inactive", 1);
	expect_text(answer, "vips.2.virtual", "[2001:db8::10]:80/tcp");
	expect_text(answer, "vips.3.side", "standby");
	expect_number(answer, "vips.4.reals.usable", 0);
	expect_number(answer, "vips.5.reals.usable", 2);
	expect_number(answer, "vips.5.reals.total", 3);
	json_decref(answer);

	answer = ask(world, "{\"command\":\"vip\",\"vip\":\"192.0.2.11\"}");
	assert_int_equal(json_array_size(at(answer, "vips")), 1);
	json_decref(answer);
	answer = ask(world, "{\"command\":\"vip\",\"vip\":\"192.0.2.99\"}");
	expect_text(answer, "error", "no virtual server '192.0.2.99'");
	json_decref(answer);
}

static void a_real_server_shows_state_and_next_hop(void **state)
{
	struct world *world = *state;
	json_t *answer;

	open_connection(world, 1000, "192.0.2.11", IPPROTO_UDP);
	look(world);
	answer = ask(world, "{\"command\":\"real\",\"vip\":\"192.0.2.14:80\"}");
	assert_int_equal(json_array_size(at(answer, "reals")), 3);
	expect_text(answer, "reals.0.real", "10.0.0.1:80");
	expect_text(answer, "reals.0.state", "up");
	expect_text(answer, "reals.0.next_hop.state", next_hop_state_name(NEXT_HOP_RESOLVED));
	expect_text(answer, "reals.0.next_hop.mac", "02:00:00:00:01:01");
	expect_text(answer, "reals.0.next_hop.device", "other");
	expect_number(answer, "reals.1.weight", 1);
	expect_text(answer, "reals.2.state", "drained");
	json_decref(answer);
	answer = ask(world, "{\"command\":\"real\",\"real\":\"10.0.0.1:53\"}");
	assert_int_equal(json_array_size(at(answer, "reals")), 1);
	expect_number(answer, "reals.0.packets", 1);
	expect_number(answer, "reals.0.connections", 1);
	json_decref(answer);
}

static void a_removed_real_server_with_connections_is_gone(void **state)
{
	static const struct lab_service fewer[] = {
		{"192.0.2.11:53/udp", "rr", .real = {"10.0.0.2"}},
		{.endpoint = NULL},
	};
	struct world *world = *state;
	json_t *answer;

	open_connection(world, 1000, "192.0.2.11", IPPROTO_UDP);
	lab_serve(world->lab, fewer);
	look(world);
	answer = ask(world, "{\"command\":\"real\",\"vip\":\"192.0.2.11\"}");
	assert_int_equal(json_array_size(at(answer, "reals")), 2);
	expect_text(answer, "reals.0.state", "up");
	expect_text(answer, "reals.1.real", "10.0.0.1:53");
	expect_text(answer, "reals.1.state", "gone");
	expect_number(answer, "reals.1.inactive", 1);
	json_decref(answer);
}

static void connections_are_filtered_and_limited(void **state)
{
	static const struct {
		const char *arguments;
		json_int_t matched, shown;
	} rows[] = {
		{"", 25, 25},
		{",\"limit\":7", 25, 7},
		{",\"vip\":\"192.0.2.10\"", 20, 20},
		{",\"vip\":\"192.0.2.10:80/udp\"", 0, 0},
		{",\"vip\":\"2001:db8::10\"", 4, 4},
		{",\"client\":\"198.51.100.7\"", 21, 21},
		{",\"client\":\"198.51.100.7:1003\"", 1, 1},
		{",\"client\":\"2001:db8:c::7\"", 4, 4},
		{",\"state\":\"syn_recv\"", 24, 24},
		{",\"real\":\"2001:db8:1::1\"", 4, 4},
		{",\"real\":\"2001:db8:1::1\",\"client\":\"198.51.100.7\"", 0, 0},
	};
	struct world *world = *state;
	char request[200];
	json_t *answer;

	for (uint16_t port = 1000; port < 1020; port++)
		open_connection(world, port, "192.0.2.10", 0);
	for (uint16_t port = 1000; port < 1004; port++)
		open_connection(world, port, "2001:db8::10", 0);
	open_connection(world, 1100, "192.0.2.11", IPPROTO_UDP);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(request, sizeof(request), "{\"command\":\"conn\"%s}", rows[i].arguments);
		answer = ask(world, request);
		expect_number(answer, "matched", rows[i].matched);
		expect_number(answer, "shown", rows[i].shown);
		assert_int_equal(json_array_size(at(answer, "items")), rows[i].shown);
		assert_int_equal(json_is_true(at(answer, "more")), rows[i].shown < rows[i].matched);
		json_decref(answer);
	}
	answer = ask(world, "{\"command\":\"conn\",\"client\":\"198.51.100.7:1100\"}");
	expect_text(answer, "items.0.client", "198.51.100.7:1100");
	expect_text(answer, "items.0.vip", "192.0.2.11:53/udp");
	expect_text(answer, "items.0.real", "10.0.0.1:53");
	json_decref(answer);
	answer = ask(world, "{\"command\":\"conn\",\"state\":\"asleep\"}");
	expect_text(answer, "error", "no such state: 'asleep'");
	json_decref(answer);
	answer = ask(world, "{\"command\":\"conn\",\"client\":\"somebody\"}");
	expect_text(answer, "error", "'somebody' is no address");
	json_decref(answer);
	answer = ask(world, "{\"command\":\"conn\",\"limit\":0}");
	expect_text(answer, "error", "limit must be from 1 to 100000");
	json_decref(answer);
}

static json_t *explanation(struct world *world, const char *client, const char *vip)
{
	char request[200];

	snprintf(request, sizeof(request),
	         "{\"command\":\"explain\",\"client\":\"%s\",\"vip\":\"%s\"}", client, vip);
	return ask(world, request);
}

/* What is said before the first packet is what happens to it, and to the next. */
static void follow_connection(struct world *world, const char *vip, uint16_t port)
{
	struct packet_spec packet = {.dest = vip, .source_port = port};
	char client[40], endpoint[40], real[40] = "", went[40] = "";
	struct lab_result result;
	json_t *answer;

	snprintf(client, sizeof(client), "198.51.100.7:%u", port);
	snprintf(endpoint, sizeof(endpoint), "%s:80/tcp", vip);
	answer = explanation(world, client, endpoint);
	expect_text(answer, "steps.5.step", "connection");
	expect_text(answer, "steps.5.result", "miss");
	if (json_is_string(at(answer, "verdict.real")))
		snprintf(real, sizeof(real), "%s", json_string_value(at(answer, "verdict.real")));
	else
		expect_text(answer, "verdict.word", "no-real");
	json_decref(answer);

	result = lab_send(world->lab, &packet);
	if (lab_real_of(&result))
		snprintf(went, sizeof(went), "10.0.0.%u:80", lab_real_of(&result));
	else
		assert_int_equal(result.verdict, XLB_NO_REAL);
	assert_string_equal(real, went);
	if (!*went)
		return;
	answer = explanation(world, client, endpoint);
	expect_text(answer, "steps.5.result", "hit");
	expect_text(answer, "verdict.real", went);
	json_decref(answer);
}

static void an_explanation_tells_where_the_packet_goes(void **state)
{
	for (uint16_t port = 2000; port < 2040; port++) {
		follow_connection(*state, "192.0.2.10", port);
		follow_connection(*state, "192.0.2.14", port); /* falls back */
		follow_connection(*state, "192.0.2.15", port); /* does not */
		follow_connection(*state, "192.0.2.16", port); /* by turns */
	}
}

static void an_explanation_ends_where_the_packet_does(void **state)
{
	static const struct {
		const char *client, *vip, *verdict;
	} rows[] = {
		{"198.51.100.7:1", "192.0.2.99:80", "not-ours"},
		{"198.51.100.7:1", "192.0.2.10:80/udp", "not-ours"},
		{"198.51.100.7:1", "192.0.2.12:80", "standby"},
		{"198.51.100.7:1", "192.0.2.13:80", "no-real"},
		{"[2001:db8:c::7]:1", "[2001:db8::10]:80", "sent"},
		{"198.51.100.7:1", "192.0.2.11:53/udp", "sent"},
	};
	struct world *world = *state;
	json_t *answer;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		answer = explanation(world, rows[i].client, rows[i].vip);
		expect_text(answer, "verdict.word", rows[i].verdict);
		json_decref(answer);
	}
	world->xlbd.bypass_all = true;
	answer = explanation(world, "198.51.100.7:1", "192.0.2.10:80");
	expect_text(answer, "verdict.word", "draining");
	json_decref(answer);
	answer = explanation(world, "198.51.100.7:1", "[2001:db8::10]:80");
	expect_text(answer, "error", "client and virtual server are of different families");
	json_decref(answer);
	answer = explanation(world, "198.51.100.7", "192.0.2.10:80");
	expect_text(answer, "error", "'198.51.100.7' is not ADDRESS:PORT");
	json_decref(answer);
}

static void every_verdict_is_counted_by_name(void **state)
{
	struct packet_spec packet = {.dest = "192.0.2.10", .flags = SPEC_ACK};
	struct world *world = *state;
	json_t *answer;
	json_int_t sent;

	open_connection(world, 1000, "192.0.2.10", 0);
	assert_int_equal(lab_send(world->lab, &packet).verdict, XLB_NO_ENTRY);
	answer = ask(world, "{\"command\":\"drops\"}");
	assert_int_equal(json_array_size(at(answer, "verdicts")), XLB_VERDICT_COUNT - 1);
	sent = json_integer_value(at(answer, "verdicts.0.packets")) +
	       json_integer_value(at(answer, "verdicts.1.packets"));
	assert_int_equal(sent, 1);
	expect_text(answer, "verdicts.6.word", "no-entry");
	expect_text(answer, "verdicts.6.action", "pass");
	expect_number(answer, "verdicts.6.packets", 1);
	json_decref(answer);
}

static void status_counts_and_copes_with_what_is_missing(void **state)
{
	struct world *world = *state;
	struct xlbd nothing = {.services = NULL};
	json_t *answer;

	open_connection(world, 1000, "192.0.2.10", 0);
	open_connection(world, 1000, "192.0.2.11", IPPROTO_UDP);
	look(world);
	answer = ask(world, "{\"command\":\"status\"}");
	expect_number(answer, "connections.live", 2);
	expect_number(answer, "connections.states.SYN_RECV", 1);
	expect_number(answer, "packets.forwarded", 2);
	expect_number(answer, "services.xdp", 7);
	expect_number(answer, "services.standby", 1);
	expect_text(answer, "truth", "none");
	assert_true(json_is_null(at(answer, "per_second")));
	json_decref(answer);

	world->context.xlbd = &nothing;
	answer = ask(world, "{\"command\":\"status\"}");
	assert_true(json_is_false(at(answer, "healthy")));
	expect_text(answer, "problems.0.text", "the data plane is not loaded");
	json_decref(answer);
	answer = ask(world, "{\"command\":\"vip\"}");
	assert_int_equal(json_array_size(at(answer, "vips")), 0);
	json_decref(answer);
	answer = ask(world, "{\"command\":\"conn\"}");
	expect_number(answer, "matched", 0);
	json_decref(answer);
	answer = explanation(world, "198.51.100.7:1", "192.0.2.10:80");
	expect_text(answer, "verdict.word", "not-ours");
	json_decref(answer);
}

static bool has_problem(const json_t *list, const char *level, const char *part)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (strcmp(json_string_value(json_object_get(one, "level")), level) == 0 &&
		    strstr(json_string_value(json_object_get(one, "text")), part))
			return true;
	return false;
}

static void what_is_wrong_is_a_problem(void **state)
{
	struct world *world = *state;
	struct xlbd *xlbd = &world->xlbd;
	json_t *list;

	xlbd->device_count = 2;
	xlbd->device[0] = (struct xlbd_device){.name = "eth0", .attached = true};
	xlbd->device[1] = (struct xlbd_device){.name = "eth1", .problem = "LRO is on"};
	xlbd->bypass_all = true;
	strcpy(xlbd->reload_error, "xlbd.yaml:3:1: unknown key");
	service_set_get(xlbd->services, 1)->side = SIDE_UNSERVED;
	service_set_get(xlbd->services, 1)->reason = "scheduler 'wlc' is not offered";
	xlbd->census.live = 61;
	xlbd->census.slots = 100;
	list = problems_list(xlbd);
	assert_true(has_problem(list, "error", "no IPVS table to follow"));
	assert_true(has_problem(list, "error", "old configuration is in force: xlbd.yaml:3:1"));
	assert_true(has_problem(list, "error", "LRO is on"));
	assert_true(has_problem(list, "error", "nobody forwards it: scheduler 'wlc'"));
	assert_true(has_problem(list, "error", "no real server is usable"));
	assert_true(has_problem(list, "warning", "generic mode"));
	assert_true(has_problem(list, "warning", "bypass is on"));
	assert_true(has_problem(list, "warning", "61 % of the slots"));
	assert_true(has_problem(list, "warning", "1 of 3 real servers not usable"));
	/* errors come first */
	expect_text(list, "0.level", "error");
	json_decref(list);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(a_virtual_server_shows_what_its_packets_did),
		test(a_real_server_shows_state_and_next_hop),
		test(a_removed_real_server_with_connections_is_gone),
		test(connections_are_filtered_and_limited),
		test(an_explanation_tells_where_the_packet_goes),
		test(an_explanation_ends_where_the_packet_does),
		test(every_verdict_is_counted_by_name),
		test(status_counts_and_copes_with_what_is_missing),
		test(what_is_wrong_is_a_problem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
