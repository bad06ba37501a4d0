#!/bin/sh
# the mirror of the kernel's table is what ipvsadm and keepalived put into it
set -eu
here=$(dirname "$(realpath "$0")")
top_builddir=${XLB_BUILD:?} exec "$here/uml" "$here/netlink.sh" 400
