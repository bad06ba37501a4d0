#!/bin/sh
# Runs every fuzzer that was built, for FUZZ_SECONDS (20) each or as many as the first argument says; further arguments name
# fuzzers (conf, lexer), else all. Starts from tests/fuzz/corpus/NAME, with tests/fuzz/NAME.dict if there is one; what is found
# on the way stays in the build folder (tests/fuzz/found/NAME), what crashes in tests/fuzz/crash/NAME.
# A crash that was mended belongs in the corpus, as crash-WHAT: it is tried again in each run.
set -eu

top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
folder=${top_builddir:-$PWD}/tests/fuzz
seconds=${1:-${FUZZ_SECONDS:-20}}
[ $# -eq 0 ] || shift
count=0
failed=0

built() {
	for fuzzer in "$folder"/fuzz_*; do
		case $fuzzer in
		*.*) ;; # objects and sources of a build in the tree
		*) [ ! -x "$fuzzer" ] || echo "${fuzzer##*/fuzz_}" ;;
		esac
	done
}

run() {
	name=$1
	found=$folder/found/$name
	crash=$folder/crash/$name
	mkdir -p "$found" "$crash"
	set -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$crash/"
	[ ! -e "$top_srcdir/tests/fuzz/$name.dict" ] ||
		set -- "$@" -dict="$top_srcdir/tests/fuzz/$name.dict"
	set -- "$@" "$found"
	[ ! -d "$top_srcdir/tests/fuzz/corpus/$name" ] ||
		set -- "$@" "$top_srcdir/tests/fuzz/corpus/$name"
	"$folder/fuzz_$name" "$@" >"$folder/$name.out" 2>&1
}

if [ $# -eq 0 ]; then
	# shellcheck disable=SC2046 # names of ours, one word each
	set -- $(built)
fi
for name in "$@"; do
	count=$((count + 1))
	if run "$name"; then
		echo "fuzz_$name: $seconds s," \
			"$(sed -n 's/^stat::number_of_executed_units: */runs /p' "$folder/$name.out")," \
			"$(sed -n 's/.* \(cov: [0-9]*\).*/\1/p' "$folder/$name.out" | tail -n 1)"
	else
		echo "FAIL: fuzz_$name"
		tail -n 60 "$folder/$name.out"
		failed=$((failed + 1))
	fi
done

if [ "$count" -eq 0 ]; then
	echo "no fuzzer was built (configure CC=clang --enable-fuzzers)"
	exit 77
fi
[ "$failed" -eq 0 ]
