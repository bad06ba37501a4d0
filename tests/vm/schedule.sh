#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The same connections through the kernel's IPVS and through xlbd's rings: mh, sh and dh must give each client the same real
# server, rr and wrr each real server as many. Runs in either machine; tests/vm/uml is the quicker one.
#
# All services of the table below are made at once, in IPv4 and IPv6. For each, XLB_CLIENTS (2000) connections go into one end of a
# veth pair, behind whose other end IPVS directs. ask_director sees at whom they come out, ring_answer says at whom they should. What
# they say is left in $XLB_VM_RESULTS (connections, ipvs, ring).
set -u
# shellcheck source=tests/vm/cases.sh
. "$(dirname "$0")/cases.sh"

# NAME SCHEDULER FLAGS WEIGHTS CHANGE VIPS
#	NAME	with "udp" in it: a service of UDP
#	WEIGHTS	of the real servers, in the order in which they are added
#	CHANGE	after that: N=W gives the Nth the weight W, N! removes it and adds it again
#		Cycles of wrr divide 2000: where the kernel's first one begins depends on the order of changes.
#	VIPS	so many virtual addresses share the clients (dh looks at nothing else)
cases='
mh-equal		mh -			1,1,1,1,1	-	1
mh-weights		mh -			1,5,10,3,7	-	1
mh-large-weights	mh -			1000,1,64,65,300 -	1
mh-port			mh mh-port		1,5,10,3,7	-	1
mh-udp-port		mh mh-port		2,1,1		-	1
mh-one-off		mh -			1,1,1,1		2=0	1
mh-fallback		mh mh-fallback		1,4,1,2		2=0	1
mh-fallback-port	mh mh-fallback,mh-port	3,1,4,1,5	3=0	1
mh-added-with-0		mh -			1,0,2		-	1
mh-readded		mh -			2,1,3,1		2!	1
sh-equal		sh -			1,1,1,1,1	-	1
sh-weights		sh -			1,5,10,3,7	-	1
sh-port			sh sh-port		1,5,10,3,7	-	1
sh-udp-port		sh sh-port		2,1,1		-	1
sh-one-off		sh -			1,1,1,1		2=0	1
sh-fallback		sh sh-fallback		1,4,1,2		2=0	1
sh-fallback-port	sh sh-fallback,sh-port	3,1,4,1,5	3=0	1
sh-readded		sh -			2,1,3,1		2!	1
dh			dh -			1,1,1,1,1	-	50
dh-one-off		dh -			1,7,1		2=0	50
rr			rr -			1,1,1,1,1	-	1
rr-udp			rr -			1,1,1		-	1
rr-one-off		rr -			1,9,3,1		3=0	1
rr-readded		rr -			1,1,1		1!	1
wrr			wrr -			1,3,5,0,1	-	1
wrr-common-divisor	wrr -			20,40,40	-	1
wrr-steep		wrr -			120,1,4		-	1
wrr-changed		wrr -			1,3,5		2=4	1
'
results=$XLB_VM_RESULTS

set_up()
{
	modprobe ip_vs
	ip link add clients0 type veth peer name vip0 address 02:00:00:00:00:02
	ip link add reals0 type veth peer name reals1
	for device in clients0 vip0 reals0 reals1; do
		ip link set "$device" up
	done
	sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.vip0.rp_filter=0
	ip route add 10.1.0.0/24 dev reals0
	ip -6 route add 2001:db8:2::/64 dev reals0
	for n in 1 2 3 4 5; do
		ip neigh add 10.1.0.$n lladdr 02:00:00:00:04:0$n dev reals0 nud permanent
		ip neigh add 2001:db8:2::$n lladdr 02:00:00:00:06:0$n dev reals0 nud permanent
		echo "02:00:00:00:04:0$n 10.1.0.$n:80" >>"$work/reals"
		echo "02:00:00:00:06:0$n [2001:db8:2::$n]:80" >>"$work/reals"
	done
	# whole prefixes of virtual addresses are local
	ip route add local 10.0.0.0/16 dev lo
	ip -6 route add local 2001:db8:1::/48 dev lo
}

