/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf.h - xlbd.yaml: the daemon's own configuration. Virtual servers are keepalived's business, not ours.
 */
#ifndef XLBD_CONF_H
#define XLBD_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"
#include "xlbd/complaint.h"

enum conf_services { CONF_SERVICES_DECLARED, CONF_SERVICES_ALL };
enum conf_firewall { CONF_FIREWALL_CHECK, CONF_FIREWALL_IGNORE };
enum conf_xdp_mode { CONF_XDP_AUTO, CONF_XDP_NATIVE, CONF_XDP_GENERIC };
enum conf_switch { CONF_AUTO, CONF_ON, CONF_OFF };

enum conf_policy { CONF_SYNC_ALL, CONF_SYNC_ESTABLISHED, CONF_SYNC_OFF };

struct conf_service { /* per virtual server, by address:port/protocol */
	struct xlb_service_key key;
	bool bypass; /* leave it to IPVS */
	enum conf_policy sync;
};

#define CONF_SYNC_LINKS 2
#define CONF_SYNC_PEERS 15

struct conf_sync {                        /* the other director */
	char *interface[CONF_SYNC_LINKS]; /* [0] NULL: no sync at all */
	struct xlb_addr group;
	uint16_t port;
	struct xlb_addr peer[CONF_SYNC_PEERS]; /* instead of the group */
	size_t peer_count;
	char *key_file;
	uint16_t cluster, node; /* node 0: not given */
	char *gate;             /* file that keepalived's track_file reads; NULL: none */
	unsigned deadline;      /* seconds */
};

struct xlbd_conf {
	/* keepalived */
	char *keepalived_conf;      /* /etc/keepalived/keepalived.conf */
	char *keepalived_config_id; /* for @id lines; NULL: host name up to the first dot */
	char *lvs_notify_fifo, *vrrp_notify_fifo; /* created and held open by xlbd; NULL: none */
	enum conf_services services;
	/* data plane */
	char **interfaces; /* NULL: chosen from routes and VIPs */
	size_t interfaces_count;
	enum conf_xdp_mode xdp_mode;
	uint64_t connections_ipv4,
		connections_ipv6; /* wanted; slots are twice as many, rounded up to a power of two */
	unsigned silence;         /* seconds; 5 */
	unsigned maglev_size;     /* 4093 as the kernel, or 65537, 251 ... 131071 */
	enum conf_firewall firewall;
	bool fix_offloads;
	/* the IPVS interface for kernels without IPVS */
	enum conf_switch ipvs_api; /* auto: when the kernel has no IPVS */
	char *cgroup;
	/* what the kernel says where it has IPVS, and this where not: seconds, and net.ipv4.vs.* */
	unsigned timeout_tcp, timeout_tcp_fin, timeout_udp;
	bool expire_nodest_conn, sloppy_tcp;
	/* places */
	char *pin_folder;     /* /sys/fs/bpf/xlbd */
	char *control_socket; /* /run/xlbd/control */
	char *control_group;  /* group that may read the socket; NULL: root only */
	unsigned poll;        /* ms between looks at the table without an event; 1000 */
	struct conf_sync sync;
	/* per service */
	struct conf_service *service;
	size_t service_count;
};

/* Bounds of the lists. */
#define CONF_INTERFACES_MAX 64
#define CONF_SERVERS_MAX    4096

#define CONF_DEFAULT_FILE SYSCONFDIR "/xlbd/xlbd.yaml"

/*
 * Reads FILE over the defaults, then the overrides "key=value" (dotted keys: "keepalived.config=…"; values as in YAML).
 * file NULL: defaults alone; a missing CONF_DEFAULT_FILE is an empty one, any other missing file is an error.
 * Everything wrong goes to `complaints` with file:line:column (overrides: file "-o key=value"). 0, or -EINVAL with at least
 * one complaint; -ENOMEM. On failure *ret is untouched: the old configuration stays in force.
 */
int conf_load(const char *file, char *const overrides[], size_t overrides_count,
              struct complaints *complaints, struct xlbd_conf **ret);
struct xlbd_conf *conf_free(struct xlbd_conf *conf); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct xlbd_conf, conf_free)

/* "2M", "500k", "1.5M", "4096" -> number; k and M are 1000s. False: not of that form. */
bool conf_number(const char *text, uint64_t *ret);

#endif
