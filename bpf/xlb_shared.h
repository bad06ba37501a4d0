/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xlb_shared.h - what the data plane and the daemon both know: keys, values, verdicts, limits.
 *
 * Every structure here lies in a BPF map and is read by programs of one build and daemons of another,
 * so: fixed-width types, every hole a named pad, sizes asserted, no pointers, no bool, no enum members.
 * Types say byte order: __be16/__be32 came off the wire, plain integers are in host order.
 * A change of any layout raises XLB_LAYOUT: pinned maps of another layout are refused with a sentence.
 */
#ifndef XLB_SHARED_H
#define XLB_SHARED_H

#include <linux/types.h>

#define XLB_LAYOUT 3

/* ---- limits ----------------------------------------------------------------------------------- */

#define XLB_IDS              32768  /* services and real servers: ids 1 .. XLB_IDS-1, 0 is nobody */
#define XLB_SERVICE_LINES    4096   /* lines of two slots in one half of the service table */
#define XLB_SERVICE_OVERFLOW 1024   /* services that found both slots of their line taken */
#define XLB_RING_MAX         131072 /* places of one ring */
#define XLB_RING_WORDS       32     /* places in one element of a ring's map */
#define XLB_INTERFACES       1024   /* slots of the interface table (direct index) */
#define XLB_INTERFACE_MACS   6      /* own MAC and virtual MACs of one interface */
#define XLB_EXITS            256    /* interfaces that packets may leave by */
#define XLB_TAGS             2      /* VLAN tags of a frame */

/* ---- addresses -------------------------------------------------------------------------------- */

/* 16 bytes in network order; IPv4 as ::ffff:a.b.c.d. */
struct xlb_addr {
	union {
		__u8 byte[16];
		__be32 word[4];
	};
};

/* ---- virtual servers -------------------------------------------------------------------------- */

/* What names a virtual server on the wire. Zeroed before use: it is compared whole. */
struct xlb_service_key {
	struct xlb_addr addr;
	union {
		struct {
			__be16 port;   /* 0: any port that no other service of the address has */
			__u8 protocol; /* IPPROTO_TCP or IPPROTO_UDP */
			__u8 pad;
		};
		__u32 tail; /* the three at once: a load of what narrower stores left must wait for them */
	};
};
_Static_assert(sizeof(struct xlb_service_key) == 20, "compared by words");

static inline __attribute__((always_inline)) __u32 xlb_service_key_tail(__be16 port, __u8 protocol)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return port | (__u32)protocol << 16;
#else
	return (__u32)port << 16 | (__u32)protocol << 8;
#endif
}

enum xlb_scheduler {
	XLB_SCHED_NONE,
	XLB_SCHED_RR, /* rr and wrr: a ring walked by one cursor */
	XLB_SCHED_MH,
	XLB_SCHED_SH,
	XLB_SCHED_DH,
};

enum xlb_service_flag {
	XLB_SERVICE_FALLBACK =
		1 << 0, /* sh-fallback, mh-fallback: try others when the choice is unusable */
	XLB_SERVICE_PORT = 1 << 1,  /* sh-port, mh-port: the client's port takes part in the hash */
	XLB_SERVICE_DRAIN = 1 << 2, /* known connections go on, new ones are the kernel's */
	XLB_SERVICE_STANDBY = 1 << 3, /* the address is not ours: touch nothing */
	XLB_SERVICE_GONE = 1 << 4,    /* deleted: known connections are dropped, new ones pass */
};

/*
 * In `protocol` of a key: not a virtual server but where packets of a NAT real server come from; the slot's id is the real
 * server's, the first of a list (struct xlb_real: next).
 */
#define XLB_KEY_SOURCE 0x80
#define XLB_NAT_LIST   8 /* real servers of one address and port, at most */

/*
 * One slot of the service table: direct index by a hash of the key, two slots to a line of 64 bytes.
 * The table exists twice (ARRAY of 2 * XLB_SERVICE_LINES); xlb_control.half says which copy is in force,
 * so packets never see half a table. id 0: empty slot.
 */
struct xlb_service {
	struct xlb_service_key key; /* key.pad is 0 */
	__u16 id;
	__u16 flags;    /* enum xlb_service_flag */
	__u8 scheduler; /* enum xlb_scheduler */
	__u8 pad[7];
};
_Static_assert(sizeof(struct xlb_service) == 32, "two to a cache line");

struct xlb_service_line {
	struct xlb_service slot[2];
};

