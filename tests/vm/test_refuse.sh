#!/bin/sh
# IPVS and XDP send the same ICMP errors about the same frames
#
# In the machine refuse.py does it, in the laboratory of tests/system.
set -eu
here=$(dirname "$(realpath "$0")")

if [ "${XLB_IN_GUEST:-}" = yes ]; then
	PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$here/refuse.py"
fi
XLB_BUILD=${XLB_BUILD:-$(realpath "$here/../../build")}
export XLB_BUILD
make -s -C "$XLB_BUILD" tests/system/pass.bpf.o xlbd/xlbd xlbd/ctl/xlbctl
XLB_IN_GUEST=yes "$here/boot" "$here/test_refuse.sh" 500
