# SPDX-License-Identifier: Apache-2.0
"""Streaming clients against `tandem serve`, of one program, or in turns of two or of two choices of options.

    build/release/bin/tandem-random-model /tmp/small.gguf --layers 4 --width 128 --q-heads 4 --kv-heads 2 \\
        --head-dim 32 --ffn 344 --vocab 1024 --context 1024 --type f32
    python3 benchmarks/host/server/streams.py --model /tmp/small.gguf --tandem build/release/bin/tandem --against OLD

A round: all clients begin at once, and each asks --requests times, one request after the other, for --tokens tokens; all
streams must be complete. Its figures: all tokens over the time from the first request to the last token; the times to
the first piece; the gaps between pieces of a stream. The table has the median of the rounds, and the least and the most of them. One thread reads all sockets and
parses nothing, so that the clients take little of the machine. Standard library only.
"""

import argparse
import functools
import os
import pathlib
import selectors
import sys
import tempfile
import time

from http_client import connect, request
from servers import WARM_ROUNDS, Server, print_json, quantile, rounds_in_turns, start_all

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from progress import Progress


def server(name, program, words, options, directory):
    command = [program, "serve", "--model", options.model, "--port", "0", "--port-file", Server.PORT_FILE,
               "--attention", "cpu", "--model-name", "bench", *words.split()]
    return Server(name, command, directory)


class Stream:
    """What one client saw: when pieces came, and the bytes."""

    def __init__(self, port, prompt, tokens):
        data = request("POST", "/v1/completions",
                       {"model": "bench", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
                        "stream": True, "stream_options": {"include_usage": True}}, {"Connection": "close"})
        self.times, self.data = [], bytearray()
        self.socket = connect(port)
        self.socket.setblocking(False)
        self.begin = time.perf_counter()
        self.socket.sendall(data)

    def read(self):
        """False at the end."""
        piece = self.socket.recv(1 << 16)
        if b"data: {" in piece:
            self.times.append(time.perf_counter())
        self.data += piece
        return bool(piece)

    def check(self, tokens):
        if b'"completion_tokens":%d' % tokens not in self.data or b"data: [DONE]" not in self.data:
            raise SystemExit(f"a stream is not complete:\n{self.data[-500:].decode(errors='replace')}")


def round_of(server, options, number):
    start = time.perf_counter()
    prompts = [[3 + (number * 7919 + client * 104729 + i * 31) % 900 for i in range(options.prompt)]
               for client in range(options.clients)]
    waiting = [[prompts[client][i % options.prompt:] + prompts[client][: i % options.prompt]
                for i in range(options.requests)] for client in range(options.clients)]
    streams = []
    with selectors.DefaultSelector() as selector:
        def ask(client):
            if waiting[client]:
                streams.append(Stream(server.port, waiting[client].pop(), options.tokens))
                selector.register(streams[-1].socket, selectors.EVENT_READ, (client, streams[-1]))

        for client in range(options.clients):
            ask(client)
        while selector.get_map():
            for key, _ in selector.select(120):
                client, stream = key.data
                if not stream.read():
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                    ask(client)
    seconds = time.perf_counter() - start
    for stream in streams:
        stream.check(options.tokens)
    firsts = [stream.times[0] - stream.begin for stream in streams]
    gaps = [b - a for stream in streams for a, b in zip(stream.times, stream.times[1:])] or [0.0]
    return {"tokens_per_s": len(streams) * options.tokens / seconds,
            "first_p50_ms": quantile(firsts, 0.5) * 1e3, "first_p99_ms": quantile(firsts, 0.99) * 1e3,
            "gap_p99_ms": quantile(gaps, 0.99) * 1e3, "gap_most_ms": max(gaps) * 1e3}


def report(options, rounds):
    if options.json:
        for name, ours in rounds.items():
            figures = {key: quantile([one[key] for one in ours], 0.5) for key in ours[0]}
            print_json({"name": f"server/streams_{options.clients}", "program": name, "samples": len(ours), **figures})
        return
    print(f"{options.clients} clients, {options.requests} times {options.tokens} tokens each, {options.samples} rounds, load {os.getloadavg()[0]:.1f} on "
          f"{len(os.sched_getaffinity(0))} cores: median (least .. most)")
    names = list(rounds)
    print("| figure | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for key in rounds[names[0]][0]:
        cells = []
        for name in names:
            values = [one[key] for one in rounds[name]]
            cells.append(f"{quantile(values, 0.5):.1f} ({min(values):.1f} .. {max(values):.1f})")
        print(f"| {key} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--against", help="another build of the program, measured in turns")
    parser.add_argument("--options", default="", help="further options of `tandem serve`, as one word")
    parser.add_argument("--against-options", help="other further options, measured in turns")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=16, help="tokens of a prompt")
    parser.add_argument("--requests", type=int, default=8, help="of a client in a round")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--warm", type=int, default=WARM_ROUNDS, help="rounds before the samples")
    parser.add_argument("--seconds", type=float, help="no further round begins that would end after this time")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    servers = {"tandem": (options.tandem, options.options)}
    if options.against or options.against_options is not None:
        words = options.options if options.against_options is None else options.against_options
        servers["against"] = (options.against or options.tandem, words)
    with tempfile.TemporaryDirectory() as directory:
        started = start_all([functools.partial(server, name, program, words, options, directory)
                             for name, (program, words) in servers.items()])
        progress = Progress("streams, rounds", options.warm + options.samples, options.seconds)
        rounds = rounds_in_turns(started, options.samples, lambda one, number: round_of(one, options, number), options.warm,
                                 progress)
        progress.end()
    report(options, rounds)


main()
