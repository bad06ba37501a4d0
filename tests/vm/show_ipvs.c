// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show_ipvs.c - prints the kernel's IPVS table as xlbd/ipvs/netlink.c reads it; for the scripts of tests/vm.
 *
 *	show_ipvs [-n NETNS]		the table, one line a service, one line a real server, in the kernel's order
 *	show_ipvs [-n NETNS] -l		once for every line of standard input, with one handle; each answer ends with "."
 *	show_ipvs [-n NETNS] -b ROUNDS	reads that often; the smallest and largest table seen, and what a read costs. Real servers
 *					of weight 1 are counted apart: those of a test that stay, while others come and go
 *
 * Nothing is left out and nothing is sorted, so that a script can compare the text. An error is printed as "error NAME"
 * and makes the exit status 1 (except with -l: there the next line may succeed).
 */
#define _GNU_SOURCE /* strerrorname_np */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "xlbd/ipvs/netlink.h"
#include "xlbd/model/addr.h"

static void print_real(const struct real_server *real)
{
	static const char *const forwardings[8] = {"nat",    "local", "tunnel", "direct",
	                                           "bypass", "?",     "?",      "?"};
	static const char *const tunnels[] = {"ipip", "gue", "gre"};
	char text[ENDPOINT_TEXT];

	printf("  %s %s weight %d", endpoint_print(&real->addr, real->port, 0, text),
	       forwardings[real->forwarding & 7], real->weight);
	if (real->upper_threshold || real->lower_threshold)
		printf(" upper %u lower %u", real->upper_threshold, real->lower_threshold);
	if (real->forwarding == XLB_FORWARD_TUNNEL)
		printf(" %s port %u flags %u",
		       real->tunnel_type < ARRAY_SIZE(tunnels) ? tunnels[real->tunnel_type] : "?",
		       real->tunnel_port, real->tunnel_flags);
	if (real->active || real->inactive || real->persistent)
		printf(" active %u inactive %u persistent %u", real->active, real->inactive,
		       real->persistent);
	if (real->connections || real->packets)
		printf(" connections %lu packets %lu bytes %lu", real->connections, real->packets,
		       real->bytes);
	printf("\n");
}

static void print_service(const struct service *service)
{
	char text[64];

	printf("%s ipv%d %s flags %#x timeout %u netmask %08x", service_print(service, text),
	       service->family == AF_INET ? 4 : 6, service->scheduler, service->flags,
	       service->timeout, service->netmask);
	printf("%s%s\n", service->engine[0] ? " engine " : "", service->engine);
	for (size_t i = 0; i < service->real_count; i++)
		print_real(&service->reals[i]);
}

static int print_table(struct ipvs_netlink *ipvs)
{
	_cleanup_(service_set_freep) struct service_set *set = NULL;
	struct ipvs_timeouts timeouts;
	const struct service *service;
	bool unstable = false;
	int r;

	r = ipvs_netlink_timeouts(ipvs, &timeouts);
	if (r < 0)
		return r;
	r = ipvs_netlink_read(ipvs, &set, &unstable);
	if (r < 0)
		return r;
	printf("timeouts %u %u %u%s\n", timeouts.tcp, timeouts.tcp_fin, timeouts.udp,
	       unstable ? " unstable" : "");
	for (size_t i = 0; (service = service_set_get(set, i)); i++)
		print_service(service);
	return 0;
}

static int answer_lines(struct ipvs_netlink *ipvs)
{
	char line[80];

	while (fgets(line, sizeof(line), stdin)) {
		int r = print_table(ipvs);

		if (r < 0)
			printf("error %s\n", strerrorname_np(-r));
		printf(".\n");
		fflush(stdout);
	}
	return 0;
}

static double cpu_ms(const struct rusage *usage)
{
	return 1e3 * (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       1e-3 * (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e3 * now.tv_sec + 1e-6 * now.tv_nsec;
}

struct range {
	size_t least, most;
};

static void widen(struct range *range, size_t value)
{
	range->least = value < range->least ? value : range->least;
	range->most = value > range->most ? value : range->most;
}

static size_t count_reals(const struct service_set *set, bool only_weight_1)
{
	const struct service *service;
	size_t count = 0;

	for (size_t i = 0; (service = service_set_get(set, i)); i++)
		for (size_t j = 0; j < service->real_count; j++)
			count += !only_weight_1 || service->reals[j].weight == 1;
	return count;
}

static int measure(struct ipvs_netlink *ipvs, unsigned rounds)
{
	struct range services = {SIZE_MAX, 0}, reals = services, staying = services;
	unsigned unstable = 0;
	struct rusage before, after;
	double start = now_ms();

	getrusage(RUSAGE_SELF, &before);
	for (unsigned round = 0; round < rounds; round++) {
		_cleanup_(service_set_freep) struct service_set *set = NULL;
		bool is_unstable = false;
		int r = ipvs_netlink_read(ipvs, &set, &is_unstable);

		if (r < 0)
			return r;
		if (is_unstable) {
			unstable++;
			continue;
		}
		widen(&services, service_set_count(set));
		widen(&reals, count_reals(set, false));
		widen(&staying, count_reals(set, true));
	}
	getrusage(RUSAGE_SELF, &after);
	printf("services %zu..%zu reals %zu..%zu weight 1 %zu..%zu rounds %u unstable %u\n",
	       services.least, services.most, reals.least, reals.most, staying.least, staying.most,
	       rounds, unstable);
	printf("read %.3f ms, cpu %.3f ms\n", (now_ms() - start) / rounds,
	       (cpu_ms(&after) - cpu_ms(&before)) / rounds);
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_(ipvs_netlink_closep) struct ipvs_netlink *ipvs = NULL;
	const char *netns = NULL;
	unsigned rounds = 0;
	bool lines = false;
	int option, r;

	while ((option = getopt(argc, argv, "n:lb:")) != -1) {
		if (option == 'n')
			netns = optarg;
		else if (option == 'l')
			lines = true;
		else if (option == 'b')
			rounds = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	r = ipvs_netlink_open(netns, &ipvs);
	if (r == 0)
		r = lines ? answer_lines(ipvs) : rounds ? measure(ipvs, rounds) : print_table(ipvs);
	if (r == 0)
		return 0;
	printf("error %s\n", strerrorname_np(-r));
	return 1;
}
