// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_reader.c - keepalived.conf -> what is declared, as a program sees it.
 *
 * The keywords one by one are the golden tests' business (tests/golden/keepalived). Here: what callers rely on, limits,
 * failures, and that everything is found in one run.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ip_vs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "xlbd/keepalived/reader.h"
#include "xlbd/model/addr.h"

struct read {
	struct complaints *complaints;
	struct keepalived_config *config;
	int result;
};

static struct read read_text(const char *text)
{
	struct read read = {.complaints = complaints_new()};

	read.result = keepalived_read_text("t", text, strlen(text), NULL, 0, read.complaints,
	                                   &read.config);
	return read;
}

static void end(struct read *read)
{
	read->config = keepalived_config_free(read->config);
	complaints_free(read->complaints);
}

static const struct service *find(const struct read *read, const char *endpoint)
{
	struct xlb_service_key key;
	struct xlb_addr addr;
	uint16_t port;
	uint8_t protocol;

	assert_true(endpoint_parse(endpoint, &addr, &port, &protocol));
	key = service_key(&addr, port, protocol);
	return service_set_find(read->config->services, &key);
}

static bool is_doubtful(const struct read *read, const char *endpoint)
{
	const struct service *service = find(read, endpoint);

	assert_non_null(service);
	for (size_t i = 0; i < read->config->doubtful_count; i++)
		if (!memcmp(&read->config->doubtful[i].key, &service->key, sizeof(service->key)))
			return true;
	return false;
}

#define SERVICE(address, more)                                                            \
	"virtual_server " address " 80 {\n lb_algo rr\n lb_kind DR\n protocol TCP\n" more \
	" real_server 10.0.0.1 80 {\n }\n}\n"

static void a_service_is_found_by_its_key_with_all_it_has(void **state)
{
	struct read read =
		read_text("vrrp_instance V {\n interface eth0\n virtual_router_id 1\n"
	                  " virtual_ipaddress {\n  192.0.2.1/24\n }\n}\n" SERVICE(
				  "192.0.2.1", " persistence_timeout 9\n snmp_name web\n"));
	const struct service *service = find(&read, "192.0.2.1:80/tcp");

	(void)state;
	assert_int_equal(read.result, 0);
	assert_int_equal(complaints_count(read.complaints), 0);
	assert_non_null(service);
	assert_int_equal(service->flags, IP_VS_SVC_F_PERSISTENT);
	assert_int_equal(service->timeout, 9);
	assert_string_equal(service->name, "web");
	assert_string_equal(service->instance, "V");
	assert_string_equal(service->origin.file, "t");
	assert_int_equal(service->origin.line, 8);
	assert_true(service->declared);
	assert_false(service->in_force);
	assert_int_equal(service->real_count, 1);
	assert_int_equal(service->reals[0].forwarding, XLB_FORWARD_DIRECT);
	assert_int_equal(service->reals[0].weight, 1);
	assert_int_equal(service->reals[0].last_weight, 1);
	assert_int_equal(service->reals[0].origin.line, 14);
	assert_string_equal(read.config->files[0], "t");
	assert_null(read.config->files[1]);
	assert_int_equal(read.config->doubtful_count, 0);
	end(&read);
}

static void an_empty_file_declares_nothing(void **state)
{
	struct read read = read_text("");

	(void)state;
	assert_int_equal(read.result, 0);
	assert_int_equal(service_set_count(read.config->services), 0);
	assert_int_equal(read.config->instance_count, 0);
	assert_null(read.config->net_namespace);
	end(&read);
	assert_null(keepalived_config_free(NULL));
}

static void all_mistakes_are_found_in_one_run(void **state)
{
	struct read read = read_text(SERVICE("192.0.2.1", " lb_alog rr\n weight 3x\n")
	                                     SERVICE("192.0.2.300", "") "foo\n"
	                                                                "global_defs {\n"
	                                                                " rs_init_notifies x\n");

	(void)state;
	assert_int_equal(read.result, 0);
	assert_int_equal(complaints_errors(read.complaints), 5);
	assert_int_equal(service_set_count(read.config->services), 1);
	end(&read);
}

