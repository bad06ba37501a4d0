// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * heartbeat.c - keeps the heart of an earlier daemon beating while the next one starts.
 *
 * The program on the devices leaves new connections to the kernel once no daemon has let the heart beat for `silence`. A restart
 * must not run into that: loading the program takes the verifier a second of CPU, on a busy machine several. Where the
 * maps are pinned the program of before is still at work on tables that were right a moment ago, so loader.c lets the heart
 * beat before and behind the long load, and daemon.c once more before its first look.
 *
 * Only a heart that still counts as beating is kept so. Once it has fallen silent nobody knows what has changed since, and the
 * kernel, where it has IPVS, does know: then the heart beats only when everything has been looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "xlbd/cleanup.h"
#include "xlbd/dataplane/heartbeat.h"

bool heartbeat_counts(uint64_t last, uint32_t silence, uint64_t now)
{
	return last && (now <= last || now - last <= silence);
}

static bool beat(struct xlb_control *control, const struct tick *tick)
{
	uint64_t now;

	if (control->layout != XLB_LAYOUT || clock_now(tick, &now) < 0 ||
	    !heartbeat_counts(control->heartbeat, control->silence, now))
		return false;
	__atomic_store_n(&control->heartbeat, now, __ATOMIC_RELEASE);
	return true;
}

bool heartbeat_keep(const char *pin_folder, const struct tick *tick)
{
	_cleanup_close_ int fd = -1;
	void *control;
	char path[512];
	bool kept;

	snprintf(path, sizeof(path), "%s/control", pin_folder);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return false;
	control = mmap(NULL, sizeof(struct xlb_control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED)
		return false;
	kept = beat(control, tick);
	munmap(control, sizeof(struct xlb_control));
	return kept;
}
