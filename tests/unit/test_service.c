// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_service.c - a set owns what it was given, keeps its order, finds by key, and knows what is different.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "xlbd/model/addr.h"
#include "xlbd/model/service.h"

static struct xlb_addr parsed(const char *text)
{
	struct xlb_addr addr;

	assert_true(addr_parse(text, &addr));
	return addr;
}

static struct service example(const char *vip, uint16_t port)
{
	struct xlb_addr addr = parsed(vip);

	return (struct service){.key = service_key(&addr, port, IPPROTO_TCP),
	                        .family = addr_family(&addr),
	                        .scheduler = "mh"};
}

static int new_set(void **state)
{
	*state = service_set_new();
	return *state ? 0 : -1;
}

static int free_set(void **state)
{
	*state = service_set_free(*state);
	return *state ? -1 : 0;
}

static void a_set_copies_everything_it_is_given(void **state)
{
	struct service_set *set = *state;
	char name[] = "web", file[] = "keepalived.conf", other[] = "other.conf";
	struct real_server reals[2] = {
		{.addr = parsed("10.0.0.1"), .port = 80, .origin = {file, 3}},
		{.addr = parsed("10.0.0.2"), .port = 80, .origin = {other, 4}}};
	struct service service = example("192.0.2.1", 80);
	const struct service *kept;

	service.name = name;
	service.origin = (struct origin){file, 1};
	service.reals = reals;
	service.real_count = 2;
	assert_int_equal(service_set_add(set, &service), 0);
	memset(name, 'x', sizeof(name) - 1);
	memset(file, 'x', sizeof(file) - 1);
	memset(other, 'x', sizeof(other) - 1);
	memset(reals, 0xff, sizeof(reals));

	kept = service_set_get(set, 0);
	assert_string_equal(kept->name, "web");
	assert_string_equal(kept->origin.file, "keepalived.conf");
	assert_string_equal(kept->reals[0].origin.file, "keepalived.conf");
	assert_string_equal(kept->reals[1].origin.file, "other.conf");
	assert_int_equal(kept->reals[1].port, 80);
	assert_null(kept->reason);
}

static void sixteen_thousand_services_are_found_and_keep_their_order(void **state)
{
	struct service_set *set = *state;
	struct service service = example("192.0.2.1", 1);
	const struct service *first = NULL;

	for (uint32_t i = 0; i < SERVICES_MAX; i++) {
		service.key.port = htons(1 + i % 4096);
		service.key.protocol = i / 4096 % 2 ? IPPROTO_UDP : IPPROTO_TCP;
		service.key.addr = addr_from_ipv4(htonl(0xc0000200 + i / 8192));
		service.timeout = i;
		assert_int_equal(service_set_add(set, &service), 0);
		assert_int_equal(service_set_add(set, &service),
		                 i + 1 < SERVICES_MAX ? -EEXIST : -E2BIG);
		first = first ? first : service_set_get(set, 0);
	}
	assert_int_equal(service_set_count(set), SERVICES_MAX);
	assert_ptr_equal(service_set_get(set, 0), first);
	assert_null(service_set_get(set, SERVICES_MAX));
	for (uint32_t i = 0; i < SERVICES_MAX; i++) {
		struct service *one = service_set_get(set, i);

		assert_int_equal(one->timeout, i);
		assert_ptr_equal(service_set_find(set, &one->key), one);
	}
	service.key.port = 0;
	assert_null(service_set_find(set, &service.key));
}

static void a_firewall_mark_is_found_by_family_and_number(void **state)
{
	struct service_set *set = *state;
	struct service service = {.fwmark = 7, .family = AF_INET, .scheduler = "rr"};
	struct xlb_service_key none = {.protocol = 0};

	assert_int_equal(service_set_add(set, &service), 0);
	assert_int_equal(service_set_add(set, &service), -EEXIST);
	service.family = AF_INET6;
	assert_int_equal(service_set_add(set, &service), 0);
	assert_ptr_equal(service_set_find_fwmark(set, AF_INET, 7), service_set_get(set, 0));
	assert_ptr_equal(service_set_find_fwmark(set, AF_INET6, 7), service_set_get(set, 1));
	assert_null(service_set_find_fwmark(set, AF_INET, 8));
	assert_null(service_set_find_fwmark(set, AF_INET, 0));
	assert_null(service_set_find(set, &none));
}

