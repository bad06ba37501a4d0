// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * links.c - the program on devices.
 *
 * A bpf_link pinned as FOLDER/link-DEVICE keeps the program on the device whatever happens to the daemon; the next daemon
 * puts its own program into the same link, which the kernel does between two packets. A link whose device has
 * vanished, or whose name belongs to another device now, is thrown away and made anew.
 *
 * Native mode (in the driver) is tried first; generic mode works on every device at a fraction of the speed, and
 * the caller says so loudly.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "xlbd/cleanup.h"
#include "xlbd/dataplane/links.h"

#define PREFIX "link-"

static void pin_path(char path[256], const char *folder, const char *name)
{
	snprintf(path, 256, "%s/" PREFIX "%s", folder, name);
}

static bool is_native(uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	if (bpf_xdp_query((int)ifindex, 0, &query))
		return false;
	return query.attach_mode == XDP_ATTACHED_DRV || query.attach_mode == XDP_ATTACHED_HW;
}

/* The pinned link, if it is this device's; another's is unpinned. -1: none. */
static int open_pinned(const char *path, uint32_t ifindex)
{
	_cleanup_close_ int link = bpf_obj_get(path);
	struct bpf_link_info info = {0};
	uint32_t length = sizeof(info);

	if (link < 0)
		return -1;
	if (bpf_obj_get_info_by_fd(link, &info, &length) || info.xdp.ifindex != ifindex) {
		unlink(path);
		return -1;
	}
	return take_fd(&link);
}

static int create(int program, uint32_t ifindex, enum links_mode mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = XDP_FLAGS_DRV_MODE);
	int link = -1;

	if (mode != LINKS_GENERIC) {
		link = bpf_link_create(program, (int)ifindex, BPF_XDP, &options);
		if (link >= 0 || mode == LINKS_NATIVE || errno == EBUSY || errno == EPERM)
			return link < 0 ? -errno : link;
	}
	options.flags = XDP_FLAGS_SKB_MODE;
	link = bpf_link_create(program, (int)ifindex, BPF_XDP, &options);
	return link < 0 ? -errno : link;
}

int links_attach(const char *folder, int program, uint32_t ifindex, const char *name,
                 enum links_mode mode, bool *ret_native, int *ret_fd)
{
	_cleanup_close_ int link = -1;
	char path[256];

	if (folder) {
		pin_path(path, folder, name);
		link = open_pinned(path, ifindex);
		if (link >= 0 && bpf_link_update(link, program, NULL) == 0) {
			*ret_native = is_native(ifindex);
			*ret_fd = -1;
			return 0;
		}
		if (link >= 0) { /* of a mode or a device that is no more */
			unlink(path);
			close_fd(&link);
		}
	}
	link = create(program, ifindex, mode);
	if (link < 0)
		return link;
	if (folder && bpf_obj_pin(link, path))
		return -errno;
	*ret_native = is_native(ifindex);
	*ret_fd = folder ? -1 : take_fd(&link);
	return 0;
}

int links_detach(const char *folder, const char *name)
{
	_cleanup_close_ int link = -1;
	char path[256];

	pin_path(path, folder, name);
	link = bpf_obj_get(path);
	if (link < 0)
		return errno == ENOENT ? 0 : -errno;
	if (unlink(path) < 0)
		return -errno;
	/* the last descriptor takes the program away; ask explicitly, should somebody else hold one */
	return bpf_link_detach(link) && errno != ENOLINK ? -errno : 0;
}

void links_each(const char *folder, void (*see)(void *context, const char *name), void *context)
{
	DIR *directory = opendir(folder);
	struct dirent *entry;

	if (!directory)
		return;
	while ((entry = readdir(directory)))
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			see(context, entry->d_name + strlen(PREFIX));
	closedir(directory);
}

int links_replace(const char *folder, int program)
{
	DIR *directory = opendir(folder);
	struct dirent *entry;
	int result = 0;

	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		_cleanup_close_ int link = -1;
		char path[512];

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		link = bpf_obj_get(path);
		/* ENOLINK: its device is no more, and no packet meets it */
		if (link < 0 || (bpf_link_update(link, program, NULL) && errno != ENOLINK))
			result = -errno;
	}
	closedir(directory);
	return result;
}

int links_remove(const char *folder)
{
	DIR *directory = opendir(folder);
	struct dirent *entry;
	char path[512];

	if (!directory)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.' || entry->d_type == DT_DIR)
			continue;
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			links_detach(folder, entry->d_name + strlen(PREFIX));
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		unlink(path);
	}
	closedir(directory);
	return rmdir(folder) < 0 && errno != ENOTEMPTY ? -errno : 0;
}
