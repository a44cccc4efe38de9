# SPDX-License-Identifier: Apache-2.0
"""Servers that a benchmark starts, what they hold, and rounds of several of them in turns.

A server is a process that is ready when its port file is there or, without one, when its port takes connections.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

WARM_ROUNDS = 2


def quantile(values, q):
    return sorted(values)[int(q * (len(values) - 1) + 0.5)]


def summary(values):
    return {"median": quantile(values, 0.5), "p10": quantile(values, 0.1), "p90": quantile(values, 0.9)}


def memory_of(pid):
    """Bytes of a process: {"VmRSS": ..., "RssAnon": ..., ...}"""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: int(value.split()[0]) * 1024 for name, value in (line.split(":", 1) for line in lines)
            if value.endswith(" kB")}


def resident_bytes(pid):
    return memory_of(pid)["VmRSS"]


def make_certificate(cert, key):
    """A self-signed certificate of this machine as two PEM files."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", key, "-out", cert], check=True, capture_output=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """Either `port` is known, or the command contains PORT_FILE, the place of a file that the server writes."""

    PORT_FILE = object()

    def __init__(self, name, command, directory, port=None, environment=None):
        self.name, self.port = name, port
        self.log_path = Path(directory) / f"{name}.log"
        self.log = open(self.log_path, "wb")
        self.port_file = Path(directory) / f"{name}.port"
        words = [str(self.port_file if word is self.PORT_FILE else word) for word in command]
        self.process = subprocess.Popen(words, stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                        env=environment)
        for _ in range(12_000):
            if self._is_ready():
                return
            if self.process.poll() is not None:
                raise SystemExit(f"{name} ended at once:\n{self.tail()}")
            time.sleep(0.05)
        self.close()
        raise SystemExit(f"{name} does not listen after ten minutes:\n{self.tail()}")

    def _is_ready(self):
        if self.port is None:
            if not self.port_file.exists():
                return False
            self.port = int(self.port_file.read_text())
            return True
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def tail(self):
        return self.log_path.read_text(errors="replace")[-2000:]

    def close(self):
        """Ends it in order, if it does so within ten minutes; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(600)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        return self.process.returncode


def rounds_in_turns(servers, samples, round_of, warm=WARM_ROUNDS, progress=None):
    """{name: what round_of(server, number) gave}, one round of each server after the other. Closes the servers.

    The first rounds, with negative numbers, warm the servers and do not count. `progress`: steps once for every number,
    and its time limit ends the rounds.
    """
    rounds = {server.name: [] for server in servers}
    try:
        for number in range(-warm, samples):
            if number > 0 and progress and progress.is_over():
                break
            for server in servers:
                one = round_of(server, number)
                if number >= 0:
                    rounds[server.name].append(one)
            if progress:
                progress.step()
    finally:
        for server in servers:
            server.close()
    return rounds


def exit_on_sigterm():
    """As an exception, so that servers are closed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))


def start_all(makers):
    """The servers that the functions make; none of them stays where one fails."""
    exit_on_sigterm()
    servers = []
    try:
        for make in makers:
            servers.append(make())
    except BaseException:
        for server in servers:
            server.close()
        raise
    return servers


def print_json(figures):
    """With what every figure needs: the machine's load and the command."""
    print(json.dumps({**figures, "load_1_minute": os.getloadavg()[0], "command": " ".join(sys.argv)}))