static void too_many_real_servers_are_refused(void **state)
{
	struct service_set *set = *state;
	struct real_server *reals = calloc(REALS_MAX + 1, sizeof(*reals));
	struct service service = example("192.0.2.1", 80);

	assert_non_null(reals);
	service.reals = reals;
	service.real_count = REALS_MAX + 1;
	assert_int_equal(service_set_add(set, &service), -E2BIG);
	assert_int_equal(service_set_count(set), 0);
	service.real_count = REALS_MAX;
	assert_int_equal(service_set_add(set, &service), 0);
	free(reals);
}

static void strings_of_any_length_live_in_the_set(void **state)
{
	struct service_set *set = *state;
	const char *longest = service_set_printf(set, "%08000d", 7);

	assert_int_equal(strlen(longest), 8000);
	assert_string_equal(service_set_printf(set, "%s", ""), "");
	assert_string_equal(service_set_string(set, "text"), "text");
	assert_null(service_set_string(set, NULL));
	assert_int_equal(longest[7999], '7');
}

/* Everything that makes two services different, one at a time. */
static void change_name(struct service *s)
{
	s->name = "other";
}
static void change_instance(struct service *s)
{
	s->instance = "VI_1";
}
static void change_reason(struct service *s)
{
	s->reason = "because";
}
static void change_scheduler(struct service *s)
{
	strcpy(s->scheduler, "sh");
}
static void change_engine(struct service *s)
{
	strcpy(s->engine, "sip");
}
static void change_flags(struct service *s)
{
	s->flags = 8;
}
static void change_timeout(struct service *s)
{
	s->timeout = 300;
}
static void change_netmask(struct service *s)
{
	s->netmask = 24;
}
static void change_side(struct service *s)
{
	s->side = SIDE_IPVS;
}
static void change_declared(struct service *s)
{
	s->declared = true;
}
static void change_standby(struct service *s)
{
	s->standby = true;
}
static void change_in_force(struct service *s)
{
	s->in_force = true;
}
static void change_count(struct service *s)
{
	s->real_count = 1;
}
static void change_order(struct service *s)
{
	struct real_server first = s->reals[0];

	s->reals[0] = s->reals[1];
	s->reals[1] = first;
}
static void change_address(struct service *s)
{
	s->reals[0].addr.byte[15]++;
}
static void change_port(struct service *s)
{
	s->reals[1].port++;
}
static void change_forwarding(struct service *s)
{
	s->reals[1].forwarding = XLB_FORWARD_TUNNEL;
}
static void change_tunnel_type(struct service *s)
{
	s->reals[1].tunnel_type = 1;
}
static void change_tunnel_port(struct service *s)
{
	s->reals[1].tunnel_port = 1;
}
static void change_tunnel_flags(struct service *s)
{
	s->reals[1].tunnel_flags = 1;
}
static void change_weight(struct service *s)
{
	s->reals[1].weight++;
}
static void change_last_weight(struct service *s)
{
	s->reals[1].last_weight++;
}
static void change_upper(struct service *s)
{
	s->reals[1].upper_threshold++;
}
static void change_lower(struct service *s)
{
	s->reals[1].lower_threshold++;
}
static void change_sorry(struct service *s)
{
	s->reals[1].sorry = true;
}

