// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * include.c - from the text behind `include` to the contents of files.
 *
 * keepalived has six include keywords that differ in what must be found (include_is), a base level of checks that
 * include_check sets, and patterns with wildcards and {alternatives}. glob(3) knows braces too, but only its global
 * call-backs would tell which alternative found nothing; so the braces are expanded here and each alternative is
 * given to glob(3) alone. The lexer decides what a failed check means.
 *
 * Files are opened without blocking and must be regular and not executable: nothing that is named in a
 * configuration is ever run, and no FIFO or device can hold us up.
 */
#define _GNU_SOURCE /* asprintf, obstack_printf */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "xlbd/cleanup.h"
#include "xlbd/keepalived/include.h"

#define PATTERN_MAX 4096

struct expansion {
	struct obstack *arena;
	const char *directory; /* escaped, with a slash at its end */
	const char *root;      /* escaped */
	unsigned alternatives;
	bool missing; /* an alternative without wildcards named nothing */
	struct include_match *first, **last;
};

bool include_is(const char *text, unsigned *ret_checks, size_t *ret_pattern)
{
	static const struct {
		char letter;
		unsigned checks;
	} forms[] = {
		{'r', INCLUDE_CHECK_READ},
		{'m', INCLUDE_CHECK_READ | INCLUDE_CHECK_MATCH},
		{'w', INCLUDE_CHECK_READ | INCLUDE_CHECK_MATCH | INCLUDE_CHECK_WILDCARD},
		{'b', INCLUDE_CHECK_READ | INCLUDE_CHECK_BRACE},
		{'a', INCLUDE_CHECK_ALL},
	};
	size_t length = strlen("include");
	unsigned checks = 0;

	if (strncmp(text, "include", length))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (text[length] == forms[i].letter)
			checks = forms[i].checks;
	length += checks != 0;
	if (text[length] != ' ' && text[length] != '\t')
		return false;
	*ret_checks = checks;
	*ret_pattern = length + strspn(text + length, " \t");
	return true;
}

unsigned include_check_named(const char *word)
{
	static const struct {
		const char *name;
		unsigned check;
	} names[] = {
		{"read", INCLUDE_CHECK_READ},
		{"match", INCLUDE_CHECK_MATCH},
		{"wildcard_match", INCLUDE_CHECK_WILDCARD},
		{"brace_match", INCLUDE_CHECK_BRACE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(word, names[i].name))
			return names[i].check;
	return 0;
}

/* So that a folder's name is no pattern. */
static char *escape(struct obstack *arena, const char *path)
{
	for (; *path; path++) {
		if (strchr("*?[]{}\\,", *path))
			obstack_1grow(arena, '\\');
		obstack_1grow(arena, *path);
	}
	obstack_1grow(arena, '\0');
	return obstack_finish(arena);
}

static bool has_wildcards(const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern == '\\' && pattern[1])
			pattern++;
		else if (strchr("*?[", *pattern))
			return true;
	}
	return false;
}

static int look_up(struct expansion *expansion, const char *pattern)
{
	char full[2 * PATTERN_MAX];
	glob_t found = {};
	int length;

	length = *pattern == '/'
	                 ? snprintf(full, sizeof(full), "%s%s", expansion->root, pattern)
	                 : snprintf(full, sizeof(full), "%s%s", expansion->directory, pattern);
	if (length < 0 || (size_t)length >= sizeof(full))
		return -E2BIG;
	if (++expansion->alternatives > INCLUDE_ALTERNATIVES_MAX)
		return -E2BIG;
	if (glob(full, GLOB_MARK, NULL, &found) != 0 && !has_wildcards(pattern))
		expansion->missing = true;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct include_match *match = obstack_alloc(expansion->arena, sizeof(*match));
		const char *path = found.gl_pathv[i];

		*match = (struct include_match){
			.path = obstack_copy0(expansion->arena, path, strlen(path)),
		};
		*expansion->last = match;
		expansion->last = &match->next;
	}
	globfree(&found);
	return 0;
}

