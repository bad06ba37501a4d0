/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netattributes.h - netlink attributes by number, with their lengths checked where they are read. Pure.
 */
#ifndef XLBD_NETATTRIBUTES_H
#define XLBD_NETATTRIBUTES_H

#include <stddef.h>
#include <stdint.h>

struct nlattr;
struct nlmsghdr;

#define ATTRIBUTES_MAX 80 /* above the largest number that is asked for anywhere */

struct attributes {
	const struct nlattr *at[ATTRIBUTES_MAX]; /* NULL: not there */
};

/* header: size of the fixed part in front of the attributes. */
struct attributes attributes_of(const struct nlmsghdr *message, size_t header);
struct attributes attributes_nested(const struct nlattr *nest); /* NULL: none of them */

/* The payload, if it is at least `size` bytes long; else NULL. */
const void *attribute_bytes(const struct attributes *attributes, int type, size_t size);
size_t attribute_length(const struct attributes *attributes, int type);
/* As they lie there, in host order; 0 if they are not there. */
uint32_t attribute_u32(const struct attributes *attributes, int type);
uint16_t attribute_u16(const struct attributes *attributes, int type);
/* nf_tables writes its numbers in network order. */
uint32_t attribute_be32(const struct attributes *attributes, int type);
/* Copies as much of a string as there is room for, and ends it; `text` stays as it was without one. */
void attribute_string(const struct attributes *attributes, int type, char *text, size_t room);

#endif
