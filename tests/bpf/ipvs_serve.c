// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ipvs_serve.c - the IPVS interface without a daemon around it, for tests with real programs and for its bench.
 *
 * Makes the place of ipvs_lab.h, opens the interface there, prints "ready PID CGROUP", and takes orders, a line each, until its
 * input ends: `stats N` writes N connections, 10 N packets, 1000 N bytes, N active and N + 1 inactive for every real server; `table`
 * prints what the daemon would read; `counts` what was refused; `off` and `on` detach and attach. Each order is answered by
 * a line "done". Everything is gone afterwards. tests/system/test_ipvs_api.py brings the programs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bpf/ipvs_lab.h"
#include "xlbd/model/addr.h"

struct served {
	struct ipvs_lab lab;
	struct ipvs_api *api;
};

static void for_each(struct served *served,
                     void (*act)(struct served *served, const struct service *service,
                                 const struct real_server *real, unsigned argument),
                     unsigned argument)
{
	struct service_set *set = NULL;
	const struct service *service;

	if (ipvs_api_read(served->api, &set) < 0)
		abort();
	for (size_t i = 0; (service = service_set_get(set, i)); i++) {
		act(served, service, NULL, argument);
		for (size_t j = 0; j < service->real_count; j++)
			act(served, service, &service->reals[j], argument);
	}
	service_set_free(set);
}

static void write_stats(struct served *served, const struct service *service,
                        const struct real_server *real, unsigned n)
{
	struct ipvs_api_stats stats = {n, 10ul * n, 1000ul * n, n, n + 1};

	if (real && ipvs_api_write_stats(served->api, service, real, &stats) < 0)
		abort();
}

static void print_one(struct served *served, const struct service *service,
                      const struct real_server *real, unsigned argument)
{
	char text[64];

	(void)served;
	(void)argument;
	if (real)
		printf("  %s method %u weight %d\n",
		       endpoint_print(&real->addr, real->port, 0, text), real->forwarding,
		       real->weight);
	else
		printf("%s %s flags %#x\n", service_print(service, text), service->scheduler,
		       service->flags);
}

static void obey(struct served *served, const char *order)
{
	struct ipvs_api_counts counts;
	unsigned argument = 0;

	if (sscanf(order, "stats %u", &argument) == 1) {
		for_each(served, write_stats, argument);
	} else if (strcmp(order, "table\n") == 0) {
		for_each(served, print_one, 0);
	} else if (strcmp(order, "counts\n") == 0) {
		(void)ipvs_api_counts(served->api, &counts); /* cannot fail */
		printf("refused %lu denied %lu truncated %lu unanswerable %lu\n", counts.refused,
		       counts.denied, counts.truncated, counts.unanswerable);
	} else if (strcmp(order, "off\n") == 0) {
		if (ipvs_api_detach(served->api) < 0)
			abort();
		served->api = ipvs_api_close(served->api);
	} else if (strcmp(order, "on\n") == 0) {
		served->api = ipvs_lab_open(&served->lab);
	}
	printf("done\n");
	fflush(stdout);
}

int main(void)
{
	struct served served = {0};
	char order[100];

	ipvs_lab_enter(&served.lab);
	served.api = ipvs_lab_open(&served.lab);
	printf("ready %d %s\n", (int)getpid(), served.lab.cgroup);
	fflush(stdout);
	while (fgets(order, sizeof(order), stdin))
		obey(&served, order);
	if (served.api)
		(void)ipvs_api_detach(served.api); /* the place goes, and all with it */
	ipvs_api_close(served.api);
	ipvs_lab_leave(&served.lab);
	return 0;
}