# From the table: rules for ipvsadm -R, services for make_clients (a line a case), last weights for ring_answer, and which case a
# service belongs to.
write_plan()
{
	echo "$cases" | grep -E -- "${XLB_CASES:-.}" | awk -v work="$work" '
	function vip(n) { return family == 4 ? "10.0." id "." n : sprintf("[2001:db8:1:%x::%x]", id, n) }
	function real(n) { return (family == 4 ? "10.1.0." n : "[2001:db8:2::" n "]") ":80" }
	function rule(text) { print text > (work "/rules") }
	function make_service(on,	n) {
		rule("-A " on " -s " $2 ($3 == "-" ? "" : " -b " $3))
		for (n = 1; n <= reals; n++)
			rule("-a " on " -r " real(n) " -g -w " weight[n])
	}
	function change(on, service) {
		if (split($5, to, "=") == 2) {
			rule("-e " on " -r " real(to[1]) " -g -w " to[2])
			if (to[2] == 0)
				print service, real(to[1]), weight[to[1]] > (work "/last")
		} else if (sub("!", "", to[1])) {
			rule("-d " on " -r " real(to[1]))
			rule("-a " on " -r " real(to[1]) " -g -w " weight[to[1]])
		}
	}
	NF == 6 {
		reals = split($4, weight, ",")
		protocol = $1 ~ /udp/ ? "udp" : "tcp"
		for (family = 4; family <= 6; family += 2) {
			id++
			for (n = 1; n <= $6; n++) {
				service = vip(n) ":80/" protocol
				make_service((protocol == "udp" ? "-u " : "-t ") vip(n) ":80")
				change((protocol == "udp" ? "-u " : "-t ") vip(n) ":80", service)
				print service, $1 "-ipv" family, $2 > (work "/names")
				printf "%s%s", service, n == $6 ? "\n" : " " > (work "/services")
			}
		}
	}'
	[ -e "$work/last" ] || : >"$work/last"
}

# Prints a line a case; status 1 if one failed.
compare()
{
	paste -d ' ' "$results/ipvs" "$results/ring" | awk '
	NR == FNR { name[$1] = $2; if (!($2 in scheduler)) order[++cases] = $2; scheduler[$2] = $3; next }
	{
		case_ = name[$1]
		total[case_]++
		if ($1 != $5 || $2 != $6 || $3 != $7) { print "the lists do not match at line " FNR; broken = 1; exit 1 }
		if ($4 != "-") served[case_]++
		if ($4 != $8) different[case_]++
		balance[case_ " " $4]++
		balance[case_ " " $8]--
		if ($4 != "-" && !((case_, $4) in seen)) { seen[case_, $4] = 1; reals[case_]++ }
	}
	END {
		if (broken) exit 1
		for (pair in balance) { split(pair, part, " "); if (balance[pair]) uneven[part[1]]++ }
		for (n = 1; n <= cases; n++) {
			case_ = order[n]
			wrong = scheduler[case_] ~ /rr$/ ? uneven[case_] : different[case_]
			# "nobody at all" on both sides would prove nothing
			good = total[case_] && served[case_] && !wrong
			printf "%s %s: %d connections, %d served by %d real servers, %d different, counts %s\n",
				good ? "ok" : "not ok", case_, total[case_], served[case_], reals[case_],
				different[case_], uneven[case_] ? "differ" : "equal"
			if (good) passed++; else failed++
		}
		printf "%d passed, %d failed, 0 skipped\n", passed, failed
		exit failed || !passed
	}' "$work/names" -
}

set -e
set_up
write_plan
ipvsadm -R <"$work/rules"
"$programs/make_clients" "${XLB_CLIENTS:-2000}" <"$work/services" >"$results/connections"
"$programs/ask_director" clients0 02:00:00:00:00:02 "$work/reals" <"$results/connections" >"$results/ipvs"
"$programs/ring_answer" -l "$work/last" <"$results/connections" >"$results/ring"
compare
