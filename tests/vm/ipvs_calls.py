#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A conversation with IPVS through its socket options: one line a call, with the errno or the answer in hex.

tests/vm/ipvs_calls.ok is what the IPVS of Debian's 6.1 says (tests/vm/test_ipvs_calls.sh asks it again);
tests/system/test_ipvs_api.py holds bpf/ipvs_api.bpf.c to the same words. Only what XDP can do is asked for here.
"""
import ctypes
import errno
import itertools
import os
import socket
import struct

BASE = 64 + 1024 + 64
SET = {"ADD": 2, "EDIT": 3, "DEL": 4, "FLUSH": 5, "ADDDEST": 7, "DELDEST": 8, "EDITDEST": 9, "TIMEOUT": 10, "STOPDAEMON": 12, "ZERO": 15}
GET = {"VERSION": 0, "INFO": 1, "SERVICES": 2, "SERVICE": 3, "DESTS": 4, "DEST": 5, "TIMEOUT": 6, "DAEMON": 7}
LIBC = ctypes.CDLL(None, use_errno=True)
SOCKET = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)


def service(protocol=6, addr="192.0.2.1", port=80, fwmark=0, scheduler=b"rr", flags=0, timeout=0, netmask=0xFFFFFFFF):
    return struct.pack("=H2x4sH2xI16sIII", protocol, socket.inet_aton(addr), socket.htons(port), fwmark, scheduler, flags, timeout, netmask)


def real(addr="198.51.100.1", port=80, flags=3, weight=1, upper=0, lower=0):
    return struct.pack("=4sH2xIiII", socket.inet_aton(addr), socket.htons(port), flags, weight, upper, lower)


def say(*words):
    print(*words, flush=True)


def put(command, value, why=""):
    number = SET.get(command, command)
    result = LIBC.setsockopt(SOCKET.fileno(), 0, BASE + number, value, len(value))
    say("set", command, why or "-", errno.errorcode[ctypes.get_errno()] if result else "ok")


def ask(command, length, request=b"", why=""):
    number = GET.get(command, command)
    room = ctypes.create_string_buffer(max(length, len(request)) + 1)
    room[: len(request)] = request
    size = ctypes.c_uint(length)
    if LIBC.getsockopt(SOCKET.fileno(), 0, BASE + number, room, ctypes.byref(size)):
        say("get", command, why or "-", errno.errorcode[ctypes.get_errno()])
        return None
    return room.raw[: size.value]


def show(command, length, request=b"", why="", written=None):
    """IPVS leaves the length as it was asked for, even where it writes less: `written` bytes."""
    answer = ask(command, length, request, why)
    if answer is not None:
        say("get", command, why or "-", answer[:written].hex())


def services(count):
    """SERVICES in an order of our own: IPVS's is that of its hash table."""
    answer = ask("SERVICES", 8 + 104 * count, struct.pack("=I", count) + b"\0" * 4)
    if answer is not None:
        answer = answer.ljust(8 + 104 * count, b"\0")
        for entry in sorted(answer[8 + i * 104 : 112 + i * 104] for i in range(count)):
            say("get SERVICES entry", entry.hex())


def reals(count, why="", **which):
    show("DESTS", 24 + 96 * count, service(**which)[:16] + struct.pack("=I4x", count), why)


def one_service():
    put("ADD", service(), "a service")
    put("ADD", service(), "again")
    put("ADD", service(scheduler=b"nope"), "there before its bad scheduler")
    put("ADD", service(port=81, scheduler=b"nope"), "unknown scheduler")
    put("ADD", service(port=81, scheduler=b""), "no scheduler")
    put("ADD", service(port=81, scheduler=b"mh\0junk"), "name, then rubbish")
    put("ADD", service(port=82, scheduler=b"0123456789abcdef"), "unterminated name")
    put("ADD", service(port=82)[:-1], "short")
    put("ADD", service(port=82) + b"x", "long")
    put("ADD", service(protocol=1, port=82), "icmp")
    put("ADD", service(protocol=17), "udp")
    put("ADD", service(addr="0.0.0.0", port=83), "address 0")
    put("ADD", service(addr="224.0.0.1", port=84), "multicast address")
    put("ADD", service(port=0, scheduler=b"sh"), "port 0")
    put("ADD", service(port=85, scheduler=b"mh", flags=0x18, timeout=7, netmask=0xFF), "options")
    put("EDIT", service(scheduler=b"wrr", flags=8), "options")
    put("EDIT", service(port=99), "missing")
    put("EDIT", service(port=99, scheduler=b"nope"), "missing before its bad scheduler")
    put("EDIT", service(scheduler=b"nope"), "unknown scheduler")
    put("EDIT", service(scheduler=b"0123456789abcdef"), "unterminated name")
    put("EDIT", service(protocol=1, scheduler=b"0123456789abcdef"), "icmp, unterminated name")
    put("EDIT", service(fwmark=9), "missing fwmark")