/* Which line of the service table a key lives in; the same in the kernel and in the daemon. */
static inline __attribute__((always_inline)) __u32 xlb_service_line_of(
	const struct xlb_service_key *key)
{
	__u32 x = key->addr.word[0] ^ key->addr.word[1] ^ key->addr.word[2] ^ key->addr.word[3];

	x ^= key->tail * 0x85ebca6bu;
	x *= 0x9e3779b1u;
	return x >> 20 & (XLB_SERVICE_LINES - 1);
}

/* ---- rings ------------------------------------------------------------------------------------ */

/*
 * The ring of a service: an ARRAY of 64-byte elements, the inner map of `rings` at the service's id, replaced whole.
 * Element 0 is the header, place n lies in element 1 + n / 32. A place holds a real server's id; 0: nobody.
 */
struct xlb_ring_header {
	__u32 length; /* places; 0: no real server at all */
	__u32 pad[15];
};

union xlb_ring_element {
	struct xlb_ring_header header;
	__u16 real[XLB_RING_WORDS];
};
_Static_assert(sizeof(union xlb_ring_element) == 64, "a line");

/* ---- real servers ----------------------------------------------------------------------------- */

enum xlb_forwarding { /* numbers of IP_VS_CONN_F_FWD_MASK */
	              XLB_FORWARD_NAT = 0,
	              XLB_FORWARD_LOCAL = 1,
	              XLB_FORWARD_TUNNEL = 2,
	              XLB_FORWARD_DIRECT = 3,
};

enum xlb_real_flag {
	XLB_REAL_RESOLVED = 1 << 0, /* the link-layer part below may be used */
	XLB_REAL_USABLE = 1 << 1,   /* weight > 0: may be chosen for a new connection */
	XLB_REAL_GONE = 1 << 2, /* removed from its service; connections stay until they time out */
	XLB_REAL_TUNNEL = 1 << 3, /* struct xlb_tunnel has what goes around the packet */
	XLB_REAL_NAT = 1 << 4,    /* the packet's destination becomes addr and port */
};

/*
 * One real server of one virtual server, at its id. The first 32 bytes are all that a known connection reads, NAT aside.
 * dmac changes by one 8-byte store; for any other change of the link-layer part the daemon takes
 * XLB_REAL_RESOLVED away first, waits for running programs, writes, and sets it again.
 */
struct xlb_real {
	__u8 dmac[6];
	__u8 smac[6];
	__be16 tpid[XLB_TAGS]; /* VLAN tags to leave with, outermost first; tpid 0: none */
	__be16 tci[XLB_TAGS];
	__u32 ifindex; /* of the device that sends: below VLAN devices */
	__u16 exit;    /* its slot in the devmap */
	__u16 flags;   /* enum xlb_real_flag */
	__u32 mtu; /* what a packet may have on the way: IP bytes, what goes around it not counted */
	/* --- 32 --- */
	__u16 service;
	__be16 port;
	__u8 forwarding; /* enum xlb_forwarding */
	__u8 pad;
	__u16 next; /* NAT: another one of the same address and port, of another service; 0: none */
	__u16 sum_l3; /* NAT: what the virtual address becoming the real one adds to checksums ... */
	__u16 sum_l4; /* ... and addresses and ports; one's complement, in the order of the wire */
	__u8 pad2[4];
	struct xlb_addr addr;
};
_Static_assert(sizeof(struct xlb_real) == 64, "a line");

/*
 * What goes around a packet to a real server behind a tunnel, at its id: one template for every kind of tunnel and both families.
 * Packets put in what depends on them: lengths, traffic class, TTL, id and fragment bits, a flow's source port.
 */
enum xlb_tunnel_kind { /* numbers of IP_VS_CONN_F_TUNNEL_TYPE_* */
	               XLB_TUNNEL_IPIP = 0,
	               XLB_TUNNEL_GUE = 1,
	               XLB_TUNNEL_GRE = 2,
};
#define XLB_TUNNEL_SHIM_WORDS 3
struct xlb_tunnel {
	__be32 ip
		[10]; /* the outer header: IPv4 in the first five words, or IPv6; what packets put in is 0 */
	__be32 shim
		[XLB_TUNNEL_SHIM_WORDS]; /* GUE: UDP header, GUE header; GRE: its header in the first */
	__u32 sum;                       /* of an IPv4 header's 16-bit words, in host order */
	__u8 length;                     /* of all that goes around */
	__u8 ipv6;                       /* the outer header */
	__u8 kind;                       /* enum xlb_tunnel_kind */
	__u8 pad[5];
};
_Static_assert(sizeof(struct xlb_tunnel) == 64, "a line");

/* ---- interfaces ------------------------------------------------------------------------------- */

