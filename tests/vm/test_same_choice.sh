#!/bin/sh
# IPVS and XDP send the same 2,000 connections to the same real servers: mh sh dh with their flags, rr wrr by count
#
# One table, set by ipvsadm; `xlbctl bypass` says whose turn it is. syn_walk plays the clients and all real servers. The weight of
# the last real server is taken away while xlbd looks on, so that fallback and the shares of mh are tried too.
# In the machine the script runs again, as the guest's command; what came of each walk is compared outside, where that takes no time.
set -eu
here=$(dirname "$(realpath "$0")")

clients=${XLB_CLIENTS:-2000}

# PORT SCHEDULER [FLAGS]. The weights that stay are 1 to 4: a tenth of 2,000 clients is 200.
services()
{
	cat <<-END
		8001 mh
		8002 mh mh-fallback
		8003 mh mh-port
		8004 mh mh-fallback,mh-port
		8011 sh
		8012 sh sh-fallback
		8013 sh sh-port
		8014 sh sh-fallback,sh-port
		8021 dh
		8031 rr
		8041 wrr
		$fence rr
	END
}

# Those that are walked; the last one tells syn_walk that a batch is over.
fence=8099
endpoints()
{
	services | grep -v "^$fence " | while read -r port rest; do
		echo "10.99.0.100:$port/tcp"
		echo "[fd99::100]:$port/tcp"
	done
}

# who got how many
shares()
{
	fold -w1 | LC_ALL=C sort | uniq -c | awk '{printf "%s%s: %s", (NR > 1 ? ", " : ""), $2, $1}'
}

compare()
{
	services | grep -v "^$fence " | while read -r port scheduler flags; do
		for vip in 10.99.0.100 '[fd99::100]'; do
			ipvs=$(awk -v name="$vip:$port/tcp" '$1 == name {print $2}' "$XLB_VM_RESULTS/ipvs")
			xdp=$(awk -v name="$vip:$port/tcp" '$1 == name {print $2}' "$XLB_VM_RESULTS/xdp")
			name="$scheduler${flags:+ $flags} $vip"
			case $scheduler in
			rr | wrr)
				ipvs=$(echo "$ipvs" | shares)
				xdp=$(echo "$xdp" | shares)
				;;
			esac
			if [ -n "$ipvs" ] && [ "$ipvs" = "$xdp" ]; then
				case $scheduler in
				rr | wrr) echo "ok $name: $xdp" ;;
				*) echo "ok $name: $(printf %s "$xdp" | shares)" ;;
				esac
			else
				echo "not ok $name"
				echo "	IPVS $ipvs"
				echo "	XDP  $xdp"
			fi
		done
	done
}

if [ "${XLB_IN_GUEST:-}" != yes ]; then
	export top_builddir="${XLB_BUILD:-$(realpath "$here/../../build")}"
	XLB_VM_RESULTS=$(mktemp -d)
	export XLB_VM_RESULTS
	trap 'rm -r "$XLB_VM_RESULTS"' EXIT
	make -s -C "$top_builddir" tests/vm/syn_walk tests/system/pass.bpf.o xlbd/xlbd xlbd/ctl/xlbctl
	XLB_IN_GUEST=yes "$here/boot" "$here/test_same_choice.sh" 500
	compare >"$XLB_VM_RESULTS/result"
	cat "$XLB_VM_RESULTS/result"
	if grep -q '^not ok' "$XLB_VM_RESULTS/result"; then exit 1; fi
	exit
fi

work=$(mktemp -d)
xlbd=
trap '[ -z "$xlbd" ] || kill "$xlbd"' EXIT

fail()
{
	echo "not ok $*"
	director "$top_builddir/xlbd/ctl/xlbctl" --socket "$work/control" vip || true
	director "$top_builddir/xlbd/ctl/xlbctl" --socket "$work/control" drops || true
	cat "$work/log"
	exit 1
}

director()
{
	nsenter --net=/run/netns/same-director "$@" # ip netns exec would hide the bpffs
}

ctl()
{
	"$top_builddir/xlbd/ctl/xlbctl" --socket "$work/control" "$@"
}

until_true()
{
	n=0
	until "$@"; do
		n=$((n + 1))
		[ "$n" -lt 300 ] || fail "timed out: $*"
		sleep 0.2
	done
}

table()
{
	services | while read -r port scheduler flags; do
		for vip in 10.99.0.100 '[fd99::100]'; do
			echo "-A -t $vip:$port -s $scheduler ${flags:+-b $flags}"
			for real in 1 2 3 4 5; do
				case $vip in
				'['*) address="[fd99::2$real]" ;;
				*) address=10.99.0.2$real ;;
				esac
				echo "-a -t $vip:$port -r $address:$port -g -w $real"
			done
		done
	done
}

