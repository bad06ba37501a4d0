#!/bin/sh
# the programs of clang 14 and clang 19 load on Debian's kernel, and packets fare as on this one
#
# Alone, in 45 seconds: XLB_BUILD=FOLDER tests/vm/test_load.sh, with a folder in which configure has run; no kernel but that of the
# machine sees the objects. `test_load.sh objects` leaves the packets out. Prints the verifier's verdict on each program, in each
# setting that changes what the verifier sees: as a daemon starts, and while a connection table grows.
#
# The host compiles, the machine loads: the script runs again there, as the guest's command. One program costs the emulated verifier
# about two seconds, as long as nobody asks for a log of its steps (see load_object.c).
set -eu
here=$(dirname "$(realpath "$0")")
packets="test_ingress test_tunnels test_nat test_refuse"
versions="14 19"
starts="narrow_bits=20 narrow_stash_bits=16 wide_bits=20 wide_stash_bits=16"
grows="narrow_bits=21 narrow_stash_bits=17 narrow_old_bits=20 narrow_old_stash_bits=16"
grows="$grows wide_bits=21 wide_stash_bits=17 wide_old_bits=20 wide_old_stash_bits=16"
failed=0

judge() # NAME COMMAND...
{
	name=$1
	shift
	if "$@" >"$log" 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name"
		failed=1
	fi
	grep -v '^\[' "$log" | tail -n 80
}

# Everything is tried, so that one run tells all.
guest()
{
	log=$(mktemp)
	load=$top_builddir/tests/vm/load_object
	uname -r
	for version in $versions; do
		objects=$top_builddir/tests/vm/clang-$version
		# shellcheck disable=SC2086
		judge "xlb by clang $version, as a daemon starts" "$load" "$objects/xlb.o" $starts
		# shellcheck disable=SC2086
		judge "xlb by clang $version, while a table grows" "$load" "$objects/xlb.o" $grows
		judge "ipvs_api by clang $version" "$load" "$objects/ipvs_api.o"
	done
	for program in $packets; do
		[ "$XLB_WHAT" = objects ] || judge "packets fare as on the host: $program" "$top_builddir/tests/bpf/$program"
	done
	return "$failed"
}

if [ "${XLB_IN_GUEST:-}" = yes ]; then
	guest
	exit
fi
export top_builddir="${XLB_BUILD:-$(realpath "$here/../../build")}" XLB_WHAT="${1:-all}"
for version in $versions; do
	make -s -C "$top_builddir" vm-objects "CLANG=clang-$version" "vm_objects=tests/vm/clang-$version"
done
# shellcheck disable=SC2086
make -s -C "$top_builddir" tests/vm/load_object $(printf 'tests/bpf/%s ' $packets)
XLB_IN_GUEST=yes "$here/boot" "$here/test_load.sh" 500
