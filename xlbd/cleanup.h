/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cleanup.h - locals that free themselves, and how their value leaves the function.
 *
 * A local owns through the attribute and leaves by take, so that ownership can be checked in one function
 * without reading its callees. STYLE.md section 9.
 */
#ifndef XLBD_CLEANUP_H
#define XLBD_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

/* The pointer, leaving NULL behind. */
#define take_ptr(pointer)                               \
	({                                              \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = NULL;                       \
		taken_;                                 \
	})

/* The descriptor, leaving -1 behind. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void free_ptr(void *pointer)
{
	free(*(void **)pointer);
}

static inline void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define _cleanup_free_   _cleanup_(free_ptr)
#define _cleanup_close_  _cleanup_(close_fd)
#define _cleanup_fclose_ _cleanup_(close_file)

/* x_free(struct x *) returns NULL; this makes the x_freep that _cleanup_ wants. */
#define DEFINE_CLEANUP(type, function)                 \
	static inline void function##p(type **pointer) \
	{                                              \
		*pointer = function(*pointer);         \
	}

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
