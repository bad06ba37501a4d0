/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring.h - the order in which real servers take new connections, as IPVS would have it. Pure.
 *
 * mh, sh, dh: the kernel's tables to the bit (net/netfilter/ipvs/ip_vs_{mh,sh,dh}.c); rr, wrr: one whole cycle of the
 * kernel's walk, which the data plane goes round with a cursor. A place holds 1 + the index of the real server in
 * service->reals, 0 for nobody; apply.c replaces these by ids.
 */
#ifndef XLBD_MODEL_RING_H
#define XLBD_MODEL_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlbd/model/service.h"

#define RING_MH_SIZE   4093 /* CONFIG_IP_VS_MH_TAB_INDEX 12 */
#define RING_HASH_SIZE 256  /* sh, dh */

struct ring {
	size_t length;
	uint16_t *place; /* malloc'ed */
};

/*
 * Fills `ret` for service->scheduler; ring_free() it. mh_size: RING_MH_SIZE, or a larger prime for a finer ring
 * that is not the kernel's. A service without a usable share (no real server, mh whose last weights are
 * all 0, rr/wrr whose weights are all 0) gets a ring of length 0. -ENOTSUP: no ring for this scheduler; -E2BIG: the
 * cycle of wrr would be longer than XLB_RING_MAX, or mh has more real servers than places; -EINVAL: mh_size is not a prime
 * of at most XLB_RING_MAX; -ENOMEM.
 */
int ring_build(const struct service *service, size_t mh_size, struct ring *ret);
void ring_free(struct ring *ring);
enum xlb_scheduler ring_scheduler(const char *scheduler); /* XLB_SCHED_NONE: not offered */
/* Whether ring_build() would give both the same ring, real servers of the same place in the list being the same. */
bool ring_is_same(const struct service *a, const struct service *b);
/* Places that rr or wrr needs; 0: no usable real server. May exceed XLB_RING_MAX. */
uint64_t ring_cycle(const struct service *service);

/* Kernel's hashes, 64-bit kernels. address: IPv4 as host-order word, IPv6 the XOR of its four host-order words. */
uint32_t ring_mh_hash(uint32_t address, uint16_t port, uint32_t offset, uint64_t key);
uint32_t ring_sh_hash(uint32_t address, uint16_t port, uint32_t offset);
uint32_t ring_fold(const struct xlb_addr *addr);
#define RING_MH_KEY1 2654435761u
#define RING_MH_KEY2 2654446892u

#endif
