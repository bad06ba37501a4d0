# SPDX-License-Identifier: GPL-2.0-or-later
"""ICMP errors of IPVS and of XDP about the same frames, byte by byte; runs in a machine of tests/vm.

A client sends frames with TTLs used up, or too long for the way to the real server: first to the kernel's IPVS alone, then to the
same director with xlbd. What both may choose is left out of the comparison: the identification of IPv4 (with the header's
checksum) and the flow label of IPv6. The kernel's own limit for one receiver is switched off, the one for all is waited for.
"""

import contextlib
import pathlib
import random
import socket
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
# pylint: disable=wrong-import-position
from keepalived import globals_block, virtual_server
from lab import VIP, VIP6, Director, Failed, Host, Lab, RealServer, wait_for

CLIENT, CLIENT6 = "10.99.0.200", "fd99::200"
FAR, FAR6 = "10.88.0.11", "fd88::11"
MTU = 1400
FRAMES = 100  # of each family and protocol
BATCH = 20    # below the burst that both allow
TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
PORTS = {TCP: 80, UDP: 5300}


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def layer4(protocol, port, payload, addresses):
    """With its checksum."""
    if protocol == TCP:
        head, at = struct.pack("!HHIIBBHHH", port, PORTS[TCP], 1, 0, 5 << 4, 2, 65535, 0, 0), 16
    else:
        head, at = struct.pack("!HHHH", port, PORTS[UDP], 8 + len(payload), 0), 6
    data = head + payload
    total = checksum(addresses + struct.pack("!II", len(data), protocol) + data)
    return data[:at] + struct.pack("!H", total) + data[at + 2:]


def ipv4(protocol, port, payload, dice):
    ends = socket.inet_aton(CLIENT) + socket.inet_aton(VIP)
    data = layer4(protocol, port, payload, ends)
    head = struct.pack("!BBHHHBBH", 0x45, dice.randrange(256), 20 + len(data), dice.randrange(65536),
                       dice.choice((0, 0x4000)), dice.choice((0, 1, 1, 2, 64)), protocol, 0) + ends
    return b"\x08\x00" + head[:10] + struct.pack("!H", checksum(head)) + head[12:] + data


def ipv6(protocol, port, payload, dice):
    ends = socket.inet_pton(socket.AF_INET6, CLIENT6) + socket.inet_pton(socket.AF_INET6, VIP6)
    data = layer4(protocol, port, payload, ends)
    return (b"\x86\xdd" + struct.pack("!IHBB", 6 << 28 | dice.randrange(1 << 28), len(data), protocol,
                                      dice.choice((0, 1, 1, 2, 64))) + ends + data)


def make_frames():
    """{(family, protocol, port): what follows the MACs}; the port makes each unique."""
    dice = random.Random(1)
    frames = {}
    for build in (ipv4, ipv6):
        for protocol in PORTS:
            for port in range(20000, 20000 + FRAMES):
                longest = 1500 - (20 if build is ipv4 else 40) - (20 if protocol == TCP else 8)
                size = dice.choice((dice.randrange(64), dice.randrange(longest + 1),
                                    dice.randrange(longest - 110, longest + 1)))
                payload = dice.randbytes(size)
                frames[build is ipv6, protocol, port] = build(protocol, port, payload, dice)
    return frames


