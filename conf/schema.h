/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * schema.h - xlbd.yaml as it is written: which keys there are, of which type, in which range.
 */
#ifndef XLBD_CONF_SCHEMA_H
#define XLBD_CONF_SCHEMA_H

#include <cyaml/cyaml.h>

#include "conf/conf.h"
#include "conf/forms.h"

#define CONF_FIELDS_MAX 32 /* keys of one section */

/* What cyaml fills. Texts are still texts here: conf.c reads the numbers and the words "none" and "auto" out of them. */
struct conf_file_keepalived {
	char *config, *config_id, *lvs_notify_fifo, *vrrp_notify_fifo;
};

struct conf_file_connections {
	char *ipv4, *ipv6;
};

struct conf_file_timeouts {
	char *tcp, *tcp_fin, *udp;
};

struct conf_file_ipvs {
	int api; /* enum conf_switch */
	char *cgroup;
	struct conf_file_timeouts timeouts;
	int expire_nodest_conn, sloppy_tcp; /* boolean */
};

struct conf_file_control {
	char *socket, *group;
};

struct conf_file_sync {
	char *interface, *second_interface, *group, *port;
	char **peers;
	unsigned peers_count;
	char *key_file, *cluster, *node, *gate, *deadline;
};

struct conf_file_server {
	char *address;
	int bypass; /* boolean */
	int sync;   /* enum conf_policy */
};

struct conf_file {
	struct conf_file_keepalived keepalived;
	int services; /* enum conf_services */
	char **interfaces;
	unsigned interfaces_count;
	int mode; /* enum conf_xdp_mode */
	struct conf_file_connections connections;
	char *silence;
	int maglev_size;
	int firewall; /* enum conf_firewall */
	int fix_offloads;
	struct conf_file_ipvs ipvs;
	struct conf_file_control control;
	struct conf_file_sync sync;
	char *pin_folder, *poll;
	struct conf_file_server *virtual_servers;
	unsigned virtual_servers_count;
};

extern const cyaml_schema_value_t conf_schema; /* of the whole file: struct conf_file, allocated */

/*
 * Strings that must be more than strings. path: dotted, lists without their index. A section with a row of its own also takes
 * one value, which then goes to each of its keys.
 */
struct conf_range {
	const char *path;
	enum conf_form form;
	const char *min, *max; /* of numbers, in the form's own writing */
	const char *word;      /* is taken as well; NULL: none */
};

const struct conf_range *conf_range(const char *path);           /* NULL: any string will do */
const struct conf_range *conf_range_row(size_t index);           /* NULL after the last */
const cyaml_schema_field_t *conf_schema_field(const char *path); /* NULL: no such key */

#endif
