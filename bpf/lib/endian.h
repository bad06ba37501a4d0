/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * endian.h - byte order, folded at compile time for constants; the same names in the kernel and on the host.
 */
#ifndef XLB_LIB_ENDIAN_H
#define XLB_LIB_ENDIAN_H

#include <linux/types.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define xlb_htons(x) ((__be16)__builtin_bswap16((__u16)(x)))
#define xlb_htonl(x) ((__be32)__builtin_bswap32((__u32)(x)))
#else
#define xlb_htons(x) ((__be16)(x))
#define xlb_htonl(x) ((__be32)(x))
#endif
#define xlb_ntohs(x) ((__u16)xlb_htons((__u16)(x)))
#define xlb_ntohl(x) ((__u32)xlb_htonl((__u32)(x)))

#endif
