/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeouts.h - the three timeouts of IPVS that can be set (IPVS_CMD_SET_CONFIG, ipvsadm --set), in seconds.
 */
#ifndef XLBD_IPVS_TIMEOUTS_H
#define XLBD_IPVS_TIMEOUTS_H

struct ipvs_timeouts {
	unsigned tcp;     /* ESTABLISHED: 900 */
	unsigned tcp_fin; /* FIN_WAIT: 120 */
	unsigned udp;     /* 300 */
};

#endif
