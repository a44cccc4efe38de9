# SPDX-License-Identifier: Apache-2.0
"""Time to first token of one API key while another key takes all that it can get.

    build/release/bin/tandem-random-model /tmp/small.gguf --layers 4 --width 128 --q-heads 4 --kv-heads 2 \\
        --head-dim 32 --ffn 344 --vocab 1024 --context 1024 --type f32
    python3 benchmarks/host/server/two_keys.py [--model /tmp/small.gguf] [--against OLD]

The greedy key streams from --clients clients; each asks for --choices choices that last until the context is full, and
asks again when they end. The other key asks for --tokens tokens, one request after the other with a pause between them, and
reads every stream to its end. Every round takes samples with the greedy key absent ("alone") and at work ("beside"), for
each length of prompt. The tokens/s of the greedy key are taken while the other key is absent and while it asks. One JSON line
per program and length of prompt; times in ms. Without --model: the demo model. Standard library only.
"""

import argparse
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENDLESS = 1 << 20  # tokens: the context ends it
SLOTS = 64  # the daemon's --max-running
VOCABULARY = range(3, 903)  # ids that the demo model and the model above have


def quantile(values, q):
    return sorted(values)[int(q * (len(values) - 1) + 0.5)]


def send(port, key, method, path, body=None):
    data = b"" if body is None else json.dumps(body).encode()
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(b"%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\n"
                   b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                   % (method.encode(), path.encode(), key.encode(), len(data)) + data)
    return client


def complete(port, key, prompt, tokens, choices=1):
    return send(port, key, "POST", "/v1/completions",
                {"prompt": prompt, "max_tokens": tokens, "n": choices, "ignore_eos": True, "stream": True})


class Server:
    def __init__(self, name, program, options, directory):
        self.name, self.program = name, program
        keys, port_file = Path(directory) / f"{name}.keys", Path(directory) / f"{name}.port"
        keys.touch(mode=0o600)
        self.greedy, self.other = self.make_key("greedy", "use", keys), self.make_key("polite", "use", keys)
        self.admin = self.make_key("admin", "admin", keys)
        model = ["--model", options.model] if options.model else []
        self.log = open(Path(directory) / f"{name}.log", "wb")
        self.process = subprocess.Popen(
            [program, "serve", "--port", "0", "--port-file", port_file, "--attention", "cpu", "--api-keys", keys,
             *model, *options.options.split()],
            stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        for _ in range(1200):
            if port_file.exists():
                self.port = int(port_file.read_text())
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"{name} does not listen:\n" + Path(self.log.name).read_text()[-2000:])

    def make_key(self, name, role, file):
        made = subprocess.run([self.program, "key", "--name", name, "--role", role, "--json"], check=True,
                              capture_output=True, text=True)
        entry = json.loads(made.stdout)
        with file.open("a") as out:
            out.write(f'[[key]]\nname = "{name}"\nhash = "{entry["hash"]}"\nrole = "{role}"\n')
        return entry["key"]

    def get(self, path):
        with send(self.port, self.admin, "GET", path) as client:
            answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"{self.name}: GET {path}: {answer[:300]!r}")
        return json.loads(answer.partition(b"\r\n\r\n")[2])

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.log.close()


