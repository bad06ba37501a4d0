// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * service_table.c - the data plane's table of virtual servers.
 *
 * Two halves in one mapped array; xlb_control.half says which counts. A change is made by writing the other half whole and
 * turning over, so no packet sees a slot whose key is new and whose id is old. The half that is written was in force
 * before the last turn: programs that still read it must have ended, hence the wait in front. Services that find both
 * slots of their line taken go to a hash map, which packets ask only while a flag is set; entries there are written
 * before the turn and unneeded ones deleted after it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <uthash.h>

#include "xlbd/dataplane/service_table.h"

#define LINES_BYTES (2 * XLB_SERVICE_LINES * sizeof(struct xlb_service_line))

struct wanted {
	struct xlb_service service;
	bool overflow; /* lives in the hash map since the last publish */
	UT_hash_handle hh;
};

struct service_table {
	struct dataplane *dataplane;
	struct xlb_service_line *lines; /* mapped: both halves */
	struct wanted *wanted;          /* uthash, by key */
	bool dirty;
};

int service_table_open(struct dataplane *dataplane, struct service_table **ret)
{
	_cleanup_(service_table_closep) struct service_table *table = calloc(1, sizeof(*table));
	void *lines;

	if (!table)
		return -ENOMEM;
	table->dataplane = dataplane;
	lines = mmap(NULL, LINES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
	             dataplane_map(dataplane, MAP_SERVICES), 0);
	if (lines == MAP_FAILED)
		return -errno;
	table->lines = lines;
	*ret = take_ptr(table);
	return 0;
}

struct service_table *service_table_close(struct service_table *table)
{
	struct wanted *wanted, *next;

	if (!table)
		return NULL;
	HASH_ITER(hh, table->wanted, wanted, next) {
		HASH_DEL(table->wanted, wanted);
		free(wanted);
	}
	if (table->lines)
		munmap(table->lines, LINES_BYTES);
	free(table);
	return NULL;
}

static struct wanted *find(const struct service_table *table, const struct xlb_service_key *key)
{
	struct wanted *wanted;

	HASH_FIND(hh, table->wanted, key, sizeof(*key), wanted);
	return wanted;
}

int service_table_put(struct service_table *table, const struct xlb_service *service)
{
	struct wanted *wanted = find(table, &service->key);

	if (!wanted) {
		wanted = calloc(1, sizeof(*wanted));
		if (!wanted)
			return -ENOMEM;
		wanted->service = *service;
		HASH_ADD(hh, table->wanted, service.key, sizeof(wanted->service.key), wanted);
		table->dirty = true;
	} else if (memcmp(&wanted->service, service, sizeof(*service))) {
		wanted->service = *service;
		table->dirty = true;
	}
	return 0;
}

void service_table_drop(struct service_table *table, const struct xlb_service_key *key)
{
	struct wanted *wanted = find(table, key);

	if (!wanted)
		return;
	if (wanted->overflow) /* deleted at once: nobody may find what is not wanted */
		(void)bpf_map_delete_elem(dataplane_map(table->dataplane, MAP_SERVICE_OVERFLOW),
		                          key);
	HASH_DEL(table->wanted, wanted);
	free(wanted);
	table->dirty = true;
}

const struct xlb_service *service_table_find(const struct service_table *table,
                                             const struct xlb_service_key *key)
{
	const struct wanted *wanted = find(table, key);

	return wanted ? &wanted->service : NULL;
}

bool service_table_is_dirty(const struct service_table *table)
{
	return table->dirty;
}

/* Fills the half and the overflow map; returns how many went to the latter. */
static int fill(struct service_table *table, struct xlb_service_line *half)
{
	int overflow_fd = dataplane_map(table->dataplane, MAP_SERVICE_OVERFLOW), overflow = 0;
	struct wanted *wanted, *next;

	memset(half, 0, LINES_BYTES / 2);
	HASH_ITER(hh, table->wanted, wanted, next) {
		struct xlb_service_line *line = &half[xlb_service_line_of(&wanted->service.key)];
		bool in_line = !line->slot[0].id || !line->slot[1].id;

		if (in_line) {
			line->slot[line->slot[0].id ? 1 : 0] = wanted->service;
			continue;
		}
		if (bpf_map_update_elem(overflow_fd, &wanted->service.key, &wanted->service,
		                        BPF_ANY))
			return errno == E2BIG ? -ENOSPC : -errno;
		wanted->overflow = true;
		overflow++;
	}
	return overflow;
}

int service_table_publish(struct service_table *table)
{
	struct xlb_control *control = dataplane_control(table->dataplane);
	uint32_t other = !(control->half & 1);
	int r;

	r = dataplane_synchronize(table->dataplane);
	if (r < 0)
		return r;
	r = fill(table, table->lines + other * XLB_SERVICE_LINES);
	if (r < 0)
		return r;
	if (r > 0)
		__atomic_or_fetch(&control->flags, XLB_CONTROL_OVERFLOW, __ATOMIC_SEQ_CST);
	__atomic_store_n(&control->half, other, __ATOMIC_SEQ_CST);
	if (r == 0)
		__atomic_and_fetch(&control->flags, ~XLB_CONTROL_OVERFLOW, __ATOMIC_SEQ_CST);
	table->dirty = false;
	return 0;
}

_Static_assert(sizeof(struct xlb_service_line) == 64, "mapped as the kernel lays it out");
