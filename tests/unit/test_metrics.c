// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_metrics.c - xlbd/ctl/metrics.c and metrics_serve.c: text for Prometheus, heads of HTTP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tests/unit/snapshots.h"
#include "xlbd/ctl/metrics.h"

/* What is written for this answer; ' stands for ". The caller frees it. */
static char *written(const char *answer)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot = answer ? snapshot_of(answer) : NULL;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	metrics_write(out, snapshot ? snapshot->answer : NULL);
	fclose(out);
	return text;
}

static void has_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	while (at && (at[strlen(line)] != '\n' || (at > text && at[-1] != '\n')))
		at = strstr(at + 1, line);
	if (!at)
		fail_msg("no line '%s' in:\n%s", line, text);
}

static void a_silent_daemon_is_a_metric(void **state)
{
	_cleanup_free_ char *text = written(NULL);

	(void)state;
	has_line(text, "xlb_up 0");
	assert_null(strstr(text, "xlb_service"));
}

static void services_have_the_labels_that_the_documentation_names(void **state)
{
	_cleanup_free_ char *text = written(
		"{'vips': [{'virtual': '[2001:db8::1]:443/tcp', 'name': 'web', 'side': 'xdp',"
		" 'packets': 9007199254740993, 'scheduler': 'mh', 'method': 'direct',"
		" 'reals': {'usable': 2}}]}");

	(void)state;
	has_line(text, "xlb_up 1");
	has_line(text, "xlb_service_packets_total{vip=\"2001:db8::1\",port=\"443\",proto=\"tcp\","
	               "service=\"web\"} 9007199254740993");
	has_line(text,
	         "xlb_service_info{vip=\"2001:db8::1\",port=\"443\",proto=\"tcp\",service=\"web\","
	         "side=\"xdp\",scheduler=\"mh\",method=\"direct\",instance=\"\"} 1");
	has_line(text, "xlb_service_usable_reals{vip=\"2001:db8::1\",port=\"443\",proto=\"tcp\","
	               "service=\"web\"} 2");
	has_line(text, "# TYPE xlb_service_packets_total counter");
}

static void a_service_without_a_name_is_called_by_its_address(void **state)
{
	_cleanup_free_ char *text =
		written("{'vips': [{'virtual': '192.0.2.1:53/udp'}, {'virtual': 'fwmark 7'}]}");

	(void)state;
	has_line(text, "xlb_service_packets_total{vip=\"192.0.2.1\",port=\"53\",proto=\"udp\","
	               "service=\"192.0.2.1:53/udp\"} 0");
	has_line(text, "xlb_service_packets_total{vip=\"\",port=\"\",proto=\"\","
	               "service=\"fwmark 7\"} 0");
}

static void names_cannot_break_the_format(void **state)
{
	_cleanup_free_ char *text =
		written("{'vips': [{'virtual': '192.0.2.1:53/udp', 'name': 'a\\\"b\\\\c\\nd'}]}");

	(void)state;
	has_line(text, "xlb_service_bytes_total{vip=\"192.0.2.1\",port=\"53\",proto=\"udp\","
	               "service=\"a\\\"b\\\\c\\nd\"} 0");
}