def read_answer(frame):
    """(the frame that it is about, the frame without what may be chosen), or None: something else."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and frame[23] == ICMP and (frame[34] == 11 or frame[34:36] == b"\x03\x04"):
        inner = frame[42:]
        about = (False, inner[9], struct.unpack("!H", inner[20:22])[0])
        return about, frame[:18] + b"??" + frame[20:24] + b"??" + frame[26:]
    if kind == b"\x86\xdd" and frame[20] == ICMP6 and frame[54] in (2, 3):
        inner = frame[62:]
        about = (True, inner[6], struct.unpack("!H", inner[40:42])[0])
        return about, frame[:15] + bytes([frame[15] & 0xf0]) + b"??" + frame[18:]
    return None


def checksums_right(frame):
    if frame[12:14] == b"\x08\x00":
        return checksum(frame[14:34]) == 0 and checksum(frame[34:]) == 0
    return checksum(frame[22:54] + struct.pack("!II", len(frame) - 54, ICMP6) + frame[54:]) == 0


def exchange(macs, frames):
    """Sends all, a few at a time; [[family, protocol, port, answer in hex], ...]."""
    answers = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
        wire.bind(("e0", 3))
        for start in range(0, len(frames), BATCH):
            for data in frames[start:start + BATCH]:
                wire.send(macs + data)
            wire.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                while True:
                    frame, where = wire.recvfrom(2048)
                    found = where[2] != socket.PACKET_OUTGOING and read_answer(frame)
                    if found:
                        if not checksums_right(frame):
                            raise Failed(f"a checksum is wrong: {frame.hex()}")
                        answers.append([*found[0], found[1].hex()])
    return answers


def ask(client, director, frames):
    macs = bytes.fromhex((director.mac() + client.mac()).replace(":", ""))
    answers = client.call(exchange, macs, list(frames.values()))
    found = {tuple(key): answer for *key, answer in answers}
    if len(found) != len(answers):
        raise Failed(f"{len(answers)} answers about {len(found)} frames")
    return found


def compare(by_ipvs, by_xdp):
    """Shows the first few that differ, from the byte on where they do."""
    differ = [key for key in sorted(by_ipvs.keys() | by_xdp.keys()) if by_ipvs.get(key) != by_xdp.get(key)]
    for key in differ[:5]:
        one, other = by_ipvs.get(key, ""), by_xdp.get(key, "")
        at = next((at for at, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), min(len(one), len(other))) // 2 * 2
        print(f"{key}: byte {at // 2}\n  IPVS {one[at:at + 64]} ({len(one) // 2} bytes)\n"
              f"  XDP  {other[at:at + 64]} ({len(other) // 2} bytes)")
    if differ:
        raise Failed(f"{len(differ)} answers differ")


def ok(text):
    print(f"ok {text} ({time.monotonic():.1f} s)", flush=True)


def set_up(lab):
    """Client and virtual addresses on e0, the real server behind e1, where packets must be smaller."""
    client, director, real = lab.add(Host, "c", 7), lab.add(Director, "d", 1), lab.add(RealServer, "r1", 11)
    for host, address, address6 in ((director, "10.88.0.1/24", "fd88::1/64"), (real, f"{FAR}/24", f"{FAR6}/64")):
        host.add_cable("e1", address, "br1")
        host.sh(f"ip link set e1 mtu {MTU}; ip -6 addr add {address6} dev e1 nodad")
    director.sh(f"set -e; ip addr add {VIP}/32 dev e0; ip -6 addr add {VIP6}/128 dev e0 nodad\n"
                f"ip neigh add {CLIENT} lladdr {client.mac()} dev e0\n"
                f"ip -6 neigh add {CLIENT6} lladdr {client.mac()} dev e0\n"
                "echo 0 >/proc/sys/net/ipv4/icmp_ratelimit; echo 0 >/proc/sys/net/ipv6/icmp/ratelimit")
    conf = globals_block(director.fifos)
    for vip, far in ((VIP, FAR), (VIP6, FAR6)):
        for protocol, flag in ((TCP, "-t"), (UDP, "-u")):
            conf += virtual_server([far], vip=vip, port=PORTS[protocol], scheduler="rr", check=None,
                                   protocol="TCP" if protocol == TCP else "UDP")
            name = f"[{vip}]:{PORTS[protocol]}" if ":" in vip else f"{vip}:{PORTS[protocol]}"
            back = name.replace(vip, far)
            director.sh(f"set -e; ipvsadm -A {flag} '{name}' -s rr; ipvsadm -a {flag} '{name}' -r '{back}' -g")
    director.keepalived_conf.write_text(conf)
    director.options = ["connections=20000", "ipvs.api=off"]
    return client, director


def in_xdp(director):
    vips = director.show("vip")["vips"]
    reals = director.show("real")["reals"]
    if len(vips) == 4 and any(vip["side"] not in ("xdp", "kernel") for vip in vips):
        raise Failed(director.ctl("vip"))
    return (len(vips) == 4 and all(vip["side"] == "xdp" for vip in vips) and
            all(real["next_hop"] and real["next_hop"]["state"] == "resolved" for real in reals))


def main():
    frames = make_frames()
    with Lab() as lab:
        try:
            client, director = set_up(lab)
            by_ipvs = ask(client, director, frames)
            if len(by_ipvs) < len(frames) / 2 or "e0" not in director.sh("ip -br link"):
                raise Failed(f"IPVS answered {len(by_ipvs)} of {len(frames)} frames")
            ok(f"IPVS: {len(by_ipvs)} answers to {len(frames)} frames")
            director.start_xlbd(120)
            wait_for("all are in XDP", lambda: in_xdp(director), 60, 0.3)
            by_xdp = ask(client, director, frames)
            answered = director.verdict("answered-ttl") + director.verdict("answered-too-big")
            if answered != len(by_xdp):
                raise Failed(f"XDP counts {answered} answers, {len(by_xdp)} came\n{director.ctl('drops')}")
            ok(f"XDP: {len(by_xdp)} answers to the same")
            compare(by_ipvs, by_xdp)
            ok("they are the same, byte by byte")
        except BaseException:
            print(lab.evidence())
            raise


main()
