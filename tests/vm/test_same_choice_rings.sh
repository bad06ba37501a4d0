#!/bin/sh
# the same connections through the kernel's IPVS and by our rings reach the same real servers
set -eu
here=$(dirname "$(realpath "$0")")
top_builddir=${XLB_BUILD:?} exec "$here/uml" "$here/schedule.sh" 400
