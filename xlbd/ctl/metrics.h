/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.h - the daemon's figures in Prometheus's text format.
 */
#ifndef XLBD_CTL_METRICS_H
#define XLBD_CTL_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* The answer to `snapshot`; NULL: the daemon does not answer, which is a metric too (xlb_up). Pure. */
void metrics_write(FILE *out, const json_t *answer);

/*
 * An HTTP request from `in`, as far as its blank line: writes the head of the answer. True: GET of /metrics or /, so the
 * metrics follow; false: that was all. Pure but for the streams.
 */
bool metrics_head(FILE *in, FILE *out);

#endif
