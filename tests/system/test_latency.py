# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a change takes from keepalived's line to the data plane. Printed, not judged: the machine may be busy."""

import ctypes
import ctypes.util
import time

from lab import VIP

REPETITIONS = 100


class Ring:
    """The ring of the only service: a map in a map, replaced whole, so the inner map's id tells a change."""

    def __init__(self, folder):
        self.libbpf = ctypes.CDLL(ctypes.util.find_library("bpf") or "libbpf.so.1", use_errno=True)
        self.fd = self.libbpf.bpf_obj_get(f"{folder}/rings".encode())
        assert self.fd >= 0
        self.service = next(service for service in range(1, 64) if self.id_of(service))

    def id_of(self, service):
        key, value = ctypes.c_uint32(service), ctypes.c_uint32()
        missing = self.libbpf.bpf_map_lookup_elem(self.fd, ctypes.byref(key), ctypes.byref(value))
        return 0 if missing else value.value

    def id(self):
        return self.id_of(self.service)


def test_control_fifo_to_map(site, capsys):
    here = site(reals=2)
    here.a.options += ["poll=30s", "silence=60s"]  # so that no timer looks in between
    director = here.start(scheduler="wrr", check=None, weights=[1, 1])
    ring, real = Ring(f"{director.bpffs}/xlbd"), here.reals[0]
    took = []
    with open(director.lvs_fifo, "w", encoding="ascii") as fifo:
        for number in range(REPETITIONS):
            director.ipvsadm("-e", "-t", f"{VIP}:80", "-r", f"{real.address}:80", "-g", "-w", str(2 + number % 2))
            before = ring.id()
            begin = time.monotonic()
            fifo.write(f"RS {real.address}:80 VS {VIP}:80 UP\n")
            fifo.flush()
            while ring.id() == before:
                assert time.monotonic() - begin < 10, "the line was not heard"
            took.append((time.monotonic() - begin) * 1000)
    took.sort()
    with capsys.disabled():
        print(f"\ncontrol.fifo_to_map: p50 {took[len(took) // 2]:.2f} ms, p99 {took[int(len(took) * 0.99)]:.2f} ms, "
              f"most {took[-1]:.2f} ms ({len(took)} changes)")
