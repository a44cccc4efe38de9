# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as the benchmarks speak it: requests as bytes, sockets to the daemon, whole answers read from them.

The bytes are in the caller's hands, so that it can send half of them or read slowly. Standard library only.
"""

import json
import socket
import ssl
import time


def request(method, path, body=None, headers=None):
    """A request as bytes. A body that is no bytes is written as JSON."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if body is not None:
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": len(body), **(headers or {})}
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


def connect(address, tls=None, timeout=120):
    """A socket to a port of this machine or to the path of a Unix socket."""
    if isinstance(address, int):
        client = socket.create_connection(("127.0.0.1", address), timeout=timeout)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    else:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(timeout)
        client.connect(str(address))
    try:
        return tls.wrap_socket(client) if tls else client
    except BaseException:
        client.close()
        raise


def unverified_tls():
    """For certificates that a benchmark has made itself."""
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    return tls


class Answer:
    def __init__(self, head):
        first, *fields = head.split(b"\r\n")
        self.status = int(first.split(b" ")[1])
        pairs = (field.split(b":", 1) for field in fields)
        self.headers = {name.strip().lower().decode(): value.strip().decode() for name, value in pairs}
        self.body = b""

    def json(self):
        return json.loads(self.body)

    @property
    def is_stream(self):
        return self.headers.get("content-type", "").startswith("text/event-stream")


class AnswerReader:
    """Reads one answer after the other from a socket.

    `piece` bytes at most at a time, with a pause after each. Raises EOFError where the connection ends before the answer.
    """

    def __init__(self, client, piece=65536, pause=0.0):
        self.client, self.piece, self.pause = client, piece, pause
        self.left = b""

    def _more(self):
        data = self.client.recv(self.piece)
        if not data:
            raise EOFError(f"the connection ended after {len(self.left)} bytes of what was to come")
        self.left += data
        if self.pause:
            time.sleep(self.pause)

    def _until(self, mark):
        while mark not in self.left:
            self._more()
        taken, _, self.left = self.left.partition(mark)
        return taken

    def _exactly(self, count):
        while len(self.left) < count:
            self._more()
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def _chunks(self):
        pieces = []
        while size := int(self._until(b"\r\n").split(b";")[0], 16):
            pieces.append(self._exactly(size))
            self._exactly(2)
        self._until(b"\r\n")
        return b"".join(pieces)

    def answer(self):
        answer = Answer(self._until(b"\r\n\r\n"))
        if answer.headers.get("transfer-encoding") == "chunked":
            answer.body = self._chunks()
        elif "content-length" in answer.headers:
            answer.body = self._exactly(int(answer.headers["content-length"]))
        return answer


def ask(address, data, tls=None, timeout=120):
    """Sends the bytes of a request on a new connection; the whole answer."""
    with connect(address, tls, timeout) as client:
        client.sendall(data)
        return AnswerReader(client).answer()
