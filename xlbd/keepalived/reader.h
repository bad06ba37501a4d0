/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reader.h - keepalived.conf -> what keepalived declares: virtual servers, VRRP instances, the globals that matter to us.
 *
 * Reads as keepalived's own parser does (reference: config-grammar.md), never executes anything, bounded in depth
 * and size. It says what the file declares, not what is in force: that is the IPVS table's word.
 */
#ifndef XLBD_KEEPALIVED_READER_H
#define XLBD_KEEPALIVED_READER_H

#include "xlbd/complaint.h"
#include "xlbd/model/service.h"

struct declared_address {
	struct xlb_addr addr;
	uint8_t prefix;
	char device
		[16]; /* where keepalived puts it: its `dev`, else the instance's interface (the VMAC device if use_vmac) */
	bool excluded; /* virtual_ipaddress_excluded */
	struct origin origin;
};

struct vrrp_instance {
	const char *name;
	char interface[16];
	char vmac[16]; /* device name if use_vmac, else "" */
	uint8_t virtual_router_id, priority;
	const char *sync_group; /* NULL: none */
	struct declared_address *addresses;
	size_t address_count;
	struct origin origin;
};

/* Opaque owner and plain contents: everything lives in one arena. */
struct keepalived_config {
	struct service_set *
		services; /* groups expanded: one service an address; origins and names filled; real servers
			    * in the file's order (the kernel's has the newest first), the sorry server last */
	struct vrrp_instance *instances;
	size_t instance_count;
	const char *net_namespace, *net_namespace_ipvs, *instance; /* NULL: not given */
	const char *lvs_notify_fifo, *vrrp_notify_fifo,
		*notify_fifo; /* as written; NULL: not given */
	bool nftables_ipvs;   /* address groups become fwmarks */
	bool lvs_sync_daemon;
	const char *
		*files; /* every file that was read, for those who watch them; NULL at the end */
	/* services that cannot be trusted to be what keepalived made of them (_RANDOM, _ENV, unknown keyword
	 * with a block, over-long line ...): key in services, sentence */
	size_t doubtful_count;
	struct doubtful {
		struct xlb_service_key key;
		const char *reason;
	} * doubtful;
};

struct keepalived_options {
	const char *config_id; /* for @id lines; NULL: host name up to the first dot */
	const char *root;      /* in front of absolute paths (tests); NULL: none */
};

/*
 * Reads `file` and what it includes. Mistakes go to `complaints`: errors where keepalived itself would ignore or refuse
 * something, warnings for what a user would thank us for (config-grammar.md section 17.4), notes. Like keepalived it goes
 * on after an error, so 0 means: read, complaints_errors() says how well. -ENOENT, -EACCES: the file itself;
 * -EINVAL: it is no regular file, or executable, which keepalived refuses;
 * -E2BIG: a limit (depth, files, bytes, expansions), said in a complaint; -ENOMEM. *ret is untouched on failure.
 */
int keepalived_read(const char *file, const struct keepalived_options *options,
                    struct complaints *complaints, struct keepalived_config **ret);
/*
 * The same for a text in memory, which may be anything: includes are not followed. bytes_max bounds what is read or
 * expanded; 0: the usual limit.
 */
int keepalived_read_text(const char *name, const char *text, size_t length,
                         const struct keepalived_options *options, size_t bytes_max,
                         struct complaints *complaints, struct keepalived_config **ret);
struct keepalived_config *keepalived_config_free(
	struct keepalived_config *config); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct keepalived_config, keepalived_config_free)

#endif