/* The '}' that belongs to the '{' at `open`; NULL: none. */
static const char *matching_brace(const char *open)
{
	unsigned depth = 0;

	for (const char *text = open; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (*text == '{')
			depth++;
		else if (*text == '}' && --depth == 0)
			return text;
	}
	return NULL;
}

/* The ',' or '}' that ends the alternative at `text`. */
static const char *alternative_end(const char *text)
{
	unsigned depth = 0;

	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (*text == '{')
			depth++;
		else if (depth && *text == '}')
			depth--;
		else if (!depth && (*text == ',' || *text == '}'))
			break;
	}
	return text;
}

static const char *first_brace(const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (*text == '{' && matching_brace(text))
			return text;
	}
	return NULL;
}

/* Takes the first {a,b} of the pattern apart and comes back for each; each time there is a brace less. */
static int expand(struct expansion *expansion, const char *pattern)
{
	const char *open = first_brace(pattern), *close, *text;

	if (!open)
		return look_up(expansion, pattern);
	close = matching_brace(open);
	for (text = open; text < close;) {
		const char *end = alternative_end(text + 1);
		_cleanup_free_ char *one = NULL;
		int r;

		if (asprintf(&one, "%.*s%.*s%s", (int)(open - pattern), pattern,
		             (int)(end - text - 1), text + 1, close + 1) < 0) {
			one = NULL;
			return -ENOMEM;
		}
		r = expand(expansion, one);
		if (r < 0)
			return r;
		text = end;
	}
	return 0;
}

static struct include_problem judge(const struct expansion *expansion, const char *pattern)
{
	if (expansion->first)
		return expansion->missing
		               ? (struct include_problem){INCLUDE_CHECK_BRACE,
		                                          "not every alternative names a file"}
		               : (struct include_problem){};
	if (expansion->missing)
		return (struct include_problem){first_brace(pattern) ? INCLUDE_CHECK_BRACE
		                                                     : INCLUDE_CHECK_MATCH,
		                                "there is no such file"};
	return (struct include_problem){INCLUDE_CHECK_WILDCARD, "no file matches"};
}

int include_expand(struct obstack *arena, const char *root, const char *directory,
                   const char *pattern, struct include_match **ret,
                   struct include_problem *ret_problem)
{
	struct expansion expansion = {
		.arena = arena,
		.root = root ? escape(arena, root) : "",
	};
	const char *escaped = escape(arena, directory);
	int r;

	if (strlen(pattern) >= PATTERN_MAX || strlen(escaped) + 2 >= PATTERN_MAX)
		return -E2BIG;
	if (*escaped) {
		obstack_printf(arena, "%s/", escaped);
		obstack_1grow(arena, '\0');
		escaped = obstack_finish(arena);
	}
	expansion.directory = escaped;
	expansion.last = &expansion.first;
	r = expand(&expansion, pattern);
	if (r < 0)
		return r;
	*ret = expansion.first;
	*ret_problem = judge(&expansion, pattern);
	return 0;
}

int include_read(struct obstack *arena, const char *path, size_t most, char **ret_text,
                 size_t *ret_length)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char piece[16384];
	struct stat status;
	ssize_t got;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH))
		return -EINVAL;
	if (status.st_size > 0 && (uintmax_t)status.st_size < most && status.st_size < INT_MAX)
		obstack_make_room(arena,
		                  (int)status.st_size + 1); /* it need not move as it grows */
	while ((got = read(fd, piece, sizeof(piece))) > 0) {
		if (obstack_object_size(arena) + (size_t)got > most) {
			obstack_free(arena, obstack_finish(arena));
			return -EFBIG;
		}
		obstack_grow(arena, piece, got);
	}
	if (got < 0) {
		int error = errno;

		obstack_free(arena, obstack_finish(arena));
		return -error;
	}
	*ret_length = obstack_object_size(arena);
	obstack_1grow(arena, '\0');
	*ret_text = obstack_finish(arena);
	return 0;
}
