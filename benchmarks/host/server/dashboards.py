#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What open dashboards cost `tandem serve`: short turns with and without pages, in one daemon under a steady load.
#
#   python3 benchmarks/host/server/dashboards.py [--pages N] [--pairs P] [--seconds S] [--tandem PROGRAM]
#
# Each page keeps a connection and asks what the view of requests asks, as often as the daemon says (`next_ms`). The pages learn that
# pause in the first seconds (`pause_s`) and keep it in all turns. The daemon runs on the first half of the cores; the streaming
# clients (one process) and the pages (this process) run on the others, so their work is not the daemon's.
# A pair is one turn of each kind side by side in time, in random order. Prints one JSON line: the cost in percent, as the
# daemon's processor time per generated token and as tokens per second: median over the pairs with its 95 % interval.
# `null_percent` compares turns without pages with each other, by the same method. `idle_core_percent` is steadier: the processor
# time that the pages cost a daemon without other work, in percent of one core; it wakes from sleep for each of them, so a busy
# daemon has less. `pages_core_percent` is what the pages themselves use of a core of theirs. Exit status 1: a page got no answer.
import argparse
import heapq
import json
import multiprocessing
import os
import random
import selectors
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from paired import interval  # noqa: E402

from http_client import AnswerReader, ask, connect, request
from servers import Server, exit_on_sigterm

PAUSE_S, LEARN_S, SETTLE_S, IDLE_S = 2, 20, 0.1, 10
PATH = "/ui/state?requests"
COMPLETION = request("POST", "/v1/completions", {"model": "tandem-stories", "prompt": "Once upon a time", "max_tokens": 400,
                                                 "ignore_eos": True, "temperature": 0, "stream": True})
END_OF_STREAM = b"data: [DONE]"


def keep_busy(port, clients, cores):
    """Endless streams, drained without a look at more than their last bytes."""
    os.sched_setaffinity(0, cores)
    ready = selectors.DefaultSelector()
    for _ in range(clients):
        client = connect(port)
        ready.register(client, selectors.EVENT_READ, [b""])
        client.sendall(COMPLETION)
    while True:
        for key, _ in ready.select():
            data = key.fileobj.recv(1 << 16)
            if not data:
                raise SystemExit("the daemon has closed a stream")
            tail = key.data[0] + data
            if END_OF_STREAM in tail:
                key.fileobj.sendall(COMPLETION)
                tail = b""
            key.data[0] = tail[-len(END_OF_STREAM):]


class Pages:
    """All pages in one thread: each has a connection, and they ask one after the other, evenly."""

    def __init__(self, port):
        self.port, self.open, self.asked, self.good = port, [], 0, 0
        self.pause_s = PAUSE_S

    def begin(self, count):
        self.open = [(client, AnswerReader(client)) for client in (connect(self.port) for _ in range(count))]

    def ask_one(self, page):
        page[0].sendall(request("GET", PATH))
        answer = page[1].answer()
        self.good += answer.status == 200
        self.asked += 1
        return answer.json()["next_ms"] / 1000

    def run(self, seconds):
        begin = time.monotonic()
        for number in range(int(len(self.open) * seconds / self.pause_s)):
            time.sleep(max(0, begin + number * self.pause_s / len(self.open) - time.monotonic()))
            self.ask_one(self.open[number % len(self.open)])
        time.sleep(max(0, begin + seconds - time.monotonic()))

    def learn_pause(self):
        """Each page asks when it was told to, until all have been told the same for a while."""
        end = time.monotonic() + LEARN_S
        due = [(time.monotonic() + number * PAUSE_S / len(self.open), number) for number in range(len(self.open))]
        heapq.heapify(due)
        while due and due[0][0] < end:
            at, number = heapq.heappop(due)
            time.sleep(max(0, at - time.monotonic()))
            self.pause_s = self.ask_one(self.open[number])
            heapq.heappush(due, (at + self.pause_s, number))

    def end(self):
        for client, _ in self.open:
            client.close()
        self.open = []