make_network()
{
	ip netns add same-director
	ip netns add same-others
	ip link add e0 netns same-director type veth peer name e0 netns same-others
	for name in director others; do
		for knob in ipv4/conf/all/rp_filter ipv4/conf/default/rp_filter ipv6/conf/all/accept_dad; do
			ip netns exec same-$name sh -c "echo 0 >/proc/sys/net/$knob"
		done
		ip netns exec same-$name ethtool -K e0 tx off gro on >/dev/null
		ip -n same-$name link set lo up
	done
	ip -n same-others link set e0 xdp obj "$top_builddir/tests/system/pass.bpf.o" sec xdp
	ip -n same-others link set e0 up
	ip -n same-director link set e0 up
	for address in 10.99.0.10/24 10.99.0.100/24 fd99::10/64 fd99::100/64; do
		case $address in
		*:*) ip -n same-director address add "$address" dev e0 nodad ;;
		*) ip -n same-director address add "$address" dev e0 ;;
		esac
	done
	for real in 1 2 3 4 5; do
		for address in 10.99.0.2$real fd99::2$real; do
			ip -n same-director neigh add "$address" lladdr 02:00:00:00:00:0$real nud permanent dev e0
		done
	done
	ip -n same-director route add default dev e0
	ip -n same-director -6 route add default dev e0
	mac=$(ip -n same-director -br link show e0 | awk '{print $3}')
}

start_xlbd()
{
	: >"$work/keepalived.conf"
	: >"$work/xlbd.yaml"
	director "$top_builddir/xlbd/xlbd" -c "$work/xlbd.yaml" -o "keepalived.config=$work/keepalived.conf" \
		-o services=all -o "pin_folder=/sys/fs/bpf/same" -o "control.socket=$work/control" -o connections=100k \
		-o keepalived.lvs_notify_fifo=none -o keepalived.vrrp_notify_fifo=none -o silence=20s \
		>"$work/log" 2>&1 &
	xlbd=$!
	until_true answers
}

answers()
{
	kill -0 "$xlbd" || fail "xlbd ended"
	status=0
	ctl status >/dev/null 2>&1 || status=$?
	[ "$status" = 0 ] || [ "$status" = 2 ]
}

# how many virtual servers are on the side $1
on_side()
{
	[ "$(ctl -j vip | grep -oE "\"side\": ?\"$1\"" | wc -l)" = $(($(services | wc -l) * 2)) ]
}

all_resolved()
{
	[ "$(ctl -j real | grep -oE '"state": ?"resolved"' | wc -l)" = $(($(services | wc -l) * 10)) ]
}

forwarded()
{
	ctl -j status | grep -oE '"forwarded": ?[0-9]+' | head -n 1 | grep -oE '[0-9]+$'
}

scheduled_by_ipvs()
{
	director ipvsadm -Ln --stats --exact | awk '/^TCP/ {sum += $3} END {print sum + 0}'
}

walk()
{
	# shellcheck disable=SC2046
	ip netns exec same-others "$top_builddir/tests/vm/syn_walk" e0 "$mac" "$clients" "$fence" $(endpoints) >"$XLB_VM_RESULTS/$1" || fail "$1"
	came=$(cut -d' ' -f2 "$XLB_VM_RESULTS/$1" | tr -cd 1-9 | wc -c)
	# without fallback the share of the one whose weight went gets nobody
	[ "$came" -gt $((all * 3 / 4)) ] || fail "$1: only $came of $all SYNs reached a real server"
}

modprobe ip_vs
make_network
table | director ipvsadm -R
start_xlbd
until_true on_side xdp
until_true all_resolved
for vip in 10.99.0.100 '[fd99::100]'; do
	services | while read -r port rest; do
		case $vip in
		'['*) echo "-e -t $vip:$port -r [fd99::25]:$port -g -w 0" ;;
		*) echo "-e -t $vip:$port -r 10.99.0.25:$port -g -w 0" ;;
		esac
	done
done | director ipvsadm -R
all=$(($(endpoints | wc -l) * clients))

# A fence is one connection for each address, and a packet behind each batch of 32.
fences=$(($(endpoints | wc -l) * ((clients + 31) / 32)))

ctl bypass on >/dev/null
until_true on_side ipvs
walk ipvs
[ "$(scheduled_by_ipvs)" = $((came + 2)) ] || fail "IPVS scheduled $(scheduled_by_ipvs) of $came connections"
[ "$(forwarded)" = 0 ] || fail "XDP forwarded $(forwarded) packets while bypassed"
echo "ok IPVS scheduled $came of $all connections (up $(cut -d' ' -f1 /proc/uptime) s)"

ctl bypass off >/dev/null
until_true on_side xdp
walk xdp
[ "$(forwarded)" = $((came + fences)) ] || fail "XDP forwarded $(forwarded) of $((came + fences)) packets"
[ "$(scheduled_by_ipvs)" = $((came + 2)) ] || fail "IPVS has scheduled connections of XDP"
echo "ok XDP forwarded $came of $all connections (up $(cut -d' ' -f1 /proc/uptime) s)"
