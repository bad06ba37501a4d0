// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lab.c - a loaded data plane of its own for a test.
 *
 * The daemon's modules do everything that the daemon would do with them; only rtnetlink's part is played by hand: which
 * MACs are ours and what the next hops are. The verdict of a packet is what the program's own counters say.
 */
#define _GNU_SOURCE /* unshare() */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "tests/bpf/lab.h"
#include "xlbd/cleanup.h"
#include "xlbd/dataplane/resize.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/plan.h"

static void must(int result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-result));
		fail();
	}
}

static void set_interface(struct lab *lab, uint16_t outer, uint16_t inner)
{
	struct xlb_interface entry = {.ifindex = LAB_IFINDEX, .vid = {outer, inner}};
	uint32_t slot = xlb_interface_slot(LAB_IFINDEX, outer, inner);

	for (int i = 5; i >= 0; i--)
		entry.mac[0] = entry.mac[0] << 8 | DIRECTOR_MAC[i];
	must(bpf_map_update_elem(dataplane_map(lab->dataplane, MAP_INTERFACES), &slot, &entry, 0),
	     "interface");
}

struct lab *lab_open(void)
{
	return lab_open_at(NULL, 2000, 2000);
}

struct lab *lab_open_at(const char *pin_folder, uint64_t ipv4, uint64_t ipv6)
{
	if (unshare(CLONE_NEWNET) < 0 ||
	    system("ip link set lo up && ip link add other type veth peer name far && "
	           "ip link set other up && ip link set far up") != 0) {
		printf("SKIP: a network namespace cannot be made: %s\n", strerror(errno));
		exit(77);
	}
	return lab_open_again(pin_folder, ipv4, ipv6);
}

struct lab *lab_open_again(const char *pin_folder, uint64_t ipv4, uint64_t ipv6)
{
	struct dataplane_options options = {.pin_folder = pin_folder,
	                                    .connections_ipv4 = ipv4,
	                                    .connections_ipv6 = ipv6,
	                                    .silence_ms = 5000};
	struct lab *lab = calloc(1, sizeof(*lab));
	struct xlb_control *control;
	int r;

	r = dataplane_open(&options, &lab->dataplane);
	if (r == -EPERM) {
		puts("SKIP: no right to load BPF programs (CAP_BPF, CAP_NET_ADMIN)");
		exit(77);
	}
	must(r, "load");
	must(counters_open(dataplane_map(lab->dataplane, MAP_VERDICT_COUNTERS),
	                   dataplane_map(lab->dataplane, MAP_REAL_COUNTERS),
	                   dataplane_map(lab->dataplane, MAP_SERVICE_COUNTERS), &lab->counters),
	     "counters");
	must(interfaces_open(lab->dataplane, &lab->interfaces), "interfaces");
	must(apply_open(lab->dataplane, lab->counters, lab->interfaces, 4093, &lab->apply),
	     "apply");
	must(resize_open_flows(lab->dataplane, &lab->flows), "flows");
	control = dataplane_control(lab->dataplane);
	for (size_t i = 0; i < XLB_PHASES; i++)
		control->timeout[i] = 400; /* a hundred seconds: nothing expires by itself */
	set_interface(lab, 0, 0);
	lab_beat(lab);
	return lab;
}

void lab_close(struct lab *lab)
{
	flows_close(lab->flows);
	apply_close(lab->apply);
	interfaces_close(lab->interfaces);
	counters_close(lab->counters);
	dataplane_close(lab->dataplane);
	service_set_free(lab->services);
	free(lab);
}

void lab_vlan(struct lab *lab, uint16_t outer, uint16_t inner)
{
	set_interface(lab, outer, inner);
}

void lab_beat(struct lab *lab)
{
	must(dataplane_heartbeat(lab->dataplane), "heartbeat");
}

