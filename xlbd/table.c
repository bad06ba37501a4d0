// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * table.c - the IPVS table in force: whose it is, how it is read, and what can be said when it cannot.
 *
 * The kernel's table is the truth where there is one. Where the kernel has no IPVS at all, xlbd answers for it
 * (xlbd/ipvs/api.c) and reads its own. A module ip_vs that is installed but not loaded is neither: keepalived loads it when
 * it starts, so xlbd waits. Both tables live in the network namespace that keepalived.conf names (net_namespace_ipvs), and
 * both are given up and looked for anew when that is another one.
 *
 * daemon.c calls xlbd_read_table() with every look; nothing here waits. What stands in the way is kept as one sentence in
 * xlbd->trouble, and logged when it changes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/log.h"
#include "xlbd/xlbd.h"

#define TOPIC       "daemon"
#define API_REST_MS 30000

/* keepalived.conf may say net_namespace_ipvs without a name: the one that keepalived was started in, which is ours. */
static const char *wanted_namespace(const struct xlbd *xlbd)
{
	const char *name = xlbd->declared ? xlbd->declared->net_namespace_ipvs : NULL;

	return name && name[0] ? name : NULL;
}

static bool same_name(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void set_trouble(struct xlbd *xlbd, const char *sentence)
{
	if (strcmp(xlbd->trouble, sentence) == 0)
		return;
	snprintf(xlbd->trouble, sizeof(xlbd->trouble), "%s", sentence);
	if (sentence[0])
		log_error(TOPIC, "%s; what was read before stays in force", sentence);
}

/* Another namespace, or a table that went: neither what we answer nor what we read is keepalived's any more. */
static void give_up(struct xlbd *xlbd)
{
	xlbd->ipvs = ipvs_netlink_close(xlbd->ipvs);
	if (xlbd->api && ipvs_api_detach(xlbd->api) < 0)
		log_warning(TOPIC, "the IPVS interface of another network namespace could not be "
		                   "taken away");
	xlbd->api = ipvs_api_close(xlbd->api);
	xlbd->api_rests_until = 0;
}

/* Loading our interface costs a second of CPU: after a failure it rests for a while. */
static int open_api(struct xlbd *xlbd, const char *netns)
{
	struct ipvs_api_options options = {.cgroup = xlbd->conf->cgroup, .netns = netns};
	char folder[256], sentence[sizeof(xlbd->trouble)];
	int r;

	if (xlbd_boot_ms() < xlbd->api_rests_until)
		return -EAGAIN;
	snprintf(folder, sizeof(folder), "%s/ipvs_api", xlbd->conf->pin_folder);
	options.pin_folder = folder;
	r = ipvs_api_open(&options, &xlbd->api);
	if (r == 0) {
		log_notice(TOPIC, "the kernel has no IPVS: xlbd answers for it; what XDP cannot "
		                  "forward is unserved");
		return 0;
	}
	xlbd->api_rests_until = xlbd_boot_ms() + API_REST_MS;
	if (r == -EEXIST)
		snprintf(sentence, sizeof(sentence),
		         "IPVS is not loaded yet: the module ip_vs is there, and keepalived loads "
		         "it when it starts");
	else
		snprintf(sentence, sizeof(sentence),
		         "the kernel has no IPVS, and xlbd cannot answer for it: %s",
		         ipvs_api_problem(r));
	set_trouble(xlbd, sentence);
	return -EAGAIN;
}

/* Opens the kernel's table, or ours where the kernel has none. Tried again with every look until one is there. */
static int open_table(struct xlbd *xlbd)
{
	const char *netns = wanted_namespace(xlbd);
	int r;

	if (!same_name(netns, xlbd->ipvs_netns)) {
		give_up(xlbd);
		free(xlbd->ipvs_netns);
		xlbd->ipvs_netns = netns ? strdup(netns) : NULL;
	}
	if (xlbd->ipvs || xlbd->api)
		return 0;
	r = ipvs_netlink_open(netns, &xlbd->ipvs);
	if (r == 0) {
		log_notice(TOPIC, "the kernel's IPVS table is the truth");
		if (xlbd->conf->ipvs_api == CONF_ON)
			log_error(TOPIC,
			          "'ipvs.api' is on, but this kernel has IPVS, which answers "
			          "keepalived itself");
		return 0;
	}
	return r != -ENOENT || xlbd->conf->ipvs_api == CONF_OFF ? r : open_api(xlbd, netns);
}

static int read_open_table(struct xlbd *xlbd, struct service_set **ret)
{
	bool unstable = false;
	int r;

	if (xlbd->api)
		r = ipvs_api_read(xlbd->api, ret);
	else
		r = ipvs_netlink_read(xlbd->ipvs, ret, &unstable);
	if (r == -ENXIO || (r == -ENOENT && xlbd->ipvs))
		give_up(xlbd); /* namespace or module went: look for another table next time */
	if (r >= 0 && unstable)
		xlbd_look_soon(xlbd, "the table changed while it was read");
	return r;
}

int xlbd_read_table(struct xlbd *xlbd, struct service_set **ret)
{
	char sentence[sizeof(xlbd->trouble)];
	int r = open_table(xlbd);

	if (r == 0)
		r = read_open_table(xlbd, ret);
	xlbd->table_readable = r >= 0;
	if (r >= 0) {
		set_trouble(xlbd, "");
		return r;
	}
	if (r == -EAGAIN && xlbd->trouble[0])
		return r; /* said why when it was tried */
	snprintf(sentence, sizeof(sentence), "the IPVS table cannot be read: %s",
	         r == -ENXIO ? ipvs_api_problem(r) : strerror(-r));
	set_trouble(xlbd, sentence);
	return r;
}

void xlbd_close_table(struct xlbd *xlbd)
{
	xlbd->api = ipvs_api_close(xlbd->api);
	xlbd->ipvs = ipvs_netlink_close(xlbd->ipvs);
	free(xlbd->ipvs_netns);
	xlbd->ipvs_netns = NULL;
}
