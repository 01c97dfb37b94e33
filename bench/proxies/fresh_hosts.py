#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Connections to origins that nobody asked before: bloomwall beside squid and haproxy, of a release build; nothing else may run on
the machine. Each host is an address of 127.0.0.0/8 that is used once.

  fresh_hosts.py [--rounds 3] [--hosts 20] [--peers bloomwall,squid,haproxy] [ROW ...]

ROW (default: all)
  shared    6 clients with a connection each send 50 requests to one host, at once: connections that it sees, CPU, p99
  many      1,000 hosts, one request each, by 8 clients with a connection each: CPU, p99
  first     the same by one client, one after the other
  limited   hosts that take 5 connections from an address and close the sixth, each asked 25 times by 8 clients: answers that are no 200

Rounds are interleaved and medians printed.
"""
import argparse
import asyncio
import glob
import multiprocessing
from lib import *
from peers import *

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1024\r\n\r\n" + b"x" * 1024
PORT = BASE + 90


class OriginConnection(asyncio.Protocol):
    """Answers each request by its end of head alone; above the limit of its host a connection is closed at once."""

    def __init__(self, host):
        self.host, self.buffer = host, b""

    def connection_made(self, transport):
        self.transport = transport
        self.host["connections"] += 1
        self.host["transports"].add(transport)
        self.taken = self.host["open"] < self.host["limit"]
        self.host["open"] += self.taken
        if not self.taken:
            transport.close()

    def data_received(self, data):
        self.buffer += data
        while self.taken and b"\r\n\r\n" in self.buffer:
            self.buffer = self.buffer.partition(b"\r\n\r\n")[2]
            self.transport.write(ANSWER)

    def connection_lost(self, _):
        self.host["open"] -= self.taken
        self.host["transports"].discard(self.transport)


def origin(pipe):
    """A process: takes (addresses, limit), listens, says so; at the next message says how many connections came, and closes."""
    async def serve():
        loop = asyncio.get_running_loop()
        while (asked := await loop.run_in_executor(None, pipe.recv)) is not None:
            addresses, limit = asked
            hosts = [{"connections": 0, "open": 0, "limit": limit, "transports": set()} for _ in addresses]
            servers = [await loop.create_server(lambda host=host: OriginConnection(host), address, PORT, backlog=128)
                       for host, address in zip(hosts, addresses)]
            pipe.send("listening")
            await loop.run_in_executor(None, pipe.recv)
            for server in servers:
                server.close()
            for transport in [transport for host in hosts for transport in host["transports"]]:
                transport.abort()  # what proxies keep
            pipe.send(sum(host["connections"] for host in hosts))
    resource_limit()
    asyncio.run(serve())


def resource_limit():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))


class Client:
    """One connection to the proxy, kept; opened again where the proxy closed it."""

    def __init__(self, proxy):
        self.proxy, self.streams, self.times, self.bad = proxy, None, [], 0

    async def get(self, address):
        began = time.monotonic()
        try:
            status, closes = await asyncio.wait_for(self.answer(address), 60)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            status, closes = 0, True
        self.times.append(time.monotonic() - began)
        self.bad += status != 200
        if closes:
            self.end()

    async def answer(self, address):
        if not self.streams:
            self.streams = await asyncio.open_connection(*self.proxy)
        reader, writer = self.streams
        writer.write(f"GET http://{address}:{PORT}/ HTTP/1.1\r\nHost: {address}:{PORT}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"\ncontent-length: *(\d+)", head)
        await reader.readexactly(int(length[1]) if length else 0)
        return int(head.split()[1]), not length or b"\nconnection: close" in head

    def end(self):
        if self.streams:
            self.streams[1].close()
        self.streams = None


class Hosts:
    """Addresses that no proxy was asked for yet."""
    used = 0

    def take(self, count):
        self.used += count
        return [f"127.{1 + n // 62500}.{n // 250 % 250}.{1 + n % 250}" for n in range(self.used - count, self.used)]


async def load(proxy, plans):
    """A client for each plan, a list of addresses; all begin together."""
    clients = [Client(proxy) for _ in plans]

    async def run(client, plan):
        for address in plan:
            await client.get(address)
        client.end()
    await asyncio.gather(*(run(client, plan) for client, plan in zip(clients, plans)))
    return clients


def cpu_us(p):
    """Of its processes and their threads, exactly."""
    return sum(int(open(f).read().split()[0]) for pid in p.pids() for f in glob.glob("/proc/%d/task/*/schedstat" % pid)) / 1e3


def measured(p, pipe, addresses, limit, steps):
    """steps: plans that run one after the other, each by clients of its own."""
    pipe.send((addresses, limit))
    pipe.recv()
    before, clients = cpu_us(p), []
    for plans in steps:
        clients += asyncio.run(load(("127.0.0.1", p.port), plans))
    spent = cpu_us(p) - before
    pipe.send("end")
    connections = pipe.recv()
    times = sorted(t for client in clients for t in client.times)
    return {"connections": connections / len(addresses), "cpu_us": spent / len(times), "p50_ms": times[len(times) // 2] * 1e3,
            "p99_ms": times[len(times) * 99 // 100] * 1e3, "bad": sum(client.bad for client in clients)}


def shared(hosts):
    return hosts, 1 << 30, [[[host] * 50] * 6 for host in hosts]


def many(hosts):
    return hosts, 1 << 30, [[hosts[i::8] for i in range(8)]]


def first(hosts):
    return hosts, 1 << 30, [[hosts]]


def limited(hosts):
    return hosts, 5, [[[host] * 25] * 8 for host in hosts]


ROWS = {"shared": (shared, None), "many": (many, 1000), "first": (first, 1000), "limited": (limited, None)}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("rows", nargs="*", metavar="ROW", choices=[[], *ROWS])
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--hosts", type=int, default=20)
    ap.add_argument("--peers", default="bloomwall,squid,haproxy")
    options = ap.parse_args()
    pipe, far = multiprocessing.Pipe()
    process = multiprocessing.Process(target=origin, args=(far,), daemon=True)
    process.start()
    peers = [ALL[name]() for name in options.peers.split(",")]
    hosts = Hosts()
    try:
        for p in peers:
            if p.start() is None:
                raise SystemExit(f"{p.name} did not start, see {p.dir}/out")
        for row in options.rows or ROWS:
            make, count = ROWS[row]
            got = {p.name: [] for p in peers}
            for _ in range(options.rounds):
                for p in peers:
                    got[p.name].append(measured(p, pipe, *make(hosts.take(count or options.hosts))))
            for name, rounds in got.items():
                print(f"{row:<8} {name:<10} " + " ".join(f"{key}={median([r[key] for r in rounds]):.4g}" for key in rounds[0]), flush=True)
    finally:
        for p in peers:
            p.stop()
        pipe.send(None)
        process.join()


main()
