/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table_pins.h - sizes of connection tables, and the pins that say in which state a change of size is.
 */
#ifndef XLBD_DATAPLANE_TABLE_PINS_H
#define XLBD_DATAPLANE_TABLE_PINS_H

#include <stddef.h>
#include <stdint.h>

/* One table of a pin folder, by the name of its map. */
struct table_pins {
	uint32_t bits, old_bits; /* of NAME and of NAME_old; 0: not pinned */
};

/* Buckets for so many connections, as a power of two; of the stash behind them; of both together. */
uint32_t table_bits_for(uint64_t connections);
uint32_t table_stash_bits(uint32_t bits);
uint32_t table_entries(uint32_t bits);
uint64_t table_capacity(uint32_t bits); /* slots, without the stash */

/* Brings the pins of a daemon that died in the middle in order, and reads them. */
int table_pins_read(const char *folder, const char *name, struct table_pins *ret);
/* NAME becomes NAME_old, and NAME a new table. On failure the pins are as they were. */
int table_pins_grow(const char *folder, const char *name, size_t bucket_bytes, uint32_t bits);
/* Undoes that; only before a program that knows the new table is anywhere. */
int table_pins_undo(const char *folder, const char *name);
/* The last step: NAME_old is empty, and no program knows it any more. */
int table_pins_drop_old(const char *folder, const char *name);

#endif
