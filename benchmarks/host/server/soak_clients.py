# SPDX-License-Identifier: Apache-2.0
"""The clients of soak.py: what they ask, how they misbehave, and what counts as an answer.

An action ends as `answered`, `refused` (a status that this request may get, or a connection that the daemon may close) or
`cut` (by the client). All else is a loss and is kept with its reason: another status, a stream without its end or with
fewer tokens than asked for, a connection that ends too early, no answer within PATIENCE_S.
"""

import collections
import contextlib
import random
import socket
import ssl
import struct
import threading
import time

from http_client import AnswerReader, connect, request

PATIENCE_S = 600
BUSY = {429, 503}
WORDS = "Once upon a time there was little girl who saw big dog and they went to the park with red ball".split()
MAX_BODY = 256 * 1024  # as soak.py starts the daemon
CONTEXT = 192
READ_TIMEOUT_S = 10  # as well: a request that takes longer to arrive gets 408


class Tally:
    """What became of the actions. Threads: any."""

    def __init__(self):
        self.lock = threading.Lock()
        self.outcomes = collections.Counter()
        self.by_action = collections.Counter()
        self.losses = []

    def count(self, action, outcome, reason=None):
        with self.lock:
            self.outcomes[outcome] += 1
            self.by_action[action] += 1
            if reason is not None and len(self.losses) < 100:
                self.losses.append(f"{time.strftime('%H:%M:%S')} {action}: {reason}")


class Loss(Exception):
    pass


def text_of(rng, words):
    return " ".join(rng.choice(WORDS) for _ in range(words))


def judge(answer, expected, allowed=frozenset()):
    if answer.status == expected:
        return "answered" if expected < 400 else "refused"
    if answer.status in allowed:
        return "refused"
    raise Loss(f"status {answer.status} instead of {expected}: {answer.body[:300]!r}")


def judge_generated(answer, tokens, allowed):
    """All of the tokens, in a stream up to its mark of the end."""
    outcome = judge(answer, 200, allowed)
    if outcome == "answered":
        if b'"completion_tokens":%d' % tokens not in answer.body:
            raise Loss(f"not {tokens} tokens: {answer.body[-300:]!r}")
        if answer.is_stream and not answer.body.endswith(b"data: [DONE]\n\n"):
            raise Loss(f"a stream without its end: {answer.body[-300:]!r}")
    return outcome


class Client(threading.Thread):
    def __init__(self, number, site, tally, stop):
        super().__init__(daemon=True)
        self.random = random.Random(f"{site.seed}-{number}")
        self.site, self.tally, self.stop = site, tally, stop

    def run(self):
        names, weights = zip(*((name, weight) for name, (weight, _) in ACTIONS.items()))
        while not self.stop.is_set():
            name = self.random.choices(names, weights)[0]
            try:
                self.tally.count(name, ACTIONS[name][1](self))
            except (Loss, OSError, EOFError, ValueError) as error:
                self.tally.count(name, "lost", f"{type(error).__name__} {error}")

    def connect(self):
        if self.random.random() < 0.2:
            return connect(self.site.port, self.site.tls, PATIENCE_S)
        return connect(self.site.unix, None, PATIENCE_S)

    def headers(self):
        """One of the keys, and the statuses that it may get besides."""
        name = self.random.choice(("use", "second", "second", "limited", "rotating"))
        more = {"limited": set(), "rotating": {401}}.get(name, set())
        return {"Authorization": f"Bearer {self.site.keys[name]}"}, BUSY | more

    def generation(self, **fields):
        """(the request as bytes, its tokens, statuses that refuse it)"""
        rng = self.random
        tokens, choices = rng.randint(1, 48), rng.choice((1, 1, 1, 2, 4))
        body = {"max_tokens": tokens, "n": choices, "ignore_eos": True, "temperature": rng.choice((0, 0.8)), **fields}
        text = text_of(rng, rng.randint(1, 60))
        headers, allowed = self.headers()
        if rng.random() < 0.5:
            path, body["messages"] = "/v1/chat/completions", [{"role": "user", "content": text}]
        else:
            path, body["prompt"] = "/v1/completions", text
        if body.get("stream"):
            body["stream_options"] = {"include_usage": True}
        return request("POST", path, body, headers), tokens * choices, allowed

    def end_connection(self, client):
        """By a reset or in order; the socket below, since TLS would wait for the other side."""
        if self.random.random() < 0.5:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()


