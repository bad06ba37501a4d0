#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# xlb-notify passes on the states of instances, and nothing else. An xlbctl of our own writes down what it is asked.
set -eu

notify=${top_srcdir:?}/keepalived-hooks/xlb-notify
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2016 # the script's own variables
printf '#!/bin/sh\nfor word; do printf "[%%s]" "$word"; done >>"$0.heard"\necho >>"$0.heard"\n' >"$work/xlbctl"
chmod +x "$work/xlbctl"
XLBCTL=$work/xlbctl
export XLBCTL

"$notify" INSTANCE 'VI two' MASTER 150
"$notify" INSTANCE VI_1 BACKUP 100
"$notify" INSTANCE VI_1 FAULT 100
"$notify" INSTANCE VI_1 STOP 0
"$notify" INSTANCE VI_1 DELETED 0
"$notify" INSTANCE VI_1 BACKUP_PRIORITY 105
"$notify" INSTANCE VI_1 MASTER_RX_LOWER_PRI 105
"$notify" GROUP SG MASTER 0
if "$notify" INSTANCE VI_1 2>/dev/null; then
	echo "FAIL: a state is missing, and nobody says so"
	exit 1
fi

cat >"$work/expected" <<'END'
[role][VI two][MASTER]
[role][VI_1][BACKUP]
[role][VI_1][FAULT]
[role][VI_1][STOP]
[role][VI_1][DELETED]
END
diff -u "$work/expected" "$work/xlbctl.heard"