static void every_field_that_matters_makes_a_difference(void **state)
{
	static void (*const changes[])(struct service *) = {
		change_name,       change_instance,    change_reason,      change_scheduler,
		change_engine,     change_flags,       change_timeout,     change_netmask,
		change_side,       change_declared,    change_in_force,    change_standby,
		change_count,      change_order,       change_address,     change_port,
		change_forwarding, change_tunnel_type, change_tunnel_port, change_tunnel_flags,
		change_weight,     change_last_weight, change_upper,       change_lower,
		change_sorry,
	};
	const struct real_server reals[2] = {{.addr = parsed("10.0.0.1"), .port = 80, .weight = 1},
	                                     {.addr = parsed("10.0.0.2"), .port = 80, .weight = 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct real_server one[2], two[2];
		struct service a = example("192.0.2.1", 80), b = a;

		memcpy(one, reals, sizeof(one));
		memcpy(two, reals, sizeof(two));
		a.reals = one;
		b.reals = two;
		a.real_count = b.real_count = 2;
		a.name = "web";
		b.name = "web";
		assert_true(service_equal(&a, &b));
		changes[i](&b);
		if (service_equal(&a, &b))
			fail_msg("change %zu goes unseen", i);
	}
}

static void origins_and_counters_make_no_difference(void **state)
{
	struct real_server one = {.addr = parsed("10.0.0.1")}, two = one;
	struct service a = example("192.0.2.1", 80), b = a;

	(void)state;
	two.active = 5;
	two.inactive = 6;
	two.connections = 7;
	two.packets = 8;
	two.bytes = 9;
	two.origin.line = 10;
	b.origin = (struct origin){"file", 1};
	a.reals = &one;
	b.reals = &two;
	a.real_count = b.real_count = 1;
	assert_true(service_equal(&a, &b));
}

static void sets_are_equal_in_any_order(void **state)
{
	struct service_set *one = *state, *two = service_set_new();
	struct service web = example("192.0.2.1", 80), mail = example("2001:db8::1", 25);

	assert_non_null(two);
	service_set_add(one, &web);
	service_set_add(one, &mail);
	service_set_add(two, &mail);
	assert_false(service_set_equal(one, two));
	service_set_add(two, &web);
	assert_true(service_set_equal(one, two));
	service_set_find(two, &web.key)->timeout = 1;
	assert_false(service_set_equal(one, two));
	service_set_free(two);
}

static void a_real_server_is_found_by_address_and_port(void **state)
{
	struct real_server reals[2] = {{.addr = parsed("10.0.0.1"), .port = 80},
	                               {.addr = parsed("10.0.0.1"), .port = 81}};
	struct service service = {.reals = reals, .real_count = 2};
	struct xlb_addr other = parsed("10.0.0.2");

	(void)state;
	assert_ptr_equal(service_real(&service, &reals[0].addr, 81), &reals[1]);
	assert_ptr_equal(service_real(&service, &reals[0].addr, 80), &reals[0]);
	assert_null(service_real(&service, &reals[0].addr, 82));
	assert_null(service_real(&service, &other, 80));
}

static void a_hint_only_makes_finding_quicker(void **state)
{
	struct real_server reals[3] = {{.addr = parsed("10.0.0.1"), .port = 80},
	                               {.addr = parsed("10.0.0.2"), .port = 80},
	                               {.addr = parsed("10.0.0.3"), .port = 80}};
	struct service service = {.reals = reals, .real_count = 3};
	size_t hint = 0;

	(void)state;
	assert_ptr_equal(service_real_near(&service, &reals[1].addr, 80, &hint), &reals[1]);
	assert_int_equal(hint, 2);
	assert_ptr_equal(service_real_near(&service, &reals[2].addr, 80, &hint), &reals[2]);
	assert_ptr_equal(service_real_near(&service, &reals[0].addr, 80, &hint), &reals[0]);
	assert_int_equal(hint, 1);
	assert_null(service_real_near(&service, &reals[1].addr, 81, &hint));
	assert_int_equal(hint, 1);
	hint = 0;
	for (size_t i = 3; i-- > 0;) {
		assert_ptr_equal(service_real_near(&service, &reals[i].addr, 80, &hint), &reals[i]);
		assert_int_equal(hint, i + 1);
	}
	service.real_count = 0;
	hint = 0;
	assert_null(service_real_near(&service, &reals[1].addr, 80, &hint));
}

static void services_are_printed_for_people(void **state)
{
	struct service service = example("2001:db8::1", 80), mark = {.fwmark = 4294967295u};
	char buffer[64];

	(void)state;
	assert_string_equal(service_print(&service, buffer), "[2001:db8::1]:80/tcp");
	assert_string_equal(service_print(&mark, buffer), "fwmark 4294967295");
}

static void freeing_nothing_is_fine(void **state)
{
	(void)state;
	assert_null(service_set_free(NULL));
}

#define with_set(test) cmocka_unit_test_setup_teardown(test, new_set, free_set)

static void nobody_has_firewall_mark_0(void **state)
{
	struct service_set *set = service_set_new();

	(void)state;
	assert_null(service_set_find_fwmark(set, AF_INET, 0));
	service_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_set(a_set_copies_everything_it_is_given),
		with_set(sixteen_thousand_services_are_found_and_keep_their_order),
		with_set(a_firewall_mark_is_found_by_family_and_number),
		with_set(too_many_real_servers_are_refused),
		with_set(strings_of_any_length_live_in_the_set),
		cmocka_unit_test(nobody_has_firewall_mark_0),
		cmocka_unit_test(every_field_that_matters_makes_a_difference),
		cmocka_unit_test(origins_and_counters_make_no_difference),
		with_set(sets_are_equal_in_any_order),
		cmocka_unit_test(a_real_server_is_found_by_address_and_port),
		cmocka_unit_test(a_hint_only_makes_finding_quicker),
		cmocka_unit_test(services_are_printed_for_people),
		cmocka_unit_test(freeing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