void lab_hop(struct lab *lab, const struct lab_hop *hop)
{
	struct next_hop next = {.state = hop->unresolved ? NEXT_HOP_RESOLVING : NEXT_HOP_RESOLVED,
	                        .dmac = {2, 0, 0, 0, 1, 0},
	                        .smac = {2, 0, 0, 0, 0, 1},
	                        .mtu = hop->mtu ? hop->mtu : 1500};
	struct xlb_addr addr;

	assert_true(addr_parse(hop->real, &addr));
	assert_true(addr_parse(hop->source           ? hop->source
	                       : addr_is_ipv4(&addr) ? LAB_SOURCE_IPV4
	                                             : LAB_SOURCE_IPV6,
	                       &next.source));
	next.dmac[5] = addr.byte[15];
	next.path.ifindex = next.ifindex = hop->ifindex ? hop->ifindex : LAB_IFINDEX;
	for (int i = 0; i < XLB_TAGS; i++) {
		next.path.vid[i] = hop->vid[i];
		next.path.tpid[i] = hop->vid[i] ? htons(hop->tpid[i] ? hop->tpid[i] : 0x8100) : 0;
	}
	must(apply_next_hop(lab->apply, &addr, &next), "next hop");
}

void lab_clients(struct lab *lab)
{
	struct xlb_way way = {.ifindex = LAB_OTHER_IFINDEX};
	uint32_t device = LAB_OTHER_IFINDEX;
	int exit = interfaces_exit(lab->interfaces, device);
	char name[IF_NAMESIZE], script[800];

	must(exit, "exit");
	way.exit = (uint16_t)exit;
	must(bpf_map_update_elem(dataplane_map(lab->dataplane, MAP_WAYS), &device, &way, 0), "way");
	assert_non_null(if_indextoname(device, name));
	snprintf(script, sizeof(script),
	         "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 && "
	         "ip addr add 10.9.0.1/24 dev %s && ip -6 addr add fd09::1/64 dev %s nodad && "
	         "ip route add 198.51.100.0/24 via 10.9.0.7 && "
	         "ip -6 route add 2001:db8:c::/48 via fd09::7 && "
	         "ip neigh replace 10.9.0.7 lladdr 02:00:00:00:02:07 dev %s && "
	         "ip neigh replace fd09::7 lladdr 02:00:00:00:02:07 dev %s",
	         name, name, name, name);
	assert_int_equal(system(script), 0);
}

/* "10.0.0.1*3": an address and its weight. */
static struct real_server parse_real(const struct lab_service *from, size_t index, uint16_t port)
{
	struct real_server real = {.port = from->real_port ? from->real_port : port,
	                           .forwarding = from->tunnel ? XLB_FORWARD_TUNNEL
	                                         : from->nat  ? XLB_FORWARD_NAT
	                                                      : XLB_FORWARD_DIRECT,
	                           .tunnel_type = from->tunnel_type,
	                           .tunnel_port = from->tunnel_port,
	                           .weight = 1};
	const char *text = from->real[index];
	const char *star = strchr(text, '*');
	char address[64];

	snprintf(address, sizeof(address), "%.*s", (int)(star ? star - text : (long)strlen(text)),
	         text);
	assert_true(addr_parse(address, &real.addr));
	if (star)
		real.weight = atoi(star + 1);
	real.last_weight = real.weight ? real.weight : 1;
	return real;
}

static void add_service(struct service_set *set, const struct lab_service *from)
{
	struct real_server reals[8];
	struct service service = {.reals = reals,
	                          .flags = from->flags,
	                          .side = from->side,
	                          .declared = true,
	                          .in_force = true};
	struct xlb_addr addr;
	uint16_t port;
	uint8_t protocol;

	assert_true(endpoint_parse(from->endpoint, &addr, &port, &protocol));
	service.key = service_key(&addr, port, protocol);
	service.family = addr_family(&addr);
	snprintf(service.scheduler, sizeof(service.scheduler), "%s", from->scheduler);
	for (; service.real_count < 8 && from->real[service.real_count]; service.real_count++)
		reals[service.real_count] = parse_real(from, service.real_count, port);
	must(service_set_add(set, &service), "service");
}

void lab_serve(struct lab *lab, const struct lab_service *services)
{
	struct service_set *set = service_set_new();
	struct plan *plan = NULL;

	assert_non_null(set);
	for (const struct lab_service *service = services; service->endpoint; service++)
		add_service(set, service);
	must(plan_make(lab->services, set, &plan), "plan");
	must(apply_plan(lab->apply, plan, NULL), "apply");
	plan_free(plan);
	service_set_free(lab->services);
	lab->services = set;
	for (const struct lab_service *service = services; service->endpoint; service++)
		for (size_t i = 0; i < 8 && service->real[i]; i++) {
			char address[64];

			snprintf(address, sizeof(address), "%.*s",
			         (int)strcspn(service->real[i], "*"), service->real[i]);
			lab_hop(lab, &(struct lab_hop){.real = address});
		}
}

