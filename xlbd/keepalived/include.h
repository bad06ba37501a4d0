/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * include.h - include lines of keepalived.conf: which files a pattern means, and what keepalived thinks of those that lack.
 */
#ifndef XLBD_KEEPALIVED_INCLUDE_H
#define XLBD_KEEPALIVED_INCLUDE_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>

#define INCLUDE_ALTERNATIVES_MAX 256 /* of one pattern, by its braces */

/* What must be so, or keepalived refuses to start. */
enum include_check {
	INCLUDE_CHECK_READ = 1 << 0,  /* every match is a readable regular file, not executable */
	INCLUDE_CHECK_MATCH = 1 << 1, /* a pattern without wildcards matches */
	INCLUDE_CHECK_WILDCARD = 1 << 2, /* so does one with wildcards */
	INCLUDE_CHECK_BRACE = 1 << 3,    /* so does every {alternative} */
	INCLUDE_CHECK_ALL = (1 << 4) - 1,
};

/* An include line? Gives its checks (0: plain `include`) and where its pattern begins. */
bool include_is(const char *text, unsigned *ret_checks, size_t *ret_pattern);

/* The checks that an include_check word names: "read", "match", "wildcard_match", "brace_match"; 0: none of these. */
unsigned include_check_named(const char *word);

struct include_match {
	const char *path; /* a folder ends with a slash */
	struct include_match *next;
};
/* What went wrong. */
struct include_problem {
	unsigned check;       /* the check that it fails; 0: nothing went wrong */
	const char *sentence; /* without the pattern */
};
/*
 * Files that the pattern means, sorted within each alternative: relative to `directory`, or with `root` (may be NULL)
 * in front if it is absolute. 0, or -E2BIG (alternatives, length).
 */
int include_expand(struct obstack *arena, const char *root, const char *directory,
                   const char *pattern, struct include_match **ret,
                   struct include_problem *ret_problem);

/*
 * Reads a whole file, at most `most` bytes of it; *ret_text ends with a NUL that is not counted. Only regular files
 * that nobody may execute, as keepalived. -EINVAL: not such a file; -EFBIG: longer; other -errno from the system.
 */
int include_read(struct obstack *arena, const char *path, size_t most, char **ret_text,
                 size_t *ret_length);

#endif
