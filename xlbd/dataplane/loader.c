// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loader.c - the data plane in the kernel: open, set, load, pin. Links to devices are links.c's business.
 *
 * The only file that sees the skeleton. Maps are pinned by name in the pin folder; libbpf takes pinned ones over, so a
 * second daemon loads its own program on the first one's tables, and packets that the old program handles meanwhile
 * use the same connections. The pin folder is locked: there is one daemon a folder.
 *
 * What cannot be taken over is refused with a sentence before anything is touched: maps of another layout. A
 * connection table of another size is taken over as it is, with the one that it grows out of if there is one; resize.c
 * changes its size, and has the program loaded anew for it. Maps but the tables stay what they are then, and so do the
 * descriptors that we hand out: they are ours, not the skeleton's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "xlb.skel.h"

#include "xlbd/cleanup.h"
#include "xlbd/dataplane/clock.h"
#include "xlbd/dataplane/heartbeat.h"
#include "xlbd/dataplane/loader.h"
#include "xlbd/dataplane/table_pins.h"
#include "xlbd/log.h"

#define TOPIC "dataplane"

enum { NARROW, WIDE, WIDTHS };

struct dataplane {
	struct xlb *skeleton;
	char *pin_folder;
	int lock;
	struct tick tick;
	struct flows_table table[WIDTHS], old[WIDTHS]; /* old: bits 0: there is none */
	int map[MAP_COUNT];
	struct xlb_control *control;
	int no_ring; /* an empty ring, for dataplane_synchronize() */
};

/* libbpf's twenty lines would bury our one: they are debug lines here, except what it calls a warning while debugging. */
__attribute__((format(printf, 2, 0))) static int print_libbpf(enum libbpf_print_level level,
                                                              const char *format, va_list arguments)
{
	if (level == LIBBPF_DEBUG && !log_debugs("libbpf-debug"))
		return 0;
	log_line_v(LOG_LEVEL_DEBUG, "libbpf", format, arguments);
	return 0;
}

static int lock_folder(const char *folder, int *ret)
{
	_cleanup_close_ int fd = -1;

	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return log_errno(-errno, TOPIC, "cannot make the pin folder '%s'", folder);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return log_errno(-errno, TOPIC, "cannot open the pin folder '%s'", folder);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return log_errno(-EBUSY, TOPIC, "another xlbd works on '%s'", folder);
		return log_errno(-errno, TOPIC, "cannot lock the pin folder '%s'", folder);
	}
	*ret = take_fd(&fd);
	return 0;
}

/*
 * The kernel adds a flag to a map of devices that nobody may ask for, so libbpf (1.1) takes a pinned one for another map
 * than ours. It is given the descriptor instead. False: there is none yet.
 */
static bool reuse_devmap(struct bpf_map *map, const char *path)
{
	_cleanup_close_ int fd = -1;

	if (bpf_map__type(map) != BPF_MAP_TYPE_DEVMAP)
		return false;
	fd = bpf_obj_get(path);
	return fd >= 0 && bpf_map__reuse_fd(map, fd) == 0;
}

/* What the program under way is made of: its skeleton, and the tables that it works on. */
struct build {
	const struct dataplane *dataplane;
	struct xlb *skeleton;
	struct flows_table table[WIDTHS], old[WIDTHS];
};

static struct build *build_free(struct build *build)
{
	if (build)
		xlb__destroy(build->skeleton);
	free(build);
	return NULL;
}
DEFINE_CLEANUP(struct build, build_free)

static struct bpf_map *table_map(const struct build *build, int width)
{
	return width == WIDE ? build->skeleton->maps.connections_wide
	                     : build->skeleton->maps.connections_narrow;
}

static struct bpf_map *old_map(const struct build *build, int width)
{
	return width == WIDE ? build->skeleton->maps.connections_wide_old
	                     : build->skeleton->maps.connections_narrow_old;
}

/* Without an old table the program does not look at its map: a place-holder, not worth a pin. */
static bool is_pinned(const struct build *build, const struct bpf_map *map)
{
	for (int width = 0; width < WIDTHS; width++)
		if (map == old_map(build, width))
			return build->old[width].bits;
	return !bpf_map__is_internal(map);
}