class Greedy:
    """The greedy key's clients, in a process of their own. In `with`: at work."""

    def __init__(self, server, options):
        self.server, self.options = server, options

    def __enter__(self):
        self.child = os.fork()
        if self.child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                self.ask_for_ever()
            finally:
                os._exit(1)
        wanted = min(self.options.clients * self.options.choices, SLOTS)
        self.wait_for_running(range(wanted * 3 // 4, SLOTS + 1))
        return self

    def __exit__(self, *_):
        os.kill(self.child, signal.SIGTERM)
        os.waitpid(self.child, 0)
        self.wait_for_running([0])

    def wait_for_running(self, wanted):
        end = time.monotonic() + 60
        while (running := self.server.get("/status")["running"]) not in wanted:
            if time.monotonic() > end:
                raise SystemExit(f"{self.server.name}: the greedy key has {running} choices running, not {wanted}")
            time.sleep(0.02)

    def ask_for_ever(self):
        selector, random_ = selectors.DefaultSelector(), random.Random(os.getpid())

        def ask():
            prompt = [random_.choice(VOCABULARY) for _ in range(8)]
            client = complete(self.server.port, self.server.greedy, prompt, ENDLESS, self.options.choices)
            selector.register(client, selectors.EVENT_READ)

        for _ in range(self.options.clients):
            ask()
        while True:
            for key, _ in selector.select():
                if not key.fileobj.recv(1 << 18):
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                    ask()


def first_token_ms(server, prompt, tokens):
    begin = time.perf_counter()
    first, data = None, bytearray()
    with complete(server.port, server.other, prompt, tokens) as client:
        while piece := client.recv(1 << 16):
            if first is None and b"data: {" in piece:
                first = time.perf_counter()
            data += piece
    if first is None or b"data: [DONE]" not in data or b'"error"' in data:
        raise SystemExit(f"{server.name}: a stream is not complete:\n{data[-500:].decode(errors='replace')}")
    return (first - begin) * 1e3


def take_samples(server, options, length, number, random_):
    times = []
    for _ in range(number):
        time.sleep(random_.uniform(0.5, 1.5) * options.pause / 1e3)
        times.append(first_token_ms(server, [random_.choice(VOCABULARY) for _ in range(length)], options.tokens))
    return times


class Rate:
    """In `with`: counts the tokens that the server generates."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.tokens, self.begin = -self.server.get("/status")["generated_tokens"], time.perf_counter()
        return self

    def __exit__(self, *_):
        self.tokens += self.server.get("/status")["generated_tokens"]
        self.seconds = time.perf_counter() - self.begin


def round_of(server, options, seen, random_):
    per_round = -(-options.samples // options.rounds)
    for length in options.prompts:
        seen[length]["alone"] += take_samples(server, options, length, per_round, random_)
    with Greedy(server, options):
        for length in options.prompts:
            with Rate(server) as rate:
                time.sleep(options.seconds)
            seen[length]["rate_alone"].append(rate.tokens / rate.seconds)
            with Rate(server) as rate:
                seen[length]["beside"] += take_samples(server, options, length, per_round, random_)
            seen[length]["rate_beside"].append((rate.tokens - per_round * options.tokens) / rate.seconds)


def report(options, server, length, seen):
    median = {phase: quantile(seen[phase], 0.5) for phase in ("alone", "beside")}
    p99 = {phase: quantile(seen[phase], 0.99) for phase in ("alone", "beside")}
    print(json.dumps({
        "name": "server/two_keys", "program": server.name, "prompt_tokens": length, "samples": len(seen["beside"]),
        "load_1_minute": os.getloadavg()[0],
        "alone_p50_ms": median["alone"], "alone_p99_ms": p99["alone"],
        "beside_p50_ms": median["beside"], "beside_p99_ms": p99["beside"],
        "ratio_p50": median["beside"] / median["alone"], "ratio_p99": p99["beside"] / p99["alone"],
        "greedy_alone_tokens_per_s": quantile(seen["rate_alone"], 0.5),
        "greedy_beside_tokens_per_s": quantile(seen["rate_beside"], 0.5), "command": " ".join(sys.argv)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--against", help="another build of the program, measured in turns")
    parser.add_argument("--options", default="", help="further options of `tandem serve`, as one word")
    parser.add_argument("--clients", type=int, default=8, help="of the greedy key")
    parser.add_argument("--choices", type=int, default=16, help="of each of its requests")
    parser.add_argument("--prompts", type=int, nargs="+", default=[16, 200], help="tokens of the other key's prompts")
    parser.add_argument("--tokens", type=int, default=8, help="that the other key asks for")
    parser.add_argument("--pause", type=float, default=20, help="between its requests, in ms on average")
    parser.add_argument("--samples", type=int, default=60, help="with and without the greedy key, each")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=1, help="of a measurement of the greedy key alone")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # not without the servers
    programs = {"tandem": options.tandem, **({"against": options.against} if options.against else {})}
    random_ = random.Random(1)
    with tempfile.TemporaryDirectory() as directory:
        servers = []
        try:
            for name, program in programs.items():
                servers.append(Server(name, program, options, directory))
            phases = ("alone", "beside", "rate_alone", "rate_beside")
            seen = {server: {length: {phase: [] for phase in phases} for length in options.prompts} for server in servers}
            for server in servers:
                take_samples(server, options, 16, 20, random_)
            for _ in range(options.rounds):
                for server in servers:
                    round_of(server, options, seen[server], random_)
        finally:
            for server in servers:
                server.close()
    for server in servers:
        for length in options.prompts:
            report(options, server, length, seen[server][length])


main()
