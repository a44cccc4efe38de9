# SPDX-License-Identifier: Apache-2.0
#
# Signals to the daemon, while it loads, serves and drains; what it writes besides its answers.
import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import TANDEM, Daemon, card_environment
from waiting import wait_for

STORY = {"model": "tandem-stories", "prompt": "Once upon a time", "temperature": 0, "ignore_eos": True, "max_tokens": 500}


class LoadingTest(unittest.TestCase):
    def test_a_signal_ends_a_load_at_once(self):
        """A card that never answers makes the load last for ever."""
        with tempfile.TemporaryDirectory() as folder:
            begun = Path(folder) / "begun"
            card = Path(folder) / "card"
            card.write_text(f"#!/bin/sh\necho $$ >'{begun}.new'\nmv '{begun}.new' '{begun}'\nexec sleep 600\n")
            card.chmod(0o755)
            environment = {**card_environment(1), "TANDEM_CARD_EXECUTABLE": str(card)}
            for number in (signal.SIGTERM, signal.SIGINT):
                process = subprocess.Popen([TANDEM, "serve", "--port", "0", "--attention", "xrt:0"], env=environment,
                                           stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
                wait_for(begun.exists, "the load")
                os.kill(int(begun.read_text()), 0)  # still there: the load lasts
                process.send_signal(number)
                self.assertEqual(process.wait(1200), -number)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(begun.read_text()), signal.SIGKILL)  # it holds standard error open
                self.assertIn("ended before the model was loaded", process.stderr.read())
                process.stderr.close()
                begun.unlink()


class DrainTest(unittest.TestCase):
    def test_two_signals_within_a_second_are_one(self):
        """As `timeout` sends them: to the child, then to its group."""
        with Daemon("--attention", "cpu") as daemon:
            events = daemon.stream("/v1/completions", STORY)
            parts = [next(events)]
            daemon.process.send_signal(signal.SIGSTOP)  # it sees both at once, whatever this test is held up by
            daemon.process.send_signal(signal.SIGTERM)
            daemon.process.send_signal(signal.SIGINT)
            daemon.process.send_signal(signal.SIGCONT)
            parts += list(events)
            self.assertEqual(parts[-1]["choices"][0]["finish_reason"], "length")
            self.assertEqual(daemon.process.wait(1200), 0)

    def end_while_a_device_hangs(self, drain_seconds, second_signal):
        """The last event of a stream and the status of a plain request when the drain is cut short."""
        with Daemon("--attention", "xrt:0", "--device-timeout-ms", "3600000", "--drain-seconds", str(drain_seconds),
                    "--log-level", "debug", cards=1) as daemon:
            card = daemon.card_processes()[0]  # looked for before, as that takes its time
            events = daemon.stream("/v1/completions", {**STORY, "n": 16})  # far from its end when the card stops
            self.addCleanup(events.close)
            next(events)
            os.kill(card, signal.SIGSTOP)
            plain = daemon.connection()
            self.addCleanup(plain.close)
            plain.request("POST", "/v1/completions", json.dumps(STORY), {"Content-Type": "application/json"})
            try:
                wait_for(lambda: "generation 17 submitted" in daemon.log_path.read_text(), "the second request")
                daemon.process.send_signal(signal.SIGTERM)
                if second_signal:
                    wait_for(lambda: "draining" in daemon.log_path.read_text(), "the drain")
                    time.sleep(1.1)  # a signal within a second is the same
                    daemon.process.send_signal(signal.SIGTERM)
                self.assertEqual(list(events)[-1]["error"]["code"], "stopping")
                response = plain.getresponse()
                self.assertEqual((response.status, json.loads(response.read())["error"]["code"]), (503, "stopping"))
                if not second_signal:  # the step in progress is waited for
                    os.kill(card, signal.SIGKILL)
                daemon.process.wait(1200)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(card, signal.SIGKILL)

    def test_a_second_signal_ends_at_once_even_when_a_device_hangs(self):
        self.end_while_a_device_hangs(3600, second_signal=True)

    def test_requests_that_outlast_the_drain_are_ended_in_their_protocol(self):
        self.end_while_a_device_hangs(1, second_signal=False)

    def test_the_service_manager_hears_of_every_state(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/notify"
            manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(manager.close)
            manager.settimeout(1200)
            manager.bind(path)
            os.environ["NOTIFY_SOCKET"] = path
            try:
                with Daemon("--attention", "cpu") as daemon:
                    self.assertIn(b"STATUS=loading", manager.recv(4096))
                    self.assertIn(b"READY=1", manager.recv(4096))
                    daemon.process.send_signal(signal.SIGHUP)
                    self.assertIn(b"RELOADING=1\nMONOTONIC_USEC=", manager.recv(4096))
                    self.assertIn(b"READY=1", manager.recv(4096))
                    daemon.process.send_signal(signal.SIGTERM)
                    self.assertIn(b"STOPPING=1", manager.recv(4096))
                    self.assertEqual(daemon.process.wait(1200), 0)
            finally:
                del os.environ["NOTIFY_SOCKET"]


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class ReloadTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cert, self.key = Path(folder.name) / "cert.pem", Path(folder.name) / "key.pem"
        self.make_certificate()

    def make_certificate(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                        "-subj", "/CN=localhost", "-keyout", self.key, "-out", self.cert], check=True, capture_output=True)

    def served_certificate(self, daemon):
        return ssl.get_server_certificate(("127.0.0.1", daemon.port)).strip()

    def test_sighup_takes_a_new_certificate_and_keeps_the_old_for_a_wrong_one(self):
        with Daemon("--attention", "cpu", "--tls-cert", self.cert, "--tls-key", self.key) as daemon:
            old = self.cert.read_text().strip()
            self.assertEqual(self.served_certificate(daemon), old)
            self.make_certificate()
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(lambda: self.served_certificate(daemon) == self.cert.read_text().strip(), "the reload")
            new = self.cert.read_text().strip()
            self.assertNotEqual(new, old)
            self.cert.write_text("no certificate")
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(lambda: "the files read before stay in use" in daemon.log_path.read_text(), "the refusal")
            self.assertEqual(self.served_certificate(daemon), new)


