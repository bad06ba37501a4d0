# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients and a UDP server, run inside a namespace by Host.client(); functions for Host.call().

    client.py requests ADDRESS PORT [--rate N] [--timeout S]    fresh connections, one each 1/N s, whatever the others do
    client.py hold ADDRESS PORT [--count N] [--every S]         N connections stay open; each asks again every S seconds
    client.py get ADDRESS PORT [--count N]                      N requests, one after the other; then who answered how often
    client.py echo ADDRESS PORT NAME                            UDP server that answers with its name

Each request is a line when it has ended: begin and end (monotonic clock), who, and the answer's text or !what-failed.
SIGTERM: what is under way ends, then the client.
"""

import argparse
import asyncio
import contextlib
import signal
import socket
import time

REQUEST = b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n"


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def report(begin, who, answer):
    print(f"{begin:.6f} {time.monotonic():.6f} {who} {answer}", flush=True)


# ---- long-running clients ----------------------------------------------------------------------------------------


async def ask(reader, writer):
    """One request by an open connection; the body."""
    writer.write(REQUEST)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    return (await reader.readexactly(length)).decode().strip()


async def one_request(address, port, timeout, who):
    begin = time.monotonic()
    writer = None
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(address, port)
            report(begin, who, await ask(reader, writer))
    except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
        report(begin, who, f"!{type(error).__name__}")
    finally:
        if writer:
            writer.close()


async def requests(address, port, rate, timeout, stop):
    """An open loop: the next request begins when its time has come, even if others hang."""
    under_way = set()
    count, start = 0, time.monotonic()
    while not stop.is_set():
        count += 1
        task = asyncio.create_task(one_request(address, port, timeout, count))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), max(0.0, start + count / rate - time.monotonic()))
    if under_way:
        await asyncio.wait(under_way)


async def hold_one(address, port, every, who, stop):
    begin = time.monotonic()
    try:
        reader, writer = await asyncio.open_connection(address, port)
        while not stop.is_set():
            begin = time.monotonic()
            async with asyncio.timeout(10):
                report(begin, who, await ask(reader, writer))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), every)
        writer.close()
    except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
        report(begin, who, f"!{type(error).__name__}")


async def hold(address, port, count, every, stop):
    await asyncio.gather(*(hold_one(address, port, every, who, stop) for who in range(count)))


async def until_told(function, *arguments):
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await function(*arguments, stop)


def echo(address, port, name):
    """Answers come from the address that was asked, as a DR real server's must."""
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as sock:
        sock.bind((address, port))
        while True:
            data, peer = sock.recvfrom(2048)
            sock.sendto(name.encode() + b" " + data, peer)


# ---- functions for Host.call() -----------------------------------------------------------------------------------


def get(address, port=80, timeout=2.0, source_port=0):
    """One request by a fresh connection: the answer, or !what-failed."""
    try:
        with socket.socket(family_of(address)) as sock:
            sock.settimeout(timeout)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if source_port:
                sock.bind(("", source_port))
            sock.connect((address, port))
            sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
            data = b""
            while part := sock.recv(4096):
                data += part
        return data.decode().split("\r\n\r\n", 1)[1].strip()
    except (OSError, IndexError) as error:
        return f"!{type(error).__name__}"


def many_gets(count, address, port=80, timeout=2.0):
    """One after the other: how often each answer came."""
    seen = {}
    for _ in range(count):
        answer = get(address, port, timeout)
        seen[answer] = seen.get(answer, 0) + 1
    return seen


def gets_from_ports(address, ports, port=80):
    """From these source ports: [[port, answer], ...]."""
    return [[source, get(address, port, source_port=source)] for source in ports]


def datagrams(address, port, count, timeout=2.0):
    """Each by a socket of its own: how often each name answered."""
    seen = {}
    for number in range(count):
        with socket.socket(family_of(address), socket.SOCK_DGRAM) as sock:
            sock.settimeout(timeout)
            sock.connect((address, port))
            sock.send(str(number).encode())
            try:
                name, text = sock.recv(2048).decode().split()
                answer = name if text == str(number) else "!other"
            except OSError as error:
                answer = f"!{type(error).__name__}"
        seen[answer] = seen.get(answer, 0) + 1
    return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("requests", "hold", "get", "echo"))
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--timeout", type=float, default=1.0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--every", type=float, default=0.1)
    given = parser.parse_args()
    if given.what == "requests":
        asyncio.run(until_told(requests, given.address, given.port, given.rate, given.timeout))
    elif given.what == "hold":
        asyncio.run(until_told(hold, given.address, given.port, given.count, given.every))
    elif given.what == "get":
        for answer, count in sorted(many_gets(given.count, given.address, given.port).items()):
            print(f"{count:6} {answer}")
    else:
        echo(given.address, given.port, given.name)


if __name__ == "__main__":
    main()