/*
 * Frames of one {device, VLAN tags} that may be ours: sent to one of these MACs. Direct index, no chain: two
 * interfaces that meet in one slot cannot both be served, the daemon refuses the second.
 * A MAC is six bytes in frame order in the low bytes of a little-endian word; unused ones are 0.
 */
struct xlb_interface {
	__u32 ifindex; /* 0: empty */
	__u16 vid[XLB_TAGS];
	__u32 flags;
	__u32 pad;
	__u64 mac[XLB_INTERFACE_MACS];
};
_Static_assert(sizeof(struct xlb_interface) == 64, "a line");

static inline __attribute__((always_inline)) __u32 xlb_interface_slot(__u32 ifindex, __u16 outer,
                                                                      __u16 inner)
{
	return (ifindex + outer * 131u + inner * 4099u) & (XLB_INTERFACES - 1);
}

/*
 * Where a route of the kernel leads, by the index of its device: the device that sends, below VLAN devices, and its tags. For packets
 * whose next hop is no real server's.
 */
struct xlb_way {
	__u32 ifindex;
	__u16 exit; /* slot in the devmap */
	__u16 pad;
	__be16 tpid[XLB_TAGS];
	__be16 tci[XLB_TAGS];
};
_Static_assert(sizeof(struct xlb_way) == 16, "no holes");

/* ---- the state of a connection ---------------------------------------------------------------- */

/*
 * Phases of a state word (reference: bpf/table.h). Below XLB_PHASE_SYN nobody but the claimer may use the slot.
 * The names are IPVS's (net/netfilter/ipvs/ip_vs_proto_tcp.c).
 */
enum xlb_phase {
	XLB_PHASE_FREE = 0,
	XLB_PHASE_CLAIM = 1,
	XLB_PHASE_REVOKED = 2,
	XLB_PHASE_SYN = 4, /* SYN_RECV */
	XLB_PHASE_ESTABLISHED = 5,
	XLB_PHASE_FIN_WAIT = 6,
	XLB_PHASE_CLOSE = 7,
	XLB_PHASE_DATAGRAM = 8,
	XLB_PHASE_TIME_WAIT = 9,
	XLB_PHASE_CLOSE_WAIT =
		10, /* this and the next: only where the real server's packets are seen (NAT) */
	XLB_PHASE_SYN_SENT = 11,
	XLB_PHASE_LAST = XLB_PHASE_SYN_SENT,
	XLB_PHASES = 16,
};

/* ---- control block ---------------------------------------------------------------------------- */

enum xlb_control_flag {
	XLB_CONTROL_OVERFLOW = 1 << 0,      /* the overflow map of services holds something */
	XLB_CONTROL_EXPIRE_NODEST = 1 << 1, /* net.ipv4.vs.expire_nodest_conn */
	XLB_CONTROL_BYPASS = 1 << 2,        /* all services drain */
	XLB_CONTROL_NAT = 1 << 3, /* there are NAT real servers: look at what comes from them */
};

/* One element, mapped by the daemon, read by every packet. Ticks: jiffies64 >> shift, see settings.h. */
struct xlb_control {
	__u64 heartbeat; /* tick at which the daemon was last alive */
	__u32 silence;   /* ticks after which it counts as dead: no new connections in XDP */
	__u32 half;      /* 0 or 1: copy of the service table in force */
	__u32 flags;     /* enum xlb_control_flag */
	__u32 layout;    /* XLB_LAYOUT of who created the maps */
	__u32 timeout[XLB_PHASES]; /* ticks, by phase */
	__u64 seed;                /* of the connection table's hash; made once, with the maps */
	__u32 pad[8];
};
_Static_assert(sizeof(struct xlb_control) == 128, "two lines");

/* ---- counters --------------------------------------------------------------------------------- */

/* per CPU, by real server's id */
struct xlb_real_counters {
	__u64 packets;     /* forwarded to it */
	__u64 bytes;       /* of IP, header included, as IPVS counts */
	__u64 connections; /* chosen for */
	__u64 dropped;     /* packets meant for it that were dropped */
	__u64 packets_out; /* from it to clients: NAT only, as others do not come back this way */
	__u64 bytes_out;
};

/* per CPU, by verdict */
struct xlb_verdict_counters {
	__u64 packets;
	__u64 bytes; /* of IP; 0 where there was none */
};

/* per CPU, by service id: what never reached a real server */
struct xlb_service_counters {
	__u64 no_real; /* new connections that found none to go to */
	__u64 refused; /* new connections that the table had no slot for */
	__u64 passed;  /* packets of the service left to the kernel for any other reason */
	__u64 dropped; /* packets dropped before a real server was known */
};

