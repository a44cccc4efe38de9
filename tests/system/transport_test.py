# SPDX-License-Identifier: Apache-2.0
#
# The daemon's sockets, driven by programs that nobody here wrote: curl, openssl, ip. TLS, a Unix socket, sockets of the
# service manager, probes while every connection is held, clients that vanish, limits of the system.
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from daemon import TANDEM, Daemon, run_command

PATIENCE = 600


def curl(*arguments, check=True):
    process = subprocess.run(
        ["curl", "-sS", "--noproxy", "*", "--max-time", str(PATIENCE), *map(str, arguments)], capture_output=True, text=True
    )
    if check and process.returncode != 0:
        raise AssertionError(f"curl {arguments} ended with {process.returncode}: {process.stderr}")
    return process.stdout if check else process


def eventually(condition):
    for _ in range(PATIENCE * 10):
        if condition():
            return True
        time.sleep(0.1)
    return False


def refused(*arguments, **options):
    """What `tandem serve` says that refuses to start."""
    process = subprocess.run(
        [TANDEM, "serve", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
        **options,
    )
    if process.returncode != 2:
        raise AssertionError(f"ended with {process.returncode}: {process.stderr}")
    return process.stderr


class InFolder(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = Path(directory.name)


@unittest.skipUnless(shutil.which("openssl") and shutil.which("curl"), "needs openssl and curl")
class Tls(InFolder):
    def setUp(self):
        super().setUp()
        self.files = ["--tls-cert", self.folder / "cert.pem", "--tls-key", self.folder / "key.pem"]
        run_command(
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", self.folder / "key.pem", "-out", self.folder / "cert.pem",
        )

    def test_curl_completes_and_streams(self):
        with Daemon(*self.files) as daemon:
            body = '{"prompt": "Once", "max_tokens": 20, "temperature": 0, "model": "tandem-stories", "stream": %s}'
            for stream in ("false", "true"):
                answer = curl(
                    "--cacert", self.folder / "cert.pem", f"https://127.0.0.1:{daemon.port}/v1/completions",
                    "-H", "Content-Type: application/json", "-d", body % stream,
                )
                self.assertIn('"text"', answer)
            self.assertTrue(answer.rstrip().endswith("data: [DONE]"))
            plain = curl(f"http://127.0.0.1:{daemon.port}/livez", check=False)
            self.assertNotEqual(plain.returncode, 0)

    def test_openssl_sees_only_safe_versions(self):
        with Daemon(*self.files) as daemon:
            def handshake(*options):
                return subprocess.run(
                    ["openssl", "s_client", "-connect", f"127.0.0.1:{daemon.port}", "-CAfile", str(self.folder / "cert.pem"),
                     "-verify_return_error", *options], input="", capture_output=True, text=True, timeout=PATIENCE,
                ).returncode == 0
            self.assertTrue(handshake("-tls1_2"))
            self.assertTrue(handshake("-tls1_3"))
            self.assertFalse(handshake("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"))
            self.assertFalse(handshake("-tls1", "-cipher", "ALL:@SECLEVEL=0"))

    def test_a_key_that_does_not_fit_is_refused(self):
        run_command("openssl", "genrsa", "-out", self.folder / "key.pem", "2048")
        self.assertIn("is not that of the certificate", refused("--port", 0, *self.files))
        self.assertIn("needs both --tls-cert and --tls-key", refused("--port", 0, *self.files[:2]))


@unittest.skipUnless(shutil.which("curl"), "needs curl")
class UnixSocket(InFolder):
    def test_curl_is_answered_and_a_killed_daemon_leaves_nothing_in_the_way(self):
        path = self.folder / "tandem.sock"
        with Daemon("--unix", path) as daemon:
            self.assertIn('"tandem-stories"', curl("--unix-socket", path, "http://localhost/v1/models"))
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            self.assertIn("another process listens there", refused("--host", "none", "--unix", path))
            daemon.process.kill()
            daemon.process.wait()
        self.assertTrue(path.is_socket())
        with Daemon("--unix", path, "--unix-mode", "660"):
            self.assertIn('"tandem-stories"', curl("--unix-socket", path, "http://localhost/v1/models"))
            self.assertEqual(path.stat().st_mode & 0o777, 0o660)
        self.assertFalse(path.exists())

    def test_a_file_that_is_no_socket_stays(self):
        path = self.folder / "notes.txt"
        path.write_text("precious")
        self.assertIn("not a socket", refused("--port", 0, "--unix", path))
        self.assertEqual(path.read_text(), "precious")

    def test_a_mode_that_is_none_is_refused(self):
        self.assertIn("'9' is not a mode in octal", refused("--unix", self.folder / "s", "--unix-mode", "9"))


@unittest.skipUnless(shutil.which("curl"), "needs curl")
class ServiceManager(InFolder):
    def test_sockets_of_the_service_manager_are_used(self):
        """As systemd starts a service: the sockets are open before, and take what comes meanwhile."""
        path = self.folder / "tandem.sock"
        tcp = socket.create_server(("127.0.0.1", 0))
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(str(path))
        unix.listen()
        early = socket.create_connection(tcp.getsockname())
        early.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        high = [fcntl.fcntl(one.fileno(), fcntl.F_DUPFD, 20) for one in (tcp, unix)]  # out of the way of 3 and 4
        script = f'exec 3<&{high[0]} 4<&{high[1]}; LISTEN_PID=$$ LISTEN_FDS=2 exec "$@"'
        process = subprocess.Popen(
            ["bash", "-c", script, "bash", TANDEM, "serve", "--host", "192.0.2.1"], pass_fds=high,
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for one in (tcp, unix):
            self.addCleanup(one.close)
        for descriptor in high:
            os.close(descriptor)
        try:
            early.settimeout(PATIENCE)
            with early:
                self.assertIn(b"200 OK", early.recv(4096))
            self.assertIn("ok", curl(f"http://127.0.0.1:{tcp.getsockname()[1]}/readyz"))
            self.assertIn("ok", curl("--unix-socket", path, "http://localhost/readyz"))
        finally:
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE), 0)
        self.assertTrue(path.is_socket(), "the file belongs to the service manager")


class Probes(InFolder):
    def test_answer_while_idle_clients_hold_everything(self):
        with Daemon("--max-connections", 4) as daemon:
            held = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(200)]
            for path in ("/livez", "/readyz", "/health"):
                self.assertEqual(daemon.request("GET", path)[0], 200, path)
            self.assertEqual(daemon.request("GET", "/v1/models")[0], 503)
            for client in held:
                client.close()

    def test_a_hanging_card_shows_in_livez(self):
        with Daemon("--attention", "xrt:0", "--live-timeout-seconds", 1, "--device-timeout-ms", 3600000, cards=1) as daemon:
            daemon.complete("Once", max_tokens=2)
            self.assertEqual(daemon.request("GET", "/livez")[0], 200)
            card, = daemon.card_processes()
            os.kill(card, signal.SIGSTOP)
            try:
                client = socket.create_connection(("127.0.0.1", daemon.port))
                body = b'{"model": "tandem-stories", "prompt": "Once", "max_tokens": 100}'
                client.sendall(
                    b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
                )
                self.assertTrue(eventually(lambda: daemon.request("GET", "/livez")[0] == 503))
                self.assertEqual(daemon.request("GET", "/readyz")[0], 503)
                self.assertEqual(daemon.request("GET", "/livez")[2], {"status": "stalled"})
            finally:
                os.kill(card, signal.SIGCONT)
                client.close()


