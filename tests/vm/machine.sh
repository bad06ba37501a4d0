# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# What tests/vm/boot (qemu) and tests/vm/uml (User-Mode Linux) share; both read it with `.`.
#
# A machine is an ordinary process with a kernel of Debian's, this root file system underneath (read only, changes
# go to memory) and one folder of ours, $run, in which host and guest leave notes for each other:
#	command		the script to run, by its absolute path
#	environment	the variables that it gets
#	status		its exit status; until it is known, 124 (time is up)
#	console		what the kernel said: shown when the machine ends without a status of the script
# Kernels and modules are kept in $cache. Nothing of a run stays: $run and all processes go when the caller goes.

cache=${XLB_VM_DIR:-/var/cache/xlbd-tests/vm}
here=$(dirname "$(realpath "$0")")
run=
machine=

fail()
{
	echo "${0##*/}: $*" >&2
	exit 125
}

need() # PROGRAM PACKAGE
{
	command -v "$1" >/dev/null || fail "'$1' is missing: apt-get install --no-install-recommends $2"
}

# One at a time fills the cache.
lock_cache()
{
	mkdir -p "$cache" || fail "cannot make the cache $cache: run as root, or set XLB_VM_DIR"
	exec 9>"$cache/lock"
	flock 9
}

unlock_cache()
{
	exec 9>&-
}

# Unpacks Debian's package $1 into the folder $2 of the cache. Whole or not at all.
unpack()
{
	rm -rf "${cache:?}/$2" "$cache/fetch"
	mkdir "$cache/fetch"
	(cd "$cache/fetch" && apt-get -qq -o APT::Sandbox::User=root download "$1" >&2) ||
		fail "cannot download the package $1 (apt-get update? no network?)"
	dpkg -x "$cache"/fetch/*.deb "$cache/fetch/root"
	mv "$cache/fetch/root" "$cache/$2"
	rm -rf "$cache/fetch"
}

# Makes $run for the script $1; with it the results folder, $results, that is written through.
prepare()
{
	[ -r "$1" ] || fail "cannot read the script '$1'"
	run=$(mktemp -d "${TMPDIR:-/tmp}/xlb-vm.XXXXXX")
	trap finish EXIT
	trap 'exit 130' INT HUP
	trap 'exit 143' TERM
	results=${XLB_VM_RESULTS:-$run/results}
	mkdir -p "$results"
	results=$(realpath "$results")
	realpath "$1" >"$run/command"
	echo 124 >"$run/status"
	: >"$run/console"
	cp "$here/guest" "$run/guest"
	export XLB_VM_RESULTS="$results"
	export -p | grep -E '^export (XLB_[A-Z_]*|top_srcdir|top_builddir)=' >"$run/environment"
}

# Runs the machine "$@" for at most $1 seconds, in a process group of its own, and leaves with the script's status.
machine_run()
{
	timeout --signal=KILL "$@" </dev/null &
	machine=$!
	{ wait "$machine" || true; } 2>/dev/null # the shell would tell that it was killed
	status=$(cat "$run/status")
	if [ "$status" = 124 ] || [ "$status" = 125 ]; then
		echo "${0##*/}: no exit status within $1 s; the kernel's last lines:" >&2
		tail -n 25 "$run/console" | tr -d '\r' >&2
	fi
	exit "$status"
}

# timeout(1) leads the group: whatever the machine has forked goes with it.
finish()
{
	if [ -n "$machine" ]; then
		kill -s KILL -- "-$machine" 2>/dev/null || true # already gone
		wait "$machine" 2>/dev/null || true
	fi
	[ -z "$run" ] || rm -rf "$run"
}