def processor_seconds(pid):
    """Of all threads of a process, to the nanosecond; the clock's number is the kernel's for a process."""
    return time.clock_gettime((~pid << 3) | 2)


def reading(server):
    tokens = ask(server.port, request("GET", "/status")).json()["generated_tokens"]
    return tokens, processor_seconds(server.process.pid), time.monotonic(), time.process_time()


def turn(server, pages, count, seconds):
    pages.begin(count)
    time.sleep(SETTLE_S)  # what the last turn's connections leave to do is done
    before = reading(server)
    pages.run(seconds)
    after = reading(server)
    pages.end()
    tokens, processor, clock, own = (new - old for new, old in zip(after, before))
    return {"processor_per_token": processor / tokens, "tokens_per_s": tokens / clock, "own_share": own / clock}


def cost(pairs):
    """By figure: what the second turn of each pair costs over the first."""
    return {"processor_percent": interval([with_pages["processor_per_token"] / without["processor_per_token"] - 1
                                           for without, with_pages in pairs]),
            "throughput_percent": interval([1 - with_pages["tokens_per_s"] / without["tokens_per_s"] for without, with_pages in pairs])}


def idle_cost(server, pages, options):
    """Processor seconds per second of all pages, in percent, beyond those of a daemon that nobody asks."""
    shares = []
    for count in (0, options.pages):
        pages.begin(count)
        time.sleep(SETTLE_S)
        before, begin = processor_seconds(server.process.pid), time.monotonic()
        pages.run(IDLE_S)
        shares.append((processor_seconds(server.process.pid) - before) / (time.monotonic() - begin))
        pages.end()
    return round(100 * (shares[1] - shares[0]), 3)


def pairs_of_turns(server, pages, options):
    pairs = []
    for _ in range(options.pairs):
        counts = random.sample([0, options.pages], 2)
        found = {count: turn(server, pages, count, options.seconds) for count in counts}
        pairs.append((found[0], found[options.pages]))
    return pairs


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=95)
    parser.add_argument("--seconds", type=float, default=PAUSE_S)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    return parser.parse_args()


def main():
    options = parse_options()
    exit_on_sigterm()
    cores = sorted(os.sched_getaffinity(0))
    half = max(1, len(cores) // 2)
    of_daemon, of_clients = set(cores[:half]), set(cores[half:] or cores)
    with tempfile.TemporaryDirectory() as folder:
        os.sched_setaffinity(0, of_daemon)
        server = Server("tandem", [options.tandem, "serve", "--port", "0", "--port-file", Server.PORT_FILE, "--attention", "cpu"], folder)
        os.sched_setaffinity(0, of_clients)
        load = multiprocessing.Process(target=keep_busy, args=(server.port, options.clients, of_clients), daemon=True)
        pages = Pages(server.port)
        try:
            pages.begin(options.pages)
            pages.learn_pause()
            pages.end()
            idle = idle_cost(server, pages, options)
            load.start()
            turn(server, pages, options.pages, options.seconds)  # everything is warm
            pairs = pairs_of_turns(server, pages, options)
        finally:
            if load.pid:
                load.terminate()
                load.join()
            server.close()
    alone = [without for without, _ in pairs]
    print(json.dumps({"pages": options.pages, "pause_s": pages.pause_s, "pairs": len(pairs), "cost": cost(pairs),
                      "null_percent": cost(list(zip(alone[0::2], alone[1::2]))),
                      "idle_core_percent": idle, "tokens_per_s_alone": round(statistics.median(each["tokens_per_s"] for each in alone), 1),
                      "pages_core_percent": round(100 * statistics.median(each["own_share"] for _, each in pairs), 2),
                      "answers": pages.asked, "answered_200": pages.good, "load": os.getloadavg()[0]}))
    raise SystemExit(0 if pages.good == pages.asked else 1)


if __name__ == "__main__":
    main()
