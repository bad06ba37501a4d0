/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attributes.h - messages of the kernel's IPVS family, read and written. Pure.
 *
 * Each function takes a whole message whose nlmsg_len is known to lie inside its buffer (mnl_nlmsg_ok). -EBADMSG: not as
 * <linux/ip_vs.h> says; nothing is filled then. The order of attributes never matters, those that are not known
 * are passed over.
 */
#ifndef XLBD_IPVS_ATTRIBUTES_H
#define XLBD_IPVS_ATTRIBUTES_H

#include <linux/netlink.h>

#include "xlbd/ipvs/timeouts.h"
#include "xlbd/model/service.h"

/* An answer of IPVS_CMD_GET_SERVICE; in_force is set, there are no reals. */
int attributes_service(const struct nlmsghdr *message, struct service *ret);
/* An answer of IPVS_CMD_GET_DEST. family: the service's, for kernels that do not tell that of the real server. */
int attributes_real(const struct nlmsghdr *message, int family, struct real_server *ret);
/* The answer of IPVS_CMD_GET_CONFIG. */
int attributes_timeouts(const struct nlmsghdr *message, struct ipvs_timeouts *ret);
/* An answer of CTRL_CMD_GETFAMILY: is it IPVS, and under which number? -ENOENT: another family. */
int attributes_family(const struct nlmsghdr *message, uint16_t *ret);

/* Appends what names a service, as GET_DEST wants it: at most 64 bytes. */
void attributes_put_service(struct nlmsghdr *message, const struct service *service);

#endif