static void read_verdicts(struct lab *lab, uint64_t ret[XLB_VERDICT_COUNT])
{
	for (unsigned i = 0; i < XLB_VERDICT_COUNT; i++) {
		struct xlb_verdict_counters counted;

		must(counters_verdict(lab->counters, i, &counted), "verdict");
		ret[i] = counted.packets;
	}
}

static void find_l3(struct frame *frame)
{
	frame->l3 = 14;
	while (frame->l3 < 26 &&
	       ((frame->data[frame->l3 - 2] == 0x81 && !frame->data[frame->l3 - 1]) ||
	        (frame->data[frame->l3 - 2] == 0x88 && frame->data[frame->l3 - 1] == 0xa8)))
		frame->l3 += 4;
}

struct lab_result lab_send_frame(struct lab *lab, const struct frame *frame)
{
	uint64_t before[XLB_VERDICT_COUNT], after[XLB_VERDICT_COUNT];
	struct lab_result result = {0};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame->data,
	            .data_size_in = (uint32_t)frame->length, .data_out = result.frame.data,
	            .data_size_out = FRAME_MAX);
	int program = lab->program ? lab->program : dataplane_ingress_fd(lab->dataplane);
	unsigned counted = 0;

	read_verdicts(lab, before);
	if (bpf_prog_test_run_opts(program, &options))
		must(-errno, "test run");
	read_verdicts(lab, after);
	for (unsigned i = 0; i < XLB_VERDICT_COUNT; i++) {
		counted += (unsigned)(after[i] - before[i]);
		if (after[i] != before[i])
			result.verdict = i;
	}
	assert_int_equal(counted, 1);
	result.action = options.retval;
	result.frame.length = options.data_size_out;
	find_l3(&result.frame);
	return result;
}

struct lab_result lab_send(struct lab *lab, const struct packet_spec *spec)
{
	struct frame frame;

	packet_build(spec, &frame);
	return lab_send_frame(lab, &frame);
}

unsigned lab_real_of(const struct lab_result *result)
{
	return result->verdict == XLB_SENT || result->verdict == XLB_REDIRECTED
	               ? result->frame.data[5]
	               : 0;
}

void lab_sweep(struct lab *lab)
{
	must(apply_prepare_sweep(lab->apply), "prepare");
	flows_sweep(lab->flows, dataplane_now(lab->dataplane), NULL, NULL, &lab->census);
	apply_swept(lab->apply, &lab->census);
}

bool lab_flow(struct lab *lab, const char *endpoint, const char *client, uint16_t port,
              struct flow *ret)
{
	struct xlb_addr vip, from;
	uint16_t vip_port;
	uint8_t protocol;
	struct xlb_service_key key;

	assert_true(endpoint_parse(endpoint, &vip, &vip_port, &protocol));
	assert_true(addr_parse(client, &from));
	key = service_key(&vip, vip_port, protocol);
	return flows_find(lab->flows, dataplane_now(lab->dataplane), &from, port,
	                  apply_service_id(lab->apply, &key), !addr_is_ipv4(&vip), ret);
}

/* The map is the program's own business: found by its name. */
static int buckets_open(const struct lab *lab)
{
	uint32_t ids[64] = {0}, length = sizeof(struct bpf_prog_info);
	struct bpf_prog_info program = {.nr_map_ids = 64, .map_ids = (uintptr_t)ids};

	assert_int_equal(
		bpf_obj_get_info_by_fd(dataplane_ingress_fd(lab->dataplane), &program, &length), 0);
	for (uint32_t i = 0; i < program.nr_map_ids; i++) {
		int fd = bpf_map_get_fd_by_id(ids[i]);
		struct bpf_map_info map = {0};

		length = sizeof(map);
		assert_int_equal(bpf_obj_get_info_by_fd(fd, &map, &length), 0);
		if (strcmp(map.name, "refusals") == 0)
			return fd;
		close_fd(&fd);
	}
	fail_msg("the program has no map 'refusals'");
	return -1;
}

void lab_refill(const struct lab *lab)
{
	_cleanup_close_ int fd = buckets_open(lab);
	size_t size = (size_t)libbpf_num_possible_cpus() * 16;
	_cleanup_free_ void *zeros = calloc(1, size);

	for (uint32_t kind = 0; kind < 2; kind++)
		assert_int_equal(bpf_map_update_elem(fd, &kind, zeros, BPF_ANY), 0);
}
