/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * views.h - each answer of the daemon as a person reads it. Prints; asks nothing.
 */
#ifndef XLBD_CTL_VIEWS_H
#define XLBD_CTL_VIEWS_H

#include <jansson.h>

#include "xlbd/ctl/print.h"

struct complaints;

struct view {
	const struct style *style;
	const json_t *answer; /* "ok" is true */
	const json_t
		*before; /* the same question's answer some seconds ago; NULL: none, so no rates */
	double seconds;  /* between the two */
	bool all;        /* also what is 0 */
};

/* Each returns the exit status: 0, or 2 if what it shows is not healthy. */
int view_status(const struct view *view);
int view_vip(const struct view *view);
int view_real(const struct view *view);
int view_drops(const struct view *view);
int view_explain(const struct view *view);
int view_bypass(const struct view *view);
int view_reload(const struct view *view);
int view_version(const struct view *view);
int view_sync(const struct view *view);
int view_ha(const struct view *view);
int view_done(const struct view *view); /* says nothing */

/* Connections come one by one: rows are added as they come, view_conn() ends it. */
struct table *view_conn_table(void);
void view_conn_item(struct table *table, const json_t *item);
int view_conn(const struct view *view, const struct table *table);

/* An array of the daemon's complaints, as compilers print them. */
void view_complaints(const struct style *style, const json_t *list);

#endif
