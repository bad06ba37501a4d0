// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * snapshot.c - `snapshot`: what `status`, `vip`, `real` and `drops` would say, all of one moment.
 *
 * For programs that collect figures (xlb-snmp, xlbctl metrics): with one question a second the
 * figures of a virtual server and of its real servers belong together, and the daemon's loop is
 * held once. The fields are those of the four commands, documented there; nothing is computed here,
 * so that no collector can ever disagree with xlbctl.
 */
#include <stddef.h>

#include "xlbd/cleanup.h"
#include "xlbd/control/command.h"
#include "xlbd/control/show.h"
#include "xlbd/control/show_services.h"
#include "xlbd/control/snapshot.h"

int show_snapshot(struct control_call *call)
{
	static int (*const parts[])(struct control_call *) = {
		show_status,
		show_vip,
		show_real,
		show_drops,
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int r = parts[i](call);

		if (r < 0)
			return r;
	}
	return 0;
}
