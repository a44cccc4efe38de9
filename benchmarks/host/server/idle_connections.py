#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# 10,000 clients of `tandem serve` that are idle or slow, while /livez is asked on new connections.
#
#   python3 benchmarks/host/server/idle_connections.py [--connections N] [--seconds S] [--tls] [--tandem PROGRAM]
#
# Half of the clients ask once and stay; in the end they ask again. The other half send a completion in small pieces over the
# whole time. Every one of them must get its answer. Prints one JSON line: answers that are missing (exit code 1 if any),
# those that are 429, the milliseconds of a probe with its connection, the daemon's resident memory and its growth.
import argparse
import heapq
import json
import os
import random
import selectors
import signal
import ssl
import sys
import tempfile
import threading
import time
from pathlib import Path

from http_client import connect, request, unverified_tls
from servers import Server, make_certificate, resident_bytes

PROBE = request("GET", "/livez")
COMPLETION = request("POST", "/v1/completions", {"model": "tandem-stories", "prompt": "Once", "max_tokens": 1, "temperature": 0})
PIECES = 12
READ_TIMEOUT_S = 120


def answered(data):
    """Whether the bytes hold a whole answer: 200, or 429 where the engine's queue is full."""
    head, found, body = data.partition(b"\r\n\r\n")
    if not found or not head.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 429 ")):
        return False
    length = int(next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")).split(b":")[1])
    return len(body) >= length


class Clients:
    def __init__(self, port, count, seconds, tls):
        self.seconds = seconds
        self.sockets = []
        self.received = {}
        self.selector = selectors.DefaultSelector()
        self.random = random.Random(1)
        for i in range(count):
            client = connect(port, tls, READ_TIMEOUT_S)
            client.setblocking(False)
            self.sockets.append(client)
            self.received[client] = b""
            self.selector.register(client, selectors.EVENT_READ)
            if i % 2 == 0:
                client.send(PROBE)
            else:  # else its patience for the first byte ends while the others connect
                client.send(COMPLETION[:8])
            if i % 100 == 0:
                self.receive(0)
        self.idle, self.slow = self.sockets[::2], self.sockets[1::2]

    def receive(self, timeout):
        for key, _ in self.selector.select(timeout):
            try:
                data = key.fileobj.recv(65536)
            except ssl.SSLWantReadError:
                continue
            except OSError:
                data = b""
            if data:
                self.received[key.fileobj] += data
            else:
                self.selector.unregister(key.fileobj)

    def wait_for(self, clients, patience):
        end = time.monotonic() + patience
        while time.monotonic() < end and not all(answered(self.received[c]) for c in clients):
            self.receive(0.2)
        return sum(not answered(self.received[c]) for c in clients)

    def dribble(self):
        """Sends the slow requests, each in pieces at moments of its own."""
        start = time.monotonic()
        due = []
        for number, client in enumerate(self.slow):
            cuts = sorted(self.random.sample(range(9, len(COMPLETION)), PIECES - 1)) + [len(COMPLETION)]
            moments = sorted(self.random.uniform(0, self.seconds) for _ in cuts)
            begin = 8
            for moment, cut in zip(moments, cuts):
                heapq.heappush(due, (moment, number, begin, cut))
                begin = cut
        while due:
            moment, number, begin, cut = heapq.heappop(due)
            while (left := start + moment - time.monotonic()) > 0:
                self.receive(min(left, 0.05))
            try:
                self.slow[number].send(COMPLETION[begin:cut])
            except OSError:
                pass  # it shows as a missing answer


def probe(port, tls):
    start = time.monotonic()
    with connect(port, tls, READ_TIMEOUT_S) as client:
        client.sendall(PROBE)
        data = b""
        while not answered(data):
            piece = client.recv(4096)
            if not piece:
                raise RuntimeError("a probe was not answered")
            data += piece
    return (time.monotonic() - start) * 1e3


class Prober:
    """Probes in a process of its own, where it does not wait for the clients' interpreter lock."""

    def __init__(self, port, tls):
        self.reader, writer = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            stop, samples = threading.Event(), []
            signal.signal(signal.SIGTERM, lambda *_: stop.set())
            while not stop.is_set():
                try:
                    samples.append(probe(port, tls))
                except (OSError, RuntimeError):
                    samples.append(float("inf"))
                time.sleep(0.02)
            os.write(writer, json.dumps(samples).encode())
            os._exit(0)
        os.close(writer)

    def end(self):
        """The milliseconds of all probes, in order."""
        os.kill(self.child, signal.SIGTERM)
        with os.fdopen(self.reader, "rb") as pipe:
            samples = sorted(json.loads(pipe.read()))
        os.waitpid(self.child, 0)
        return samples


def serve(options, folder):
    files = []
    if options.tls:
        files = ["--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem"]
        make_certificate(files[1], files[3])
    return Server("idle", [options.tandem, "serve", "--port", "0", "--port-file", Server.PORT_FILE,
                           "--max-connections", options.connections + 100, "--max-waiting", "10000",
                           "--read-timeout-ms", READ_TIMEOUT_S * 1000, *files], folder)


def measure(options, server):
    port, pid = server.port, server.process.pid
    tls = unverified_tls() if options.tls else None
    for _ in range(50):
        probe(port, tls)
    before = resident_bytes(pid)
    alone = sorted(probe(port, tls) for _ in range(200))
    clients = Clients(port, options.connections, options.seconds, tls)
    prober = Prober(port, tls)
    lost = clients.wait_for(clients.idle, 60)
    clients.dribble()
    peak = resident_bytes(pid)
    lost += clients.wait_for(clients.slow, 120)
    refused = sum(clients.received[client].startswith(b"HTTP/1.1 429 ") for client in clients.slow)
    for client in clients.idle:
        clients.received[client] = b""
        try:
            client.send(PROBE)
        except OSError:
            pass
    lost += clients.wait_for(clients.idle, 60)
    peak = max(peak, resident_bytes(pid))
    samples = prober.end()
    return {
        "name": "idle_connections", "tls": options.tls, "connections": options.connections,
        "lost": lost, "refused": refused, "probes": len(samples),
        "livez_ms": {"median": round(samples[len(samples) // 2], 2), "p99": round(samples[int(len(samples) * 0.99)], 2),
                     "max": round(samples[-1], 2)},
        "livez_alone_ms": {"median": round(alone[100], 2), "p99": round(alone[198], 2)},
        "bytes_per_connection": (peak - before) // options.connections,
        "resident_mib": {"before": before >> 20, "peak": peak >> 20}, "seconds": options.seconds,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = serve(options, Path(folder))
        try:
            result = measure(options, server)
        finally:
            server.close()
    print(json.dumps(result))
    return 1 if result["lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
