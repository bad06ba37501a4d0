#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# xlbd/ipvs/netlink.c against the kernel's IPVS: what ipvsadm and keepalived put into the table is what show_ipvs prints.
# Runs in either machine: tests/vm/boot tests/vm/netlink.sh, tests/vm/uml tests/vm/netlink.sh.
set -u
# shellcheck source=tests/vm/cases.sh
. "$(dirname "$0")/cases.sh"
show=$programs/show_ipvs

# The table, sorted by service (the kernel's order of services is that of a seeded hash); real servers stay in order.
table()
{
	"$show" "$@" | awk '/^  / {printf "|%s", $0; next} NR > 1 {print ""} {printf "%s", $0} END {print ""}' |
		LC_ALL=C sort | tr '|' '\n'
}

expect() # [ARGUMENT OF show_ipvs...], the table on standard input
{
	cat >"$work/expected"
	table "$@" >"$work/table"
	same "$work/expected" "$work/table"
}

# Schedulers hold the module that they belong to.
unload_ipvs()
{
	[ -e /proc/net/ip_vs ] || return 0
	for module in $(awk '/^ip_vs_/ {print $1}' /proc/modules) ip_vs; do
		[ ! -e "/sys/module/$module" ] || modprobe -r "$module"
	done
	[ ! -e /proc/net/ip_vs ]
}

without_the_module_there_is_no_table_and_nobody_loads_it()
{
	unload_ipvs || return
	[ "$("$show")" = "error ENOENT" ] || return
	[ ! -e /proc/net/ip_vs ] || return
	modprobe ip_vs
}

an_empty_table_is_a_table()
{
	ipvsadm --set 901 121 301
	echo "timeouts 901 121 301" | expect
	ipvsadm --set 900 120 300
}

services_of_every_kind()
{
	ipvsadm -R <<-END
		-A -t 10.0.0.1:80 -s rr
		-A -u 10.0.0.1:53 -s wrr -o
		-A -t 10.0.0.1:443 -s sh -b sh-fallback,sh-port
		-A -t 10.0.0.1:0 -s wlc -p 50
		-A -t 10.0.0.2:80 -s mh -b mh-port -p 300 -M 255.255.0.0
		-A -u 10.0.0.2:5060 -s mh -b mh-fallback --pe sip -p 360
		-A -t [2001:db8::1]:80 -s dh
		-A -u [2001:db8::1]:53 -s sh -p 10 -M 64
		-A --sctp-service 10.0.0.3:36412 -s rr
		-A -f 7 -s rr
		-A -f 7 -6 -s wlc -p 600
		-A -f 4294967295 -s rr
	END
	expect <<-END
		10.0.0.1:0/tcp ipv4 wlc flags 0x1 timeout 50 netmask ffffffff
		10.0.0.1:443/tcp ipv4 sh flags 0x18 timeout 0 netmask ffffffff
		10.0.0.1:53/udp ipv4 wrr flags 0x4 timeout 0 netmask ffffffff
		10.0.0.1:80/tcp ipv4 rr flags 0 timeout 0 netmask ffffffff
		10.0.0.2:5060/udp ipv4 mh flags 0x9 timeout 360 netmask ffffffff engine sip
		10.0.0.2:80/tcp ipv4 mh flags 0x11 timeout 300 netmask 0000ffff
		10.0.0.3:36412/sctp ipv4 rr flags 0 timeout 0 netmask ffffffff
		[2001:db8::1]:53/udp ipv6 sh flags 0x1 timeout 10 netmask 00000040
		[2001:db8::1]:80/tcp ipv6 dh flags 0 timeout 0 netmask 00000080
		fwmark 4294967295 ipv4 rr flags 0 timeout 0 netmask ffffffff
		fwmark 7 ipv4 rr flags 0 timeout 0 netmask ffffffff
		fwmark 7 ipv6 wlc flags 0x1 timeout 600 netmask 00000080
		timeouts 900 120 300
	END
}

