/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * namespace.h - a step into the network namespace where keepalived keeps its IPVS table, and back.
 */
#ifndef XLBD_IPVS_NAMESPACE_H
#define XLBD_IPVS_NAMESPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Where the namespace is found: "/run/netns/NAME", or the name itself if it has a slash. malloc'ed; NULL: out of memory. */
char *namespace_path(const char *name);

/*
 * The calling thread goes there; *ret_way_back: give it to namespace_leave(). -ENXIO: no such namespace; -EPERM: no
 * CAP_SYS_ADMIN. Make in there what must be made, and come back at once.
 */
int namespace_enter(const char *path, struct stat *ret_identity, int *ret_way_back);
/* Back, whatever comes: in the wrong namespace the daemon would attach to the wrong devices, so it ends if it cannot. */
void namespace_leave(int way_back);

/* Whether the path still leads to the namespace that it led to: one that was made anew is another. */
bool namespace_is_the_same(const char *path, const struct stat *identity);

/* What BPF programs know a namespace by: of `path`, or of ours (NULL). Errors as namespace_enter(). */
int namespace_cookie(const char *path, struct stat *ret_identity, uint64_t *ret);

#endif
