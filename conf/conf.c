// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conf.c - from xlbd.yaml and its overrides to one struct xlbd_conf, or to everything that is wrong with them.
 *
 * A configuration is a pile of layers, each a YAML text: the defaults (below), the file, then one for each override. Each is
 * parsed (text.c) and checked against the tables (check.c, schema.c), which gives what is right of it as JSON; a
 * higher layer replaces the keys of a lower one. Of the result cyaml makes the structure that is written
 * down in schema.h, and convert() makes of that what the daemon wants: numbers for durations, NULL for "none".
 *
 * The rules between keys come last and see whatever was right, so that one run shows all mistakes. A rule
 * complains about the layer that set the key.
 *
 * A configuration is one obstack, freed in one call; out of memory in it ends the process, as in complaint.c. Nothing here logs,
 * but for cyaml's own lines, which become debug lines. Whether paths, groups and devices exist is not looked at:
 * that may change while the daemon runs, and who uses them says so.
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <obstack.h>
#include <string.h>

#include "conf/check.h"
#include "conf/conf.h"
#include "conf/load.h"
#include "conf/schema.h"
#include "conf/text.h"
#include "xlbd/cleanup.h"
#include "xlbd/log.h"
#include "xlbd/model/addr.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

#define OVERRIDES_MAX 256

/* xlbd.yaml.in shows the same to people; the tests compare the two. */
static const char defaults[] = "keepalived:\n"
			       "  config: /etc/keepalived/keepalived.conf\n"
			       "  config_id: auto\n"
			       "  lvs_notify_fifo: '" RUNSTATEDIR "/xlbd/lvs.fifo'\n"
			       "  vrrp_notify_fifo: '" RUNSTATEDIR "/xlbd/vrrp.fifo'\n"
			       "services: declared\n"
			       "interfaces: []\n"
			       "mode: auto\n"
			       "connections: {ipv4: 2M, ipv6: 500k}\n"
			       "silence: 5s\n"
			       "maglev_size: 4093\n"
			       "firewall: check\n"
			       "fix_offloads: no\n"
			       "ipvs:\n"
			       "  api: auto\n"
			       "  cgroup: auto\n"
			       "  timeouts: {tcp: 900s, tcp_fin: 120s, udp: 300s}\n"
			       "  expire_nodest_conn: no\n"
			       "  sloppy_tcp: no\n"
			       "control:\n"
			       "  socket: '" RUNSTATEDIR "/xlbd/control'\n"
			       "  group: none\n"
			       "sync:\n"
			       "  interface: none\n"
			       "  second_interface: none\n"
			       "  group: 239.255.88.76\n"
			       "  port: 8853\n"
			       "  peers: []\n"
			       "  key_file: '" SYSCONFDIR "/xlbd/sync.key'\n"
			       "  cluster: 1\n"
			       "  node: none\n"
			       "  gate: '" RUNSTATEDIR "/xlbd/gate'\n"
			       "  deadline: 30s\n"
			       "pin_folder: /sys/fs/bpf/xlbd\n"
			       "poll: 1s\n"
			       "virtual_servers: []\n";

struct arena {                 /* what a struct xlbd_conf lies in */
	struct xlbd_conf conf; /* first: conf_free() gets its address */
	struct obstack memory;
};

struct layer {
	struct conf_text text;
	char *name, *bytes; /* owned, or NULL */
};

struct load {
	struct complaints *complaints;
	struct layer *layers; /* lowest first */
	size_t count;
	size_t errors;
	json_t *values; /* what is right of all layers */
	struct conf_file *file;
};

/* ---- reading ---------------------------------------------------------------------------------- */

static void log_cyaml(cyaml_log_t level, void *context, const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));
static void log_cyaml(cyaml_log_t level, void *context, const char *format, va_list arguments)
{
	(void)context;
	(void)level; /* its errors are ours to tell */
	log_line_v(LOG_LEVEL_DEBUG, "conf", format, arguments);
}

