// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dump_conf.c - prints every field of a struct xlbd_conf, in one writing only.
 *
 * The golden tests compare this text, tests/unit/test_conf.c compares the text of two configurations. One row a field, so
 * a field that is not here is not tested: add it. Paths below the build's RUNSTATEDIR are shown with
 * @runstatedir@, as the golden files must not depend on --prefix.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "tests/golden/dump_conf.h"
#include "xlbd/model/addr.h"

static const char *const services[] = {
	[CONF_SERVICES_DECLARED] = "declared",
	[CONF_SERVICES_ALL] = "all",
};
static const char *const firewalls[] = {
	[CONF_FIREWALL_CHECK] = "check",
	[CONF_FIREWALL_IGNORE] = "ignore",
};
static const char *const modes[] = {
	[CONF_XDP_AUTO] = "auto",
	[CONF_XDP_NATIVE] = "native",
	[CONF_XDP_GENERIC] = "generic",
};
static const char *const switches[] = {
	[CONF_AUTO] = "auto",
	[CONF_ON] = "on",
	[CONF_OFF] = "off",
};
static const char *const booleans[] = {"no", "yes"};
static const char *const policies[] = {
	[CONF_SYNC_ALL] = "",
	[CONF_SYNC_ESTABLISHED] = " sync=established",
	[CONF_SYNC_OFF] = " sync=off",
};

static void put_text(FILE *out, const char *name, const char *text)
{
	const size_t length = strlen(RUNSTATEDIR);

	if (text && strncmp(text, RUNSTATEDIR "/", length + 1) == 0)
		fprintf(out, "%s @runstatedir@%s\n", name, text + length);
	else
		fprintf(out, "%s %s\n", name, text ? text : "NULL");
}

static void put_number(FILE *out, const char *name, uint64_t number)
{
	fprintf(out, "%s %" PRIu64 "\n", name, number);
}

static void put_lists(const struct xlbd_conf *conf, FILE *out)
{
	char endpoint[ENDPOINT_TEXT];

	for (size_t i = 0; i < conf->interfaces_count; i++)
		put_text(out, "interfaces", conf->interfaces[i]);
	if (!conf->interfaces)
		put_text(out, "interfaces", NULL);
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->service[i];

		fprintf(out, "service %s bypass=%s%s\n",
		        endpoint_print(&service->key.addr, ntohs(service->key.port),
		                       service->key.protocol, endpoint),
		        booleans[service->bypass], policies[service->sync]);
	}
}

/* Without a device there is no sync, and nothing to say. */
static void put_sync(const struct conf_sync *sync, FILE *out)
{
	char text[ADDR_TEXT];

	if (!sync->interface[0])
		return;
	put_text(out, "sync.interface", sync->interface[0]);
	put_text(out, "sync.second_interface", sync->interface[1]);
	put_text(out, "sync.group", addr_print(&sync->group, text));
	put_number(out, "sync.port", sync->port);
	for (size_t i = 0; i < sync->peer_count; i++)
		put_text(out, "sync.peer", addr_print(&sync->peer[i], text));
	put_text(out, "sync.key_file", sync->key_file);
	put_number(out, "sync.cluster", sync->cluster);
	put_number(out, "sync.node", sync->node);
	put_text(out, "sync.gate", sync->gate);
	put_number(out, "sync.deadline", sync->deadline);
}

void dump_conf(const struct xlbd_conf *conf, FILE *out)
{
	put_text(out, "keepalived_conf", conf->keepalived_conf);
	put_text(out, "keepalived_config_id", conf->keepalived_config_id);
	put_text(out, "lvs_notify_fifo", conf->lvs_notify_fifo);
	put_text(out, "vrrp_notify_fifo", conf->vrrp_notify_fifo);
	put_text(out, "services", services[conf->services]);
	put_text(out, "xdp_mode", modes[conf->xdp_mode]);
	put_number(out, "connections_ipv4", conf->connections_ipv4);
	put_number(out, "connections_ipv6", conf->connections_ipv6);
	put_number(out, "silence", conf->silence);
	put_number(out, "maglev_size", conf->maglev_size);
	put_text(out, "firewall", firewalls[conf->firewall]);
	put_text(out, "fix_offloads", booleans[conf->fix_offloads]);
	put_text(out, "ipvs_api", switches[conf->ipvs_api]);
	put_text(out, "cgroup", conf->cgroup);
	put_number(out, "timeout_tcp", conf->timeout_tcp);
	put_number(out, "timeout_tcp_fin", conf->timeout_tcp_fin);
	put_number(out, "timeout_udp", conf->timeout_udp);
	put_text(out, "expire_nodest_conn", booleans[conf->expire_nodest_conn]);
	put_text(out, "sloppy_tcp", booleans[conf->sloppy_tcp]);
	put_text(out, "pin_folder", conf->pin_folder);
	put_text(out, "control_socket", conf->control_socket);
	put_text(out, "control_group", conf->control_group);
	put_number(out, "poll", conf->poll);
	put_sync(&conf->sync, out);
	put_lists(conf, out);
}