real_servers_of_every_kind_newest_first()
{
	ipvsadm -R <<-END
		-A -t 10.0.0.1:80 -s rr
		-a -t 10.0.0.1:80 -r 10.1.0.1 -g
		-a -t 10.0.0.1:80 -r 10.1.0.2:8080 -m -w 0
		-a -t 10.0.0.1:80 -r 10.1.0.3 -i -w 65535
		-a -t 10.0.0.1:80 -r 10.1.0.4 -i --tun-type gue --tun-port 6080 --tun-nocsum
		-a -t 10.0.0.1:80 -r 10.1.0.5 -i --tun-type gue --tun-port 6081 --tun-remcsum
		-a -t 10.0.0.1:80 -r 10.1.0.6 -i --tun-type gre --tun-csum
		-a -t 10.0.0.1:80 -r 10.1.0.7 -g -x 1000 -y 700
		-a -t 10.0.0.1:80 -r 10.1.0.8 -g -x 50
		-a -t 10.0.0.1:80 -r [2001:db8::9]:80 -i
		-A -t [2001:db8::1]:80 -s rr
		-a -t [2001:db8::1]:80 -r [2001:db8::2]:80 -g
		-a -t [2001:db8::1]:80 -r 10.1.0.9 -i
		-a -t [2001:db8::1]:80 -r [2001:db8::3]:8080 -m
		-A -f 7 -s rr
		-a -f 7 -r 10.1.0.1 -g
		-a -f 7 -r 10.1.0.2:81 -m
	END
	expect <<-END
		10.0.0.1:80/tcp ipv4 rr flags 0 timeout 0 netmask ffffffff
		  [2001:db8::9]:80 tunnel weight 1 ipip port 0 flags 0
		  10.1.0.8:80 direct weight 1 upper 50 lower 0
		  10.1.0.7:80 direct weight 1 upper 1000 lower 700
		  10.1.0.6:80 tunnel weight 1 gre port 0 flags 1
		  10.1.0.5:80 tunnel weight 1 gue port 6081 flags 2
		  10.1.0.4:80 tunnel weight 1 gue port 6080 flags 0
		  10.1.0.3:80 tunnel weight 65535 ipip port 0 flags 0
		  10.1.0.2:8080 nat weight 0
		  10.1.0.1:80 direct weight 1
		[2001:db8::1]:80/tcp ipv6 rr flags 0 timeout 0 netmask 00000080
		  [2001:db8::3]:8080 nat weight 1
		  10.1.0.9:80 tunnel weight 1 ipip port 0 flags 0
		  [2001:db8::2]:80 direct weight 1
		fwmark 7 ipv4 rr flags 0 timeout 0 netmask ffffffff
		  10.1.0.2:81 nat weight 1
		  10.1.0.1:0 direct weight 1
		timeouts 900 120 300
	END
}

a_real_server_that_returns_is_the_newest()
{
	ipvsadm -R <<-END
		-A -t 10.0.0.1:80 -s rr
		-a -t 10.0.0.1:80 -r 10.1.0.1 -g
		-a -t 10.0.0.1:80 -r 10.1.0.2 -g
		-a -t 10.0.0.1:80 -r 10.1.0.3 -g
		-d -t 10.0.0.1:80 -r 10.1.0.1
		-a -t 10.0.0.1:80 -r 10.1.0.1 -g -w 4
		-e -t 10.0.0.1:80 -r 10.1.0.2 -g -w 0
	END
	expect <<-END
		10.0.0.1:80/tcp ipv4 rr flags 0 timeout 0 netmask ffffffff
		  10.1.0.1:80 direct weight 4
		  10.1.0.3:80 direct weight 1
		  10.1.0.2:80 direct weight 0
		timeouts 900 120 300
	END
}

