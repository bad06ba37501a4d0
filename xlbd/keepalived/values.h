/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * values.h - numbers, times, switches, addresses and ports of keepalived.conf, with keepalived's tolerance.
 */
#ifndef XLBD_KEEPALIVED_VALUES_H
#define XLBD_KEEPALIVED_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "xlbd/keepalived/draft.h"

enum tolerance {
	STRICT,  /* what follows the digits makes it invalid */
	TOLERANT /* what follows is ignored when the daemon runs, refused by `keepalived -t` */
};

/*
 * Word `index` as a number. Complains about everything that `keepalived -t` refuses. False: keepalived ignores the
 * value (*ret is untouched); `otherwise` says what it does then.
 */
bool value_number(struct reader *reader, const struct statement *statement, size_t index,
                  uint32_t least, uint32_t most, enum tolerance tolerance, const char *otherwise,
                  uint32_t *ret);
/* Seconds with decimals, at least `least` microseconds: is it one? Complains. */
bool value_is_timer(struct reader *reader, const struct statement *statement, size_t index,
                    uint32_t least);
/* true on yes / false off no; without a word it is on. False: neither; complains. */
bool value_switch(struct reader *reader, const struct statement *statement, bool *ret);
/*
 * Address at `index` and port behind it (if there is one; 0: none, any). Cuts the address at - and /, silently as
 * keepalived does but with a warning. False: no address or no port, and `whose` is skipped; complains.
 */
bool value_endpoint(struct reader *reader, const struct statement *statement, size_t index,
                    const char *whose, struct xlb_addr *ret_addr, uint16_t *ret_port);
/* "10.0.0.1/24": prefix length; without one that of a host. False: no address. */
bool value_prefix(struct reader *reader, const struct statement *statement, size_t index,
                  struct xlb_addr *ret_addr, uint8_t *ret_prefix);

#endif