def its_reals():
    put("ADDDEST", service(scheduler=b"") + real(), "a real server")
    put("ADDDEST", service() + real(), "again")
    put("ADDDEST", service() + real(weight=-1), "there, weight below 0")
    put("ADDDEST", service(port=99) + real(weight=-1), "missing service, weight below 0")
    put("ADDDEST", service() + real(port=1, weight=-1), "weight below 0")
    put("ADDDEST", service() + real(port=1, upper=1, lower=2), "lower over upper")
    put("ADDDEST", service() + real(port=1, upper=1 << 31), "upper too large")
    put("ADDDEST", service() + real(port=1, upper=1 << 31, lower=0xFFFFFFFF), "both wrong")
    put("ADDDEST", service() + real(upper=1 << 31), "there, upper too large")
    for addr in ("0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "127.0.0.1"):
        put("ADDDEST", service() + real(addr, port=7), addr)
    for flags in (0, 1, 2, 4, 0xFFFFFFFF):
        put("ADDDEST", service() + real("198.51.100.2", port=1 + flags % 100, flags=flags), f"method {flags:#x}")
    put("ADDDEST", service() + real(port=0, weight=0x7FFFFFFF), "port 0, weight 2^31-1")
    put("EDITDEST", service() + real(weight=5, upper=9, lower=3, flags=0), "weight, thresholds, method")
    put("EDITDEST", service() + real(port=99), "missing")
    put("EDITDEST", service() + real(port=99, weight=-1), "missing, weight below 0")
    put("EDITDEST", service() + real(upper=1 << 31), "upper too large")
    put("EDITDEST", service() + real(upper=1, lower=2), "lower over upper")
    put("DELDEST", service() + real(port=99), "missing")
    put("DELDEST", service(port=99) + real(), "missing service")
    put("DELDEST", service() + real("127.0.0.1", port=7), "one")
    put("ADDDEST", service() + real("127.0.0.1", port=7), "and back")


def answers():
    reals(10, "all")
    reals(2, "two of them")
    reals(0, "none of them")
    reals(0, "none there", protocol=17)
    reals(2, "missing", port=99)
    show("DESTS", 24 + 96 * 3, service()[:16] + struct.pack("=I4x", 2), "longer than it says")
    show("DESTS", 20 + 96 * 2, service()[:16] + struct.pack("=I4x", 2), "shorter than it says")
    show("DESTS", 23, service(), "short")
    show("SERVICE", 104, service(), "one")
    show("SERVICE", 104, service(port=85), "with options")
    show("SERVICE", 104, service(port=99), "missing")
    show("SERVICE", 104, service(protocol=1), "icmp")
    show("SERVICE", 104, service(fwmark=7), "missing fwmark")
    show("SERVICE", 103, service(), "short")
    show("SERVICE", 200, service(), "long", 104)
    services(8)  # one more than there are
    show("SERVICES", 8 + 104 * 3, struct.pack("=I", 2), "longer than it says")
    show("SERVICES", 8, struct.pack("=I", 0), "none of them")
    show("SERVICES", 7, b"", "short")
    show("VERSION", 64)
    show("VERSION", 100, b"", "long")
    show("VERSION", 63, b"", "short")
    show("INFO", 12)
    show("INFO", 100, b"", "long", 12)
    show("INFO", 11, b"", "short")
    show("DEST", 100)
    show("TIMEOUT", 12)
    show("TIMEOUT", 11, b"", "short")
    show("TIMEOUT", 100, b"", "long", 12)
    show("DAEMON", 48)
    show("DAEMON", 47, b"", "short")
    show("DAEMON", 104, b"", "long", 48)
    show(8, 100, b"", "behind the last")


def the_rest():
    put("TIMEOUT", struct.pack("=iii", 0, 0, 0), "nothing")
    put("TIMEOUT", struct.pack("=iii", 1000, 0, 30), "two of three")
    put("TIMEOUT", struct.pack("=iii", 5, -1, 5), "negative")
    put("TIMEOUT", struct.pack("=iii", 5, 5, 0x7FFFFFFF), "too long")
    put("TIMEOUT", b"12345678", "short")
    show("TIMEOUT", 12)
    put("ZERO", service(), "one")
    put("ZERO", service(port=99), "missing")
    put("ZERO", service(protocol=1), "icmp")
    put("ZERO", service(addr="0.0.0.0", port=0), "all")
    put("ZERO", service(addr="0.0.0.0", port=0, protocol=1), "all, icmp")
    put("ZERO", b"", "short")
    put("STOPDAEMON", struct.pack("=i16si", 1, b"lo", 5), "none runs")
    for number, value in itertools.product((0, 1, 6, 13, 14), (b"", service())):
        put(number, value, f"{len(value)} bytes")
    put("DEL", service(protocol=1), "icmp")
    put("DEL", service(scheduler=b"0123456789abcdef"), "unterminated name")
    put("DEL", service(), "again")
    show("INFO", 12)
    put("FLUSH", b"abc", "long")
    put("FLUSH", b"")
    put("FLUSH", b"", "again")
    show("INFO", 12)


def without_rights():
    os.setresuid(65534, 65534, 65534)
    put("ADD", service())
    put("ADD", b"", "short")
    put(14, b"", "no such command")
    show("INFO", 12)
    show("INFO", 2, b"", "short")


one_service()
its_reals()
answers()
the_rest()
without_rights()
