// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema.c - the tables of xlbd.yaml: field, type, range, and nothing else.
 *
 * A new key is one row in a section below, a member in schema.h, a row in `ranges` if it is a string of a special form,
 * its default in conf.c, and a paragraph in xlbd.yaml.in and xlbd.yaml.5.in (the tests miss it there).
 *
 * The fields are cyaml's own tables: cyaml loads by them, check.c walks the YAML document by them, which is how every
 * mistake of a file is found in one run, where cyaml stops at the first one. cyaml 1.3 knows no ranges for
 * numbers and no units, so both are strings to it and rows of `ranges` to us. Booleans are enumerations:
 * cyaml's own take every unknown word, "off" among them, for true.
 *
 * Every key is optional: the defaults are a text of the same form that lies below the file (conf.c).
 */
#include <string.h>

#include "conf/schema.h"

#define WORD   CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT /* one of a few words */
#define SWITCH WORD | CYAML_FLAG_CASE_INSENSITIVE

#define PATH_LENGTH   4095 /* PATH_MAX without its 0 */
#define SOCKET_LENGTH 107  /* sun_path without its 0 */
#define DEVICE_LENGTH 15   /* IFNAMSIZ without its 0 */
#define NAME_LENGTH   255

static const cyaml_strval_t booleans[] = {{"yes", 1},   {"no", 0}, {"true", 1},
                                          {"false", 0}, {"on", 1}, {"off", 0}};
static const cyaml_strval_t switches[] = {{"auto", CONF_AUTO}, {"on", CONF_ON}, {"off", CONF_OFF}};
static const cyaml_strval_t services[] = {{"declared", CONF_SERVICES_DECLARED},
                                          {"all", CONF_SERVICES_ALL}};
static const cyaml_strval_t modes[] = {
	{"auto", CONF_XDP_AUTO}, {"native", CONF_XDP_NATIVE}, {"generic", CONF_XDP_GENERIC}};
static const cyaml_strval_t firewalls[] = {{"check", CONF_FIREWALL_CHECK},
                                           {"ignore", CONF_FIREWALL_IGNORE}};
static const cyaml_strval_t policies[] = {
	{"all", CONF_SYNC_ALL}, {"established", CONF_SYNC_ESTABLISHED}, {"off", CONF_SYNC_OFF}};
/* the kernel's CONFIG_IP_VS_MH_TAB_INDEX 8 to 17, and the Maglev paper's own */
static const cyaml_strval_t maglev_sizes[] = {{"251", 251},     {"509", 509},      {"1021", 1021},
                                              {"2039", 2039},   {"4093", 4093},    {"8191", 8191},
                                              {"16381", 16381}, {"32749", 32749},  {"65521", 65521},
                                              {"65537", 65537}, {"131071", 131071}};

#define BOOLEAN(key, structure, member) \
	CYAML_FIELD_ENUM(key, SWITCH, structure, member, booleans, CYAML_ARRAY_LEN(booleans))
#define CHOICE(key, structure, member, words) \
	CYAML_FIELD_ENUM(key, WORD, structure, member, words, CYAML_ARRAY_LEN(words))
#define TEXT(key, structure, member, length) \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_OPTIONAL, structure, member, 1, length)
#define SECTION(key, structure, member, fields) \
	CYAML_FIELD_MAPPING(key, CYAML_FLAG_OPTIONAL, structure, member, fields)

static const cyaml_schema_field_t keepalived_fields[] = {
	TEXT("config", struct conf_file_keepalived, config, PATH_LENGTH),
	TEXT("config_id", struct conf_file_keepalived, config_id, NAME_LENGTH),
	TEXT("lvs_notify_fifo", struct conf_file_keepalived, lvs_notify_fifo, PATH_LENGTH),
	TEXT("vrrp_notify_fifo", struct conf_file_keepalived, vrrp_notify_fifo, PATH_LENGTH),
	CYAML_FIELD_END};

static const cyaml_schema_field_t connections_fields[] = {
	TEXT("ipv4", struct conf_file_connections, ipv4, NAME_LENGTH),
	TEXT("ipv6", struct conf_file_connections, ipv6, NAME_LENGTH), CYAML_FIELD_END};

