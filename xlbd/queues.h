/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queues.h - what a device and each of its receive queues have received, as kernel and driver count.
 */
#ifndef XLBD_QUEUES_H
#define XLBD_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUES_MOST 512 /* of one device; further ones are not looked at */

struct queue_counts {
	bool known; /* the driver counts by queue, and has this one */
	uint64_t packets, bytes;
};

/* Fills ret[queue]; returns how many places were looked at: the highest queue's number + 1, 0: none is counted. Never logs. */
size_t queues_read(const char *device, struct queue_counts ret[QUEUES_MOST]);
/* Of the device as a whole; false: there is no such device. */
bool queues_device(const char *device, struct queue_counts *ret);

/* ---- pure, for the tests ---- */

enum queue_value { QUEUE_PACKETS, QUEUE_BYTES, QUEUE_VALUES };
/* From a driver's name of a statistic. Returns how much it is preferred to another that says the same; 0: it is none of a queue. */
unsigned queues_name(const char *name, unsigned *ret_queue, enum queue_value *ret_value);
/* One line of /proc/net/dev. */
bool queues_device_line(const char *line, const char *device, struct queue_counts *ret);

#endif