static void words_and_truths_become_0_and_1(void **state)
{
	_cleanup_free_ char *text = written(
		"{'reals': [{'vip': '192.0.2.1:80/tcp', 'address': '10.0.0.1', 'port': 80,"
		" 'state': 'up', 'next_hop': {'state': 'resolving'}}], 'uptime_ms': 1005,"
		" 'devices': [{'name': 'eth0', 'mode': 'generic'}, {'name': 'eth1', 'mode': "
		"'none'}],"
		" 'roles': [{'instance': 'one', 'state': 'MASTER', 'active': false}],"
		" 'connections': {'live': 5, 'states': {'SYN_RECV': 5}}, 'reload_error': 'line 1',"
		" 'problems': [{}, {}]}");

	(void)state;
	has_line(text, "xlb_real_up{vip=\"192.0.2.1\",port=\"80\",proto=\"tcp\","
	               "service=\"192.0.2.1:80/tcp\",real=\"10.0.0.1\",real_port=\"80\"} 1");
	has_line(text, "xlb_real_next_hop_resolved{vip=\"192.0.2.1\",port=\"80\",proto=\"tcp\","
	               "service=\"192.0.2.1:80/tcp\",real=\"10.0.0.1\",real_port=\"80\"} 0");
	has_line(text, "xlb_device_attached{device=\"eth0\"} 1");
	has_line(text, "xlb_device_native{device=\"eth0\"} 0");
	has_line(text, "xlb_device_attached{device=\"eth1\"} 0");
	has_line(text, "xlb_vrrp_master{vrrp_instance=\"one\"} 1");
	has_line(text, "xlb_vrrp_active{vrrp_instance=\"one\"} 0");
	has_line(text, "xlb_connection_state_connections{state=\"SYN_RECV\"} 5");
	has_line(text, "xlb_last_reload_successful 0");
	has_line(text, "xlb_problems 2");
	has_line(text, "xlb_uptime_seconds 1.005");
}

static void queues_and_processors_are_numbered(void **state)
{
	_cleanup_free_ char *text = written("{'interfaces': [{'name': 'eth0', 'packets': 9, "
	                                    "'queues': [{'queue': 1, 'packets': 4}]}],"
	                                    " 'cpus': [{'cpu': 3, 'forwarded': 7}]}");

	(void)state;
	has_line(text, "xlb_interface_receive_packets_total{device=\"eth0\"} 9");
	has_line(text, "xlb_queue_receive_packets_total{device=\"eth0\",queue=\"1\"} 4");
	has_line(text, "xlb_cpu_forwarded_packets_total{cpu=\"3\"} 7");
}

static void requests_are_answered_as_http_wants_it(void **state)
{
	static const struct {
		const char *request, *status;
		bool follows;
	} rows[] = {
		{"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK", true},
		{"GET /metrics?a=b HTTP/1.0\n\n", "200 OK", true},
		{"GET / HTTP/1.1\r\n\r\n", "200 OK", true},
		{"HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK", false},
		{"GET /other HTTP/1.1\r\n\r\n", "404 Not Found", false},
		{"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed", false},
		{"GET /metrics\r\n\r\n", "400 Bad Request", false},
		{"GET /metrics HTTP/1.1\r\nHost: x\r\n", "400 Bad Request", false},
		{"\r\n\r\n", "400 Bad Request", false},
		{"", "400 Bad Request", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = NULL, *request = strdup(rows[i].request);
		_cleanup_fclose_ FILE *in = *request ? fmemopen(request, strlen(request), "r")
		                                     : fopen("/dev/null", "r");
		size_t length;
		FILE *out = open_memstream(&text, &length);

		assert_int_equal(metrics_head(in, out), rows[i].follows);
		fclose(out);
		assert_non_null(strstr(text, rows[i].status));
		assert_non_null(strstr(text, "\r\n\r\n"));
	}
}

static void a_request_without_end_is_refused(void **state)
{
	_cleanup_free_ char *text = NULL, *request = malloc(2000000);
	_cleanup_fclose_ FILE *in = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	memset(request, 'a', 2000000);
	memcpy(request, "GET /", 5);
	in = fmemopen(request, 2000000, "r");
	assert_false(metrics_head(in, out));
	fclose(out);
	assert_non_null(strstr(text, "400"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_daemon_is_a_metric),
		cmocka_unit_test(services_have_the_labels_that_the_documentation_names),
		cmocka_unit_test(a_service_without_a_name_is_called_by_its_address),
		cmocka_unit_test(names_cannot_break_the_format),
		cmocka_unit_test(words_and_truths_become_0_and_1),
		cmocka_unit_test(queues_and_processors_are_numbered),
		cmocka_unit_test(requests_are_answered_as_http_wants_it),
		cmocka_unit_test(a_request_without_end_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