static const cyaml_schema_field_t timeouts_fields[] = {
	TEXT("tcp", struct conf_file_timeouts, tcp, NAME_LENGTH),
	TEXT("tcp_fin", struct conf_file_timeouts, tcp_fin, NAME_LENGTH),
	TEXT("udp", struct conf_file_timeouts, udp, NAME_LENGTH), CYAML_FIELD_END};

static const cyaml_schema_field_t ipvs_fields[] = {
	CHOICE("api", struct conf_file_ipvs, api, switches),
	TEXT("cgroup", struct conf_file_ipvs, cgroup, PATH_LENGTH),
	SECTION("timeouts", struct conf_file_ipvs, timeouts, timeouts_fields),
	BOOLEAN("expire_nodest_conn", struct conf_file_ipvs, expire_nodest_conn),
	BOOLEAN("sloppy_tcp", struct conf_file_ipvs, sloppy_tcp),
	CYAML_FIELD_END};

static const cyaml_schema_field_t control_fields[] = {
	TEXT("socket", struct conf_file_control, socket, SOCKET_LENGTH),
	TEXT("group", struct conf_file_control, group, NAME_LENGTH), CYAML_FIELD_END};

static const cyaml_schema_value_t peer = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 1, NAME_LENGTH)};

static const cyaml_schema_field_t sync_fields[] = {
	TEXT("interface", struct conf_file_sync, interface, DEVICE_LENGTH),
	TEXT("second_interface", struct conf_file_sync, second_interface, DEVICE_LENGTH),
	TEXT("group", struct conf_file_sync, group, NAME_LENGTH),
	TEXT("port", struct conf_file_sync, port, NAME_LENGTH),
	CYAML_FIELD_SEQUENCE("peers", CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER,
                             struct conf_file_sync, peers, &peer, 0, CONF_SYNC_PEERS),
	TEXT("key_file", struct conf_file_sync, key_file, PATH_LENGTH),
	TEXT("cluster", struct conf_file_sync, cluster, NAME_LENGTH),
	TEXT("node", struct conf_file_sync, node, NAME_LENGTH),
	TEXT("gate", struct conf_file_sync, gate, PATH_LENGTH),
	TEXT("deadline", struct conf_file_sync, deadline, NAME_LENGTH),
	CYAML_FIELD_END};

static const cyaml_schema_field_t server_fields[] = {
	CYAML_FIELD_STRING_PTR("address", CYAML_FLAG_DEFAULT, struct conf_file_server, address, 1,
                               NAME_LENGTH),
	BOOLEAN("bypass", struct conf_file_server, bypass),
	CHOICE("sync", struct conf_file_server, sync, policies), CYAML_FIELD_END};

static const cyaml_schema_value_t interface = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 1, DEVICE_LENGTH)};
static const cyaml_schema_value_t server = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct conf_file_server, server_fields)};

static const cyaml_schema_field_t file_fields[] = {
	SECTION("keepalived", struct conf_file, keepalived, keepalived_fields),
	CHOICE("services", struct conf_file, services, services),
	CYAML_FIELD_SEQUENCE("interfaces", CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER,
                             struct conf_file, interfaces, &interface, 0, CONF_INTERFACES_MAX),
	CHOICE("mode", struct conf_file, mode, modes),
	SECTION("connections", struct conf_file, connections, connections_fields),
	TEXT("silence", struct conf_file, silence, NAME_LENGTH),
	CHOICE("maglev_size", struct conf_file, maglev_size, maglev_sizes),
	CHOICE("firewall", struct conf_file, firewall, firewalls),
	BOOLEAN("fix_offloads", struct conf_file, fix_offloads),
	SECTION("ipvs", struct conf_file, ipvs, ipvs_fields),
	SECTION("control", struct conf_file, control, control_fields),
	SECTION("sync", struct conf_file, sync, sync_fields),
	TEXT("pin_folder", struct conf_file, pin_folder, PATH_LENGTH),
	TEXT("poll", struct conf_file, poll, NAME_LENGTH),
	CYAML_FIELD_SEQUENCE("virtual_servers", CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER,
                             struct conf_file, virtual_servers, &server, 0, CONF_SERVERS_MAX),
	CYAML_FIELD_END};

