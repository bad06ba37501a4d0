/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heartbeat.h - keeps the heart of an earlier daemon beating while the next one starts.
 */
#ifndef XLBD_DATAPLANE_HEARTBEAT_H
#define XLBD_DATAPLANE_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "xlb_shared.h"
#include "xlbd/dataplane/clock.h"

/*
 * Beats in the pinned control block, if there is one of our layout whose heart has not fallen silent yet. True: it did. False:
 * nothing was touched; new connections are the kernel's until the daemon has looked.
 */
bool heartbeat_keep(const char *pin_folder, const struct tick *tick);

/* Whether a heart that beat at `last` still counts as beating. Pure; as bpf/stage/begin.h. */
bool heartbeat_counts(uint64_t last, uint32_t silence, uint64_t now);

#endif
