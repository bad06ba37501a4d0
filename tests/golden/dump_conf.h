/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump_conf.h - a configuration as text, one line a field, for comparing two of them.
 */
#ifndef TESTS_DUMP_CONF_H
#define TESTS_DUMP_CONF_H

#include <stdio.h>

#include "conf/conf.h"

void dump_conf(const struct xlbd_conf *conf, FILE *out);

#endif
