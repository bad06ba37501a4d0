/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * channel.h - the sockets: datagrams to the other directors and from them, over one device or two.
 */
#ifndef XLBD_SYNC_CHANNEL_H
#define XLBD_SYNC_CHANNEL_H

#include "conf/conf.h"
#include "xlbd/cleanup.h"

struct channel; /* opaque */

typedef void (*channel_take)(void *context, uint8_t *message, size_t length);

/* Borrows nothing. A device that is not there yet is no error: channel_repair() opens it later. */
int channel_open(const struct conf_sync *conf, struct channel **ret);
struct channel *channel_close(struct channel *channel); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct channel, channel_close)

/* UDP payload that fits the MTU of each device. */
size_t channel_message_max(const struct channel *channel);
/* For the loop: descriptors to be read; -1: not open. */
int channel_fd(const struct channel *channel, size_t link);
/* Opens what is not open, again where a device has come anew. True: a descriptor has changed. Call every second or so. */
bool channel_repair(struct channel *channel);
/* To everybody, over each device. What cannot be sent is counted. */
void channel_send(struct channel *channel, const uint8_t *message, size_t length);
/* Reads what has come, at most some hundred datagrams. */
void channel_read(struct channel *channel, size_t link, channel_take take, void *context);

struct channel_link {
	const char *device;
	bool open;
	int problem;                          /* -errno of the last attempt to open; 0: none */
	uint64_t sent, received, failed, far; /* far: had crossed a router */
};
bool channel_link(const struct channel *channel, size_t link, struct channel_link *ret);

#endif
