/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flows.h - the connection table through its mapping: walk, expire, count, find, insert, move. No system call per entry.
 *
 * Same rules as packets (bpf/table.h), as the weaker side: user space always yields to packets. One writer at a time: the
 * daemon that holds the lock on the pin folder.
 */
#ifndef XLBD_DATAPLANE_FLOWS_H
#define XLBD_DATAPLANE_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"

struct flows; /* opaque */

/* One connection, as a person would name it. */
struct flow {
	struct xlb_addr client;
	uint16_t client_port;   /* host order */
	uint16_t virtual_port;  /* host order; 0: its service has one port only */
	uint16_t service, real; /* ids */
	uint8_t phase;          /* enum xlb_phase */
	uint32_t idle;          /* ticks since its last packet */
};

struct flows_table { /* one of the two tables: a mapped BPF array */
	int fd;
	uint32_t bits, stash_bits; /* 2^bits buckets, 2^stash_bits behind them */
};

/*
 * Maps both tables (NULL: there is none). Borrows the control block (seed, timeouts), not the descriptors. Frees claims that a
 * killed daemon left. -EINVAL: sizes that no table has.
 */
int flows_open(const struct flows_table *ipv4, const struct flows_table *ipv6,
               const struct xlb_control *control, struct flows **ret);
struct flows *flows_close(struct flows *flows); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct flows, flows_close)

/* What one whole sweep saw. Arrays by id. */
struct flows_census {
	uint64_t live, by_phase[XLB_PHASES], expired; /* expired: freed by this sweep */
	uint64_t slots;
	uint32_t active[XLB_IDS];   /* by real server: SYN_RECV and ESTABLISHED, as IPVS counts */
	uint32_t inactive[XLB_IDS]; /* by real server: all others */
	uint32_t service[XLB_IDS];  /* by service */
};

/*
 * Frees what is over its timeout and counts the rest. `now`: the tick. drop_service, drop_real: bitmaps by id of owners
 * whose entries are to be freed too (NULL: none).
 */
void flows_sweep(struct flows *flows, uint64_t now, const uint64_t *drop_service,
                 const uint64_t *drop_real, struct flows_census *census);

/*
 * To be called before the heart beats again, with the tick of its last beat (0: none): after a time in which nobody swept, frees
 * what only looks alive because the clock of the table has gone round, with the timeouts of that time. Costs nothing after a
 * short absence. Returns how many connections went.
 */
uint64_t flows_wake(struct flows *flows, uint64_t now, uint64_t last);

/* Calls see() for every live connection until it returns false. */
void flows_walk(struct flows *flows, uint64_t now,
                bool (*see)(void *context, const struct flow *flow), void *context);
/* The connection of this client with this service; false: not there. Of a service with many ports: flows_look. */
bool flows_find(struct flows *flows, uint64_t now, const struct xlb_addr *client,
                uint16_t client_port, uint16_t service, bool ipv6_table, struct flow *ret);
/* The connection with the client, ports and service of `who`. */
bool flows_look(struct flows *flows, uint64_t now, const struct flow *who, bool ipv6_table,
                struct flow *ret);
/*
 * 0 inserted, as of `now` (flow->idle is not looked at: no slot's time goes back), -EEXIST, -ENOSPC: nothing may give way, -EAGAIN:
 * a packet is inserting it now, or there was no slot in peace.
 */
int flows_insert(struct flows *flows, uint64_t now, const struct flow *flow, bool ipv6_table);

/* ---- another size, without stopping ---- */

/*
 * 1. flows_may_resize, before anything is touched. 2. New maps; a program that knows both (bpf/settings.h: *_old_bits) takes over
 * through the link; wait for running programs. 3. flows_close, flows_open of the new tables, flows_attach of the old ones: from
 * here on sweep, walk, find and insert mean both. 4. flows_move until a walk leaves nothing behind. 5. A program that knows the
 * new tables only; wait; flows_detach. A daemon that dies anywhere leaves both maps in use; the next one goes on at 3.
 */

/* -ENOSPC: smaller than now and not empty. -EBUSY: the last change of size is still under way. -EINVAL: no size of a table. */
int flows_may_resize(struct flows *flows, bool ipv6_table, uint32_t bits, uint32_t stash_bits);
int flows_attach(struct flows *flows, const struct flows_table *old_ipv4,
                 const struct flows_table *old_ipv6); /* NULL: this one keeps its size */
void flows_detach(struct flows *flows);

struct flows_progress {  /* zero it before the first call */
	uint64_t bucket; /* where the walk stands */
	uint64_t moved,
		left; /* in this walk: `left` are still in the old table, for want of a slot */
};

/* Moves what lives in the next `buckets` buckets. True: that was the end of a walk; the next call begins another. */
bool flows_move(struct flows *flows, uint64_t now, size_t buckets, struct flows_progress *progress);

const char *phase_name(uint8_t phase); /* IPVS's names: "SYN_RECV", "ESTABLISHED", ... */

#endif