class Limits(InFolder):
    def test_more_connections_than_open_files_are_refused_at_the_start(self):
        said = refused(
            "--port", 0, "--max-connections", 1000, preexec_fn=lambda: __import__("resource").setrlimit(7, (300, 300))
        )
        self.assertIn("--max-connections 1000 needs", said)
        self.assertIn("300", said)


# Runs in a user and network namespace of its own: a server on one end of a cable, a client on the other; then the cable
# is cut. Prints "gone" when the server has given the connection up.
VANISH = r"""
import json, os, subprocess, sys, time
def sh(*words): subprocess.run(words, check=True)
def established():
    lines = open("/proc/net/tcp").read().splitlines()[1:]
    return [line for line in lines if line.split()[1].endswith(":" + "%04X" % port) and line.split()[3] == "01"]
sh("ip", "link", "set", "lo", "up")
far = subprocess.Popen(["unshare", "-n", "sleep", "3000"])
server = None
try:
    for _ in range(6000):
        time.sleep(0.1)
        if os.readlink(f"/proc/{far.pid}/ns/net") != os.readlink("/proc/self/ns/net"): break
    sh("ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(far.pid))
    sh("ip", "addr", "add", "10.93.0.1/24", "dev", "near")
    sh("ip", "link", "set", "near", "up")
    inside = ["nsenter", "-t", str(far.pid), "-n"]
    sh(*inside, "ip", "addr", "add", "10.93.0.2/24", "dev", "far")
    sh(*inside, "ip", "link", "set", "far", "up")
    port = 18080
    server = subprocess.Popen([sys.argv[1], "serve", "--host", "10.93.0.1", "--port", str(port), "--vanished-seconds", "2",
                               "--stall-timeout-ms", "2000",  # the kernel takes the longer one
                               "--port-file", sys.argv[2]], stderr=subprocess.DEVNULL)
    while not os.path.exists(sys.argv[2]):
        if server.poll() is not None: sys.exit("the server ended")
        time.sleep(0.1)
    client = subprocess.Popen([*inside, sys.executable, "-c",
        "import socket, time\n"
        "s = socket.create_connection(('10.93.0.1', 18080))\n"
        "s.sendall(b'GET /livez HTTP/1.1\\r\\nHost: 10.93.0.1\\r\\n\\r\\n')\n"
        "print(s.recv(12).decode(), flush=True)\n"
        "time.sleep(3000)\n"], stdout=subprocess.PIPE, text=True)
    print(client.stdout.readline().strip())
    assert len(established()) == 1, established()
    sh("ip", "link", "set", "near", "down")
    for _ in range(6000):
        if not established():
            print("gone")
            break
        time.sleep(0.1)
    client.kill()
finally:
    if server is not None:
        server.terminate()
        server.wait(1200)
    far.kill()
"""


@unittest.skipUnless(
    shutil.which("ip") and shutil.which("unshare")
    and subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode == 0,
    "needs user and network namespaces",
)
class VanishedClients(InFolder):
    def test_the_connection_of_a_machine_that_has_vanished_ends(self):
        said = run_command(
            "unshare", "-Urn", sys.executable, "-c", VANISH, TANDEM, self.folder / "port", timeout=1200
        )
        self.assertEqual(said.split(), ["HTTP/1.1", "200", "gone"])


if __name__ == "__main__":
    unittest.main()