/* ---- verdicts --------------------------------------------------------------------------------- */

/*
 * Every way out of the data plane, once: number, name, what happens, word for people, sentence for people.
 * ANSWER: the packet itself goes nowhere, an answer to it leaves by the interface that it came from.
 * The program counts by number; the daemon, xlbctl, the MIB and the man page use word and sentence.
 * Numbers never change their meaning; new ones go at the end.
 */
#define XLB_VERDICTS(V)                                                                           \
	V(1, SENT, TX, "sent", "forwarded by the interface it came from")                         \
	V(2, REDIRECTED, REDIRECT, "redirected", "forwarded by another interface")                \
	V(3, NOT_OURS, PASS, "not-ours", "not for a virtual server")                              \
	V(4, MALFORMED, PASS, "malformed",                                                        \
	  "headers that do not fit together; the kernel drops and counts it")                     \
	V(5, OTHER_MAC, PASS, "other-mac", "frame sent to another station's MAC address")         \
	V(6, STANDBY, PASS, "standby", "virtual server whose address this director does not own") \
	V(7, NO_ENTRY, PASS, "no-entry",                                                          \
	  "TCP without SYN that no connection in the table explains; the kernel may know it")     \
	V(8, SILENT, PASS, "silent", "new connection while the daemon is silent: the kernel's")   \
	V(9, DRAINING, PASS, "draining",                                                          \
	  "new connection of a service that leaves XDP: the kernel's")                            \
	V(10, MARTIAN, PASS, "martian", "source address that the kernel refuses")                 \
	V(11, NO_REAL, PASS, "no-real", "no usable real server; the kernel answers")              \
	V(12, TABLE_FULL, PASS, "table-full",                                                     \
	  "no slot for a new connection, none may give way: the kernel's")                        \
	V(13, ICMP_UNKNOWN, PASS, "icmp-unknown", "ICMP error about no known connection")         \
	V(14, DROP_REAL_GONE, DROP, "real-gone", "connection to a removed real server")           \
	V(15, DROP_SERVICE_GONE, DROP, "service-gone", "connection of a removed virtual server")  \
	V(16, DROP_UNRESOLVED, DROP, "unresolved",                                                \
	  "real server's link-layer address is not known (yet)")                                  \
	V(17, DROP_BUSY, DROP, "busy", "two CPUs opened the same connection; the client repeats") \
	V(18, DROP_TTL, DROP, "ttl", "TTL or hop limit used up")                                  \
	V(19, DROP_TOO_BIG, DROP, "too-big", "longer than the MTU towards the real server")       \
	V(20, DROP_SOURCE_ROUTE, DROP, "source-route", "IP source route option")                  \
	V(21, FRAGMENT, PASS, "fragment", "fragment whose first fragment is not known")           \
	V(22, DROP_HEADROOM, DROP, "headroom", "no room for a VLAN tag in front of the frame")    \
	V(23, DROP_EXIT, DROP, "exit", "interface towards the real server takes no frames")       \
	V(24, DROP_NO_WAY, DROP, "no-way",                                                        \
	  "answer of a NAT real server: no route, or next hop not known (yet)")                   \
	V(25, ANSWERED_TTL, ANSWER, "answered-ttl",                                               \
	  "TTL or hop limit used up; the client got an ICMP error")                               \
	V(26, ANSWERED_TOO_BIG, ANSWER, "answered-too-big",                                       \
	  "longer than the MTU towards the real server; the client got an ICMP error")

enum xlb_verdict {
	XLB_CONTINUE = 0, /* no verdict yet: on to the next stage */
#define V(number, name, action, word, sentence) XLB_##name = (number),
	XLB_VERDICTS(V)
#undef V
		XLB_VERDICT_COUNT
};

/* ---- names that outlive the daemon ------------------------------------------------------------ */

/* Key of the pinned map `names`: a service (real.* zero) or a real server of it. All pads zero. */
struct xlb_name {
	struct xlb_service_key service;
	struct xlb_addr real;
	__be16 real_port;
	__u8 is_real;
	__u8 pad;
};
_Static_assert(sizeof(struct xlb_name) == 40, "no holes");

/* Its value. Ids of services and of real servers are two spaces. */
struct xlb_id {
	__u16 id;
	__u16 gone; /* 1: removed; kept until no connection carries the id */
	__s32 last_weight; /* of a real server: latest weight that was not 0; mh builds its shares from it */
	/* of a service: what its real servers of former times had counted when their ids were given back */
	__u64 packets, bytes, connections;
};

#endif
