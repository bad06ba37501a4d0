/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service.h - virtual servers and their real servers: one generation of them. Pure.
 *
 * The same structures carry what keepalived.conf declares (xlbd/keepalived/reader.c), what is in force
 * (xlbd/ipvs/), and the two joined and judged (model/judge.c), from which plan.c works.
 * A set is one arena: everything reachable from it lives and dies with it; build it, publish it by swapping one
 * pointer, free the old one in one call.
 */
#ifndef XLBD_MODEL_SERVICE_H
#define XLBD_MODEL_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"

#define SERVICES_MAX    16384 /* of one set */
#define REALS_MAX       4096  /* of one service */
#define NAME_MAX_LENGTH 32

/* Where something was written; file NULL: nowhere. */
struct origin {
	const char *file;
	unsigned line;
};

enum service_side {
	SIDE_XDP,      /* forwarded by XDP */
	SIDE_STANDBY,  /* could be, but its address is not ours now */
	SIDE_IPVS,     /* left to the kernel's IPVS, `reason` says why */
	SIDE_UNSERVED, /* XDP cannot, and there is no IPVS: nobody forwards it; `reason` says why */
};

struct real_server {
	struct xlb_addr addr;
	uint16_t port;         /* host order; of DR and TUN the service's port */
	uint8_t forwarding;    /* enum xlb_forwarding */
	uint8_t tunnel_type;   /* IP_VS_CONN_F_TUNNEL_TYPE_*, <linux/ip_vs.h> */
	uint16_t tunnel_port;  /* host order */
	uint16_t tunnel_flags; /* IP_VS_TUNNEL_ENCAP_FLAG_* */
	int32_t weight;
	int32_t last_weight; /* latest weight that was not 0 (mh); 0: not known */
	uint32_t upper_threshold, lower_threshold; /* 0: none */
	uint32_t active, inactive, persistent; /* connections as the kernel's IPVS counts them */
	uint64_t connections, packets, bytes;  /* likewise */
	bool sorry;                            /* declared as sorry_server */
	struct origin origin;                  /* of its block in keepalived.conf */
};

struct service {
	struct xlb_service_key key; /* all zero for fwmark services */
	uint32_t fwmark;            /* 0: not a fwmark service */
	int family;                 /* AF_INET, AF_INET6 */
	char scheduler[16];         /* IPVS's name: "rr", "mh", ... */
	uint32_t flags;             /* IP_VS_SVC_F_* of <linux/ip_vs.h>; HASHED taken away */
	uint32_t timeout;           /* persistence, seconds; 0: not persistent */
	uint32_t
		netmask; /* persistence granularity: IPv4 mask as network-order word, IPv6 prefix length */
	char engine[16];           /* persistence engine; "": none */
	struct real_server *reals; /* in the kernel's list order: newest first */
	size_t real_count;
	const char *name;       /* keepalived's group name, or snmp_name; NULL */
	const char *instance;   /* VRRP instance that owns the address; NULL: none */
	struct origin origin;   /* of its block in keepalived.conf */
	bool declared;          /* keepalived.conf has it */
	bool in_force;          /* the IPVS table has it */
	enum service_side side; /* after judge.c */
	bool standby;           /* after judge.c: the address is not ours now, whatever the side */
	bool draining; /* after plan.c: not in XDP any more, but what it knew may go on there */
	const char *reason; /* why it is not in XDP, one sentence without full stop; NULL */
};

struct service_set; /* opaque */

struct service_set *service_set_new(void);                     /* NULL: out of memory */
struct service_set *service_set_free(struct service_set *set); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct service_set, service_set_free)

/*
 * Copies `service` (reals and strings too) into the set. -EEXIST: a service of that key is there;
 * -E2BIG: more than SERVICES_MAX or REALS_MAX.
 */
int service_set_add(struct service_set *set, const struct service *service);
size_t service_set_count(const struct service_set *set);
/* In order of addition; NULL after the last. The set keeps ownership; callers may change fields, not keys. */
struct service *service_set_get(const struct service_set *set, size_t index);
/* By address, port and protocol; NULL: not there. */
struct service *service_set_find(const struct service_set *set, const struct xlb_service_key *key);
struct service *service_set_find_fwmark(const struct service_set *set, int family, uint32_t fwmark);
/* Strings for fields of its services. */
const char *service_set_string(struct service_set *set, const char *text);
const char *service_set_printf(struct service_set *set, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Same fields and same reals in the same order (origins, counters of connections and packets, `draining` aside). */
bool service_equal(const struct service *a, const struct service *b);
/* The same services, in whatever order. */
bool service_set_equal(const struct service_set *a, const struct service_set *b);

/* Whether XDP offers the way that a real server is reached by; if not, *ret_why says what it is. ret_why may be NULL. */
bool real_is_offered(const struct real_server *real, const char **ret_why);
struct xlb_service_key service_key(const struct xlb_addr *addr, uint16_t port, uint8_t protocol);
struct real_server *service_real(const struct service *service, const struct xlb_addr *addr,
                                 uint16_t port); /* NULL: not there */
/*
 * The same for those who go through a list that is nearly the same, or the same backwards (the kernel has the newest first,
 * keepalived.conf the oldest): looks at *hint first, then before what it found the last time, and leaves it behind what it
 * found. Start with a hint of 0.
 */
struct real_server *service_real_near(const struct service *service, const struct xlb_addr *addr,
                                      uint16_t port, size_t *hint);
/* "[2001:db8::1]:80/tcp" or "fwmark 7"; returns `buffer`. */
const char *service_print(const struct service *service, char buffer[64]);

#endif