connections_are_counted()
{
	ip address add 10.0.0.1/32 dev lo
	ip route add blackhole 10.1.0.0/24
	ipvsadm -A -u 10.0.0.1:53 -s rr -p 100
	ipvsadm -a -u 10.0.0.1:53 -r 10.1.0.1 -m
	python3 - <<-END
		import socket
		for client in range(3):
		    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		    try:
		        for packet in range(2):
		            s.sendto(b"x" * 10, ("10.0.0.1", 53))
		    except OSError:
		        pass  # the blackhole
	END
	# 20 + 8 + 10 bytes a packet, one template for the one client; the kernel adds up every two seconds
	until_true counts_of "10.1.0.1:53 nat weight 1 active 0 inactive 3 persistent 1 connections 3 packets 6 bytes 228"
	r=$?
	ip route del blackhole 10.1.0.0/24
	ip address del 10.0.0.1/32 dev lo
	[ $r = 0 ] || table
	return $r
}

counts_of() # LINE
{
	"$show" | grep -qxF "  $1"
}

# 700 real servers need ten pieces or so. They are always there, one more comes and goes.
a_table_that_changes_is_read_whole_or_called_unstable()
{
	{
		echo "-A -t 10.0.0.1:80 -s rr"
		for n in $(seq 700); do
			echo "-a -t 10.0.0.1:80 -r 10.1.$((n / 250)).$((n % 250)) -g"
		done
	} | ipvsadm -R
	while sleep 0.01; do
		for _ in $(seq 10); do
			echo "-a -t 10.0.0.1:80 -r 10.2.0.1 -g -w 2"
			echo "-d -t 10.0.0.1:80 -r 10.2.0.1"
		done
	done | ipvsadm -R &
	"$show" -b 200 >"$work/counts"
	kill $! 2>/dev/null
	wait $! 2>/dev/null
	cat "$work/counts"
	grep -Eq '^services 1..1 reals 70[01]..70[01] weight 1 700..700 rounds 200 unstable ([0-9]|[1-9][0-9])$' "$work/counts"
}

more_than_4096_real_servers_are_no_table_for_us()
{
	{
		echo "-A -t 10.0.0.1:80 -s rr"
		for n in $(seq 4096); do
			echo "-a -t 10.0.0.1:80 -r 10.1.$((n / 250)).$((n % 250)) -g"
		done
	} | ipvsadm -R
	"$show" -b 1 | grep -q '^services 1..1 reals 4096..4096 ' || return
	ipvsadm -a -t 10.0.0.1:80 -r 10.2.0.1 -g
	[ "$("$show" -b 1)" = "error E2BIG" ] || return
	ipvsadm -d -t 10.0.0.1:80 -r 10.2.0.1
	"$show" -b 1 | grep -q '^services 1..1 reals 4096..4096 '
}

# One handle for a whole life: `ask` makes it read again.
start_asking() # [ARGUMENT...]
{
	rm -f "$work/questions"
	mkfifo "$work/questions"
	: >"$work/answers"
	"$show" "$@" -l <"$work/questions" >"$work/answers" &
	asker=$!
	exec 4>"$work/questions"
}

ask()
{
	: >"$work/answers.seen"
	before=$(grep -c '^\.$' "$work/answers")
	echo >&4
	until_true answered "$before" || return
	awk -v skip="$before" '/^\.$/ {n++; next} n >= skip' "$work/answers" >"$work/answer"
}

answered()
{
	[ "$(grep -c '^\.$' "$work/answers")" -gt "$1" ]
}

stop_asking()
{
	exec 4>&-
	wait "$asker"
}

the_module_may_go_and_come_back()
{
	start_asking
	ipvsadm -A -f 1
	ask && grep -q '^fwmark 1 ' "$work/answer" || return
	ipvsadm -C
	unload_ipvs || return
	ask && grep -q '^error ENOENT$' "$work/answer" || return
	[ ! -e /proc/net/ip_vs ] || return
	modprobe ip_vs
	ipvsadm -A -f 2
	ask && grep -q '^fwmark 2 ' "$work/answer" || return
	stop_asking
}

