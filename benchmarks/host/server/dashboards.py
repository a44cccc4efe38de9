#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What open dashboards cost: tokens per second of `tandem serve` with and without pages that ask every 2 s, in turns.
#
#   python3 benchmarks/host/server/dashboards.py [--pages N] [--rounds R] [--seconds S] [--tandem PROGRAM]
#
# Each page keeps a connection and asks what the view of requests asks: /status and /status/requests. Clients stream
# completions all the time, and a round counts the daemon's generated tokens. The cost is the median over pairs of rounds.
# Prints one JSON line. Clients, pages and the daemon share the machine's cores; the pages' own work is part of the cost.
import argparse
import json
import random
import tempfile
import threading
import time

from http_client import AnswerReader, ask, connect, request
from servers import Server, exit_on_sigterm, quantile

PAUSE_S = 2
PATHS = ["/status", "/status/requests"]
COMPLETION = request("POST", "/v1/completions", {"model": "tandem-stories", "prompt": "Once upon a time", "max_tokens": 400,
                                                 "ignore_eos": True, "temperature": 0})


def generated(port):
    return ask(port, request("GET", "/status")).json()["generated_tokens"]


def keep_busy(port, ended):
    with connect(port) as client:
        reader = AnswerReader(client)
        while not ended.is_set():
            client.sendall(COMPLETION)
            reader.answer()


def watch(port, ended, answers):
    """All pages in one thread: each has a connection, and they ask at moments of their own."""
    pages = []
    try:
        for _ in range(answers["pages"]):
            client = connect(port)
            pages.append([time.monotonic() + random.uniform(0, PAUSE_S), client, AnswerReader(client)])
        while not ended.is_set():
            pages.sort(key=lambda page: page[0])
            ended.wait(max(0, pages[0][0] - time.monotonic()))
            for path in PATHS:
                pages[0][1].sendall(request("GET", path))
                answers["good"] += pages[0][2].answer().status == 200
                answers["all"] += 1
            pages[0][0] += PAUSE_S
    finally:
        for _, client, _ in pages:
            client.close()


def pace(port, seconds, pages):
    """Tokens per second of a round, and the share of the pages' questions that were answered."""
    ended, answers = threading.Event(), {"pages": pages, "good": 0, "all": 0}
    thread = threading.Thread(target=watch, args=(port, ended, answers))
    if pages:
        thread.start()
        time.sleep(PAUSE_S)  # all of them are there
    begin, tokens = time.monotonic(), generated(port)
    time.sleep(seconds)
    result = (generated(port) - tokens) / (time.monotonic() - begin)
    ended.set()
    if pages:
        thread.join()
    return result, answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    options = parser.parse_args()
    exit_on_sigterm()
    ended, ratios, alone, good, asked = threading.Event(), [], [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        server = Server("tandem", [options.tandem, "serve", "--port", "0", "--port-file", Server.PORT_FILE, "--attention", "cpu"], folder)
        busy = [threading.Thread(target=keep_busy, args=(server.port, ended)) for _ in range(options.clients)]
        try:
            for thread in busy:
                thread.start()
            for number in range(-1, options.rounds):
                pair = [pace(server.port, options.seconds, pages) for pages in (0, options.pages)]
                if number < 0:
                    continue
                alone.append(pair[0][0])
                ratios.append(pair[1][0] / pair[0][0])
                good, asked = good + pair[1][1]["good"], asked + pair[1][1]["all"]
        finally:
            ended.set()
            for thread in busy:
                thread.join()
            server.close()
    print(json.dumps({"pages": options.pages, "rounds": options.rounds, "tokens_per_s_alone": round(quantile(alone, 0.5), 1),
                      "cost_percent": round(100 * (1 - quantile(ratios, 0.5)), 2),
                      "cost_percent_p10": round(100 * (1 - quantile(ratios, 0.9)), 2),
                      "cost_percent_p90": round(100 * (1 - quantile(ratios, 0.1)), 2),
                      "answers": asked, "answered_200": good}))
    raise SystemExit(0 if good == asked else 1)


if __name__ == "__main__":
    main()
