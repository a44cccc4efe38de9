# SPDX-License-Identifier: Apache-2.0
#
# `tandem train --ui`: the page of a training, its figures, its keys, and viewers that do not read.
import base64
import http.client
import json
import re
import shutil
import signal
import socket
import threading
import unittest

from browser import Browser, needs_browser
from train_runs import SMALL, TrainRuns
from waiting import wait_for

ENDLESS = 10_000_000
VIEWERS = 100


class PagedTraining:
    """A training with a page; a context manager that ends it. `url` is the page's."""

    def __init__(self, runs, *arguments, steps=ENDLESS, **options):
        self.process = runs.start("--text", runs.folder / "text.txt", *SMALL, "--model-config", runs.folder / "shape.toml",
                                  "--steps", steps, "--ui", *arguments, **options)

    def __enter__(self):
        self.lines, self.log = [], ""
        for line in self.process.stderr:
            self.log += line
            if found := re.search(r"this training is shown at (http://127\.0\.0\.1:(\d+)/ui)", line):
                self.url, self.port = found[1], int(found[2])
                break
        else:
            raise AssertionError(self.log)
        self.readers = [threading.Thread(target=self.read, args=(stream,)) for stream in ("stdout", "stderr")]
        for reader in self.readers:
            reader.start()
        return self

    def read(self, stream):
        for line in getattr(self.process, stream):
            if stream == "stderr":
                self.log += line
            elif line.startswith("{"):
                self.lines.append(json.loads(line))

    def end(self):
        code = self.process.wait(1200)
        for reader in self.readers:
            reader.join()
        return code

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.end()
        self.process.stdout.close()
        self.process.stderr.close()

    def get(self, path, method="GET", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1200)
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, dict(response.getheaders()), text

    def figures(self):
        status, _, text = self.get("/status")
        assert status == 200, text
        return json.loads(text)

    def figures_after(self, step):
        return wait_for(lambda: (shown := self.figures())["step"] >= step and shown, f"step {step}")


