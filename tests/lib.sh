# Shared by tests/run, tests/demo and tests/bench: what is needed, where it is built, how time is told.
# shellcheck shell=sh

top=$(cd "$(dirname "$0")/.." && pwd)
# Debian 12's names. What a tier alone needs is installed with it.
packages_build='autoconf automake pkg-config make gcc clang libbpf-dev libelf-dev zlib1g-dev bpftool
	libevent-dev libmnl-dev libcyaml-dev libyaml-dev uthash-dev libjansson-dev libcap-ng-dev libcmocka-dev
	libsnmp-dev libsodium-dev'
packages_check='clang-14 clang-19 clang-format-14 shellcheck codespell mandoc sparse libclang-rt-14-dev'
packages_system='iproute2 ethtool nftables iptables keepalived ipvsadm nginx-light haproxy curl procps
	iputils-ping traceroute python3 python3-pytest python3-scapy python3-pyroute2 snmp snmpd snmptrapd smitools prometheus logrotate
	python3-yaml'
packages_vm='qemu-system-x86 busybox-static cpio kmod xz-utils'

say() {
	printf '%s\n' "$*" >&2
}

# Installs those of the named packages that are missing.
need() {
	missing=
	for package in "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
			missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" != 0 ]; then
		say "these packages are missing, and only root can install them:$missing"
		return 1
	fi
	say "installing:$missing"
	# services of the packages (keepalived, nginx) must not start on this host
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d.xlbd-tests
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		mv /usr/sbin/policy-rc.d.xlbd-tests /usr/sbin/policy-rc.d
		chmod +x /usr/sbin/policy-rc.d
		ours=yes
	else
		rm /usr/sbin/policy-rc.d.xlbd-tests
		ours=no
	fi
	# shellcheck disable=SC2086
	{
		apt-get update -q && DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -q --no-install-recommends $missing
	} >"$build/install.log" 2>&1 || {
		tail -20 "$build/install.log" >&2
		status=1
	}
	[ $ours = no ] || rm -f /usr/sbin/policy-rc.d
	return "${status:-0}"
}

# Configures and builds in $build; what was built before is kept.
build_all() {
	mkdir -p "$build"
	[ -x "$top/configure" ] || (cd "$top" && ./autogen.sh) >"$build/autogen.log" 2>&1 || {
		cat "$build/autogen.log" >&2
		return 1
	}
	[ -e "$build/Makefile" ] || (cd "$build" && "$top/configure" --enable-werror) \
		>"$build/configure.log" 2>&1 || {
		tail -20 "$build/configure.log" >&2
		return 1
	}
	make -C "$build" -j2 >"$build/make.log" 2>&1 || {
		grep -E -A5 'error|warning' "$build/make.log" | head -40 >&2
		return 1
	}
}
