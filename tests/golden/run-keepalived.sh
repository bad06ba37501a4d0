#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every keepalived/NN-name.conf must give its .ok, and our errors must agree with `keepalived -t`.
# --update writes the .ok files anew. keepalived/oracle-skip lists the files where the two do not compare, and why.
set -eu

folder=${top_srcdir:?}/tests/golden/keepalived
show=${top_builddir:?}/tests/golden/show_services
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$folder"

# What the interface check of keepalived needs: a network namespace with eth0 to eth2 of its own. Root, else no oracle.
if [ "${1-}" != --oracle ] && command -v keepalived >/dev/null && [ "$(id -u)" = 0 ] &&
	unshare -n true 2>/dev/null; then
	unshare -n "$folder/../run-keepalived.sh" --oracle >"$work/oracle" || : >"$work/oracle"
fi

if [ "${1-}" = --oracle ]; then
	for name in eth0 eth1 eth2; do
		ip link add "$name" type veth peer name "${name}p"
		ip link set "$name" up
	done
	for conf in [0-9]*.conf; do
		grep -q "^${conf%.conf} " oracle-skip && continue
		status=0
		timeout 10 keepalived -i director -t"$work/log" -f "$conf" >/dev/null 2>&1 || status=$?
		echo "${conf%.conf} $status"
	done
	exit 0
fi

failed=0 count=0 asked=0
for conf in [0-9]*.conf; do
	name=${conf%.conf}
	count=$((count + 1))
	"$show" "$conf" >"$work/shown" || [ $? = 1 ]
	if [ "${1-}" = --update ]; then
		cp "$work/shown" "$name.ok"
	elif ! diff -u "$name.ok" "$work/shown"; then
		echo "FAIL $name: not what $name.ok says"
		failed=$((failed + 1))
	fi
	[ -s "$work/oracle" ] || continue
	status=$(sed -n "s/^$name //p" "$work/oracle")
	[ -n "$status" ] || continue
	asked=$((asked + 1))
	errors=$(sed -n 's/^# errors: //p' "$work/shown")
	if [ "$status" = 0 ] && [ "$errors" != 0 ] || [ "$status" != 0 ] && [ "$errors" = 0 ]; then
		echo "FAIL $name: keepalived -t exits with $status, we find $errors errors"
		failed=$((failed + 1))
	fi
done
echo "$count files, $asked of them compared with keepalived -t, $failed failures"
[ "$failed" = 0 ]
