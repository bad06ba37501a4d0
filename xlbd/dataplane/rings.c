// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rings.c - the ring of one service into the kernel.
 *
 * A ring is a map of its own, filled before anybody can see it and then put into the map of rings at the service's id. The
 * former ring is freed by the kernel when the last program that may read it has ended; the update waits for
 * that, so when it returns no packet chooses from the old ring any more. All elements go in by one system call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"
#include "xlbd/dataplane/rings.h"

static int fill(int fd, const uint16_t *place, size_t length, uint32_t count)
{
	_cleanup_free_ union xlb_ring_element *element = calloc(count, sizeof(*element));
	_cleanup_free_ uint32_t *key = calloc(count, sizeof(*key));
	uint32_t written = count;

	if (!element || !key)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		key[i] = i;
	element[0].header.length = (uint32_t)length;
	if (length)
		memcpy(&element[1], place, length * sizeof(*place));
	return bpf_map_update_batch(fd, key, element, &written, NULL) ? -errno : 0;
}

int rings_swap(int rings_fd, uint16_t service, const uint16_t *place, size_t length)
{
	uint32_t count = 1 + (uint32_t)((length + XLB_RING_WORDS - 1) / XLB_RING_WORDS),
		 key = service;
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP);
	_cleanup_close_ int fd = -1;
	int r;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ring", sizeof(uint32_t),
	                    sizeof(union xlb_ring_element), count, &options);
	if (fd < 0)
		return -errno;
	r = fill(fd, place, length, count);
	if (r < 0)
		return r;
	return bpf_map_update_elem(rings_fd, &key, &fd, BPF_ANY) ? -errno : 0;
}
