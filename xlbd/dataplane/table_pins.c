// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * table_pins.c - sizes of connection tables, and the pins that say in which state a change of size is.
 *
 * A table is pinned by the name of its map; while it changes its size, NAME is the new one and NAME_old the one that its
 * connections come from. The pins are the only memory of it: whatever a daemon was doing when it died, the next one sees
 *
 *	NAME            at rest
 *	NAME_old        died between the two steps of table_pins_grow(): no program knows another table; it is NAME again
 *	NAME, NAME_old  under way: a program that knows both goes on serving, and moving (resize.c)
 *
 * Each step between these is one rename, one pin or one unlink, which the kernel does whole or not at all. Programs hold their
 * maps by themselves, so no pin that comes or goes takes a table away from packets.
 *
 * Sizes are read from the pinned maps, not noted anywhere. Called by loader.c and resize.c, under the lock on the folder.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "xlbd/cleanup.h"
#include "xlbd/dataplane/table_pins.h"

#define BITS_LEAST       8u
#define BITS_MOST        24u
#define STASH_SHARE_BITS 4u /* the stash is 1/16 of the buckets */
#define WAYS             4

uint32_t table_bits_for(uint64_t connections)
{
	uint32_t bits = BITS_LEAST;

	/* twice the slots */
	while (bits < BITS_MOST && (uint64_t)WAYS << bits < 2 * connections)
		bits++;
	return bits;
}

uint32_t table_stash_bits(uint32_t bits)
{
	return bits - STASH_SHARE_BITS;
}

uint32_t table_entries(uint32_t bits)
{
	return (1u << bits) + (1u << table_stash_bits(bits));
}

uint64_t table_capacity(uint32_t bits)
{
	return (uint64_t)WAYS << bits;
}

struct path {
	char text[256];
};

static struct path path_of(const char *folder, const char *name, const char *suffix)
{
	struct path path;

	snprintf(path.text, sizeof(path.text), "%s/%s%s", folder, name, suffix);
	return path;
}

/* 0 and *ret: the entries of the map that is pinned there; -ENOENT: none. */
static int pinned_entries(const char *path, uint32_t *ret)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);
	_cleanup_close_ int fd = bpf_obj_get(path);

	if (fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return -errno;
	*ret = info.max_entries;
	return 0;
}

/* 0: no table is of this size. */
static uint32_t bits_of(uint32_t entries)
{
	uint32_t bits = BITS_LEAST;

	while (bits <= BITS_MOST && entries != table_entries(bits))
		bits++;
	return bits <= BITS_MOST ? bits : 0;
}

int table_pins_read(const char *folder, const char *name, struct table_pins *ret)
{
	struct path table = path_of(folder, name, ""), old = path_of(folder, name, "_old");
	uint32_t entries = 0, old_entries = 0;
	int r = pinned_entries(table.text, &entries);
	int r_old = pinned_entries(old.text, &old_entries);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r_old < 0 && r_old != -ENOENT)
		return r_old;
	if (r_old == 0 && !bits_of(old_entries)) {
		/* the object's place-holder, as daemons pinned it that did not know about sizes */
		if (unlink(old.text) < 0)
			return -errno;
		old_entries = 0;
	}
	if (r == -ENOENT && old_entries) {
		if (rename(old.text, table.text) < 0)
			return -errno;
		entries = old_entries;
		old_entries = 0;
	}
	*ret = (struct table_pins){bits_of(entries), bits_of(old_entries)};
	return 0;
}

int table_pins_grow(const char *folder, const char *name, size_t bucket_bytes, uint32_t bits)
{
	struct path table = path_of(folder, name, ""), old = path_of(folder, name, "_old");
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	/* first what may fail for want of memory */
	_cleanup_close_ int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "connections", sizeof(uint32_t),
	                       (uint32_t)bucket_bytes, table_entries(bits), &options);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (access(old.text, F_OK) == 0)
		return -EBUSY;
	if (rename(table.text, old.text) < 0)
		return -errno;
	if (bpf_obj_pin(fd, table.text)) {
		r = -errno;
		(void)rename(old.text, table.text);
	}
	return r;
}

int table_pins_undo(const char *folder, const char *name)
{
	struct path table = path_of(folder, name, ""), old = path_of(folder, name, "_old");

	/* takes the place of the new one, which ends with its pin */
	return rename(old.text, table.text) < 0 ? -errno : 0;
}

int table_pins_drop_old(const char *folder, const char *name)
{
	struct path old = path_of(folder, name, "_old");

	return unlink(old.text) < 0 && errno != ENOENT ? -errno : 0;
}
