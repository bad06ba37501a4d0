/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api_inside.h - what api.c (the kernel's side) and api_table.c (what the table says) share. Nobody else includes it.
 */
#ifndef XLBD_IPVS_API_INSIDE_H
#define XLBD_IPVS_API_INSIDE_H

#include <stdint.h>
#include <sys/stat.h>

#include "ipvs_api.h"
#include "xlbd/ipvs/api.h"

#define NO_COPY UINT64_MAX

struct ipvs_api_bpf; /* the skeleton */
struct item;         /* api_table.c: a service or real server whose statistics are kept */

struct ipvs_api {
	struct ipvs_api_bpf *skeleton;
	char *pin_folder;
	char *netns_path; /* of the namespace whose table it is; NULL: ours */
	struct stat identity;
	uint64_t netns;                   /* its cookie */
	struct ipvs_api_control *control; /* mapped */
	struct ipvs_api_stats_record *stats;
	struct ipvs_api_table *table; /* our copy */
	uint64_t generation;          /* of the copy, or NO_COPY */
	struct item *items;
};

/* Copies the table unless our copy is of this generation. 1: it is a new copy; 0: nothing has changed. */
int ipvs_api_copy(struct ipvs_api *api);
void ipvs_api_forget(struct ipvs_api *api); /* frees the items */

#endif