static void a_mistake_shows_its_line_and_a_hint(void **state)
{
	struct read read = read_text("virtual_server 192.0.2.1 80 {\n\tlb_alog rr\n");
	const struct complaint *complaint = complaints_get(read.complaints, 0);

	(void)state;
	assert_int_equal(complaint->line, 2);
	assert_int_equal(complaint->column, 2);
	assert_int_equal(complaint->length, 7);
	assert_string_equal(complaint->source, "\tlb_alog rr");
	assert_string_equal(complaint->hint, "did you mean 'lb_algo'?");
	end(&read);
}

static void a_template_with_a_mistake_is_complained_about_once(void **state)
{
	struct read read = read_text("$S=virtual_server 192.0.2.$i 80 { \\\n lb_alog rr \\\n"
	                             " lb_algo rr \\\n lb_kind DR \\\n protocol TCP \\\n"
	                             " real_server 10.0.0.1 80 { \\\n } \\\n}\n\n"
	                             "~SEQ(i, 1, 100) $S\n");
	const struct complaint *complaint = complaints_get(read.complaints, 0);

	(void)state;
	assert_int_equal(service_set_count(read.config->services), 100);
	assert_int_equal(complaints_count(read.complaints), 1);
	assert_int_equal(complaint->line, 2);
	assert_string_equal(complaint->hint, "did you mean 'lb_algo'?");
	assert_int_equal(read.config->doubtful_count, 100);
	end(&read);
}

static void doubts_stay_with_the_service_they_belong_to(void **state)
{
	struct read read = read_text(
		SERVICE("192.0.2.1", "") SERVICE("192.0.2.2", " foo {\n lb_algo rr\n")
			SERVICE("192.0.2.3", " snmp_name ${_RANDOM}\n") SERVICE("192.0.2.4", "")
				SERVICE("192.0.2.5", " ~SEQ(\n") SERVICE("192.0.2.6", ""));

	(void)state;
	assert_false(is_doubtful(&read, "192.0.2.1:80/tcp"));
	assert_true(is_doubtful(&read, "192.0.2.2:80/tcp"));
	/* the brace of foo closed the service: the next blocks are where they belong */
	assert_true(is_doubtful(&read, "192.0.2.3:80/tcp"));
	assert_false(is_doubtful(&read, "192.0.2.4:80/tcp"));
	assert_true(is_doubtful(&read, "192.0.2.5:80/tcp"));
	assert_false(is_doubtful(&read, "192.0.2.6:80/tcp"));
	end(&read);
}

static void doubts_about_a_group_reach_all_who_use_it(void **state)
{
	struct read read =
		read_text("virtual_server_group G {\n 192.0.2.${_RANDOM 7 7} 80\n"
	                  " 192.0.2.9 80\n}\nvirtual_server group G {\n lb_algo rr\n"
	                  " lb_kind DR\n protocol TCP\n real_server 10.0.0.1 {\n }\n}\n");

	(void)state;
	assert_true(is_doubtful(&read, "192.0.2.7:80/tcp"));
	assert_true(is_doubtful(&read, "192.0.2.9:80/tcp"));
	end(&read);
}

static void a_service_declared_twice_has_the_real_servers_of_both(void **state)
{
	struct read read = read_text(
		SERVICE("192.0.2.1", "") SERVICE("192.0.2.1", " real_server 10.0.0.2 80 {\n }\n"));
	const struct service *service = find(&read, "192.0.2.1:80/tcp");

	(void)state;
	assert_int_equal(service_set_count(read.config->services), 1);
	assert_int_equal(service->real_count, 2);
	assert_true(is_doubtful(&read, "192.0.2.1:80/tcp"));
	end(&read);
}

static void what_is_too_large_is_refused_whole(void **state)
{
	static const char group[] = "virtual_server_group G {\n 2001:db8::1-ffff 80\n}\n"
				    "virtual_server group G {\n lb_algo rr\n lb_kind DR\n"
				    " protocol TCP\n real_server 2001:db8::1 {\n }\n}\n";
	struct read read = read_text(group);
	struct keepalived_config *config = (struct keepalived_config *)1;

	(void)state;
	assert_int_equal(read.result, -E2BIG);
	assert_null(read.config);
	assert_int_equal(complaints_errors(read.complaints), 1);
	end(&read);

	read.complaints = complaints_new();
	assert_int_equal(keepalived_read_text("t", group, strlen(group), NULL, 100, read.complaints,
	                                      &config),
	                 -E2BIG);
	assert_ptr_equal(config, (struct keepalived_config *)1);
	complaints_free(read.complaints);
}