const cyaml_schema_value_t conf_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct conf_file, file_fields)};

static const struct conf_range ranges[] = {
	{"keepalived.config", CONF_FORM_PATH, NULL, NULL, NULL},
	{"keepalived.config_id", CONF_FORM_NAME, NULL, NULL, "auto"},
	{"keepalived.lvs_notify_fifo", CONF_FORM_PATH, NULL, NULL, "none"},
	{"keepalived.vrrp_notify_fifo", CONF_FORM_PATH, NULL, NULL, "none"},
	{"interfaces", CONF_FORM_DEVICE, NULL, NULL, NULL},
	/* 32M connections are 1 GiB of IPv4 table and 2 GiB of IPv6 table */
	{"connections", CONF_FORM_COUNT, "1", "32M", NULL},
	{"connections.ipv4", CONF_FORM_COUNT, "1", "32M", NULL},
	{"connections.ipv6", CONF_FORM_COUNT, "1", "32M", NULL},
	{"silence", CONF_FORM_SECONDS, "1s", "60m", NULL},
	/* ages in the connection table go round after 2^20 ticks of 250 ms, three days */
	{"ipvs.timeouts.tcp", CONF_FORM_SECONDS, "1s", "2880m", NULL},
	{"ipvs.timeouts.tcp_fin", CONF_FORM_SECONDS, "1s", "2880m", NULL},
	{"ipvs.timeouts.udp", CONF_FORM_SECONDS, "1s", "2880m", NULL},
	{"ipvs.cgroup", CONF_FORM_PATH, NULL, NULL, "auto"},
	{"control.socket", CONF_FORM_PATH, NULL, NULL, NULL},
	{"control.group", CONF_FORM_NAME, NULL, NULL, "none"},
	{"sync.interface", CONF_FORM_DEVICE, NULL, NULL, "none"},
	{"sync.second_interface", CONF_FORM_DEVICE, NULL, NULL, "none"},
	{"sync.group", CONF_FORM_ADDRESS, NULL, NULL, NULL},
	{"sync.port", CONF_FORM_COUNT, "1", "65535", NULL},
	{"sync.peers", CONF_FORM_ADDRESS, NULL, NULL, NULL},
	{"sync.key_file", CONF_FORM_PATH, NULL, NULL, NULL},
	{"sync.cluster", CONF_FORM_COUNT, "0", "65535", NULL},
	{"sync.node", CONF_FORM_COUNT, "1", "255", "none"},
	{"sync.gate", CONF_FORM_PATH, NULL, NULL, "none"},
	{"sync.deadline", CONF_FORM_SECONDS, "1s", "120s", NULL},
	{"pin_folder", CONF_FORM_PATH, NULL, NULL, NULL},
	{"poll", CONF_FORM_MILLISECONDS, "100ms", "60s", NULL},
	{"virtual_servers.address", CONF_FORM_SERVER, NULL, NULL, NULL},
};

const struct conf_range *conf_range(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (strcmp(ranges[i].path, path) == 0)
			return &ranges[i];
	return NULL;
}

const struct conf_range *conf_range_row(size_t index)
{
	return index < ARRAY_SIZE(ranges) ? &ranges[index] : NULL;
}

static const cyaml_schema_field_t *fields_of(const cyaml_schema_value_t *value)
{
	if (value->type == CYAML_SEQUENCE)
		value = value->sequence.entry;
	return value->type == CYAML_MAPPING ? value->mapping.fields : NULL;
}

const cyaml_schema_field_t *conf_schema_field(const char *path)
{
	const cyaml_schema_field_t *field = file_fields;

	while (field && field->key) {
		size_t length = strcspn(path, ".");

		if (strlen(field->key) != length || strncmp(field->key, path, length) != 0) {
			field++;
			continue;
		}
		if (!path[length])
			return field;
		path += length + 1;
		field = fields_of(&field->value);
	}
	return NULL;
}
