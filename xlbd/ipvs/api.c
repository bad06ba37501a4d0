// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * api.c - puts the IPVS interface of bpf/ipvs_api.bpf.c into the kernel, and copies its table out of it.
 *
 * daemon.c opens it when generic netlink has no IPVS, and from then on uses it as it would use the kernel's table. The three maps and the
 * two links to the cgroup are pinned; a second start takes the maps over, loads its own programs and puts them
 * into the pinned links, so no command of keepalived ever meets a gap. Pinned maps of another layout or of another network namespace
 * are refused, never guessed at.
 *
 * The table is one map value that programs change under a spin lock. It is copied without the lock and counted as
 * read only if its generation was even and the same before and after; after some tries the copy is made under
 * the lock, interrupts off, which always succeeds. The copy is kept while the generation stands still; what is made
 * of it is api_table.c's business.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/ipvs_api.skel.h"
#include "xlbd/ipvs/api_inside.h"
#include "xlbd/ipvs/namespace.h"
#include "xlbd/ipvs/netlink.h"

#define READ_TRIES 8

/* ---- what is pinned ---------------------------------------------------------------------------- */

enum pin { PIN_TABLE, PIN_STATS, PIN_CONTROL, PIN_SET, PIN_GET, PINS };
#define PIN_MAPS 3 /* the first ones; control is written last: with it the table is complete */

static const char *const pin_names[PINS] = {
	[PIN_TABLE] = "table",  [PIN_STATS] = "stats",  [PIN_CONTROL] = "control",
	[PIN_SET] = "link-set", [PIN_GET] = "link-get",
};

static void pin_path(char path[512], const char *folder, enum pin pin)
{
	snprintf(path, 512, "%s/%s", folder, pin_names[pin]);
}

static int open_pin(const char *folder, enum pin pin)
{
	char path[512];
	int fd;

	pin_path(path, folder, pin);
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

static int write_pin(const char *folder, enum pin pin, int fd)
{
	char path[512];

	pin_path(path, folder, pin);
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return bpf_obj_pin(fd, path) < 0 ? -errno : 0;
}

static int make_folder(const char *folder)
{
	char path[512];
	struct statfs filesystem;

	if (snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path) - 16)
		return -ENAMETOOLONG;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700); /* the last one says what is wrong */
		*slash = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (statfs(path, &filesystem) < 0)
		return -errno;
	return filesystem.f_type == BPF_FS_MAGIC ? 0 : -EBADF;
}

static struct bpf_map *map_of(const struct ipvs_api *api, enum pin pin)
{
	struct bpf_map *const maps[PIN_MAPS] = {
		[PIN_TABLE] = api->skeleton->maps.ipvs_table,
		[PIN_STATS] = api->skeleton->maps.ipvs_stats,
		[PIN_CONTROL] = api->skeleton->maps.ipvs_control,
	};

	return maps[pin];
}

static bool fits(int fd, const struct bpf_map *map)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &length) == 0 && info.type == bpf_map__type(map) &&
	       info.value_size == bpf_map__value_size(map) &&
	       info.max_entries == bpf_map__max_entries(map);
}

/* Takes the pinned maps into the object that is about to be loaded. 1: done; 0: there are none, or not all. */
static int reuse_maps(struct ipvs_api *api)
{
	_cleanup_close_ int control = open_pin(api->pin_folder, PIN_CONTROL);
	struct ipvs_api_control found;
	uint32_t zero = 0;

	if (control < 0)
		return control == -ENOENT ? 0 : control;
	if (!fits(control, map_of(api, PIN_CONTROL)))
		return -ESTALE;
	if (bpf_map_lookup_elem(control, &zero, &found) < 0)
		return -errno;
	if (found.layout != IPVS_API_LAYOUT)
		return -ESTALE;
	if (found.netns != api->netns)
		return -EXDEV;
	for (enum pin pin = 0; pin < PIN_MAPS; pin++) {
		_cleanup_close_ int fd = open_pin(api->pin_folder, pin);
		int r;

		if (fd == -ENOENT)
			return -ESTALE;
		if (fd < 0)
			return fd;
		if (!fits(fd, map_of(api, pin)))
			return -ESTALE;
		r = bpf_map__reuse_fd(map_of(api, pin), fd);
		if (r < 0)
			return r;
	}
	return 1;
}

static int begin_maps(struct ipvs_api *api)
{
	api->control->netns = api->netns;
	api->control->timeout_tcp = 15 * 60; /* the kernel's */
	api->control->timeout_tcp_fin = 2 * 60;
	api->control->timeout_udp = 5 * 60;
	api->control->layout = IPVS_API_LAYOUT;
	for (enum pin pin = 0; pin < PIN_MAPS; pin++) {
		int r = write_pin(api->pin_folder, pin, bpf_map__fd(map_of(api, pin)));

		if (r < 0)
			return r;
	}
	return 0;
}

static size_t map_bytes(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t value = (bpf_map__value_size(map) + 7) & ~7u;

	return (value * bpf_map__max_entries(map) + page - 1) & ~(page - 1);
}

