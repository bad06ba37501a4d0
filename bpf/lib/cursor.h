/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cursor.h - the only way to look at bytes of a frame: take the next N of them, or learn that they are not there.
 *
 * The pointer goes out through an argument and the answer is a bool: a returned pointer that is tested for NULL makes
 * clang compare it with 0, which the verifier allows only with CAP_PERFMON.
 */
#ifndef XLB_LIB_CURSOR_H
#define XLB_LIB_CURSOR_H

#include <linux/types.h>
#include <stdbool.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

struct cursor {
	void *position;
	void *end;
};

static __always_inline bool cursor_take(struct cursor *cursor, __u32 size, void **ret)
{
	void *taken = cursor->position;

	if ((char *)taken + size > (char *)cursor->end)
		return false;
	cursor->position = (char *)taken + size;
	*ret = taken;
	return true;
}

#endif
