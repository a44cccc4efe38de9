# SPDX-License-Identifier: Apache-2.0
"""Streaming clients against `tandem serve` and against the peer's server, in turns.

    peer/bin/pip install --no-binary llama-cpp-python 'llama-cpp-python[server]'
    python3 benchmarks/peer/serve.py --python peer/bin/python --tandem build/release/bin/tandem

Both servers run throughout and only one of them has work at a time. A sample is one round of all clients at
once: each streams one completion of --tokens tokens; the prompts differ. A round's figures are all tokens over the
time from the first request to the last token, and the gaps between the pieces of each stream, of which the median and the
99th percentile count; the time to the first piece stands beside them, since a server that answers one request after
the other has short gaps and long waits. Every stream must be complete: as many pieces as tokens, or the usage that
the server states, and an ending for length or at the end of the text. Standard library only.
"""

import argparse
import asyncio
import functools
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "host" / "server"))
from http_client import request
from servers import Server, free_port, print_json, quantile, rounds_in_turns, start_all, summary

ANIMALS = ["dog", "cat", "bird", "bear", "rabbit", "fish", "frog", "duck", "mouse", "horse", "cow", "pig", "fox", "lion",
           "sheep", "bee"]
NAMES = ["Tom", "Lily", "Max", "Lucy", "Ben", "Sam", "Mia", "Anna", "Jack", "Spot", "Sue", "Tim", "Amy", "Bob", "Kitty",
         "Leo", "Daisy", "Sara", "Billy", "Fluffy"]
EXTRA_FIELDS = {"tandem": {"stream_options": {"include_usage": True}}, "peer": {}}
PLACES = ["in the park", "in the garden", "near a big tree", "by the lake", "in the forest", "on a farm"]


def prompt_of(number, client):
    """Another beginning for every round and client, from which the demo model tells on."""
    at = number * 16 + client
    animal, name = ANIMALS[at % len(ANIMALS)], NAMES[at // len(ANIMALS) % len(NAMES)]
    return (f"Once upon a time there was a little {animal} named {name}. One day {name} was playing "
            f"{PLACES[at % len(PLACES)]}")


class Stream:
    """What one client saw."""

    def __init__(self):
        self.times, self.text, self.finish, self.usage = [], "", None, None

    def take(self, event):
        if event.get("usage"):
            self.usage = event["usage"]["completion_tokens"]
        for choice in event.get("choices", []):
            if choice.get("finish_reason"):
                self.finish = choice["finish_reason"]
            if choice.get("text"):
                self.times.append(time.perf_counter())
                self.text += choice["text"]


async def events(reader):
    """The JSON objects of a server-sent event stream, chunked or not."""
    status = await reader.readline()
    if b" 200 " not in status:
        raise SystemExit(f"{status!r} {await reader.read(2000)!r}")
    while (await reader.readline()).strip():
        pass
    async for line in reader:
        line = line.strip()
        if line == b"data: [DONE]":
            return
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])
    raise SystemExit("a stream ended without [DONE]")


async def client(server, prompt, tokens):
    stream = Stream()
    body = {"model": "bench", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True,
            **EXTRA_FIELDS[server.name]}
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 20)
    writer.write(request("POST", "/v1/completions", body, {"Connection": "close"}))
    async for event in events(reader):
        stream.take(event)
    writer.close()
    return stream


def check(server, stream, tokens):
    """The tokens of a complete stream; a stream that is not ends the run."""
    count = stream.usage if stream.usage is not None else len(stream.times)
    if stream.finish not in ("length", "stop"):
        raise SystemExit(f"{server.name}: a stream ended with {stream.finish}")
    if stream.finish == "length" and abs(count - tokens) > 1:
        raise SystemExit(f"{server.name}: {count} of {tokens} tokens came")
    if not stream.text or len(stream.times) < 2:
        raise SystemExit(f"{server.name}: an answer without text to time")
    return count


def round_of(server, options, number):
    async def all_clients():
        prompts = [prompt_of(number, i) for i in range(options.clients)]
        return await asyncio.gather(*(client(server, prompt, options.tokens) for prompt in prompts))

    start = time.perf_counter()
    streams = asyncio.run(all_clients())
    seconds = time.perf_counter() - start
    counts = [check(server, stream, options.tokens) for stream in streams]
    gaps = [b - a for stream in streams for a, b in zip(stream.times, stream.times[1:])]
    return {
        "tokens_per_s": sum(counts) / seconds,
        "gap_p50_ms": quantile(gaps, 0.5) * 1e3, "gap_p99_ms": quantile(gaps, 0.99) * 1e3,
        "first_p50_ms": quantile([stream.times[0] - start for stream in streams], 0.5) * 1e3,
    }


def start_servers(options, directory):
    model, ports = options.model, (free_port(), free_port())
    # Both end at the end-of-text token: a bias against it would cost the peer a pass in Python per token.
    commands = {
        "tandem": [options.tandem, "serve", "--model", model, "--port", ports[0], "--attention", "cpu",
                   "--no-prefix-cache", "--model-name", "bench", *options.tandem_options.split()],
        "peer": [options.python, "-m", "llama_cpp.server", "--model", model, "--port", ports[1],
                 "--interrupt_requests", "false", "--n_threads", options.threads,
                 "--n_threads_batch", options.threads, "--n_ctx", options.context, "--verbose", "false",
                 *options.peer_options.split()]}
    return start_all([functools.partial(Server, name, command, directory, port)
                      for (name, command), port in zip(commands.items(), ports)])


def report(options, rounds):
    result = {"name": f"peer/serve_{options.clients}_clients", "samples": len(rounds["tandem"]),
              "tokens": options.tokens, "model": Path(options.model).name}
    for figure in ("tokens_per_s", "gap_p50_ms", "gap_p99_ms", "first_p50_ms"):
        ours, theirs = ([one[figure] for one in rounds[name]] for name in ("tandem", "peer"))
        result[figure] = {"tandem": summary(ours), "peer": summary(theirs),
                          "ratio": summary([a / b for a, b in zip(ours, theirs)])}
    if options.json:
        return print_json(result)
    print(f"{options.clients} clients, {options.tokens} tokens each, {result['samples']} rounds of {result['model']}")
    form = "| {:<24} | {:>10} | {:>10} | {:>6} | {:>14} |"
    print(form.format("median of the rounds", "Tandem", "peer", "ratio", "p10 .. p90"))
    print("|---|---|---|---|---|")
    for figure, words in (("tokens_per_s", "tokens/s"), ("gap_p50_ms", "gap, median, ms"), ("gap_p99_ms", "gap, p99, ms"),
                          ("first_p50_ms", "first piece, median, ms")):
        row = result[figure]
        print(form.format(words, f"{row['tandem']['median']:.2f}", f"{row['peer']['median']:.2f}",
                          f"{row['ratio']['median']:.2f}", f"{row['ratio']['p10']:.2f} .. {row['ratio']['p90']:.2f}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="default: the demo model beside --tandem")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has llama-cpp-python[server]")
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--tandem-options", default="", help="further options of `tandem serve`, as one word")
    parser.add_argument("--peer-options", default="", help="further options of the peer's server, as one word")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.model:
        options.model = Path(options.tandem).resolve().parents[1] / "share/tandem/models/tandem-stories-q8_0.gguf"
    with tempfile.TemporaryDirectory() as directory:
        servers = start_servers(options, directory)
        rounds = rounds_in_turns(servers, options.samples, lambda one, number: round_of(one, options, number))
    report(options, rounds)


main()
