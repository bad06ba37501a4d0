// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * files.c - keepalived.conf and what it includes, as one sequence of physical lines.
 *
 * The lexer asks for the next line and hands over include lines; this file keeps the stack of files. An include may mean
 * several files: they are read one after the other at one level of the stack, relative to the folder of the file
 * that includes them. A file is read whole into the arena, so the source of a line can be shown later; a line is handed
 * out in pieces of LINE_MAX_LENGTH, as keepalived reads it.
 * Limits: FILES_DEPTH_MAX (circles end there), FILES_MAX, and the caller's budget of bytes, which a file is charged to at once,
 * so including a large one again and again ends soon.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/keepalived/files.h"
#include "xlbd/keepalived/include.h"

struct frame { /* a file that is being read, and those that the same include still means */
	const char *path;      /* in `names` */
	const char *directory; /* "" if the path has none */
	const char *absolute;  /* of the directory; NULL: not asked for yet */
	char *text;
	size_t length, at, line_start;
	unsigned line;
	const struct include_match *more;
	unsigned checks, saved_checks;
	struct place by; /* the include line */
	const char *doubt;
	struct frame *below;
};

struct files {
	struct files_options options;
	struct frame *frame;
	unsigned checks;
	const char *doubt;
	const char *name[FILES_MAX + 1];
	size_t count;
};

struct files *files_new(const struct files_options *options)
{
	struct files *files = obstack_alloc(options->arena, sizeof(*files));

	*files = (struct files){.options = *options};
	return files;
}

static int limit_reached(struct files *files, const struct place *place, const char *what)
{
	complain_at(files->options.complaints, COMPLAINT_ERROR, place, 0, 0, NULL, "%s", what);
	return -E2BIG;
}