class KeysTest(unittest.TestCase):
    def test_sighup_takes_new_keys_and_keeps_the_old_for_a_wrong_file(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = Path(folder) / "keys"
            keys.write_text("first-key\n")
            keys.chmod(0o600)

            def status_with(daemon, key):
                return daemon.request("GET", "/v1/models", headers={"Authorization": f"Bearer {key}"})[0]

            with Daemon("--attention", "cpu", "--api-keys", keys) as daemon:
                self.assertEqual(status_with(daemon, "first-key"), 200)
                keys.write_text("second-key\n")
                self.assertEqual(status_with(daemon, "second-key"), 401)
                daemon.process.send_signal(signal.SIGHUP)
                wait_for(lambda: status_with(daemon, "second-key") == 200, "the reload")
                self.assertEqual(status_with(daemon, "first-key"), 401)
                keys.write_text("")
                daemon.process.send_signal(signal.SIGHUP)
                wait_for(lambda: "the files read before stay in use" in daemon.log_path.read_text(), "the refusal")
                self.assertEqual(status_with(daemon, "second-key"), 200)
                self.assertEqual(daemon.log_path.read_text().count(" error "), 1, "one line says what is wrong")


class FilesTest(unittest.TestCase):
    def test_the_port_file_follows_no_link(self):
        with tempfile.TemporaryDirectory() as folder:
            victim, port = Path(folder) / "victim", Path(folder) / "port"
            victim.write_text("precious")
            for name in ("port", "port.new"):
                (Path(folder) / name).symlink_to(victim)
            process = subprocess.Popen([TANDEM, "serve", "--port", "0", "--attention", "cpu", "--port-file", str(port)],
                                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            try:
                wait_for(lambda: not port.is_symlink(), "the new port file")
                self.assertGreater(int(port.read_text()), 0)
                self.assertEqual(victim.read_text(), "precious")
                self.assertTrue((Path(folder) / "port.new").is_symlink(), "nothing of that name is used")
            finally:
                process.terminate()
                self.assertEqual(process.wait(1200), 0)

    def test_a_key_file_that_others_can_read_is_told(self):
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
            keys.write("secret-1\n")
            keys.flush()
            os.chmod(keys.name, stat.S_IRUSR | stat.S_IROTH)
            with Daemon("--attention", "cpu", "--api-keys", keys.name) as daemon:
                pass
            self.assertIn("every user of this machine can read the key file", daemon.log_text)


if __name__ == "__main__":
    unittest.main()
