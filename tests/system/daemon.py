# SPDX-License-Identifier: Apache-2.0
#
# Starts the `tandem` program for the system tests and talks to it, with nothing but the standard library.
#
# TANDEM_BINARY_DIR (set by ctest) names the build tree; cards are emulated unless the machine has some.
import http.client
import json
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import mpi_folder  # noqa: F401
from waiting import wait_for

BUILD = Path(os.environ.get("TANDEM_BINARY_DIR", "build/release"))
SOURCE = Path(__file__).resolve().parents[2]
MODELS = SOURCE.parent / "shared" / "models"
TANDEM = str(BUILD / "bin" / "tandem")


def card_environment(cards=2):
    """The environment that XRT's setup script of the emulation gives."""
    environment = dict(os.environ)
    setup = BUILD / "xrt" / "setup.sh"
    if not setup.exists():
        raise unittest.SkipTest("this build has no emulated cards")
    lines = subprocess.run(
        ["bash", "-c", f"source '{setup}' >/dev/null && env -0"], env=environment, capture_output=True, check=True
    ).stdout.split(b"\0")
    for line in lines:
        name, _, value = line.decode().partition("=")
        environment[name] = value
    environment["XCL_EMULATION_MODE"] = "sw_emu"
    environment["TANDEM_CARDS"] = str(cards)
    return environment


def run(*arguments, environment=None, timeout=1200):
    """Runs `tandem ARGUMENTS`; returns the finished process with its text."""
    return subprocess.run(
        [TANDEM, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
        env=environment or dict(os.environ), stdin=subprocess.DEVNULL,
    )


def run_command(*arguments, **options):
    """Runs any program, which must end well; returns its output."""
    process = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, **options)
    if process.returncode != 0:
        raise AssertionError(f"{arguments} ended with {process.returncode}:\n{process.stdout}{process.stderr}")
    return process.stdout


def run_json(*arguments, environment=None, timeout=1200):
    process = run(*arguments, "--json", environment=environment, timeout=timeout)
    if process.returncode != 0:
        raise AssertionError(f"tandem {arguments} ended with {process.returncode}:\n{process.stderr}")
    return json.loads(process.stdout)


class Daemon:
    """A `tandem serve` on a free port of the loopback interface; a context manager."""

    def __init__(self, *arguments, cards=0):
        self.arguments = list(map(str, arguments))
        self.environment = card_environment(cards) if cards else dict(os.environ)

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        port_file = Path(self.directory.name) / "port"
        self.log_path = Path(self.directory.name) / "log"
        self.log = open(self.log_path, "wb")
        self.process = subprocess.Popen(
            [TANDEM, "serve", "--port", "0", "--port-file", str(port_file), *self.arguments],
            stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=self.environment,
        )
        log = lambda: ":\n" + self.log_path.read_text()
        wait_for(lambda: self.process.poll() is not None or port_file.exists() and port_file.read_text().strip(),
                 "the daemon listens", pause=0.1, more=log)
        if self.process.poll() is not None:
            raise AssertionError("the daemon ended at once" + log())
        self.port = int(port_file.read_text())
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        self.log_text = self.log_path.read_text()
        self.directory.cleanup()

    def connection(self, timeout=1200):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None):
        """(status, headers, decoded body)"""
        connection = self.connection()
        data = json.dumps(body) if isinstance(body, (dict, list)) else body
        connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        try:
            return response.status, dict(response.getheaders()), json.loads(text)
        except ValueError:
            return response.status, dict(response.getheaders()), text

    def complete(self, prompt, **fields):
        status, _, body = self.request("POST", "/v1/completions", {"model": "tandem-stories", "prompt": prompt, **fields})
        if status != 200:
            raise AssertionError(f"{status}: {body}")
        return body

    def stream(self, path, body):
        """Yields the JSON objects of a server-sent event stream."""
        connection = self.connection()
        connection.request("POST", path, json.dumps({**body, "stream": True}), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise AssertionError(f"{response.status}: {response.read()}")
        for line in response:
            line = line.strip()
            if line == b"data: [DONE]":
                connection.close()
                return
            if line.startswith(b"data: "):
                yield json.loads(line[6:])
        raise AssertionError("the stream ended without [DONE]")

    def status(self):
        return self.request("GET", "/status")[2]

    def card_processes(self):
        """Process ids of this daemon's emulated cards."""
        wanted = f"tandem-card\0--application\0{self.process.pid}\0".encode()
        pids = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cmdline").read_bytes() == wanted:
                    pids.append(int(process.name))
            except OSError:
                pass
        return sorted(pids)
