# SPDX-License-Identifier: Apache-2.0
#
# Serving, collectives and training on emulated cards under random storms of faults: every token, sum and bit is that of a
# run without faults.
import concurrent.futures
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import BUILD, TANDEM, Daemon, card_environment, run_command
from train_models_test import CLICKS, losses, model_bytes
from train_runs import TrainRuns

HAVE_CARDS = (BUILD / "xrt" / "bin" / "tandem-card").exists()
STREAMS = 4
ROUNDS = 6


class Storm:
    """A script of faults in a folder, and the log of what it did. The first `calm` launches and twice as many syncs have none."""

    def __init__(self, folder, seed, events, calm):
        self.script, self.log_path = Path(folder) / f"storm{seed}", Path(folder) / f"log{seed}"
        script = run_command(TANDEM, "card", "storm", "--seed", seed, "--events", events)
        script = script.replace(f"launch skip={events} ", f"launch skip={calm} ")
        self.script.write_text(script.replace(f"sync skip={events} ", f"sync skip={2 * calm} "))
        self.environment = {"TANDEM_FAULTS": f"@{self.script}", "TANDEM_FAULTS_LOG": str(self.log_path)}

    def faults(self):
        return self.log_path.read_text().splitlines() if self.log_path.exists() else []


@unittest.skipUnless(HAVE_CARDS, "this build has no emulated cards")
class CardStormTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def answers(self, daemon, rounds):
        """The texts of several clients at once, by client; every request must end well."""
        def ask(client):
            return [daemon.complete(f"Once upon a time {client}", max_tokens=80, temperature=0, ignore_eos=True)
                    ["choices"][0]["text"] for _ in range(rounds)]

        with concurrent.futures.ThreadPoolExecutor(STREAMS) as pool:
            return list(pool.map(ask, range(STREAMS)))

    def test_no_token_or_request_of_the_daemon_is_wrong_or_lost(self):
        options = ["--quantize", "f32", "--attention", "xrt:0=0.5,xrt:1=0.5", "--device-timeout-ms", "3000",
                   "--revive-seconds", "1"]
        with Daemon(*options, cards=2) as daemon:
            expected = self.answers(daemon, 1)
        for seed in (1, 2, 3):
            with self.subTest(seed=seed):
                storm = Storm(self.folder, seed, 100, 100)
                stormy = Daemon(*options, cards=2)
                stormy.environment.update(storm.environment)
                with stormy as daemon:
                    self.assertEqual(self.answers(daemon, ROUNDS), [texts * ROUNDS for texts in expected])
                    self.assertEqual(daemon.request("GET", "/health")[0], 200)
                self.assertGreater(len(storm.faults()), 3)

    def test_sums_of_a_card_stay_right(self):
        happened = 0
        for seed in range(1, 7):
            with self.subTest(seed=seed):
                storm = Storm(self.folder, seed, 10, 200)
                command = [TANDEM, "allreduce-bench", "--world", "2", "--json", "--elements", "20000", "--samples", "100",
                           "--aggregator", "xrt:0", "--type", "u64", "--schemes", "balanced_parallelism"]
                process = subprocess.run(command, capture_output=True, text=True, timeout=1200,
                                         env={**card_environment(1), **storm.environment})
                self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
                self.assertTrue(json.loads(process.stdout.splitlines()[0])["verified"])
                happened += len(storm.faults())
        self.assertGreater(happened, 5)


@unittest.skipUnless(HAVE_CARDS, "this build has no emulated cards")
class TrainingStormTest(TrainRuns):
    def test_tables_on_cards_keep_every_bit(self):
        (self.folder / "clicks.toml").write_text(CLICKS)
        common = ["--model-config", self.folder / "clicks.toml", "--data", "synthetic", "--batch", 64, "--json", "--threads", 1,
                  "--steps", 60, "--table-optimizer", "row_adam"]
        expected = self.train(*common, "--out", self.folder / "host", small=False)
        happened = 0
        for seed in range(1, 6):
            with self.subTest(seed=seed):
                storm = Storm(self.folder, seed, 20, 20)
                out = self.folder / f"cards{seed}"
                lines = self.train(*common, "--out", out, "--offload", "xrt:0,xrt:1", small=False,
                                   environment={**card_environment(2), **storm.environment})
                self.assertEqual(losses(lines), losses(expected))
                self.assertEqual(model_bytes(out), model_bytes(self.folder / "host"))
                happened += len(storm.faults())
        self.assertGreater(happened, 5)


if __name__ == "__main__":
    unittest.main()
