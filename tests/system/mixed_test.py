# SPDX-License-Identifier: Apache-2.0
#
# Attention over several devices by shares, early queries, KV moves, and the timeline. The tokens equal those of the CPU
# alone (in f32 arithmetic), and errors name the wrong option.
import json
import shutil
import tempfile
import unittest
from pathlib import Path

from daemon import TANDEM, card_environment, run, run_json

PROMPT = "Tom and Lily went to the park to play with a big red ball."
PLAIN = ["--prompt", PROMPT, "--max-tokens", 40, "--temperature", 0, "--ignore-eos", "--quantize", "f32"]
THREE = ["--attention", "xrt:0=0.5,xrt:1=0.3,cpu=0.2"]


def tokens(*arguments):
    return run_json("generate", *PLAIN, *arguments, environment=card_environment())


class MixedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = tokens("--attention", "cpu")["output_ids"]

    def test_shares_of_pages_give_the_tokens_of_the_cpu_and_work_to_everyone(self):
        for more in [], ["--sub-batches", 2], ["--kv-moves"]:
            answer = tokens(*THREE, "--placement", "pages", *more)
            self.assertEqual(answer["output_ids"], self.expected)
            for device in answer["devices"]:
                self.assertGreater(device["launches"], 0, f"{device['device']} did nothing")

    def test_pages_that_move_from_a_full_unit_give_the_tokens_of_the_cpu(self):
        # 64 tokens of one sequence: each unit has four pages, and the fourth makes one of them full.
        answer = tokens("--attention", "xrt:0=0.5,cpu=0.5", "--context", 64, "--max-running", 1, "--kv-moves")
        self.assertGreater(answer["moved_pages"], 0)
        self.assertEqual(answer["output_ids"], self.expected)
        self.assertTrue(all(d["launches"] > 0 for d in answer["devices"]), answer["devices"])

    def test_a_group_that_computes_attends_under_each_of_its_names(self):
        for name in "cpu+cpu", "cpu:0+cpu":
            answer = tokens("--compute", "cpu,cpu:0", "--attention", name)
            self.assertEqual(answer["output_ids"], self.expected)
            self.assertEqual(len({d["device"] for d in answer["devices"]}), 1, answer["devices"])

    def test_a_planned_split_uses_what_it_needs_and_gives_the_tokens_of_the_cpu(self):
        # In f32 the model has 16 MiB, and every device keeps some for activations.
        for devices, used in ("cpu,cpu", "cpu"), ("cpu=20MiB,cpu=20MiB", "cpu+cpu"):
            answer = tokens("--compute", devices, "--split", "auto", "--attention", used)
            self.assertEqual(answer["output_ids"], self.expected)
            self.assertEqual([(d["device"], d["launches"] > 0) for d in answer["devices"]], [(used, True)] * 2)

    def test_a_model_that_fits_nowhere_and_limits_without_a_plan_are_refused(self):
        self.assertIn("does not fit", self.refusal("--compute", "cpu=9MiB,cpu=9MiB", "--split", "auto", "--quantize", "f32"))
        self.assertIn("--split auto", self.refusal("--compute", "cpu=20MiB,cpu"))
        self.assertIn("'much' is not a size", self.refusal("--compute", "cpu=much,cpu", "--split", "auto"))

    def test_shares_of_sequences_put_one_sequence_on_the_largest(self):
        devices = tokens(*THREE)["devices"]
        self.assertEqual([d["launches"] > 0 for d in devices if d["role"] == "attention"], [True, False, False])

    def test_queries_sent_early_give_the_tokens_of_the_cpu(self):
        launches = {}
        for choice in "off", "on":
            answer = tokens("--attention", "xrt:0,cpu", "--placement", "interleave", "--early-query", choice)
            self.assertEqual(answer["output_ids"], self.expected)
            launches[choice] = next(d["launches"] for d in answer["devices"] if d["device"] == "xrt:0")
        self.assertGreater(launches["on"], launches["off"])

    def test_a_timeline_shows_cards_ops_and_waits(self):
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "timeline.json"
            answer = tokens("--attention", "xrt:0,cpu", "--placement", "interleave", "--trace", file)
            self.assertEqual(answer["output_ids"], self.expected)
            events = json.loads(file.read_text())["traceEvents"]
        devices = {e["args"]["name"] for e in events if e["name"] == "process_name"}
        self.assertEqual(devices, {"engine", "cpu", "xrt:0"})
        names = {e["name"] for e in events if e["ph"] == "X"}
        self.assertTrue({"step", "plan", "run", "layer", "linear", "attention", "wait xrt:0"} <= names, names)

    def test_a_bench_has_a_timeline_too(self):
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "timeline.json"
            process = run("bench", "--quick", "--no-prefill", "--decode", "2@32", "--loads", 1, "--trace", file)
            self.assertEqual(process.returncode, 0, process.stderr)
            names = {e["name"] for e in json.loads(file.read_text())["traceEvents"]}
        self.assertTrue({"layer", "linear", "attention"} <= names, names)

    def refusal(self, *arguments):
        process = run("generate", "--prompt", "x", *arguments, environment=card_environment())
        self.assertEqual(process.returncode, 2, process.stderr)
        return process.stderr

    def test_bad_shares_are_named(self):
        self.assertIn("the shares sum to 0.8", self.refusal("--attention", "xrt:0=0.5,cpu=0.3"))
        self.assertIn("the share of xrt:0, '-0.5'", self.refusal("--attention", "xrt:0=-0.5,cpu=1"))
        self.assertIn("cpu has no share", self.refusal("--attention", "xrt:0=0.5,cpu"))
        self.assertIn("nonsense", self.refusal("--attention", "nonsense=0.5,cpu=0.5"))
        self.assertIn("interleave", self.refusal(*THREE, "--placement", "interleave"))

    def test_a_timeline_that_cannot_be_written_is_named(self):
        self.assertIn("/nonexistent/timeline.json", self.refusal("--trace", "/nonexistent/timeline.json"))
        self.assertIn("early-query", self.refusal("--early-query", "perhaps"))
        self.assertIn("rings", self.refusal("--rings", "perhaps"))


    def test_a_timeline_does_not_take_the_place_of_the_model(self):
        with tempfile.TemporaryDirectory() as directory:
            model = Path(directory) / "model.gguf"
            demo = Path(TANDEM).parent.parent / "share/tandem/models/tandem-stories-q8_0.gguf"
            shutil.copy(demo, model)
            link = Path(directory) / "link.json"
            link.symlink_to(model)
            for file in model, link:
                self.assertIn("belongs to the model", self.refusal("--model", model, "--trace", file))
            self.assertIn("belongs to the model", self.refusal("--model", directory, "--trace", model))
            self.assertEqual(model.read_bytes(), demo.read_bytes())


if __name__ == "__main__":
    unittest.main()