static int set_pins(const struct build *build)
{
	struct bpf_map *map;
	char path[256];
	int r;

	bpf_object__for_each_map(map, build->skeleton->obj)
	{
		if (!is_pinned(build, map))
			continue;
		snprintf(path, sizeof(path), "%s/%s", build->dataplane->pin_folder,
		         bpf_map__name(map));
		if (reuse_devmap(map, path))
			continue;
		r = bpf_map__set_pin_path(map, path);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The size of a table: the pinned one's, for what is pinned is taken over, else what is wanted. */
static int set_table(struct build *build, int width, uint64_t connections, bool with_old)
{
	const char *folder = build->dataplane->pin_folder;
	struct bpf_map *map = table_map(build, width);
	struct table_pins pins = {0};
	int r = folder ? table_pins_read(folder, bpf_map__name(map), &pins) : 0;

	if (r < 0)
		return r;
	build->table[width].bits = pins.bits ? pins.bits : table_bits_for(connections);
	build->table[width].stash_bits = table_stash_bits(build->table[width].bits);
	r = bpf_map__set_max_entries(map, table_entries(build->table[width].bits));
	if (r < 0 || !pins.old_bits || !with_old)
		return r;
	build->old[width].bits = pins.old_bits;
	build->old[width].stash_bits = table_stash_bits(pins.old_bits);
	return bpf_map__set_max_entries(old_map(build, width), table_entries(pins.old_bits));
}

static int set_up(struct build *build, const struct dataplane_options *options, bool with_old)
{
	struct xlb *skeleton = build->skeleton;
	int r = set_table(build, NARROW, options->connections_ipv4, with_old);

	if (r < 0)
		return r;
	r = set_table(build, WIDE, options->connections_ipv6, with_old);
	if (r < 0)
		return r;
	skeleton->rodata->tick_shift = build->dataplane->tick.shift;
	skeleton->rodata->narrow_bits = build->table[NARROW].bits;
	skeleton->rodata->narrow_stash_bits = build->table[NARROW].stash_bits;
	skeleton->rodata->narrow_old_bits = build->old[NARROW].bits;
	skeleton->rodata->narrow_old_stash_bits = build->old[NARROW].stash_bits;
	skeleton->rodata->wide_bits = build->table[WIDE].bits;
	skeleton->rodata->wide_stash_bits = build->table[WIDE].stash_bits;
	skeleton->rodata->wide_old_bits = build->old[WIDE].bits;
	skeleton->rodata->wide_old_stash_bits = build->old[WIDE].stash_bits;
	return build->dataplane->pin_folder ? set_pins(build) : 0;
}

/*
 * What is pinned must be of our layout. Asked before anything is loaded: a map that has another size now would be refused
 * by libbpf, which cannot say why. `layout` is where it was in every layout.
 */
static int check_layout(const char *folder)
{
	union {
		struct xlb_control control;
		char room[4096]; /* for a longer one */
	} pinned = {0};
	_cleanup_close_ int fd = -1;
	uint32_t zero = 0;
	char path[256];

	snprintf(path, sizeof(path), "%s/control", folder);
	fd = bpf_obj_get(path);
	if (fd < 0) /* none, or load() says what is wrong with it */
		return 0;
	if (bpf_map_lookup_elem(fd, &zero, &pinned) < 0)
		return log_errno(-errno, TOPIC, "cannot read '%s'", path);
	if (!pinned.control.layout || pinned.control.layout == XLB_LAYOUT)
		return 0;
	return log_errno(-EPROTO, TOPIC,
	                 "the maps pinned in '%s' have layout %u, this xlbd has %d: remove them "
	                 "with `xlbd --remove` (connections end)",
	                 folder, pinned.control.layout, XLB_LAYOUT);
}

/* The control block of new maps gets its constants. */
static int open_control(struct dataplane *dataplane, const struct dataplane_options *options)
{
	struct xlb_control *control =
		mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED,
	             bpf_map__fd(dataplane->skeleton->maps.control), 0);

	if (control == MAP_FAILED)
		return log_errno(-errno, TOPIC, "cannot map the control block");
	dataplane->control = control;
	if (!control->layout) {
		if (getrandom(&control->seed, sizeof(control->seed), 0) != sizeof(control->seed))
			return log_errno(-errno, TOPIC, "cannot get a random seed");
		control->layout = XLB_LAYOUT;
	}
	control->silence = (uint32_t)(options->silence_ms * 1000ull / dataplane->tick.microseconds);
	return 0;
}

/* Loads a program over what is pinned; it takes the place of the data plane's, if there is one. */
static int load(struct dataplane *dataplane, const struct dataplane_options *options, bool with_old)
{
	_cleanup_(build_freep) struct build *build = calloc(1, sizeof(*build));
	int r;

	if (!build)
		return -ENOMEM;
	build->dataplane = dataplane;
	build->skeleton = xlb__open();
	if (!build->skeleton)
		return log_errno(-errno, TOPIC, "cannot open the program");
	r = set_up(build, options, with_old);
	if (r < 0)
		return log_errno(r, TOPIC, "cannot set the program up");
	r = xlb__load(build->skeleton);
	if (r < 0)
		return log_errno(r, TOPIC, "cannot load the program (`-d libbpf` tells more)");
	for (int width = 0; width < WIDTHS; width++) {
		build->table[width].fd = bpf_map__fd(table_map(build, width));
		build->old[width].fd = bpf_map__fd(old_map(build, width));
	}
	xlb__destroy(dataplane->skeleton);
	dataplane->skeleton = take_ptr(build->skeleton);
	memcpy(dataplane->table, build->table, sizeof(dataplane->table));
	memcpy(dataplane->old, build->old, sizeof(dataplane->old));
	return 0;
}

/* Descriptors that stay when another program is loaded. */
static int keep_maps(struct dataplane *dataplane)
{
	const struct bpf_map *const maps[MAP_COUNT] = {
		[MAP_SERVICES] = dataplane->skeleton->maps.services,
		[MAP_SERVICE_OVERFLOW] = dataplane->skeleton->maps.service_overflow,
		[MAP_REALS] = dataplane->skeleton->maps.reals,
		[MAP_TUNNELS] = dataplane->skeleton->maps.tunnels,
		[MAP_SERVICE_KEYS] = dataplane->skeleton->maps.service_keys,
		[MAP_WAYS] = dataplane->skeleton->maps.ways,
		[MAP_RINGS] = dataplane->skeleton->maps.rings,
		[MAP_CURSORS] = dataplane->skeleton->maps.cursors,
		[MAP_INTERFACES] = dataplane->skeleton->maps.interfaces,
		[MAP_LOCALS] = dataplane->skeleton->maps.locals,
		[MAP_EXITS] = dataplane->skeleton->maps.exits,
		[MAP_NAMES] = dataplane->skeleton->maps.names,
		[MAP_VERDICT_COUNTERS] = dataplane->skeleton->maps.verdict_counters,
		[MAP_REAL_COUNTERS] = dataplane->skeleton->maps.real_counters,
		[MAP_SERVICE_COUNTERS] = dataplane->skeleton->maps.service_counters,
		[MAP_FRAGMENTS] = dataplane->skeleton->maps.fragments,
	};

	for (int i = 0; i < MAP_COUNT; i++) {
		dataplane->map[i] = fcntl(bpf_map__fd(maps[i]), F_DUPFD_CLOEXEC, 0);
		if (dataplane->map[i] < 0)
			return log_errno(-errno, TOPIC, "cannot keep the maps open");
	}
	return 0;
}

static void keep_heart(const struct dataplane *dataplane, const char *when)
{
	if (dataplane->pin_folder && heartbeat_keep(dataplane->pin_folder, &dataplane->tick))
		log_debug(TOPIC, "the heart goes on beating %s", when);
}

static int start(struct dataplane *dataplane, const struct dataplane_options *options)
{
	int r = clock_measure(&dataplane->tick);

	if (r < 0)
		return log_errno(
			r, TOPIC,
			"cannot load a BPF program (CAP_BPF and CAP_NET_ADMIN are needed)");
	/* the load takes a second or more, and the program of before is at work */
	keep_heart(dataplane, "before the program is loaded");
	r = load(dataplane, options, true);
	if (r < 0)
		return r;
	keep_heart(dataplane, "behind the load");
	r = keep_maps(dataplane);
	return r < 0 ? r : open_control(dataplane, options);
}

int dataplane_open(const struct dataplane_options *options, struct dataplane **ret)
{
	_cleanup_(dataplane_closep) struct dataplane *dataplane = calloc(1, sizeof(*dataplane));
	LIBBPF_OPTS(bpf_map_create_opts, inner, .map_flags = BPF_F_INNER_MAP);
	int r;

	if (!dataplane)
		return -ENOMEM;
	dataplane->lock = dataplane->no_ring = -1;
	for (int i = 0; i < MAP_COUNT; i++)
		dataplane->map[i] = -1;
	libbpf_set_print(print_libbpf);
	if (options->pin_folder) {
		dataplane->pin_folder = strdup(options->pin_folder);
		if (!dataplane->pin_folder)
			return -ENOMEM;
		r = lock_folder(options->pin_folder, &dataplane->lock);
		if (r < 0)
			return r;
		r = check_layout(options->pin_folder);
		if (r < 0)
			return r;
	}
	r = start(dataplane, options);
	if (r < 0)
		return r;
	dataplane->no_ring = bpf_map_create(BPF_MAP_TYPE_ARRAY, "no_ring", sizeof(uint32_t),
	                                    sizeof(union xlb_ring_element), 1, &inner);
	if (dataplane->no_ring < 0)
		return log_errno(-errno, TOPIC, "cannot make an empty ring");
	*ret = take_ptr(dataplane);
	return 0;
}

struct dataplane *dataplane_close(struct dataplane *dataplane)
{
	if (!dataplane)
		return NULL;
	if (dataplane->control)
		munmap(dataplane->control, sizeof(*dataplane->control));
	xlb__destroy(dataplane->skeleton);
	for (int i = 0; i < MAP_COUNT; i++)
		close_fd(&dataplane->map[i]);
	close_fd(&dataplane->no_ring);
	close_fd(&dataplane->lock);
	free(dataplane->pin_folder);
	free(dataplane);
	return NULL;
}

static int run(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	return bpf_prog_test_run_opts(bpf_program__fd(program), &options) ? -errno : 0;
}

uint64_t dataplane_now(struct dataplane *dataplane)
{
	/* the program was loaded and takes no arguments: running it cannot fail */
	(void)run(dataplane->skeleton->progs.xlb_clock);
	return dataplane->skeleton->bss->clock_answer;
}

bool dataplane_keep_heart(struct dataplane *dataplane)
{
	return heartbeat_counts(dataplane->control->heartbeat, dataplane->control->silence,
	                        dataplane_now(dataplane)) &&
	       dataplane_heartbeat(dataplane) == 0;
}

int dataplane_heartbeat(struct dataplane *dataplane)
{
	return run(dataplane->skeleton->progs.xlb_heartbeat);
}

unsigned dataplane_tick_ms(const struct dataplane *dataplane)
{
	return dataplane->tick.microseconds / 1000;
}

struct xlb_control *dataplane_control(struct dataplane *dataplane)
{
	return dataplane->control;
}

int dataplane_map(const struct dataplane *dataplane, enum dataplane_map map)
{
	return dataplane->map[map];
}

void dataplane_tables(const struct dataplane *dataplane, struct flows_table *ret_ipv4,
                      struct flows_table *ret_ipv6)
{
	*ret_ipv4 = dataplane->table[NARROW];
	*ret_ipv6 = dataplane->table[WIDE];
}

void dataplane_old_tables(const struct dataplane *dataplane, struct flows_table *ret_ipv4,
                          struct flows_table *ret_ipv6)
{
	*ret_ipv4 = dataplane->old[NARROW];
	*ret_ipv6 = dataplane->old[WIDE];
}

int dataplane_reload(struct dataplane *dataplane, bool with_old)
{
	/* every table is pinned: no size is asked for */
	const struct dataplane_options sizes = {.pin_folder = dataplane->pin_folder};

	return dataplane->pin_folder ? load(dataplane, &sizes, with_old) : -EOPNOTSUPP;
}

int dataplane_synchronize(struct dataplane *dataplane)
{
	uint32_t nobody = 0;

	/* the kernel waits for all running programs after an update of a map in a map (kernel/bpf/syscall.c) */
	return bpf_map_update_elem(dataplane_map(dataplane, MAP_RINGS), &nobody,
	                           &dataplane->no_ring, BPF_ANY)
	               ? -errno
	               : 0;
}

int dataplane_ingress_fd(const struct dataplane *dataplane)
{
	return bpf_program__fd(dataplane->skeleton->progs.xlb_ingress);
}

const char *dataplane_pin_folder(const struct dataplane *dataplane)
{
	return dataplane->pin_folder;
}