static const cyaml_config_t cyaml_settings = {
	.log_fn = log_cyaml,
	.mem_fn = cyaml_mem,
	.log_level = CYAML_LOG_INFO,
	.flags = CYAML_CFG_NO_ALIAS,
};

static void load_close(struct load *load)
{
	for (size_t i = 0; i < load->count; i++) {
		conf_text_close(&load->layers[i].text);
		free(load->layers[i].name);
		free(load->layers[i].bytes);
	}
	free(load->layers);
	json_decref(load->values);
	cyaml_free(&cyaml_settings, &conf_schema, load->file, 0);
}

/* Parses the topmost layer and adds what is right of it. -ENOMEM; mistakes are counted. */
static int read_layer(struct load *load)
{
	struct layer *layer = &load->layers[load->count - 1];
	int r = conf_text_parse(&layer->text, load->complaints);

	if (r == -EINVAL) {
		load->errors++;
		return 0;
	}
	if (r == 0)
		r = conf_check(&layer->text, load->complaints, load->values);
	if (r < 0)
		return r;
	load->errors += (size_t)r;
	return 0;
}

static int read_text(struct load *load, const char *name, const char *bytes, size_t size)
{
	load->layers[load->count++] =
		(struct layer){.text = {.name = name, .bytes = bytes, .size = size}};
	return read_layer(load);
}

static int read_override(struct load *load, const char *override)
{
	struct layer *layer = &load->layers[load->count];
	int r;

	*layer = (struct layer){.text.placeless = true};
	load->count++;
	if (asprintf(&layer->name, "-o %s", override) < 0) {
		layer->name = NULL;
		return -ENOMEM;
	}
	r = conf_override(layer->name, override, load->complaints, &layer->bytes);
	if (r == -EINVAL) {
		load->errors++;
		return 0;
	}
	if (r < 0)
		return r;
	layer->text.name = layer->name;
	layer->text.bytes = layer->bytes;
	layer->text.size = strlen(layer->bytes);
	return read_layer(load);
}

/* JSON is YAML: what the layers came to, as cyaml sees it. */
static int read_values(struct load *load)
{
	_cleanup_free_ char *text = json_dumps(load->values, JSON_INDENT(1));
	cyaml_err_t error;

	if (!text)
		return -ENOMEM;
	error = cyaml_load_data((const uint8_t *)text, strlen(text), &cyaml_settings, &conf_schema,
	                        (cyaml_data_t **)&load->file, NULL);
	if (error == CYAML_ERR_OOM)
		return -ENOMEM;
	if (error == CYAML_OK)
		return 0;
	complain(load->complaints, &(struct complaint){.level = COMPLAINT_ERROR},
	         "libcyaml refuses what seemed right: %s", cyaml_strerror(error));
	return -EINVAL;
}

/* ---- rules between keys ----------------------------------------------------------------------- */

/* Complains where `path` was set, or, if that is a default, `other`. */
static void complain_rule(struct load *load, enum complaint_level level, const char *path,
                          const char *other, const char *hint, const char *sentence)
{
	const char *const paths[] = {path, other};

	load->errors += level == COMPLAINT_ERROR;
	for (size_t i = load->count; i > 1; i--) /* layer 0 are the defaults */
		for (size_t j = 0; j < ARRAY_SIZE(paths); j++) {
			struct conf_text *text = &load->layers[i - 1].text;
			const yaml_node_t *node = conf_text_find(text, paths[j]);

			if (!node)
				continue;
			conf_text_complain(text, load->complaints, level, node, hint, "%s",
			                   sentence);
			return;
		}
}

static uint64_t number(enum conf_form form, const char *text)
{
	uint64_t value = 0;

	form_number(form, text, &value);
	return value;
}

static bool same_path(const char *a, const char *b)
{
	return strcmp(a, b) == 0 && strcmp(a, "none") != 0;
}

