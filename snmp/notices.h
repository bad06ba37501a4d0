/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notices.h - what of a new snapshot a person should be told at once: XLB-MIB's notifications. Pure.
 */
#ifndef XLB_SNMP_NOTICES_H
#define XLB_SNMP_NOTICES_H

#include "snmp/snapshot.h"
#include "xlbd/cleanup.h"

#define NOTICE_TABLE_HIGH   90 /* percent of the slots */
#define NOTICE_TABLE_NORMAL 80 /* below */

enum notice_kind { /* as XLB-MIB numbers them; those that are missing are reserved there */
	           NOTICE_ROLE = 1,
	           NOTICE_REAL = 2,
	           NOTICE_VIP = 3,
	           NOTICE_HIGH = 4,
	           NOTICE_NORMAL = 5,
	           NOTICE_DATAPLANE = 9,
	           NOTICE_CONFIG = 12,
	           NOTICE_KINDS
};

struct notice {
	enum notice_kind kind;
	const struct snapshot *snapshot; /* NULL: the daemon does not answer */
	const void *row;    /* what it is about: struct real, vip or role_row; or NULL */
	const char *detail; /* one line for a person */
};

struct notices; /* opaque: what was told last, and how often */

/* most: of each kind in a minute. tell() is called for each that may be sent. NULL: out of memory. */
struct notices *notices_new(unsigned most, void (*tell)(void *context, const struct notice *notice),
                            void *context);
struct notices *notices_free(struct notices *notices); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct notices, notices_free)

/* A snapshot after history_add(). The first one of all tells nothing: it is how things are. */
void notices_look(struct notices *notices, const struct snapshot *snapshot);
/* The daemon no longer answers. why: in words. */
void notices_silence(struct notices *notices, const char *why, uint64_t now);
uint64_t notices_suppressed(const struct notices *notices);

#endif