static const char *directory_of(struct obstack *arena, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return "";
	return obstack_copy0(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

/* The text becomes that of the frame; what the include gave the frame stays. */
static void frame_set(struct files *files, struct frame *frame, const char *path, char *text,
                      size_t length)
{
	frame->path = obstack_copy0(files->options.names, path, strlen(path));
	frame->directory = directory_of(files->options.arena, path);
	frame->absolute = NULL;
	frame->text = text;
	frame->length = length;
	frame->at = frame->line_start = 0;
	frame->line = 0;
	files->name[files->count++] = frame->path;
	*files->options.bytes += length;
	if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		complain_at(files->options.complaints, COMPLAINT_WARNING,
		            &(struct place){.file = frame->path, .line = 1}, 1, 1,
		            "save it as UTF-8 without BOM",
		            "file begins with a byte order mark, which becomes part of the first "
		            "word");
}

static void push(struct files *files, struct frame *frame)
{
	frame->below = files->frame;
	files->frame = frame;
}

void files_open_text(struct files *files, const char *name, const char *text, size_t length)
{
	struct frame *frame = obstack_alloc(files->options.arena, sizeof(*frame));

	*frame = (struct frame){};
	frame_set(files, frame, name, obstack_copy0(files->options.arena, text, length), length);
	push(files, frame);
}

static const char *why_not(int error)
{
	return error == -EINVAL  ? "not a regular file, or executable"
	       : error == -EFBIG ? "larger than xlbd reads"
	                         : strerror(-error);
}

int files_open(struct files *files, const char *file)
{
	struct obstack *arena = files->options.arena;
	struct frame *frame = obstack_alloc(arena, sizeof(*frame));
	const char *path = file;
	size_t length;
	char *text;
	int r;

	*frame = (struct frame){};
	if (files->options.root && *file == '/') {
		obstack_printf(arena, "%s%s", files->options.root, file);
		obstack_1grow(arena, '\0');
		path = obstack_finish(arena);
	}
	r = include_read(arena, path, files->options.bytes_max, &text, &length);
	if (r < 0) {
		complain_at(files->options.complaints, COMPLAINT_ERROR,
		            &(struct place){.file = path}, 0, 0, NULL, "cannot be read: %s",
		            why_not(r));
		return r == -EFBIG ? -E2BIG : r;
	}
	frame_set(files, frame, path, text, length);
	push(files, frame);
	return 0;
}

/* Reads `path` into the frame. 1: done; 0: skipped, said so; -E2BIG. */
static int frame_load(struct files *files, struct frame *frame, const char *path)
{
	bool required = (files->checks | frame->checks) & INCLUDE_CHECK_READ;
	size_t used = *files->options.bytes, most = files->options.bytes_max;
	size_t length;
	char *text;
	int r;

	if (files->count == FILES_MAX)
		return limit_reached(files, &frame->by, "more files are included than xlbd reads");
	r = include_read(files->options.arena, path, used < most ? most - used : 0, &text, &length);
	if (r == -EFBIG)
		return limit_reached(files, &frame->by, "configuration is larger than xlbd reads");
	if (r == 0) {
		frame_set(files, frame, path, text, length);
		return 1;
	}
	files->doubt = "a file that it includes could not be read";
	complain_at(files->options.complaints, required ? COMPLAINT_ERROR : COMPLAINT_WARNING,
	            &frame->by, 0, 0, NULL, "included file '%s' is skipped: %s", path, why_not(r));
	return 0;
}

/* The next file that the innermost include means; without one its level of the stack goes. */
static int next_file(struct files *files)
{
	struct frame *frame = files->frame;
	int r = 0;

	files->checks = frame->saved_checks;
	while (frame->more && r == 0) {
		const char *path = frame->more->path;

		frame->more = frame->more->next;
		r = frame_load(files, frame, path);
	}
	if (r != 0)
		return r < 0 ? r : 0;
	files->frame = frame->below;
	return 0;
}

/* Files that are being read; those that a loop has opened and nobody has read yet are not nested. */
static unsigned depth(const struct files *files)
{
	unsigned count = 0;

	for (const struct frame *frame = files->frame; frame; frame = frame->below)
		count += frame->line > 0;
	return count;
}

/* False: nothing is to be read. */
static bool judge_problem(struct files *files, const struct line *line, unsigned required,
                          const struct include_problem *problem, bool found)
{
	bool refused = required & problem->check;

	if (!problem->check)
		return true;
	complain_at(files->options.complaints, refused ? COMPLAINT_ERROR : COMPLAINT_WARNING,
	            &line->place, line->column[0],
	            line->column[line->length - 1] - line->column[0] + 1u,
	            refused ? "keepalived does not start" : NULL, "%s", problem->sentence);
	if (refused)
		files->doubt = "an include in it did not find all of its files";
	return found && !refused;
}

int files_include(struct files *files, const struct line *line, unsigned checks,
                  const char *pattern, bool twice)
{
	struct obstack *arena = files->options.arena;
	const struct frame *by = files->frame;
	struct include_problem problem;
	struct include_match *found;
	struct frame *frame;
	int r;

	if (files->options.ignore_includes) {
		complain_at(files->options.complaints, COMPLAINT_WARNING, &line->place,
		            line->column[0], 1, NULL, "includes are not read here");
		return 0;
	}
	if (depth(files) >= FILES_DEPTH_MAX)
		return limit_reached(files, &line->place,
		                     "includes are nested too deep, or in a circle");
	r = include_expand(arena, files->options.root, by ? by->directory : "", pattern, &found,
	                   &problem);
	if (r < 0)
		return limit_reached(files, &line->place,
		                     "include means more files than xlbd looks for");
	if (!judge_problem(files, line, files->checks | checks, &problem, found))
		return 0;
	frame = obstack_alloc(arena, sizeof(*frame));
	*frame = (struct frame){
		.more = found,
		.checks = checks,
		.saved_checks = files->checks,
		.by = line->place,
		.doubt = by ? by->doubt : NULL,
	};
	if (twice)
		frame->doubt =
			"it comes from an include that keepalived executes twice, because it "
			"is conditional, substituted or behind a brace";
	push(files, frame);
	return next_file(files);
}

/* A line without its end: cut at NUL, which no version of keepalived reads past. */
static size_t usable_length(struct files *files, struct line *line, char *start, size_t length)
{
	size_t usable;

	while (length && start[length - 1] == '\r')
		start[--length] = '\0';
	usable = strlen(start);
	if (usable == length)
		return length;
	line->doubt = "it has a line with a NUL character";
	complain_at(files->options.complaints, COMPLAINT_ERROR, &line->place, (unsigned)usable + 1,
	            1, NULL, "NUL character: keepalived reads the line up to here, or not at all");
	return usable;
}

static void read_piece(struct files *files, struct frame *frame, struct line *line)
{
	char *start = frame->text + frame->at, *newline;
	size_t before = frame->at - frame->line_start, length;

	if (!before)
		frame->line++;
	newline = memchr(start, '\n', frame->length - frame->at);
	length = newline ? (size_t)(newline - start) : frame->length - frame->at;
	line->doubt = frame->doubt;
	line->place = (struct place){.file = frame->path, .line = frame->line};
	if (before + length > LINE_MAX_LENGTH) {
		line->doubt = "it has a line that is longer than keepalived reads";
		complain_at(files->options.complaints, COMPLAINT_ERROR, &line->place,
		            LINE_MAX_LENGTH + 1, 1, NULL,
		            "line is longer than %d characters: keepalived cuts it in two",
		            LINE_MAX_LENGTH);
	} else {
		line->place.source = start;
	}
	if (length > LINE_MAX_LENGTH) {
		line_set(line, start, strnlen(start, LINE_MAX_LENGTH), (unsigned)before + 1);
		frame->at += LINE_MAX_LENGTH;
		return;
	}
	start[length] = '\0';
	frame->at += length + (newline != NULL);
	frame->line_start = frame->at;
	length = usable_length(files, line, start, length);
	line_set(line, start, length, (unsigned)before + 1);
}

int files_read(struct files *files, struct line *line)
{
	while (files->frame && files->frame->at >= files->frame->length) {
		int r = next_file(files);

		if (r < 0)
			return r;
	}
	if (!files->frame)
		return 0;
	read_piece(files, files->frame, line);
	return 1;
}

unsigned files_checks(const struct files *files)
{
	return files->checks;
}

void files_set_checks(struct files *files, unsigned checks)
{
	files->checks = checks;
}

const char *files_take_doubt(struct files *files)
{
	return take_ptr(files->doubt);
}

const char *files_directory(struct files *files)
{
	struct frame *frame = files->frame;
	_cleanup_free_ char *real = NULL;

	if (!frame)
		return ".";
	if (frame->absolute)
		return frame->absolute;
	real = realpath(*frame->directory ? frame->directory : ".", NULL);
	frame->absolute = real ? obstack_copy0(files->options.arena, real, strlen(real)) : ".";
	return frame->absolute;
}

const char *files_name(const struct files *files, size_t index)
{
	return index < files->count ? files->name[index] : NULL;
}
