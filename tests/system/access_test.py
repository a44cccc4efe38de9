# SPDX-License-Identifier: Apache-2.0
#
# Keys, the log of requests and the operator's routes, as an operator uses them.
import hashlib
import json
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import TANDEM, Daemon, run

STORY = {"model": "tandem-stories", "prompt": "Once upon a time", "temperature": 0, "ignore_eos": True}


def make_key(name, *options):
    """(the key, its entry of the key file)"""
    process = run("key", "--name", name, *options)
    if process.returncode != 0:
        raise AssertionError(process.stderr)
    return re.search(r"tandem-[0-9a-f]{48}", process.stderr)[0], process.stdout


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


class KeyCommandTest(unittest.TestCase):
    def test_the_entry_holds_the_hash_and_not_the_key(self):
        key, entry = make_key("alice", "--role", "admin")
        self.assertNotIn(key, entry)
        self.assertIn(f'hash = "sha256:{hashlib.sha256(key.encode()).hexdigest()}"', entry)
        self.assertIn('role = "admin"', entry)
        self.assertNotEqual(key, make_key("alice")[0])

    def test_a_key_has_one_role_or_several(self):
        self.assertIn('role = ["use","metrics"]', make_key("carol", "--role", "use", "metrics")[1])

    def test_a_key_of_ones_own_comes_from_standard_input(self):
        process = subprocess.run([TANDEM, "key", "--name", "bob", "--stdin", "--json"], input="abc", capture_output=True,
                                 text=True, timeout=1200)
        self.assertEqual(json.loads(process.stdout),
                         {"name": "bob", "role": "use", "hash": "sha256:" + hashlib.sha256(b"abc").hexdigest()})

    def test_bad_names_roles_and_keys_end_with_code_2(self):
        for arguments in (["--name", "a b"], ["--name", "other"], ["--name", "a", "--role", "king"], [],
                          ["--name", "a", "--stdin"]):
            process = run("key", *arguments)
            self.assertEqual(process.returncode, 2, f"{arguments}: {process.stderr}")
            self.assertEqual(process.stdout, "")


class AccessTest(unittest.TestCase):
    def test_keys_of_a_file_open_what_their_roles_and_limits_say(self):
        use, use_entry = make_key("alice")
        admin, admin_entry = make_key("boss", "--role", "admin")
        with tempfile.TemporaryDirectory() as directory:
            keys = Path(directory) / "keys.toml"
            keys.write_text(use_entry + "requests-per-minute = 2\nmax-tokens = 8\n" + admin_entry)
            with Daemon("--attention", "cpu", "--api-keys", keys) as daemon:
                def complete(key, **fields):
                    return daemon.request("POST", "/v1/completions", {**STORY, "max_tokens": 4, **fields}, bearer(key))

                self.assertEqual(daemon.request("GET", "/v1/models")[0], 401)
                self.assertEqual(daemon.request("GET", "/metrics", headers=bearer(use))[0], 403)
                self.assertEqual(complete(use)[0], 200)
                status, _, body = complete(use, max_tokens=9)
                self.assertEqual((status, "8" in body["error"]["message"]), (400, True), body)
                status, headers, _ = complete(use)
                self.assertEqual(status, 429)
                self.assertGreater(int(headers["Retry-After"]), 1)
                self.assertEqual(complete(admin, max_tokens=9)[0], 200)
                text = daemon.request("GET", "/metrics", headers=bearer(admin))[2]
                self.assertIn('tandem_key_tokens_total{key="alice",kind="generated"} 4', text)
                self.assertRegex(text, r"tandem_build_info\{.*version=\"\d")

    def cancel_one(self, daemon):
        """Begins a stream, lists and cancels it; its bytes, or None where it ended before that."""
        connection = daemon.connection()
        connection.request("POST", "/v1/completions", json.dumps({**STORY, "max_tokens": 480, "n": 16, "stream": True}),
                           {"Content-Type": "application/json", "X-Request-Id": "long-one"})
        response = connection.getresponse()
        self.assertEqual(response.getheader("X-Request-Id"), "long-one")
        listed = daemon.request("GET", "/admin/requests")[2]["requests"]
        status = daemon.request("POST", "/admin/cancel", {"id": "long-one"})[0]
        text = response.read()
        connection.close()
        if status == 404:
            return None
        self.assertEqual([request["id"] for request in listed], ["long-one"])
        return text

    def test_an_operator_lists_and_cancels_requests_and_drains(self):
        with Daemon("--attention", "cpu", "--admin", "loopback") as daemon:
            texts = (self.cancel_one(daemon) for _ in range(20))
            self.assertTrue(any(b"an operator of this server cancelled" in text for text in texts if text is not None))
            self.assertEqual(daemon.request("POST", "/admin/drain", {})[0], 202)
            self.assertEqual(daemon.process.wait(1200), 0)

    def test_operators_routes_are_closed_by_default(self):
        with Daemon("--attention", "cpu") as daemon:
            self.assertEqual(daemon.request("GET", "/admin/requests")[0], 403)
            self.assertEqual(daemon.request("POST", "/admin/drain", {})[0], 403)
            self.assertEqual(daemon.request("GET", "/health")[0], 200)


class LogTest(unittest.TestCase):
    def test_every_line_of_a_json_log_is_an_object_and_each_request_has_one(self):
        with Daemon("--attention", "cpu", "--log-format", "json", "--log-level", "debug") as daemon:
            daemon.request("POST", "/v1/completions", {**STORY, "max_tokens": 6}, {"X-Request-Id": "first"})
            daemon.request("GET", "/none%0aforged", headers={"X-Request-Id": "second"})
        lines = [json.loads(line) for line in daemon.log_text.splitlines()]
        self.assertTrue(all(re.search(r"[+-]\d\d:\d\d$", line["time"]) for line in lines))
        requests = {line["id"]: line for line in lines if line["message"] == "[server] request"}
        self.assertEqual(set(requests), {"first", "second"})
        first = requests["first"]
        self.assertEqual((first["status"], first["route"], first["completion_tokens"], first["outcome"]),
                         (200, "/v1/completions", 6, "complete"))
        self.assertGreaterEqual(first["seconds"], first["queue_seconds"])
        self.assertGreater(first["queue_seconds"], 0)
        self.assertEqual((requests["second"]["status"], requests["second"]["route"]), (404, "other"))

    def test_the_error_that_ends_the_program_is_json_too(self):
        process = run("serve", "--log-format", "json", "--api-keys", "/nonexistent/keys")
        self.assertEqual(process.returncode, 2)
        self.assertIn("/nonexistent/keys", json.loads(process.stderr.splitlines()[-1])["message"])

    def test_text_names_the_zone_and_escapes_paths(self):
        with Daemon("--attention", "cpu", "--log-level", "debug") as daemon:
            daemon.request("GET", "/a%0ab%1b", headers={"X-Request-Id": "odd"})
        self.assertRegex(daemon.log_text, r"T\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d ")
        self.assertIn(r"odd: GET /a\nb\x1b from 127.0.0.1", daemon.log_text)
        self.assertRegex(daemon.log_text, r"info.* \[server\] request id=odd client=127\.0\.0\.1 method=GET")


if __name__ == "__main__":
    unittest.main()
