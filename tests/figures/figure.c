// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figure.c - prints measured figures, a JSON object a line; tests/figures makes a table or a list of them.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/figures/figure.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double figure_print(const char *name, const char *unit, double *values, size_t count)
{
	double median;

	qsort(values, count, sizeof(*values), compare);
	median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
	printf("{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\", \"spread\": %.3f}\n", name,
	       median, unit, median ? (values[count - 1] - values[0]) / median : 0.0);
	fflush(stdout);
	return median;
}

int figure_wanted(const char *name, char *const patterns[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fnmatch(patterns[i], name, 0) == 0)
			return 1;
	return count == 0;
}
