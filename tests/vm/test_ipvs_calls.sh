#!/bin/sh
# the kernel's IPVS and our own interface for kernels without it say the same to socket options, to whom they must
#
# In the machine the script runs again, as the guest's command, first without the module ip_vs and then with it. ipvs_serve opens our
# interface in a place of its own. tests/system/test_ipvs_api.py holds the same conversation on the host's kernel.
set -eu
here=$(dirname "$(realpath "$0")")
if [ "${XLB_IN_GUEST:-}" != yes ]; then
	export top_builddir="${XLB_BUILD:-$(realpath "$here/../../build")}"
	make -s -C "$top_builddir" tests/bpf/ipvs_serve tests/bpf/test_ipvs_rights
	XLB_IN_GUEST=yes "$here/boot" "$here/test_ipvs_calls.sh" 400
	exit
fi
# shellcheck source=tests/vm/cases.sh
. "$here/cases.sh"

serve()
{
	mkfifo "$work/orders"
	"$top_builddir/tests/bpf/ipvs_serve" <"$work/orders" >"$work/said" &
	exec 3>"$work/orders"
	until_true grep -q ^ready "$work/said" || { cat "$work/said"; return 1; }
	pid=$(sed -n 's/^ready \([0-9]*\) .*/\1/p' "$work/said")
	cgroup=$(sed -n 's/^ready [0-9]* //p' "$work/said")
}

# In the namespace and the control group of the interface.
in_place()
{
	# shellcheck disable=SC2016
	nsenter -t "$pid" -n sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$@"
}

without_the_module_our_own_says_it()
{
	serve || return
	in_place python3 "$here/ipvs_calls.py" >"$work/answers" || return
	same "$here/ipvs_calls.ok" "$work/answers"
}

ipvsadm_lists_what_it_made()
{
	in_place ipvsadm -A -t 192.0.2.1:80 -s mh || return
	in_place ipvsadm -a -t 192.0.2.1:80 -r 198.51.100.1 -g || return
	in_place ipvsadm -Sn >"$work/saved" || return
	printf '%s\n' '-A -t 192.0.2.1:80 -s mh' '-a -t 192.0.2.1:80 -r 198.51.100.1:80 -g -w 1' >"$work/wanted"
	same "$work/wanted" "$work/saved" || return
	exec 3>&-
	wait
}

without_power_over_the_network_it_says_nothing()
{
	"$top_builddir/tests/bpf/test_ipvs_rights"
}

with_the_module_the_kernel_says_it()
{
	umount "/lib/modules/$(uname -r)"
	modprobe -a ip_vs ip_vs_rr ip_vs_wrr ip_vs_mh ip_vs_sh ip_vs_dh || return
	python3 "$here/ipvs_calls.py" >"$work/answers" || return
	same "$here/ipvs_calls.ok" "$work/answers"
}

mount -t tmpfs none "/lib/modules/$(uname -r)" # as on a kernel that comes without IPVS
run_cases without_the_module_our_own_says_it ipvsadm_lists_what_it_made without_power_over_the_network_it_says_nothing \
	with_the_module_the_kernel_says_it
