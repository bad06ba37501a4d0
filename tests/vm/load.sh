#!/bin/sh
# the programs of clang 14 and clang 19 load on Debian's kernel, and packets fare as on this one
#
# The host compiles, the machine loads. In the machine the script runs again, as the guest's command.
set -eu
here=$(dirname "$(realpath "$0")")
versions="14 19"

# Everything is tried, so that one run tells all.
guest()
{
	failed=0
	uname -r
	for version in $versions; do
		for object in xlb ipvs_api; do
			name="$object by clang $version"
			if bpftool prog loadall "$top_builddir/tests/vm/clang-$version/$object.o" \
				/sys/fs/bpf/load >/tmp/log 2>&1; then
				echo "ok $name: $(find /sys/fs/bpf/load -type f | wc -l) programs"
				rm -r /sys/fs/bpf/load
			else
				echo "not ok $name"
				tail -n 40 /tmp/log
				failed=1
			fi
		done
	done
	for test in test_ingress test_ipvs_api; do
		if "$top_builddir/tests/bpf/$test" >/tmp/log 2>&1; then
			echo "ok $test ($(grep -c '^\[ *OK' /tmp/log) groups of packets)"
		else
			echo "not ok $test"
			tail -n 60 /tmp/log
			failed=1
		fi
	done
	cat /proc/uptime
	return "$failed"
}

if [ "${XLB_IN_GUEST:-}" = yes ]; then
	guest
	exit
fi
export top_builddir="${XLB_BUILD:-$(realpath "$here/../../build")}"
for version in $versions; do
	make -s -C "$top_builddir" vm-objects "CLANG=clang-$version" "vm_objects=tests/vm/clang-$version"
done
make -s -C "$top_builddir" tests/bpf/test_ingress tests/bpf/test_ipvs_api
XLB_IN_GUEST=yes "$here/boot" "$here/load.sh"
