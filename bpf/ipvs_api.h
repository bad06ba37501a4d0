/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipvs_api.h - the IPVS table of one network namespace, as bpf/ipvs_api.bpf.c keeps it and xlbd/ipvs/api.c reads it.
 *
 * Three maps, pinned, each an array:
 *   ipvs_table    one element: services and real servers in slots, lists and hash chains by slot number, a spin lock
 *   ipvs_control  one element, mapped by the daemon: generation of the table, timeouts, counts
 *   ipvs_stats    an element a slot, mapped by the daemon: written by it, shown by the program
 * The interface is the old one, so addresses are IPv4. Slot 0 is nobody and ends every list. Integers are in host order
 * unless their type says otherwise. A change of any layout raises IPVS_API_LAYOUT: pinned maps of another are refused.
 */
#ifndef IPVS_API_H
#define IPVS_API_H

#include <linux/bpf.h>
#include <linux/types.h>

#define IPVS_API_LAYOUT 1

#define IPVS_API_SERVICES         4096  /* slots */
#define IPVS_API_REALS            16384 /* slots, of all services */
#define IPVS_API_REALS_OF_SERVICE 4096
#define IPVS_API_BUCKETS          4096 /* of the hash of services */
#define IPVS_API_CHAIN            32 /* services in one bucket at most; a longer chain is -ENOMEM */
#define IPVS_API_PAGE             4096 /* of an option's value a cgroup program sees no more */

/*
 * What the data plane can do. A service that asks for anything else is refused as IPVS refuses what it does not know: -ENOENT
 * for a scheduler (no such module), -EINVAL for a flag. One row, one thing learnt.
 */
/* clang-format off */
#define IPVS_API_SCHEDULERS(row) \
	row("rr")                \
	row("wrr")               \
	row("mh")                \
	row("sh")                \
	row("dh")
#define IPVS_API_FLAGS(row)                                          \
	row(IP_VS_SVC_F_HASHED) /* the kernel's own: in all answers */ \
	row(IP_VS_SVC_F_SCHED1) /* sh-fallback, mh-fallback */       \
	row(IP_VS_SVC_F_SCHED2) /* sh-port, mh-port */
/* clang-format on */

/* What names a service; compared as one word. */
struct ipvs_api_key {
	__be32 addr;
	__be16 port;
	__u8 protocol;
	__u8 pad;
};
_Static_assert(sizeof(struct ipvs_api_key) == 8, "a word");

struct ipvs_api_service {
	struct ipvs_api_key key;
	char scheduler[16]; /* zeroed behind the name */
	__u32 flags;        /* IP_VS_SVC_F_* */
	__u32 timeout;
	__be32 netmask;
	__u16 newest, oldest; /* its real servers, a list from newest to oldest */
	__u16 real_count;
	__u16 chain;         /* next service of the bucket */
	__u16 before, after; /* all services, in order of creation */
	__u64 sequence;      /* when it was made; never given twice */
	__u64 zeroed;        /* when ZERO last came */
};
_Static_assert(sizeof(struct ipvs_api_service) == 64, "a line");

struct ipvs_api_real {
	__be32 addr;
	__be16 port;
	__u16 next;  /* the next older one of the service, or the next free slot */
	__u32 flags; /* IP_VS_CONN_F_* */
	__s32 weight;
	__u32 upper, lower; /* thresholds */
	__u64 sequence;
};
_Static_assert(sizeof(struct ipvs_api_real) == 32, "two to a line");

/*
 * Everything behind `lock`: only the programs write. Free slots are those of the two free lists, and all from
 * *_used on: a flushed table is one in which nothing was ever used.
 */
struct ipvs_api_table {
	struct bpf_spin_lock lock;
	__u32 pad;
	__u64 sequence; /* last given */
	__u64 zeroed;   /* when ZERO last came for all services */
	__u16 first, last;
	__u16 service_count, real_count;
	__u16 service_free, real_free;
	__u16 service_used, real_used;
	__u16 bucket[IPVS_API_BUCKETS];
	struct ipvs_api_service service[IPVS_API_SERVICES];
	struct ipvs_api_real real[IPVS_API_REALS];
};

/* Since when the counters of the service and of its real servers count. */
static inline __attribute__((always_inline)) __u64 ipvs_api_zeroed(
	const struct ipvs_api_table *table, const struct ipvs_api_service *service)
{
	return service->zeroed > table->zeroed ? service->zeroed : table->zeroed;
}

struct ipvs_api_control {
	__u32 layout; /* IPVS_API_LAYOUT */
	__u32 pad;
	__u64 netns;      /* cookie of the namespace whose table this is */
	__u64 generation; /* of the table: odd while it is being changed */
	__u32 timeout_tcp, timeout_tcp_fin, timeout_udp;
	__u32 pad2;
	__u64 refused;      /* commands that ended in an errno other than EPERM */
	__u64 denied;       /* EPERM */
	__u64 truncated;    /* answers that did not fit a page */
	__u64 unanswerable; /* SERVICES, SERVICE, DESTS whose request could not be read */
};

/*
 * Statistics of one service (index: its slot) or real server (IPVS_API_SERVICES + its slot). Belongs to the slot's tenant only while
 * `sequence` is the tenant's. Shown is value - base; nothing while `zeroed` is not the service's: the next write of
 * the daemon brings a new base.
 */
struct ipvs_api_stats_record {
	__u64 sequence;
	__u64 zeroed;
	__u64 connections, packets, bytes;
	__u64 base_connections, base_packets, base_bytes;
	__u32 active, inactive;
	__u32 connection_rate, packet_rate, byte_rate; /* a second */
	__u32 pad;
};
_Static_assert(sizeof(struct ipvs_api_stats_record) == 88, "no hole");

#endif
