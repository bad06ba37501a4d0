/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load.h - conf_load() from memory: for conf.c itself, the fuzzer and the tests. The daemon has no business here.
 */
#ifndef XLBD_CONF_LOAD_H
#define XLBD_CONF_LOAD_H

#include "conf/conf.h"

/* As conf_load(). `name` is what complaints call the text; bytes NULL: the defaults alone. */
int conf_load_text(const char *name, const char *bytes, size_t size, char *const overrides[],
                   size_t overrides_count, struct complaints *complaints, struct xlbd_conf **ret);

/*
 * override.c: "ipvs.timeouts.tcp=15m" -> the YAML that says the same, malloc'ed. Its value is still unread. -EINVAL with a
 * complaint, -ENOMEM.
 */
int conf_override(const char *name, const char *override, struct complaints *complaints,
                  char **ret);

#endif
