#!/bin/sh
# the kernel's IPVS says to socket options what ipvs_calls.ok says
#
# In the machine the script runs again, as the guest's command. tests/system/test_ipvs_api.py holds our own interface to the same words.
set -eu
here=$(dirname "$(realpath "$0")")

if [ "${XLB_IN_GUEST:-}" = yes ]; then
	for module in ip_vs ip_vs_rr ip_vs_wrr ip_vs_mh ip_vs_sh ip_vs_dh; do
		modprobe "$module"
	done
	python3 "$here/ipvs_calls.py" >/tmp/answers
	diff "$here/ipvs_calls.ok" /tmp/answers
	exit
fi
XLB_IN_GUEST=yes "$here/boot" "$here/test_ipvs_calls.sh"
