// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show_services.c - prints what keepalived_read() makes of a keepalived.conf, every field, for the golden tests.
 *
 * Usage: show_services FILE. The configuration id is "director". Services with all that is not zero, then instances,
 * globals, files, doubts, and at last the complaints as a user sees them. `# errors: N` is what run-keepalived.sh
 * compares with the exit status of `keepalived -t`. Exit status 1: not read at all.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "xlbd/keepalived/reader.h"
#include "xlbd/model/addr.h"

static void show_origin(const struct origin *origin)
{
	printf(" @%s:%u", origin->file ? origin->file : "-", origin->line);
}

static void show_real(const struct real_server *real)
{
	static const char *const methods[] = {"nat", "local", "tun", "dr"};
	static const char *const tunnels[] = {"ipip", "gue", "gre"};
	char name[ENDPOINT_TEXT];

	printf("    %s%s %s weight %d", real->sorry ? "sorry " : "",
	       endpoint_print(&real->addr, real->port, 0, name), methods[real->forwarding & 3],
	       real->weight);
	if (real->forwarding == XLB_FORWARD_TUNNEL)
		printf(" %s", tunnels[real->tunnel_type % 3]);
	if (real->tunnel_port)
		printf(" port %u", real->tunnel_port);
	if (real->tunnel_flags)
		printf(" encap 0x%x", real->tunnel_flags);
	if (real->last_weight != real->weight)
		printf(" last_weight %d", real->last_weight);
	if (real->upper_threshold || real->lower_threshold)
		printf(" thresholds %u %u", real->upper_threshold, real->lower_threshold);
	show_origin(&real->origin);
	putchar('\n');
}

static void show_service(const struct service *service)
{
	char name[64];

	printf("service %s %s %s", service_print(service, name),
	       service->family == AF_INET6 ? "inet6" : "inet", service->scheduler);
	if (service->flags)
		printf(" flags 0x%x", service->flags);
	if (service->timeout)
		printf(" timeout %u", service->timeout);
	if (service->family == AF_INET6 && service->netmask != 128)
		printf(" netmask /%u", service->netmask);
	if (service->family == AF_INET && service->netmask != UINT32_MAX)
		printf(" netmask 0x%08x", ntohl(service->netmask));
	if (service->engine[0])
		printf(" engine %s", service->engine);
	if (service->name)
		printf(" name '%s'", service->name);
	if (service->instance)
		printf(" instance '%s'", service->instance);
	if (!service->declared || service->in_force)
		printf(" NOT DECLARED");
	show_origin(&service->origin);
	putchar('\n');
	for (size_t i = 0; i < service->real_count; i++)
		show_real(&service->reals[i]);
}

static void show_instance(const struct vrrp_instance *instance)
{
	char text[ADDR_TEXT];

	printf("instance '%s' interface '%s' vmac '%s' id %u priority %u", instance->name,
	       instance->interface, instance->vmac, instance->virtual_router_id,
	       instance->priority);
	if (instance->sync_group)
		printf(" group '%s'", instance->sync_group);
	show_origin(&instance->origin);
	putchar('\n');
	for (size_t i = 0; i < instance->address_count; i++) {
		const struct declared_address *address = &instance->addresses[i];

		printf("    %s/%u dev %s%s", addr_print(&address->addr, text), address->prefix,
		       address->device, address->excluded ? " excluded" : "");
		show_origin(&address->origin);
		putchar('\n');
	}
}

static void show_word(const char *name, const char *value)
{
	if (value)
		printf("%s '%s'\n", name, value);
}

static void show(const struct keepalived_config *config)
{
	const struct service *service;

	for (size_t i = 0; (service = service_set_get(config->services, i)); i++)
		show_service(service);
	for (size_t i = 0; i < config->instance_count; i++)
		show_instance(&config->instances[i]);
	show_word("net_namespace", config->net_namespace);
	show_word("net_namespace_ipvs", config->net_namespace_ipvs);
	show_word("instance", config->instance);
	show_word("lvs_notify_fifo", config->lvs_notify_fifo);
	show_word("vrrp_notify_fifo", config->vrrp_notify_fifo);
	show_word("notify_fifo", config->notify_fifo);
	if (config->nftables_ipvs)
		puts("nftables_ipvs");
	if (config->lvs_sync_daemon)
		puts("lvs_sync_daemon");
	for (size_t i = 0; config->files[i]; i++)
		show_word("file", config->files[i]);
	for (size_t i = 0; i < config->doubtful_count; i++) {
		const struct doubtful *doubtful = &config->doubtful[i];
		char name[ENDPOINT_TEXT];

		printf("doubtful %s: %s\n",
		       endpoint_print(&doubtful->key.addr, ntohs(doubtful->key.port),
		                      doubtful->key.protocol, name),
		       doubtful->reason);
	}
}

int main(int argc, char **argv)
{
	_cleanup_(keepalived_config_freep) struct keepalived_config *config = NULL;
	const struct keepalived_options options = {.config_id = "director"};
	struct complaints *complaints = complaints_new();
	const struct complaint *complaint;
	int r;

	if (argc != 2 || !complaints) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		return 1;
	}
	r = keepalived_read(argv[1], &options, complaints, &config);
	if (r < 0)
		printf("not read: %s\n", strerror(-r));
	else
		show(config);
	for (size_t i = 0; (complaint = complaints_get(complaints, i)); i++)
		complaint_print(complaint, stdout);
	printf("# errors: %zu\n", complaints_errors(complaints));
	complaints_free(complaints);
	return r < 0;
}