static int map_memory(const struct bpf_map *map, void **ret)
{
	void *memory =
		mmap(NULL, map_bytes(map), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (memory == MAP_FAILED)
		return -errno;
	*ret = memory;
	return 0;
}

/* ---- where it is attached ---------------------------------------------------------------------- */

/* mountinfo writes blanks and backslashes as \NNN. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (from[0] == '\\' && isdigit((unsigned char)from[1]) && from[2] && from[3]) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
			               (from[3] - '0'));
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

/* The first cgroup2 mount that shows the whole hierarchy: fields of a line are id, parent, device, root, place ... - type. */
static int cgroup_root(char path[512])
{
	_cleanup_fclose_ FILE *mounts = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t room = 0;

	if (!mounts)
		return -errno;
	while (getline(&line, &room, mounts) > 0) {
		char root[512], place[512];
		const char *type = strstr(line, " - ");

		if (!type || strncmp(type, " - cgroup2 ", 11) != 0)
			continue;
		if (sscanf(line, "%*s %*s %*s %511s %511s", root, place) != 2 ||
		    strcmp(root, "/") != 0)
			continue;
		unescape(place);
		memcpy(path, place, sizeof(place));
		return 0;
	}
	return -ENODEV;
}

static int open_cgroup(const char *wanted)
{
	char path[512];
	int fd, r;

	if (!wanted) {
		r = cgroup_root(path);
		if (r < 0)
			return r;
		wanted = path;
	}
	fd = open(wanted, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Whether the pinned link is on this cgroup and now has this program. */
static bool update_link(int link, int program, int cgroup)
{
	struct bpf_link_info info = {0};
	uint32_t length = sizeof(info);
	struct stat place;

	if (link < 0 || bpf_obj_get_info_by_fd(link, &info, &length) < 0 ||
	    fstat(cgroup, &place) < 0)
		return false;
	return info.type == BPF_LINK_TYPE_CGROUP && info.cgroup.cgroup_id == place.st_ino &&
	       bpf_link_update(link, program, NULL) == 0;
}

static int attach(struct ipvs_api *api, enum pin pin, const struct bpf_program *program, int cgroup)
{
	_cleanup_close_ int old = open_pin(api->pin_folder, pin);
	_cleanup_close_ int link = -1;
	int r;

	if (update_link(old, bpf_program__fd(program), cgroup))
		return 0;
	link = bpf_link_create(bpf_program__fd(program), cgroup,
	                       bpf_program__expected_attach_type(program), NULL);
	if (link < 0)
		return -errno;
	r = write_pin(api->pin_folder, pin, link);
	if (r < 0)
		return r;
	if (old >= 0)
		(void)bpf_link_detach(old); /* its cgroup is gone if this fails */
	return 0;
}

/* ---- open and close ---------------------------------------------------------------------------- */

/*
 * keepalived and ipvsadm load the module before they look for IPVS: where it is installed the kernel has IPVS, loaded or
 * not yet. modules.dep has a line for each, "kernel/net/netfilter/ipvs/ip_vs.ko[.xz]: what it needs".
 */
static bool module_is_installed(void)
{
	_cleanup_fclose_ FILE *modules = NULL;
	_cleanup_free_ char *line = NULL;
	struct utsname host;
	char path[256];
	size_t room = 0;

	uname(&host);
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", host.release);
	modules = fopen(path, "re");
	while (modules && getline(&line, &room, modules) > 0) {
		const char *found = strstr(line, "/ip_vs.ko"), *colon = strchr(line, ':');

		if (found && colon && found < colon)
			return true;
	}
	return false;
}

static int kernel_has_none(const char *netns)
{
	struct ipvs_netlink *kernel = NULL;
	int r = ipvs_netlink_open(netns, &kernel);

	if (r == 0) {
		ipvs_netlink_close(kernel);
		return -EEXIST;
	}
	if (r != -ENOENT)
		return r;
	return module_is_installed() ? -EEXIST : 0;
}

static int load(struct ipvs_api *api)
{
	int reused, r;
	void *memory;

	api->skeleton = ipvs_api_bpf__open();
	if (!api->skeleton)
		return -errno;
	api->skeleton->rodata->netns_cookie = api->netns;
	reused = reuse_maps(api);
	if (reused < 0)
		return reused;
	r = ipvs_api_bpf__load(api->skeleton);
	if (r <
	    0) /* the verifier's -EACCES, -EINVAL, libbpf's -ESRCH: a kernel too old or without BTF */
		return r == -EPERM || r == -ENOMEM ? r : -EOPNOTSUPP;
	r = map_memory(map_of(api, PIN_CONTROL), &memory);
	if (r < 0)
		return r;
	api->control = memory;
	r = map_memory(map_of(api, PIN_STATS), &memory);
	if (r < 0)
		return r;
	api->stats = memory;
	return reused ? 0 : begin_maps(api);
}

int ipvs_api_open(const struct ipvs_api_options *options, struct ipvs_api **ret)
{
	_cleanup_(ipvs_api_closep) struct ipvs_api *api = calloc(1, sizeof(*api));
	_cleanup_close_ int cgroup = -1;
	int r = kernel_has_none(options->netns);

	if (r < 0)
		return r;
	if (!api)
		return -ENOMEM;
	api->generation = NO_COPY;
	api->table = malloc(sizeof(*api->table));
	api->pin_folder = strdup(options->pin_folder);
	api->netns_path = options->netns ? namespace_path(options->netns) : NULL;
	if (!api->table || !api->pin_folder || (options->netns && !api->netns_path))
		return -ENOMEM;
	cgroup = open_cgroup(options->cgroup);
	if (cgroup < 0)
		return cgroup;
	r = namespace_cookie(api->netns_path, &api->identity, &api->netns);
	if (r == 0)
		r = make_folder(api->pin_folder);
	if (r == 0)
		r = load(api);
	if (r == 0)
		r = attach(api, PIN_SET, api->skeleton->progs.ipvs_api_set, cgroup);
	if (r == 0)
		r = attach(api, PIN_GET, api->skeleton->progs.ipvs_api_get, cgroup);
	if (r < 0)
		return r;
	*ret = take_ptr(api);
	return 0;
}

const char *ipvs_api_problem(int error)
{
	static const struct {
		int error;
		const char *sentence;
	} problems[] = {
		{-EEXIST, "the kernel has IPVS, or its module ip_vs waits to be loaded"},
		{-ENODEV, "no cgroup2 is mounted: mount one, or name one in `cgroup`"},
		{-EBADF,
	         "the pin folder is not on a BPF file system (mount -t bpf bpf /sys/fs/bpf)"},
		{-EXDEV, "the table pinned there belongs to another network namespace, or to one "
	                 "that is gone: take it "
	                 "away with `xlbd --remove`, or use another folder"},
		{-ENXIO, "there is no network namespace of the name that keepalived.conf gives in "
	                 "net_namespace_ipvs"},
		{-ESTALE,
	         "the table pinned there has another layout: remove it and restart keepalived"},
		{-EPERM, "it takes CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"},
		{-EOPNOTSUPP, "this kernel refuses the programs: it takes Linux 6.1 with BTF"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(problems); i++)
		if (problems[i].error == error)
			return problems[i].sentence;
	return strerror(-error);
}

struct ipvs_api *ipvs_api_close(struct ipvs_api *api)
{
	if (!api)
		return NULL;
	ipvs_api_forget(api);
	if (api->control)
		munmap(api->control, map_bytes(map_of(api, PIN_CONTROL)));
	if (api->stats)
		munmap(api->stats, map_bytes(map_of(api, PIN_STATS)));
	ipvs_api_bpf__destroy(api->skeleton);
	free(api->table);
	free(api->pin_folder);
	free(api->netns_path);
	free(api);
	return NULL;
}

int ipvs_api_remove(const char *pin_folder)
{
	char path[512];
	int r = 0;

	for (enum pin pin = PIN_MAPS; pin < PINS; pin++) {
		_cleanup_close_ int link = open_pin(pin_folder, pin);

		if (link >= 0 && bpf_link_detach(link) < 0 && errno != ENOENT)
			r = -errno;
	}
	for (enum pin pin = 0; pin < PINS; pin++) {
		pin_path(path, pin_folder, pin);
		if (unlink(path) < 0 && errno != ENOENT)
			r = -errno;
	}
	if (rmdir(pin_folder) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

int ipvs_api_detach(struct ipvs_api *api)
{
	return ipvs_api_remove(api->pin_folder);
}

/* ---- the table --------------------------------------------------------------------------------- */

static uint64_t generation_now(const struct ipvs_api *api)
{
	return __atomic_load_n(&api->control->generation, __ATOMIC_ACQUIRE);
}

int ipvs_api_copy(struct ipvs_api *api)
{
	int fd = bpf_map__fd(map_of(api, PIN_TABLE));
	uint32_t zero = 0;

	if (api->netns_path && !namespace_is_the_same(api->netns_path, &api->identity))
		return -ENXIO;
	for (int i = 0;; i++) {
		uint64_t before = generation_now(api);
		bool locked = i >= READ_TRIES;

		if (before == api->generation)
			return 0;
		if (bpf_map_lookup_elem_flags(fd, &zero, api->table, locked ? BPF_F_LOCK : 0) < 0)
			return -errno;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) && generation_now(api) == before) {
			api->generation = before;
			return 1;
		}
		api->generation = NO_COPY;
		if (locked)
			return 1; /* whole, and older than the next change: copied again next time */
	}
}

int ipvs_api_timeouts(struct ipvs_api *api, struct ipvs_timeouts *ret)
{
	*ret = (struct ipvs_timeouts){.tcp = api->control->timeout_tcp,
	                              .tcp_fin = api->control->timeout_tcp_fin,
	                              .udp = api->control->timeout_udp};
	return 0;
}

int ipvs_api_counts(struct ipvs_api *api, struct ipvs_api_counts *ret)
{
	*ret = (struct ipvs_api_counts){.refused = api->control->refused,
	                                .denied = api->control->denied,
	                                .truncated = api->control->truncated,
	                                .unanswerable = api->control->unanswerable};
	return 0;
}
