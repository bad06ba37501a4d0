#!/bin/sh
# xlbd started and killed beside a live IPVS: no connection is reset, new ones change sides, a standby never loops
#
# In the machine takeover.py does it, in the laboratory of tests/system.
set -eu
here=$(dirname "$(realpath "$0")")

if [ "${XLB_IN_GUEST:-}" = yes ]; then
	PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$here/takeover.py" "${XLB_CASES:-}"
fi
XLB_BUILD=${XLB_BUILD:-$(realpath "$here/../../build")}
export XLB_BUILD
make -s -C "$XLB_BUILD" tests/system/pass.bpf.o xlbd/xlbd xlbd/ctl/xlbctl
XLB_IN_GUEST=yes "$here/boot" "$here/test_takeover.sh" 550
