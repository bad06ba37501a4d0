/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * figure.h - one measured figure: its name, the median of its repetitions, and how far they lie apart.
 */
#ifndef XLB_TESTS_FIGURE_H
#define XLB_TESTS_FIGURE_H

#include <stddef.h>

/* Prints {"name": ..., "value": median, "unit": ..., "spread": (max - min) / median} as a line; sorts `values`. Returns the median. */
double figure_print(const char *name, const char *unit, double *values, size_t count);
int figure_wanted(const char *name, char *const patterns[],
                  size_t count); /* no patterns: yes; else any of them matches (fnmatch) */

#endif
