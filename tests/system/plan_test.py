# SPDX-License-Identifier: Apache-2.0
#
# What the daemon shows of its plan, the costs that it keeps, and --attention auto with cards.
import concurrent.futures
import json
import os
import signal
import tempfile
import threading
import time
import unittest
from pathlib import Path

from daemon import Daemon, card_environment, run, run_json

EXACT = ["--quantize", "f32"]


def cached_in(folder, environment=None):
    return {**(environment or os.environ), "XDG_CACHE_HOME": str(folder)}


class PlanTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = Path(folder.name)

    def test_status_and_metrics_show_the_last_step(self):
        with Daemon("--attention", "cpu") as daemon:
            self.assertIsNone(daemon.status()["plan"])
            daemon.complete("Once upon a time", max_tokens=20)
            plan = daemon.status()["plan"]
            metrics = daemon.request("GET", "/metrics")[2]
        self.assertEqual(plan["mode"], "own attention")
        self.assertEqual(plan["sub_batches"], 1)
        self.assertGreater(plan["predicted_ms"], 0)
        self.assertGreater(plan["measured_ms"], 0)
        parts = {part["part"]: part for part in plan["parts"]}
        self.assertTrue({"dense", "own attention", "sampling", "host"} <= set(parts), parts)
        for name in ("dense", "own attention", "sampling"):
            self.assertGreater(parts[name]["predicted_ms"], 0, name)
            self.assertGreater(parts[name]["measured_ms"], 0, name)
            self.assertEqual(parts[name]["device"], "cpu")
        self.assertIn('tandem_plan_seconds{device="cpu",kind="predicted",part="dense"}', metrics)
        self.assertIn('tandem_plan_steps_total{mode="own attention"}', metrics)

    def test_measured_costs_are_kept(self):
        costs = run_json("devices", "--measure", "--attention", "cpu", environment=cached_in(self.cache))
        self.assertEqual([device["id"] for device in costs["devices"]], ["cpu"])
        cpu = costs["devices"][0]
        self.assertGreater(len(cpu["dense_by_rows"]), 4)
        self.assertGreater(cpu["attention"][0]["per_pair_s"], 0)
        file = Path(costs["file"])
        self.assertEqual(file.parent, self.cache / "tandem")
        kept = json.loads(file.read_text())
        self.assertEqual(kept["devices"], costs["devices"])
        text = run("devices", "--measure", "--attention", "cpu", environment=cached_in(self.cache)).stdout
        self.assertIn("dense layers,", text)

    def test_where_there_is_nothing_to_choose_nothing_is_measured(self):
        process = run("generate", "--prompt", "Once", "-n", "2", "--attention", "cpu", environment=cached_in(self.cache))
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_a_target_measures_once_and_tells_when_it_cannot_be_met(self):
        logs = []
        for _ in range(2):
            daemon = Daemon("--attention", "cpu", "--target-itl-ms", "0.001")
            daemon.environment = cached_in(self.cache)
            with daemon:
                body = daemon.complete("Once upon a time", max_tokens=30, ignore_eos=True)
                self.assertEqual(body["usage"]["completion_tokens"], 30)
                plan = daemon.status()["plan"]
                metrics = daemon.request("GET", "/metrics")[2]
            logs.append(daemon.log_text)
            self.assertTrue(plan["target_missed"])
            self.assertEqual(plan["target_itl_ms"], 0.001)
            self.assertIn("tandem_itl_target_missed 1", metrics)
        self.assertIn("measured what the devices cost", logs[0])
        self.assertNotIn("measured what the devices cost", logs[1])
        for file in (self.cache / "tandem").iterdir():
            file.write_text(file.read_text()[:100])
        daemon = Daemon("--attention", "cpu", "--target-itl-ms", "100")
        daemon.environment = cached_in(self.cache)
        with daemon:
            pass
        self.assertIn("are measured again: the table cannot be read", daemon.log_text)

    def test_auto_with_cards_gives_the_tokens_of_host_memory(self):
        command = ["generate", "--prompt", "Once upon a time", "-n", 40, "--temperature", 0, "--ignore-eos", *EXACT]
        expected = run_json(*command, "--attention", "cpu")["output_ids"]
        answer = run_json(*command, environment=cached_in(self.cache, card_environment(2)))
        self.assertEqual(answer["output_ids"], expected)
        units = [device["device"] for device in answer["devices"] if device["role"] == "attention"]
        self.assertEqual(units, ["cpu", "xrt:0", "xrt:1"])
        self.assertEqual(len(list((self.cache / "tandem").iterdir())), 1)

    def slow_down(self, card, seconds):
        """The card runs for a tenth of the time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                os.kill(card, signal.SIGSTOP)
                time.sleep(0.045)
                os.kill(card, signal.SIGCONT)
            except ProcessLookupError:
                return
            time.sleep(0.005)

    def test_the_mode_follows_cards_that_slow_down_and_die_and_no_token_changes(self):
        prompts = ["Once upon a time", "Tom and Lily", "The big dog", "One day a girl"]
        fields = {"max_tokens": 250, "temperature": 0, "ignore_eos": True}

        def texts(daemon, pool):
            futures = [pool.submit(daemon.complete, prompt, **fields) for prompt in prompts]
            return [future.result(1200)["choices"][0]["text"] for future in futures]

        def wait_until(condition):
            until = time.monotonic() + 1200
            while not condition(daemon.status()):
                self.assertLess(time.monotonic(), until, daemon.status())
                time.sleep(0.02)

        cards = ["--attention", "xrt:0=0.4,xrt:1=0.4,cpu=0.2", "--device-timeout-ms", 60000, "--revive-seconds", 0]
        with concurrent.futures.ThreadPoolExecutor(len(prompts)) as pool:
            with Daemon("--attention", "cpu", *EXACT) as daemon:
                expected = texts(daemon, pool)
            with Daemon(*cards, *EXACT, cards=2) as daemon:
                self.assertEqual(texts(daemon, pool), expected)
                self.assertIn(daemon.status()["plan"]["mode"], ("shares", "two sub-batches"))
                pids = daemon.card_processes()
                slow = threading.Thread(target=self.slow_down, args=(pids[0], 2))
                slow.start()
                self.addCleanup(slow.join)
                self.assertEqual(texts(daemon, pool), expected, "while a card is slow")
                slow.join()
                self.assertEqual(texts(daemon, pool), expected, "when it is fast again")
                begun = daemon.status()["generated_tokens"]
                futures = [pool.submit(daemon.complete, prompt, **fields) for prompt in prompts]
                wait_until(lambda status: status["generated_tokens"] > begun + 40)
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
                self.assertEqual([future.result(1200)["choices"][0]["text"] for future in futures], expected)
                wait_until(lambda status: len(status["lost_devices"]) == 2)
                self.assertEqual(texts(daemon, pool), expected)
                plan = daemon.status()["plan"]
        self.assertEqual(plan["mode"], "own attention")
        busy = [part["device"] for part in plan["parts"] if part["part"].endswith("attention") and part["predicted_ms"] > 0]
        self.assertEqual(set(busy), {"cpu"})

    def test_a_better_priority_is_taken_and_a_worse_word_refused(self):
        with Daemon("--attention", "cpu", "--best-priority", "-5") as daemon:
            for priority, is_allowed in ((-5, True), (-6, False)):
                _, headers, _ = daemon.request("POST", "/v1/completions", {"prompt": "Once", "max_tokens": 2, "priority": priority})
                self.assertEqual("Warning" not in headers, is_allowed, headers)
            daemon.complete("Once", max_tokens=2, service_tier="flex")
            status, _, body = daemon.request("POST", "/v1/completions", {"prompt": "Once", "priority": "high"})
        self.assertEqual(status, 400)
        self.assertEqual(body["error"]["param"], "priority")


if __name__ == "__main__":
    unittest.main()