class TrainPageTest(TrainRuns):
    def test_the_page_and_its_policy(self):
        with PagedTraining(self) as training:
            status, headers, text = training.get("/ui")
            self.assertEqual(status, 200)
            self.assertIn("<title>Tandem - Training</title>", text)
            self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none'"))
            for name in re.findall(r'(?:href|src)="(/ui/[^"]+)"', text) + ["/ui/charts.js"]:
                self.assertEqual(training.get(name)[0], 200, name)
            self.assertEqual(training.get("/ui/")[0], 308)
            self.assertEqual(training.get("/ui/none.js")[0], 404)
            self.assertEqual(training.get("/v1/models")[0], 404)
            self.assertEqual(training.get("/status", method="POST")[0], 405)
            self.assertEqual(training.get("/status", headers={"Host": "evil.example"})[0], 403)
            self.assertEqual(json.loads(training.get("/ui/access")[2]), {"metrics": True, "admin": False})

    def test_figures_are_those_of_the_log(self):
        with PagedTraining(self, "--valid", self.folder / "valid.txt", "--evaluate-every", 5) as training:
            shown = training.figures_after(12)
        points = shown["points"]
        logged = {line["step"]: line for line in training.lines if "loss" in line}
        self.assertEqual((shown["state"], shown["ranks"], shown["peers"], shown["steps"]), ("training", 1, [], ENDLESS))
        apart = points["step"][1] - points["step"][0]  # 1, or more if the first look comes late
        self.assertEqual(apart.bit_count(), 1, points["step"])
        self.assertEqual(points["step"][:-1], [1 + at * apart for at in range(len(points["step"]) - 1)])
        self.assertEqual({len(column) for column in points.values()}, {len(points["step"])})
        for step, loss in zip(points["step"], points["loss"]):
            self.assertAlmostEqual(loss, logged[step]["loss"], places=5)
        for at, whole in enumerate(points["whole"]):
            phases = [points[name][at] for name in ("backward", "reduce", "update")]
            self.assertGreater(min(phases[0], phases[2]), 0)
            self.assertLessEqual(sum(phases), whole)
        evaluated = [each["step"] for each in shown["evaluations"]]
        self.assertEqual(evaluated[0], 5)
        self.assertIn(evaluated[1], [5 + 5 * 2 ** halved for halved in range(20)])

    def test_points_stay_few(self):
        with PagedTraining(self) as training:
            shown = training.figures_after(900)
        self.assertLessEqual(len(shown["points"]["step"]), 402)
        self.assertGreater(len(shown["points"]["step"]), 100)
        self.assertEqual(shown["points"]["step"][-1], shown["step"])

    @unittest.skipUnless(shutil.which("mpirun"), "MPI is not installed")
    def test_rank_0_shows_what_it_sends_to_the_others(self):
        with PagedTraining(self, "--reduce", "dense", ranks=2) as training:
            shown = training.figures_after(3)
        self.assertEqual((shown["ranks"], len(shown["peers"])), (2, 2))
        self.assertEqual(shown["peers"][0], dict.fromkeys(shown["peers"][0], 0))
        self.assertGreater(shown["peers"][1]["bytes_sent"], 0)
        self.assertGreater(shown["peers"][1]["messages_received"], 0)
        self.assertEqual(training.log.count("this training is shown at"), 1)

    def test_it_ends_with_the_training(self):
        with PagedTraining(self, steps=3) as training:
            self.assertEqual(training.end(), 0)
            with self.assertRaises(OSError):
                training.get("/status")
        self.assertEqual(training.lines[-1]["step"], 3)

    def test_viewers_that_do_not_read_change_nothing(self):
        alone = [line["loss"] for line in self.from_scratch("--steps", 40)]
        with PagedTraining(self) as training:
            viewers = []
            for number in range(VIEWERS):
                viewer = socket.create_connection(("127.0.0.1", training.port))
                # Some never ask, the others ask often and read nothing.
                viewer.sendall(b"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * (number % 2 * 20))
                viewers.append(viewer)
            training.figures_after(40)
            training.process.send_signal(signal.SIGTERM)
            self.assertEqual(training.end(), 0)
            for viewer in viewers:
                viewer.close()
        self.assertEqual([line["loss"] for line in training.lines][:40], alone)

    def test_keys_guard_it(self):
        keys = self.folder / "page.keys"
        keys.write_text("opensesame\n")
        with PagedTraining(self, "127.0.0.1:0", "--ui-keys", keys) as training:
            status, headers, _ = training.get("/ui")
            self.assertEqual(status, 401)
            self.assertTrue(headers["WWW-Authenticate"].startswith("Basic realm="))
            self.assertEqual(training.get("/status")[0], 401)
            browser = {"Authorization": "Basic " + base64.b64encode(b"me:opensesame").decode()}
            for path in ("/ui", "/status"):
                self.assertEqual(training.get(path, headers=browser)[0], 200, path)

    def test_wrong_addresses_are_told(self):
        for address, words in [("8090", "not an ADDRESS:PORT"), ("127.0.0.1:99999", "not an ADDRESS:PORT"), ("::1:80", "not an ADDRESS:PORT"),
                               ("0.0.0.0:0", "others can connect there"), ("192.0.2.1:0", "others can connect there")]:
            with self.subTest(address=address):
                self.assertIn(words, self.from_scratch("--steps", 1, "--ui", address, code=2))
        self.assertIn("--ui-keys needs --ui", self.from_scratch("--steps", 1, "--ui-keys", "x", code=2))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.assertIn("cannot listen", self.from_scratch("--steps", 1, "--ui", f"127.0.0.1:{taken.getsockname()[1]}", code=2))


@needs_browser
class TrainPageInBrowserTest(TrainRuns):
    def test_the_page_shows_a_training_of_two_ranks(self):
        ranks = 2 if shutil.which("mpirun") else 0
        with Browser() as browser, PagedTraining(self, ranks=ranks) as training:
            training.figures_after(3)
            for width in (1280, 400):
                for scheme in ("light", "dark"):
                    browser.size(width)
                    browser.scheme(scheme)
                    browser.driver.get(training.url)
                    browser.wait("the figures are there", "return document.querySelectorAll('#curves svg path.line').length >= 3")
                    self.assertRegex(browser.run("return document.getElementById('state').textContent"), r"^training, step \d+ of")
                    self.assertEqual(browser.faults(), [])
                    browser.picture(f"training-{width}-{scheme}")
            self.assertEqual(browser.run("return document.querySelectorAll('#phases path.line').length"), 4)
            if ranks:
                self.assertEqual(browser.run("return document.querySelectorAll('#ranks svg rect.hot').length"), 2)
            self.assertEqual(browser.reach(), ([], []))
            size = browser.run("""const [page] = performance.getEntriesByType('navigation');
                return [page, ...performance.getEntriesByType('resource')].reduce((sum, each) => sum + each.transferSize, 0)""")
            self.assertLess(size, 200_000)
            self.assertEqual(browser.errors(), [])
            training.process.send_signal(signal.SIGTERM)
            training.end()
            browser.wait("the end is told", "return document.getElementById('state').textContent === 'the training has ended'")


if __name__ == "__main__":
    unittest.main()
