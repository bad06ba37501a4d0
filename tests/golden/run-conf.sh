#!/bin/sh
# Loads every tests/golden/conf/NN-name.yaml and compares what came of it with NN-name.ok (the fields) or NN-name.err
# (the complaints). Lines "# -o KEY=VALUE" at the head of a file are overrides. --update writes the files anew.
# Then the shipped file must give the defaults, and each example of the man page must load.
set -eu

top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
show=${top_builddir:-$PWD}/tests/golden/show_conf
work=$(mktemp -d "${TMPDIR:-/tmp}/run-conf.XXXXXX")
trap 'rm -rf "$work"' EXIT
update=${1-}
count=0
failed=0

fail() {
	echo "FAIL: $*"
	failed=$((failed + 1))
}

# Prints what came of file $1; its overrides are in it.
run() {
	(
		set -- "$1"
		sed -n '/^# -o /!q; s/^# -o //p' "$1" >"$work/overrides"
		while IFS= read -r override; do
			set -- "$@" "$override"
		done <"$work/overrides"
		"$show" "$@"
	)
}

# .ok and .err of one name: the one that does not fit must not be there
compare() {
	name=$1
	extension=ok
	other=err
	status=0
	run "$name.yaml" >"$work/$name" 2>"$work/stderr" || status=$?
	if [ "$status" -eq 1 ]; then
		extension=err
		other=ok
	fi
	if [ "$status" -gt 1 ] || [ -s "$work/stderr" ]; then
		fail "$name: exit status $status, on stderr:"
		cat "$work/stderr"
	elif [ "$update" = --update ]; then
		cp "$work/$name" "$name.$extension"
		rm -f "$name.$other"
	elif [ -e "$name.$other" ] || [ ! -e "$name.$extension" ]; then
		fail "$name: expected .$other, got .$extension:"
		cat "$work/$name"
	elif ! diff -u "$name.$extension" "$work/$name"; then
		fail "$name"
	fi
}

cd "$top_srcdir/tests/golden/conf"
for file in [0-9]*.yaml; do
	compare "${file%.yaml}"
	count=$((count + 1))
done
for file in [0-9]*.ok [0-9]*.err; do
	[ -e "${file%.*}.yaml" ] || fail "$file belongs to no .yaml"
done

"$show" >"$work/defaults"
"$show" "$top_builddir/conf/xlbd.yaml" >"$work/shipped" || true
diff -u "$work/defaults" "$work/shipped" || fail "conf/xlbd.yaml does not show the defaults"

# each literal block of the EXAMPLES is a file of its own
awk -v folder="$work" '
	/^\.Sh / { inside = ($2 == "EXAMPLES") }
	inside && /^\.Bd -literal/ { name = folder "/example" ++n ".yaml"; next }
	/^\.Ed/ { name = "" }
	name { print >name }
' "$top_builddir/conf/xlbd.yaml.5"
examples=0
for file in "$work"/example*.yaml; do
	"$show" "$file" >"$work/out" || {
		fail "an example of xlbd.yaml(5):"
		cat "$work/out"
	}
	examples=$((examples + 1))
done

echo "$count files, $examples examples, $failed failed"
[ "$failed" -eq 0 ] && [ "$count" -ge 30 ]
