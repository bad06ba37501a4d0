# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# For scripts that run inside a machine of tests/vm; they read it with `.`.
# A case is a function whose name is a sentence. It fails when it returns non-zero, and each begins with an empty IPVS table.
# XLB_CASES: only those whose names match this regular expression.

[ -n "${XLB_VM:-}" ] || { echo "this runs in a machine: tests/vm/boot $0" >&2; exit 125; }
# shellcheck disable=SC2034
programs=${top_builddir:?the folder of the build}/tests/vm
work=$(mktemp -d)
passed=0
failed=0

# Shows the difference and fails when the files $1 (expected) and $2 are not the same.
same()
{
	diff -u --label expected "$1" --label "what came" "$2"
}

# Waits until "$@" succeeds, at most 20 s.
until_true()
{
	for _ in $(seq 200); do
		if "$@"; then return 0; fi
		sleep 0.1
	done
	echo "timed out: $*"
	return 1
}

run_cases() # NAME...
{
	for case in $(printf '%s\n' "$@" | grep -E -- "${XLB_CASES:-.}"); do
		[ ! -e /proc/net/ip_vs ] || ipvsadm -C
		start=$(cut -d. -f1 /proc/uptime)
		if "$case" >"$work/output" 2>&1; then
			echo "ok $case ($(($(cut -d. -f1 /proc/uptime) - start)) s)"
			passed=$((passed + 1))
		else
			echo "not ok $case"
			sed 's/^/	/' "$work/output"
			failed=$((failed + 1))
		fi
	done
	echo "$passed passed, $failed failed, 0 skipped"
	[ "$failed" = 0 ]
}