def send_all(client, data):
    """What a daemon has closed takes no more, but its answer may have come."""
    try:
        client.sendall(data)
    except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
        pass


def plain(client, **fields):
    data, tokens, allowed = client.generation(**fields)
    with client.connect() as connection:
        connection.sendall(data)
        return judge_generated(AnswerReader(connection).answer(), tokens, allowed)


def stream(client):
    return plain(client, stream=True)


def slow_reader(client):
    data, tokens, allowed = client.generation(stream=True)
    with client.connect() as connection:
        connection.sendall(data)
        return judge_generated(AnswerReader(connection, 512, 0.02).answer(), tokens, allowed)


def slow_writer(client):
    data, tokens, allowed = client.generation()
    cuts = sorted(client.random.sample(range(1, len(data)), 8)) + [len(data)]
    with client.connect() as connection:
        begin, begin_s = 0, time.monotonic()
        for cut in cuts:
            send_all(connection, data[begin:cut])  # a refusal may come before the end of the body
            begin = cut
            time.sleep(client.random.uniform(0, 0.2))
        # On a busy machine this client itself may have been too late.
        late = {408} if time.monotonic() - begin_s > READ_TIMEOUT_S / 2 else set()
        return judge_generated(AnswerReader(connection).answer(), tokens, allowed | late)


def cut_stream(client):
    """Leaves after some bytes of the answer, or when none came for a while."""
    data, _, _ = client.generation(stream=True)
    connection = client.connect()
    try:
        connection.sendall(data)
        connection.settimeout(client.random.uniform(0.05, 1))
        left = client.random.randint(0, 6000)
        with contextlib.suppress(TimeoutError):
            while left > 0 and (piece := connection.recv(left)):
                left -= len(piece)
        return "cut"
    finally:
        client.end_connection(connection)


def cut_request(client):
    """Leaves before its request is complete, or before the answer."""
    data, _, _ = client.generation()
    connection = client.connect()
    connection.sendall(data[:client.random.randint(0, len(data))])
    client.end_connection(connection)
    return "cut"


def stalled(client):
    """Never completes its request: 408 or the end of the connection."""
    data, _, _ = client.generation()
    with client.connect() as connection:
        connection.sendall(data[:client.random.randint(1, len(data) - 1)])
        try:
            return judge(AnswerReader(connection).answer(), 408, BUSY | {401})
        except EOFError:
            return "refused"


def keep_alive(client):
    with client.connect() as connection:
        reader = AnswerReader(connection)
        outcomes = set()
        for _ in range(client.random.randint(2, 5)):
            data, tokens, allowed = client.generation()
            connection.sendall(data)
            answer = reader.answer()
            outcomes.add(judge_generated(answer, tokens, allowed))
            if answer.headers.get("connection", "") == "close":
                break
        return "answered" if "answered" in outcomes else "refused"


def pipeline(client):
    requests = [client.generation() for _ in range(3)]
    with client.connect() as connection:
        connection.sendall(b"".join(data for data, _, _ in requests))
        reader = AnswerReader(connection)
        outcomes = set()
        for _, tokens, allowed in requests:
            answer = reader.answer()
            outcomes.add(judge_generated(answer, tokens, allowed))
            if answer.headers.get("connection", "") == "close":
                break
        return "answered" if "answered" in outcomes else "refused"


def tokenize(client):
    headers, allowed = client.headers()
    text = text_of(client.random, client.random.randint(1, 200))
    with client.connect() as connection:
        connection.sendall(request("POST", "/tokenize", {"content": text}, headers))
        reader = AnswerReader(connection)
        answer = reader.answer()
        if judge(answer, 200, allowed) == "refused":
            return "refused"
        connection.sendall(request("POST", "/detokenize", {"tokens": answer.json()["tokens"]}, headers))
        answer = reader.answer()
        outcome = judge(answer, 200, allowed)
        if outcome == "answered" and answer.json()["content"].strip() != text:
            raise Loss(f"another text: {answer.body[:300]!r}")
        return outcome


def probe(client):
    admin = {"Authorization": f"Bearer {client.site.keys['admin']}"}
    path = client.random.choice(("/livez", "/health", "/status", "/metrics", "/v1/models", "/admin/requests"))
    with client.connect() as connection:
        connection.sendall(request("GET", path, None, admin))
        return judge(AnswerReader(connection).answer(), 200, BUSY)