static void check_places(struct load *load)
{
	const struct conf_file *file = load->file;
	const struct {
		const char *path, *value;
	} places[] = {
		{"keepalived.config", file->keepalived.config},
		{"keepalived.lvs_notify_fifo", file->keepalived.lvs_notify_fifo},
		{"keepalived.vrrp_notify_fifo", file->keepalived.vrrp_notify_fifo},
		{"control.socket", file->control.socket},
		{"sync.key_file", file->sync.key_file},
		{"sync.gate", file->sync.gate},
		{"pin_folder", file->pin_folder},
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		for (size_t j = 0; j < i; j++) {
			char sentence[120];

			if (!same_path(places[i].value, places[j].value))
				continue;
			snprintf(sentence, sizeof(sentence), "'%s' and '%s' are the same path",
			         places[j].path, places[i].path);
			complain_rule(load, COMPLAINT_ERROR, places[i].path, places[j].path, NULL,
			              sentence);
		}
}

static bool is_multicast(const struct xlb_addr *addr)
{
	return addr_is_ipv4(addr) ? addr->byte[12] >> 4 == 14 : addr->byte[0] == 0xff;
}

static void check_sync(struct load *load)
{
	const struct conf_file_sync *sync = &load->file->sync;
	struct xlb_addr group = {}, peer;

	addr_parse(sync->group, &group);
	if (!is_multicast(&group))
		complain_rule(load, COMPLAINT_ERROR, "sync.group", "sync.interface",
		              "one of 239.255.0.0/16 or ff12::/16; for addresses of single nodes "
		              "there is 'sync.peers'",
		              "'sync.group' is not a multicast address");
	for (unsigned i = 0; i < sync->peers_count; i++) {
		addr_parse(sync->peers[i], &peer);
		if (is_multicast(&peer) || addr_is_ipv4(&peer) != addr_is_ipv4(&group))
			complain_rule(load, COMPLAINT_ERROR, "sync.peers", "sync.group", NULL,
			              "'sync.peers' are addresses of single nodes, of the same "
			              "family as 'sync.group'");
	}
	if (strcmp(sync->interface, "none") == 0) {
		if (strcmp(sync->second_interface, "none") != 0)
			complain_rule(load, COMPLAINT_ERROR, "sync.second_interface",
			              "sync.interface", NULL,
			              "'sync.second_interface' without a first one");
		return;
	}
	if (strcmp(sync->node, "none") == 0)
		complain_rule(load, COMPLAINT_ERROR, "sync.interface", "sync.node",
		              "each director has another number, 1 to 255",
		              "'sync.interface' is set and 'sync.node' is not");
	if (strcmp(sync->interface, sync->second_interface) == 0)
		complain_rule(load, COMPLAINT_ERROR, "sync.second_interface", "sync.interface",
		              NULL, "the same device twice");
}

static void check_rules(struct load *load)
{
	const struct conf_file *file = load->file;
	uint64_t silence = number(CONF_FORM_MILLISECONDS, file->silence);
	uint64_t poll = number(CONF_FORM_MILLISECONDS, file->poll);

	check_places(load);
	check_sync(load);
	if (silence < 2 * poll)
		complain_rule(load, COMPLAINT_ERROR, "silence", "poll",
		              "or the daemon counts as dead between two looks",
		              "'silence' must be at least twice 'poll'");
	if (number(CONF_FORM_SECONDS, file->ipvs.timeouts.tcp_fin) >
	    number(CONF_FORM_SECONDS, file->ipvs.timeouts.tcp))
		complain_rule(load, COMPLAINT_WARNING, "ipvs.timeouts.tcp_fin", "ipvs.timeouts.tcp",
		              NULL, "closing connections are kept longer than open ones");
	if (file->ipvs.api == CONF_OFF && strcmp(file->ipvs.cgroup, "auto") != 0)
		complain_rule(load, COMPLAINT_WARNING, "ipvs.cgroup", "ipvs.api", NULL,
		              "'ipvs.cgroup' means nothing while 'ipvs.api' is off");
}

/* ---- the daemon's structure ------------------------------------------------------------------- */

static char *copy(struct arena *arena, const char *text)
{
	return obstack_copy0(&arena->memory, text, strlen(text));
}

static char *copy_unless(struct arena *arena, const char *text, const char *word)
{
	return strcmp(text, word) == 0 ? NULL : copy(arena, text);
}

static void convert_lists(struct arena *arena, const struct conf_file *file)
{
	struct xlbd_conf *conf = &arena->conf;

	if (file->interfaces_count)
		conf->interfaces = obstack_alloc(&arena->memory, file->interfaces_count *
		                                                         sizeof(*conf->interfaces));
	for (unsigned i = 0; i < file->interfaces_count; i++)
		conf->interfaces[conf->interfaces_count++] = copy(arena, file->interfaces[i]);

	if (file->virtual_servers_count)
		conf->service = obstack_alloc(&arena->memory,
		                              file->virtual_servers_count * sizeof(*conf->service));
	for (unsigned i = 0; i < file->virtual_servers_count; i++) {
		struct conf_service *service = &conf->service[conf->service_count++];

		*service = (struct conf_service){.bypass = file->virtual_servers[i].bypass,
		                                 .sync = file->virtual_servers[i].sync};
		form_server(file->virtual_servers[i].address, &service->key);
	}
}

static void convert_sync(struct arena *arena, const struct conf_file_sync *file)
{
	struct conf_sync *sync = &arena->conf.sync;

	sync->interface[0] = copy_unless(arena, file->interface, "none");
	sync->interface[1] = copy_unless(arena, file->second_interface, "none");
	addr_parse(file->group, &sync->group);
	sync->port = (uint16_t)number(CONF_FORM_COUNT, file->port);
	for (unsigned i = 0; i < file->peers_count; i++)
		addr_parse(file->peers[i], &sync->peer[sync->peer_count++]);
	sync->key_file = copy(arena, file->key_file);
	sync->cluster = (uint16_t)number(CONF_FORM_COUNT, file->cluster);
	sync->node = (uint16_t)number(CONF_FORM_COUNT, file->node); /* none: 0 */
	sync->gate = copy_unless(arena, file->gate, "none");
	sync->deadline = (unsigned)number(CONF_FORM_SECONDS, file->deadline);
}

static struct xlbd_conf *convert(const struct conf_file *file)
{
	struct arena *arena = calloc(1, sizeof(*arena));
	struct xlbd_conf *conf = &arena->conf;

	if (!arena)
		return NULL;
	obstack_init(&arena->memory);
	conf->keepalived_conf = copy(arena, file->keepalived.config);
	conf->keepalived_config_id = copy_unless(arena, file->keepalived.config_id, "auto");
	conf->lvs_notify_fifo = copy_unless(arena, file->keepalived.lvs_notify_fifo, "none");
	conf->vrrp_notify_fifo = copy_unless(arena, file->keepalived.vrrp_notify_fifo, "none");
	conf->services = file->services;
	conf->xdp_mode = file->mode;
	conf->connections_ipv4 = number(CONF_FORM_COUNT, file->connections.ipv4);
	conf->connections_ipv6 = number(CONF_FORM_COUNT, file->connections.ipv6);
	conf->silence = (unsigned)number(CONF_FORM_SECONDS, file->silence);
	conf->maglev_size = (unsigned)file->maglev_size;
	conf->firewall = file->firewall;
	conf->fix_offloads = file->fix_offloads;
	conf->ipvs_api = file->ipvs.api;
	conf->cgroup = copy_unless(arena, file->ipvs.cgroup, "auto");
	conf->timeout_tcp = (unsigned)number(CONF_FORM_SECONDS, file->ipvs.timeouts.tcp);
	conf->timeout_tcp_fin = (unsigned)number(CONF_FORM_SECONDS, file->ipvs.timeouts.tcp_fin);
	conf->timeout_udp = (unsigned)number(CONF_FORM_SECONDS, file->ipvs.timeouts.udp);
	conf->expire_nodest_conn = file->ipvs.expire_nodest_conn;
	conf->sloppy_tcp = file->ipvs.sloppy_tcp;
	conf->pin_folder = copy(arena, file->pin_folder);
	conf->control_socket = copy(arena, file->control.socket);
	conf->control_group = copy_unless(arena, file->control.group, "none");
	conf->poll = (unsigned)number(CONF_FORM_MILLISECONDS, file->poll);
	convert_lists(arena, file);
	convert_sync(arena, &file->sync);
	return conf;
}

struct xlbd_conf *conf_free(struct xlbd_conf *conf)
{
	struct arena *arena = (struct arena *)conf;

	if (arena)
		obstack_free(&arena->memory, NULL);
	free(arena);
	return NULL;
}

/* ---- the doors -------------------------------------------------------------------------------- */

static int read_layers(struct load *load, const char *name, const char *bytes, size_t size,
                       char *const overrides[], size_t overrides_count)
{
	int r;

	load->values = json_object();
	load->layers = calloc(overrides_count + 2, sizeof(*load->layers));
	if (!load->values || !load->layers)
		return -ENOMEM;
	r = read_text(load, "the defaults", defaults, sizeof(defaults) - 1);
	if (r == 0 && bytes)
		r = read_text(load, name, bytes, size);
	for (size_t i = 0; r == 0 && i < overrides_count; i++)
		r = read_override(load, overrides[i]);
	return r;
}

static int refuse(struct complaints *complaints, const char *file, const char *sentence)
{
	complain(complaints, &(struct complaint){.level = COMPLAINT_ERROR, .file = file}, "%s",
	         sentence);
	return -EINVAL;
}

int conf_load_text(const char *name, const char *bytes, size_t size, char *const overrides[],
                   size_t overrides_count, struct complaints *complaints, struct xlbd_conf **ret)
{
	_cleanup_(load_close) struct load load = {.complaints = complaints};
	struct xlbd_conf *conf;
	int r;

	if (size > CONF_TEXT_MAX)
		return refuse(complaints, name, "is longer than 1 MiB");
	if (overrides_count > OVERRIDES_MAX)
		return refuse(complaints, "-o", "more than 256 overrides");
	r = read_layers(&load, name, bytes, size, overrides, overrides_count);
	if (r == 0)
		r = read_values(&load);
	if (r < 0)
		return r;
	check_rules(&load);
	if (load.errors)
		return -EINVAL;
	conf = convert(load.file);
	if (!conf)
		return -ENOMEM;
	*ret = conf;
	return 0;
}

/* The whole file, and one byte more than is allowed if it is longer. Bytes read, or -errno. */
static ssize_t read_file(const char *file, char **ret)
{
	_cleanup_free_ char *bytes = malloc(CONF_TEXT_MAX + 1);
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);
	size_t used = 0;

	if (fd < 0)
		return -errno;
	if (!bytes)
		return -ENOMEM;
	while (used <= CONF_TEXT_MAX) {
		ssize_t more = read(fd, bytes + used, CONF_TEXT_MAX + 1 - used);

		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0)
			return -errno;
		if (more == 0)
			break;
		used += (size_t)more;
	}
	*ret = take_ptr(bytes);
	return (ssize_t)used;
}

int conf_load(const char *file, char *const overrides[], size_t overrides_count,
              struct complaints *complaints, struct xlbd_conf **ret)
{
	_cleanup_free_ char *bytes = NULL;
	ssize_t size = 0;

	if (file)
		size = read_file(file, &bytes);
	if (size == -ENOENT && strcmp(file, CONF_DEFAULT_FILE) == 0)
		size = 0;
	if (size == -ENOMEM)
		return -ENOMEM;
	if (size < 0) {
		complain(complaints, &(struct complaint){.level = COMPLAINT_ERROR, .file = file},
		         "cannot be read: %s", strerror((int)-size));
		return -EINVAL;
	}
	return conf_load_text(file, bytes, (size_t)size, overrides, overrides_count, complaints,
	                      ret);
}
