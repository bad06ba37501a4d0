# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a change takes from keepalived's line to the map that packets read.

As keepalived does it: a real server gets another weight in the IPVS table, then a line goes into the FIFO. The time is from
the line until the service has another ring; the timer looks too rarely to help. As a program it prints figures as
tests/bench wants them (a JSON object a line; arguments: patterns of names); test_latency.py looks that lines are heard.
"""

import ctypes
import ctypes.util
import fnmatch
import json
import statistics
import sys
import time

from lab import VIP, Lab, end_in_good_order

BATCHES = 5
CHANGES = 100  # of a batch


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


def start(site):
    """A director on which no timer looks in between."""
    site.a.options += ["poll=30s", "silence=60s"]
    return site.start(scheduler="wrr", check=None, weights=[1, 1])


def measure(site, director, changes):
    """Milliseconds of each change, sorted."""
    ring, real = Ring(f"{director.bpffs}/xlbd"), site.reals[0]
    took = []
    with open(director.lvs_fifo, "w", encoding="ascii") as fifo:
        for number in range(changes):
            director.ipvsadm("-e", "-t", f"{VIP}:80", "-r", f"{real.address}:80", "-g", "-w", str(2 + number % 2))
            before = ring.id()
            begin = time.monotonic()
            fifo.write(f"RS {real.address}:80 VS {VIP}:80 UP\n")
            fifo.flush()
            while ring.id() == before:
                assert time.monotonic() - begin < 10, "the line was not heard"
                time.sleep(0.0001)  # the daemon may need this CPU
            took.append((time.monotonic() - begin) * 1000)
    return sorted(took)


def print_figure(name, unit, values):
    value = statistics.median(values)
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit,
                      "spread": round((max(values) - min(values)) / value, 3)}), flush=True)


def main(patterns):
    from conftest import Site  # pylint: disable=import-outside-toplevel  # pytest's, and not needed by the test
    names = {"control.fifo_to_map.p50.ms": 0.5, "control.fifo_to_map.p99.ms": 0.99}
    wanted = {name: share for name, share in names.items()
              if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)}
    if not wanted:
        return
    end_in_good_order()
    with Lab() as lab:
        site = Site(lab)
        director = start(site)
        batches = [measure(site, director, CHANGES) for _ in range(BATCHES)]
    for name, share in wanted.items():
        print_figure(name, "ms", [batch[int(len(batch) * share)] for batch in batches])


if __name__ == "__main__":
    main(sys.argv[1:])
