# SPDX-License-Identifier: Apache-2.0
#
# The page /ui of a daemon: who gets it, that nothing in it is inline or from elsewhere, that its links, labels and the names
# of figures hold, and its modules under node where that is installed.
import base64
import re
import shutil
import subprocess
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

from daemon import SOURCE, Daemon, run

FILES = SOURCE / "host" / "server" / "web" / "files"
VIEWS = (FILES / "app.js").read_text().split("const kViews = [")[1].split("]")[0]
MOST_BYTES = 200_000


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.inline, self.labelled = [], [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag == "label" and "for" in attributes:
            self.labelled.add(attributes["for"])
        if tag in ("input", "select", "textarea") and ("label" in self.open or attributes.get("id") in self.labelled):
            attributes["labelled"] = True
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            del self.open[len(self.open) - 1 - self.open[::-1].index(tag):]

    def handle_data(self, data):
        if data.strip() and self.open and self.open[-1] in ("script", "style"):
            self.inline.append(data)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--attention", "cpu")
        cls.daemon.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__()

    def get(self, path, headers=None):
        status, answered, text = self.daemon.request("GET", path, headers=headers)
        self.assertEqual(status, 200, f"{path}: {text}")
        return answered, text

    def test_it_is_on_where_only_this_machine_can_connect(self):
        headers, text = self.get("/ui")
        self.assertIn("<title>Tandem</title>", text)
        self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none'"))
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])

    def test_all_of_it_is_small(self):
        names = ["", *("/" + path.name for path in FILES.iterdir())]
        total = sum(len(self.get("/ui" + name)[1].encode()) for name in names)
        self.assertGreater(total, 10_000)
        self.assertLess(total, MOST_BYTES)

    def test_nothing_is_inline_and_links_resolve(self):
        page = Tags(self.get("/ui")[1])
        self.assertEqual(page.inline, [])
        for tag, attributes in page.tags:
            self.assertEqual([name for name in attributes if name == "style" or name.startswith("on")], [], tag)
            link = attributes.get("href") or attributes.get("src")
            if link and link.startswith("/"):
                self.get(link)
            elif link:
                self.assertIn(link[1:], {"main", *re.findall(r'"(\w+)"', VIEWS)})
        for path in FILES.iterdir():
            self.assertEqual(re.findall(r"https?://(?!www\.w3\.org/)|innerHTML|\beval\(|\.style\b", path.read_text()), [], path.name)

    def test_every_control_has_a_label_and_numbers_are_unique(self):
        page = Tags(self.get("/ui")[1])
        controls = [attributes for tag, attributes in page.tags if tag in ("input", "select", "textarea")]
        self.assertGreater(len(controls), 8)
        self.assertEqual([each for each in controls if not each.get("labelled")], [])
        names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(dict(page.tags)["html"]["lang"], "en")
        for script in FILES.glob("*.js"):
            for name in re.findall(r'(?:place|#place)\("([\w-]+)"\)', script.read_text()):
                self.assertIn(name, names, script.name)

    def test_the_figures_that_it_shows_exist(self):
        self.daemon.complete("Once upon a time", max_tokens=2)
        status = self.daemon.status()
        text = "".join((FILES / name).read_text() for name in ("app.js", "requests.js", "status.js", "steps.js", "traffic.js"))
        used = set(re.findall(r"\bstatus\.(\w+)", text)) | set(re.findall(r'\["(\w+)", "[^"]+"\](?=[,\n])', text.split("kTotals")[1].split("];")[0]))
        self.assertGreater(len(used), 12)
        self.assertEqual(used - set(status) - {"js"}, set())
        for device in status["devices"]:
            self.assertGreater(device["memory_bandwidth_bytes_per_s"], 0, device)
        devices = {name for device in status["devices"] for name in device}
        self.assertEqual(set(re.findall(r"\bdevice\.(\w+)", text)) - devices, set())
        self.assertEqual(set(re.findall(r"\bplan\.(\w+)", text)) - set(status["plan"]), set())
        metrics = self.daemon.request("GET", "/metrics")[2]
        shown = re.findall(r'"(tandem_\w+)"', (FILES / "metrics.js").read_text())
        self.assertGreater(len(shown), 3)
        for name in shown:
            self.assertIn(f"# TYPE {name} histogram", metrics)

    def test_requests_are_shown_with_the_pages_that_hold_them(self):
        self.daemon.request("GET", "/status/requests")  # from now on they are listed
        # Another story where one ends before it is looked at.
        story = {"model": "tandem-stories", "prompt": "Once upon a time", "max_tokens": 400, "ignore_eos": True}
        seen = []
        while not seen:
            for _ in self.daemon.stream("/v1/completions", story):
                if not seen:
                    answer = self.daemon.request("GET", "/status/requests")[2]
                    seen = answer["requests"]
        self.assertEqual(answer["units"], ["cpu"])
        [one] = seen
        text = (FILES / "requests.js").read_text()
        self.assertEqual(set(re.findall(r"\beach\.(\w+)", text)) - set(one), set())
        self.assertEqual(one["state"], "running")
        self.assertGreater(one["first_token_seconds"], 0)
        self.assertGreaterEqual(sum(count for _, _, count in one["pages"]) * 16, one["computed_tokens"])
        self.assertEqual({unit for unit, _, _ in one["pages"]}, {0})

    def test_the_sampling_fields_are_taken_by_the_daemon(self):
        page = Tags(self.get("/ui")[1])
        names = [attributes["name"] for tag, attributes in page.tags if tag == "input" and "name" in attributes]
        self.assertGreater(len(names), 5)
        fields = {name: 1 for name in names}
        status, _, answer = self.daemon.request("POST", "/v1/chat/completions",
                                                {"messages": [{"role": "user", "content": "Hi"}], **fields})
        self.assertEqual(status, 200, answer)

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_the_modules_do_what_they_say(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(FILES, folder, dirs_exist_ok=True)
            shutil.copy(SOURCE / "tests" / "system" / "ui" / "modules_test.mjs", folder)
            (Path(folder) / "package.json").write_text('{"type": "module"}')
            process = subprocess.run(["node", "--test", folder], capture_output=True, text=True, timeout=1200)
            self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
            self.assertRegex(process.stdout, r"pass [1-9]")


class AccessTest(unittest.TestCase):
    def status(self, *options, headers=None):
        with Daemon("--attention", "cpu", *options) as daemon:
            return daemon.request("GET", "/ui", headers=headers)

    def test_it_is_off_where_others_can_connect_or_when_told(self):
        self.assertEqual(self.status("--no-ui")[0], 404)
        status, _, answer = self.status("--host", "0.0.0.0")
        self.assertEqual(status, 404)
        self.assertIn("--ui", answer["error"]["message"])
        self.assertEqual(self.status("--host", "0.0.0.0", "--ui")[0], 200)

    def test_operators_see_log_options_and_reports_of_cards(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as reports:
            reports.write('{"kind": "deadlock", "severity": "error"}\n{"kind": "leftover", "severity": "warning"}\n{"cut')
            reports.flush()
            daemon = Daemon("--attention", "cpu", "--admin", "loopback", "--max-choices", "3")
            daemon.environment["TANDEM_CARD_REPORT"] = reports.name
            with daemon:
                self.assertEqual(daemon.request("GET", "/ui/access")[2], {"metrics": True, "admin": True})
                lines = daemon.request("GET", "/admin/log")[2]["lines"]
                self.assertTrue(any(" info serving tandem-stories at " in line for line in lines), lines)
                options = daemon.request("GET", "/admin/config")[2]
                self.assertEqual(options["max-choices"], {"value": "3", "set": True})
                self.assertEqual(options["host"], {"value": "127.0.0.1", "set": False})
                answer = daemon.request("GET", "/admin/card-reports")[2]
                self.assertEqual(answer["file"], reports.name)
                self.assertEqual([each["kind"] for each in answer["reports"]], ["leftover", "deadlock"])
        with Daemon("--attention", "cpu") as daemon:
            for path in ("log", "config", "card-reports"):
                self.assertEqual(daemon.request("GET", f"/admin/{path}")[0], 403)

    def test_keys_guard_it(self):
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
            keys.write("opensesame\n")
            keys.flush()
            with Daemon("--attention", "cpu", "--api-keys", keys.name) as daemon:
                status, headers, _ = daemon.request("GET", "/ui")
                self.assertEqual(status, 401)
                self.assertTrue(headers["WWW-Authenticate"].startswith("Basic realm="))
                browser = {"Authorization": "Basic " + base64.b64encode(b"me:opensesame").decode()}
                for path in ("/ui", "/status", "/metrics"):
                    self.assertEqual(daemon.request("GET", path, headers=browser)[0], 200, path)

    def test_both_options_exclude_each_other(self):
        process = run("serve", "--ui", "--no-ui")
        self.assertEqual(process.returncode, 2)
        self.assertIn("--ui", process.stderr)


if __name__ == "__main__":
    unittest.main()
