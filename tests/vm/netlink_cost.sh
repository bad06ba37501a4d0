#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a look at a large table costs: 1,000 services with 10 real servers each. With XLB_VM_ICOUNT=1 a nanosecond is an instruction:
#	XLB_VM_ICOUNT=1 tests/vm/boot tests/vm/netlink_cost.sh
set -eu
# shellcheck source=tests/vm/cases.sh
. "$(dirname "$0")/cases.sh"
modprobe ip_vs
for service in $(seq 0 999); do
	vip=10.$((service / 250)).0.$((service % 250 + 1))
	echo "-A -t $vip:80 -s rr"
	for real in $(seq 10); do
		echo "-a -t $vip:80 -r 10.9.$((service / 250)).$real -g"
	done
done | ipvsadm -R
"$programs/show_ipvs" -b 20