a_namespace_has_its_own_table()
{
	[ "$("$show" -n netlink-a)" = "error ENXIO" ] || return
	ip netns add netlink-a
	ipvsadm -A -f 1 -s rr
	ip netns exec netlink-a ipvsadm -A -f 2 -s rr
	printf '%s\n' "fwmark 1 ipv4 rr flags 0 timeout 0 netmask ffffffff" "timeouts 900 120 300" | expect || return
	printf '%s\n' "fwmark 2 ipv4 rr flags 0 timeout 0 netmask ffffffff" "timeouts 900 120 300" >"$work/inside"
	expect -n netlink-a <"$work/inside" || return
	expect -n /run/netns/netlink-a <"$work/inside" || return
	[ "$("$show" -n /etc/passwd)" = "error ENXIO" ] || return
	start_asking -n netlink-a
	ask && grep -q '^fwmark 2 ' "$work/answer" || return
	ip netns del netlink-a
	ask && grep -q '^error ENXIO$' "$work/answer" || return
	ip netns add netlink-a
	ip netns exec netlink-a ipvsadm -A -f 3 -s rr
	ask && grep -q '^fwmark 3 ' "$work/answer" || return
	stop_asking
	ip netns del netlink-a
}

who_has_no_power_over_the_network_is_refused()
{
	[ "$(setpriv --reuid 65534 --regid 65534 --clear-groups "$show")" = "error EPERM" ] || return
	[ "$(setpriv --bounding-set -net_admin "$show")" = "error EPERM" ] || return
	[ "$(unshare --user --map-root-user "$show")" = "error EPERM" ] || return
	[ "$(unshare --user --map-root-user --net "$show")" = "error EPERM" ]
}

has_reals() # COUNT
{
	[ "$("$show" | grep -c '^  ')" = "$1" ]
}

keepalived_adds_and_removes()
{
	cat >"$work/keepalived.conf" <<-END
		global_defs {
		    checker_startup_delay 0
		}
		virtual_server 10.0.0.1 80 {
		    lb_algo mh
		    mh-port
		    mh-fallback
		    lb_kind DR
		    protocol TCP
		    delay_loop 1
		    sorry_server 10.1.0.99 80
		    real_server 10.1.0.1 80 {
		        weight 3
		        MISC_CHECK {
		            misc_path "/bin/test -e $work/alive"
		        }
		    }
		    real_server 10.1.0.2 80 {
		        uthreshold 20
		        lthreshold 10
		    }
		}
	END
	touch "$work/alive"
	keepalived --check --dont-fork --log-console --pid "$work/k.pid" --checkers_pid "$work/c.pid" \
		--use-file "$work/keepalived.conf" >"$work/keepalived.log" 2>&1 &
	until_true has_reals 2 || { cat "$work/keepalived.log"; return 1; }
	# a slow machine fails the first check, and then the first one is the newest
	"$show" | LC_ALL=C sort >"$work/table"
	cat >"$work/expected" <<-END
		  10.1.0.1:80 direct weight 3
		  10.1.0.2:80 direct weight 1 upper 20 lower 10
		10.0.0.1:80/tcp ipv4 mh flags 0x18 timeout 0 netmask ffffffff
		timeouts 900 120 300
	END
	same "$work/expected" "$work/table" || return
	rm "$work/alive"
	until_true has_reals 1 || return
	touch "$work/alive"
	until_true has_reals 2 || return
	kill -TERM "$(cat "$work/k.pid")"
	until_true has_reals 0
}

run_cases without_the_module_there_is_no_table_and_nobody_loads_it an_empty_table_is_a_table \
	services_of_every_kind real_servers_of_every_kind_newest_first a_real_server_that_returns_is_the_newest \
	connections_are_counted a_table_that_changes_is_read_whole_or_called_unstable \
	who_has_no_power_over_the_network_is_refused keepalived_adds_and_removes a_namespace_has_its_own_table \
	the_module_may_go_and_come_back more_than_4096_real_servers_are_no_table_for_us