static void a_range_that_keepalived_cannot_count_is_bounded(void **state)
{
	struct read read = read_text("virtual_server_group G {\n 10.0.0.0/8 80\n ::/1 80\n}\n"
	                             "virtual_server group G {\n lb_algo rr\n lb_kind TUN\n"
	                             " protocol TCP\n real_server 192.0.2.1 80 {\n }\n}\n");

	(void)state;
	assert_int_equal(read.result, 0);
	assert_int_equal(service_set_count(read.config->services), 512);
	assert_int_equal(read.config->doubtful_count, 512);
	end(&read);
}

static void a_missing_file_leaves_the_old_configuration(void **state)
{
	struct complaints *complaints = complaints_new();
	struct keepalived_config *config = (struct keepalived_config *)1;

	(void)state;
	assert_int_equal(keepalived_read("/nowhere/keepalived.conf", NULL, complaints, &config),
	                 -ENOENT);
	assert_ptr_equal(config, (struct keepalived_config *)1);
	assert_int_equal(complaints_errors(complaints), 1);
	/* nobody wants to know why */
	assert_int_equal(keepalived_read("/nowhere/keepalived.conf", NULL, NULL, &config), -ENOENT);
	complaints_free(complaints);
}

static void the_host_name_is_the_default_configuration_id(void **state)
{
	char text[400], host[65] = "";
	struct read read;

	(void)state;
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	host[strcspn(host, ".")] = '\0';
	snprintf(text, sizeof(text), "@%s $A=192.0.2.1\n@%sx $A=192.0.2.2\n" SERVICE("$A", ""),
	         host, host);
	read = read_text(text);
	assert_non_null(find(&read, "192.0.2.1:80/tcp"));
	end(&read);
}

static void braces_of_nothing_and_much_depth_do_no_harm(void **state)
{
	char *text = malloc(200001);
	struct read read;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < 100000; i++)
		text[i] = i % 2 ? '{' : 'a';
	memset(text + 100000, '}', 100000);
	for (int i = 100; i < 200000; i += 100)
		text[i] = '\n';
	text[200000] = '\0';
	read = read_text(text);
	assert_int_equal(read.result, 0);
	end(&read);
	free(text);
}

static void the_shipped_example_names_the_default_fifos(void **state)
{
	const char *source = getenv("top_srcdir");
	struct read read = {.complaints = complaints_new()};
	char file[1000];

	(void)state;
	if (!source)
		skip();
	snprintf(file, sizeof(file), "%s/keepalived-hooks/keepalived.conf.example", source);
	assert_int_equal(keepalived_read(file, NULL, read.complaints, &read.config), 0);
	assert_int_equal(complaints_count(read.complaints), 0);
	assert_string_equal(read.config->lvs_notify_fifo, "/run/xlbd/lvs.fifo");
	assert_string_equal(read.config->vrrp_notify_fifo, "/run/xlbd/vrrp.fifo");
	end(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_is_found_by_its_key_with_all_it_has),
		cmocka_unit_test(an_empty_file_declares_nothing),
		cmocka_unit_test(all_mistakes_are_found_in_one_run),
		cmocka_unit_test(a_mistake_shows_its_line_and_a_hint),
		cmocka_unit_test(a_template_with_a_mistake_is_complained_about_once),
		cmocka_unit_test(doubts_stay_with_the_service_they_belong_to),
		cmocka_unit_test(doubts_about_a_group_reach_all_who_use_it),
		cmocka_unit_test(a_service_declared_twice_has_the_real_servers_of_both),
		cmocka_unit_test(what_is_too_large_is_refused_whole),
		cmocka_unit_test(a_range_that_keepalived_cannot_count_is_bounded),
		cmocka_unit_test(a_missing_file_leaves_the_old_configuration),
		cmocka_unit_test(the_host_name_is_the_default_configuration_id),
		cmocka_unit_test(braces_of_nothing_and_much_depth_do_no_harm),
		cmocka_unit_test(the_shipped_example_names_the_default_fifos),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