def cancelled(client):
    """An operator ends the stream; whatever had come by then is the answer."""
    name = f"soak-{client.random.getrandbits(64):x}"
    admin = {"Authorization": f"Bearer {client.site.keys['admin']}"}
    data, _, allowed = client.generation(stream=True, n=4, max_tokens=100)
    data = data.replace(b"\r\n", b"\r\nX-Request-Id: %s\r\n" % name.encode(), 1)
    with client.connect() as connection, client.connect() as operator:
        connection.sendall(data)
        operator.sendall(request("POST", "/admin/cancel", {"id": name}, admin))
        judge(AnswerReader(operator).answer(), 200, BUSY | {404})
        return judge(AnswerReader(connection).answer(), 200, allowed | {403})


def bad_request(client):
    """What any server must refuse, with the status that it deserves."""
    key = {"Authorization": f"Bearer {client.site.keys['use']}"}
    path = "/v1/completions"
    kind = client.random.randrange(9)
    data, expected = [
        (request("POST", path, b'{"prompt": "half', key), 400),
        (request("POST", path, b'{"prompt": "\xff\xfe"}', key), 400),
        (request("POST", path, {"prompt": "a", "max_tokens": -1}, key), 400),
        (request("POST", path, {"prompt": "a", "max_tokns": 1}, key), 400),
        (request("POST", path, {"prompt": text_of(client.random, CONTEXT * 4)}, key), 400),
        (request("POST", path, {"prompt": "a", "model": "none"}, key), 404),
        (request("POST", path, {"prompt": "a"}, {"Authorization": "Bearer wrong"}), 401),
        (request("GET", "/none", None, key), 404),
        (request("POST", path, {"prompt": "a"}, {**key, "Content-Type": "text/plain"}), 415),
    ][kind]
    with client.connect() as connection:
        connection.sendall(data)
        return judge(AnswerReader(connection).answer(), expected, BUSY)


def garbage(client):
    """Bytes that are no HTTP, some of them no TLS either: an error or the end of the connection."""
    data = client.random.randbytes(client.random.randint(1, 2000)) + b"\r\n\r\n"
    raw = client.random.random() < 0.2
    with connect(client.site.port, None, PATIENCE_S) if raw else client.connect() as connection:
        try:
            send_all(connection, data)
            if raw:
                while connection.recv(4096):
                    pass
                return "refused"
            return judge(AnswerReader(connection).answer(), 400, BUSY | {404, 405, 408, 414, 431, 501, 505})
        except (EOFError, ConnectionResetError):
            return "refused"


def huge_body(client):
    """Beyond the limit, announced or in chunks."""
    headers, _ = client.headers()
    body = b'{"prompt": "' + b"a" * client.random.choice((MAX_BODY, 4 * MAX_BODY, 20 * MAX_BODY)) + b'"}'
    if client.random.random() < 0.5:
        data = request("POST", "/v1/completions", body, headers)
    else:
        head = request("POST", "/v1/completions", None,
                       {"Transfer-Encoding": "chunked", "Content-Type": "application/json", **headers})
        data = head + b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    with client.connect() as connection:
        send_all(connection, data)
        try:
            return judge(AnswerReader(connection).answer(), 413, BUSY | {401})
        except (ConnectionResetError, EOFError):
            return "refused"  # the daemon reads on for a second only, so that the answer may not arrive


def endless_choices(client):
    """More than a key may take; and more than there is room for, which waits or is refused."""
    headers, allowed = client.headers()
    body = {"prompt": "Once", "n": client.random.choice((8, 16, 1000)), "max_tokens": 100, "ignore_eos": True}
    with client.connect() as connection:
        connection.sendall(request("POST", "/v1/completions", body, headers))
        return judge(AnswerReader(connection).answer(), 200, allowed | {400})


ACTIONS = {  # name: (how often, what is done)
    "plain": (20, plain),
    "stream": (30, stream),
    "keep_alive": (8, keep_alive),
    "pipeline": (3, pipeline),
    "slow_reader": (4, slow_reader),
    "slow_writer": (4, slow_writer),
    "cut_stream": (15, cut_stream),
    "cut_request": (8, cut_request),
    "cancelled": (4, cancelled),
    "stalled": (1, stalled),
    "tokenize": (8, tokenize),
    "probe": (6, probe),
    "bad_request": (8, bad_request),
    "garbage": (4, garbage),
    "huge_body": (1, huge_body),
    "endless_choices": (2, endless_choices),
}
