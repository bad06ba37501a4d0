/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sync.h - the daemon's side of xlbd-sync: sockets, timer, key file, and what changes in the daemon.
 */
#ifndef XLBD_SYNC_SYNC_H
#define XLBD_SYNC_SYNC_H

#include "xlbd/sync/channel.h"
#include "xlbd/sync/gate.h"
#include "xlbd/sync/node.h"

struct sync; /* opaque */
struct xlbd;

/* Begins, if xlbd.yaml asks for it; xlbd->sync stays NULL otherwise. Logs. A sync that cannot begin is said and harms nothing else. */
void sync_start(struct xlbd *xlbd);
void sync_stop(struct xlbd *xlbd);
/* All of these are for a daemon with or without sync. */
void sync_looked(struct xlbd *xlbd); /* services, or whether they are ours, may have changed */
void sync_swept(struct xlbd *xlbd);  /* ids may have other owners */
void sync_tables_changed(
	struct xlbd
		*xlbd); /* xlbd->flows is another one, before the old one's memory is used again */
/* The key file again. 0, or -errno with a sentence. */
int sync_rekey(struct xlbd *xlbd, char ret_sentence[SEAL_SENTENCE]);

/* Would a sync of the one be a sync of the other? Policies of services aside: they are looked at with each look. */
bool sync_same_conf(const struct conf_sync *a, const struct conf_sync *b);

/* For those who show it. */
const struct sync_node *sync_node(const struct sync *sync);
struct sync_node *sync_node_to_change(struct sync *sync);
const struct channel *sync_channel(const struct sync *sync);
const struct gate *sync_gate(const struct sync *sync);
struct gate *sync_gate_to_change(struct sync *sync);
const char *sync_problem(const struct sync *sync); /* why it does not run; "": it does */
int64_t sync_split_since(
	const struct sync *sync); /* ms; 0: nobody else is active for what we are */
int64_t sync_now(void);

#endif
