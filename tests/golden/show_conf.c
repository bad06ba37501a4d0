// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show_conf.c - loads an xlbd.yaml and prints what came of it: every field, or every complaint.
 *
 *	show_conf [FILE [KEY=VALUE...]]
 *
 * The fields go to standard output (exit status 0), errors as well (1), so that a golden file is one of the two;
 * warnings of a file that is accepted come behind the fields. Run by run-conf.sh.
 */
#include <string.h>

#include "conf/conf.h"
#include "tests/golden/dump_conf.h"
#include "xlbd/complaint.h"

int main(int argc, char *argv[])
{
	struct complaints *complaints = complaints_new();
	const char *file = argc > 1 ? argv[1] : NULL;
	size_t overrides = argc > 2 ? (size_t)argc - 2 : 0;
	const struct complaint *complaint;
	struct xlbd_conf *conf = NULL;
	int r;

	if (!complaints)
		return 2;
	r = conf_load(file, argv + 2, overrides, complaints, &conf);
	if (conf)
		dump_conf(conf, stdout);
	for (size_t i = 0; (complaint = complaints_get(complaints, i)); i++)
		complaint_print(complaint, stdout);
	if (complaints_dropped(complaints))
		printf("and %zu more\n", complaints_dropped(complaints));
	conf_free(conf);
	complaints_free(complaints);
	return r < 0;
}
