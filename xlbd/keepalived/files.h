/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files.h - the files that are being read: a line at a time from the innermost, and what an include adds.
 */
#ifndef XLBD_KEEPALIVED_FILES_H
#define XLBD_KEEPALIVED_FILES_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>

#include "xlbd/complaint.h"
#include "xlbd/keepalived/line.h"

#define FILES_DEPTH_MAX 32   /* includes in includes */
#define FILES_MAX       1024 /* read, each time counted */

struct files; /* opaque; lives in the arena */

struct files_options {
	struct obstack *arena; /* texts, which places show */
	struct obstack *names; /* names of files, which outlive the texts */
	const char *root;      /* in front of absolute paths; NULL: none */
	bool ignore_includes;
	size_t *bytes, bytes_max; /* what was read so far is added to *bytes, and bounded */
	struct complaints *complaints;
};

struct files *files_new(const struct files_options *options);
/* The outermost file. -errno as lexer_open() says. */
int files_open(struct files *files, const char *file);
void files_open_text(struct files *files, const char *name, const char *text, size_t length);

/* 1: the next physical line, or the piece of it that keepalived reads; may be empty. 0: no more. -E2BIG. */
int files_read(struct files *files, struct line *line);
/* An include: `pattern` at the end of `line`. `twice`: keepalived executes it twice. 0 or -E2BIG. */
int files_include(struct files *files, const struct line *line, unsigned checks,
                  const char *pattern, bool twice);
/* What every include must find from now on, to the end of the file. enum include_check */
unsigned files_checks(const struct files *files);
void files_set_checks(struct files *files, unsigned checks);
/* Something could not be read: a doubt for what comes next. NULL: no. Forgets it. */
const char *files_take_doubt(struct files *files);

const char *files_directory(struct files *files); /* absolute, of the innermost file */
const char *files_name(const struct files *files, size_t index); /* NULL after the last */

#endif
