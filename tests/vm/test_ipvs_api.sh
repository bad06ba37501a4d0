#!/bin/sh
# our own IPVS interface says the same on Debian's kernel without the module
#
# In the machine the script runs again, as the guest's command: ipvs_serve opens the interface in a place of its own, the
# conversation is held there, and ipvsadm lists what it made.
set -eu
here=$(dirname "$(realpath "$0")")
build=${XLB_BUILD:-$here/../../build}

in_place()
{
	nsenter -t "$pid" -n "$@"
}

if [ "${XLB_IN_GUEST:-}" = yes ]; then
	mount -t tmpfs none "/lib/modules/$(uname -r)" # as on a kernel that comes without IPVS
	mkfifo /tmp/orders
	"$build/tests/bpf/ipvs_serve" </tmp/orders >/tmp/said &
	exec 3>/tmp/orders
	while ! grep -q ^ready /tmp/said; do
		kill -0 $! || { cat /tmp/said; exit 1; }
		sleep 0.2
	done
	pid=$(sed -n 's/^ready \([0-9]*\) .*/\1/p' /tmp/said)
	echo $$ >"$(sed -n 's/^ready [0-9]* //p' /tmp/said)/cgroup.procs"
	in_place python3 "$here/ipvs_calls.py" >/tmp/answers
	diff "$here/ipvs_calls.ok" /tmp/answers
	in_place ipvsadm -A -t 192.0.2.1:80 -s mh
	in_place ipvsadm -a -t 192.0.2.1:80 -r 198.51.100.1 -g
	in_place ipvsadm -Sn >/tmp/saved
	printf '%s\n' '-A -t 192.0.2.1:80 -s mh' '-a -t 192.0.2.1:80 -r 198.51.100.1:80 -g -w 1' | diff - /tmp/saved
	exit
fi
export XLB_IN_GUEST=yes XLB_BUILD="$build"
"$here/boot" "$here/test_ipvs_api.sh"
