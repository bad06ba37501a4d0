/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab.h - a loaded data plane of its own for a test: services in by the daemon's own way, packets in, verdicts out.
 *
 * Nothing is pinned and nothing attached; packets come in by BPF_PROG_TEST_RUN as if from the loopback device.
 */
#ifndef XLB_TESTS_LAB_H
#define XLB_TESTS_LAB_H

#include "tests/bpf/packets.h"
#include "xlbd/dataplane/apply.h"
#include "xlbd/dataplane/flows.h"
#include "xlbd/model/service.h"

#define LAB_IFINDEX       1 /* loopback: where packets come in */
#define LAB_OTHER_IFINDEX 2 /* where redirected ones leave; lab_open() makes it */
#define LAB_SOURCE_IPV4   "10.2.0.254"
#define LAB_SOURCE_IPV6   "2001:db8:2::fe"

struct lab {
	struct dataplane *dataplane;
	struct counters *counters;
	struct interfaces *interfaces;
	struct apply *apply;
	struct flows *flows;
	struct flows_census census;
	struct service_set *services;
	int program; /* packets go through this one; 0: through the data plane's */
};

/* One virtual server for lab_serve(). */
struct lab_service {
	const char *endpoint; /* "192.0.2.10:80/tcp" */
	const char *scheduler;
	uint32_t flags; /* IP_VS_SVC_F_* */
	enum service_side side;
	const char *real[8]; /* "10.0.0.1" or "10.0.0.1*0" with a weight; NULL at the end */
	/* how they are reached; tunnel_type 0 and tunnel_port 0: ipip */
	bool nat, tunnel;
	uint8_t tunnel_type;
	uint16_t tunnel_port;
	uint16_t real_port; /* of NAT; 0: the service's */
};

/* In a network namespace of its own. Exits with 77 and the reason without the rights to load. */
struct lab *lab_open(void);
/* The same with maps pinned in a folder on a bpffs (NULL: not), for so many connections. */
struct lab *lab_open_at(const char *pin_folder, uint64_t ipv4, uint64_t ipv6);
/* In the namespace of the lab before it, which was closed: the next daemon. */
struct lab *lab_open_again(const char *pin_folder, uint64_t ipv4, uint64_t ipv6);
void lab_close(struct lab *lab);
/* These services and no others, through plan and apply; every real server's next hop is resolved. NULL at the end of endpoint. */
void lab_serve(struct lab *lab, const struct lab_service *services);
/* The next hop of a real server: its MAC is 02:00:00:00:01:<last byte of the address>. */
struct lab_hop {
	const char *real;
	uint32_t ifindex;   /* 0: LAB_IFINDEX */
	uint16_t vid[2];    /* tags on the way out */
	uint16_t tpid[2];   /* 0: 0x8100 where vid is set */
	uint32_t mtu;       /* 0: 1500 */
	const char *source; /* preferred by the route; NULL: LAB_SOURCE_* of the family */
	bool unresolved;
};
void lab_hop(struct lab *lab, const struct lab_hop *hop);
/*
 * Ways to clients, for answers of NAT real servers: the networks of CLIENT_IPV4 and CLIENT_IPV6 lie behind LAB_OTHER_IFINDEX, where
 * the next hop has the MAC LAB_CLIENT_HOP. Forwarding is on.
 */
#define LAB_CLIENT_HOP ((const uint8_t[6]){2, 0, 0, 0, 2, 7})
void lab_clients(struct lab *lab);
/* The VLAN of the director on the incoming device: frames with these tags are its own. */
void lab_vlan(struct lab *lab, uint16_t outer, uint16_t inner);

struct lab_result {
	uint32_t action; /* XDP_* */
	enum xlb_verdict verdict;
	struct frame frame; /* as it left; l3 is found anew */
};
/* One packet through the program; fails the test if no verdict or more than one was counted. */
struct lab_result lab_send(struct lab *lab, const struct packet_spec *spec);
struct lab_result lab_send_frame(struct lab *lab, const struct frame *frame);
/* Last byte of the MAC that the packet went to, the real server's last byte of the address; 0: it did not leave. */
unsigned lab_real_of(const struct lab_result *result);
void lab_beat(struct lab *lab);
void lab_sweep(struct lab *lab);
/* The buckets that limit ICMP errors (bpf/stage/refuse.h) are full, as when the program was loaded. */
void lab_refill(const struct lab *lab);
/* The connection of the client with the service; false: none. */
bool lab_flow(struct lab *lab, const char *endpoint, const char *client, uint16_t port,
              struct flow *ret);

#endif
