/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * links.h - the program on devices: attach, replace, detach. One pinned bpf_link a device.
 */
#ifndef XLBD_DATAPLANE_LINKS_H
#define XLBD_DATAPLANE_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum links_mode { LINKS_NATIVE_OR_GENERIC, LINKS_NATIVE, LINKS_GENERIC };

/*
 * Puts program `fd` on the device, or in the place of the program on its pinned link: no packet meets a device
 * without a program. folder NULL: nothing is pinned and *ret_fd is the link's descriptor, the caller's to close (-1 otherwise).
 * *ret_native: it runs in the driver. -EBUSY: another XDP program is there; -EOPNOTSUPP: the mode cannot be had.
 */
int links_attach(const char *folder, int program, uint32_t ifindex, const char *name,
                 enum links_mode mode, bool *ret_native, int *ret_fd);
/* Takes the program from the device and its pin away; no pin: nothing to do. */
int links_detach(const char *folder, const char *name);
/* The program in the place of the one on every pinned link, whoever made it. An error: some may have the former one still. */
int links_replace(const char *folder, int program);
/* Calls see(context, device name) for each pinned link. */
void links_each(const char *folder, void (*see)(void *context, const char *name), void *context);
/* Detaches all and removes every pin in the folder, and the folder. */
int links_remove(const char *folder);

#endif
