# SPDX-License-Identifier: Apache-2.0
#
# `tandem bench` as a user runs it: figures of every row, plausible fractions, turns, bad options.
import json
import math
import shlex
import subprocess
import unittest

from daemon import TANDEM, run

ROWS = ["--prefill", "64", "--decode", "1@32,4@100", "--quick", "--loads", "2"]


def figures(*arguments, stdin=None):
    process = subprocess.run(
        [TANDEM, "bench", *ROWS, "--json", *arguments], capture_output=True, text=True, timeout=1200, input=stdin)
    if process.returncode != 0:
        raise AssertionError(f"tandem bench ended with {process.returncode}:\n{process.stderr}")
    return [json.loads(line) for line in process.stdout.splitlines()]


class BenchTest(unittest.TestCase):
    def check_row(self, row, batch, context):
        self.assertEqual(row["unit"], "tokens/s")
        self.assertEqual((row["batch"], row["context"]), (batch, context))
        self.assertLessEqual(1, row["samples"])
        self.assertLess(0, row["p10"])
        self.assertLessEqual(row["p10"], row["median"])
        self.assertLessEqual(row["median"], row["p90"])
        self.assertTrue(math.isfinite(row["roofline_fraction"]))
        self.assertLess(0, row["roofline_fraction"])
        # The demo model's weights stay in a cache, which may give more than memory does.
        self.assertTrue(row["weights_fit_a_cache"])
        self.assertIn(row["limited_by"], ("memory", "arithmetic"))
        for speed in ("read_gb_per_s", "kv_read_gb_per_s", "f32_gop_per_s", "bf16_gop_per_s", "int8_gop_per_s"):
            self.assertLess(0, row["speeds"][speed], speed)
        self.assertLess(0, row["weight_bytes"])
        self.assertLess(0, row["ops"])

    def test_every_row_has_its_figures(self):
        lines = {line["name"]: line for line in figures()}
        self.assertEqual(list(lines), ["bench/load", "bench/prefill_64", "bench/decode_batch1_context32",
                                       "bench/decode_batch4_context100"])
        self.check_row(lines["bench/prefill_64"], 1, 64)
        self.check_row(lines["bench/decode_batch1_context32"], 1, 32)
        self.check_row(lines["bench/decode_batch4_context100"], 4, 100)
        self.assertEqual(lines["bench/load"]["samples"], 2)
        for line in lines.values():  # what gave them can be run again
            self.assertEqual(shlex.split(line["command"]), [TANDEM, "bench", *ROWS, "--json"])
        self.assertLess(0, lines["bench/load"]["median"])
        # 5 layers, K and V of 4 heads of 32 halves.
        self.assertEqual(lines["bench/decode_batch4_context100"]["kv_bytes"], 4 * 100 * 5 * 2 * 4 * 32 * 2)

    def test_contexts_beyond_the_model_are_clipped_and_rows_without_pages_skipped(self):
        lines = figures("--decode", "2@999999", "--decode", "64@512", "--kv-memory", "8MiB")
        clipped, skipped = lines[-2:]
        self.assertEqual((clipped["context"], clipped["asked_context"]), (512, 999999))
        self.assertIn("--kv-memory", skipped["skipped"])
        self.assertNotIn("median", skipped)

    def test_the_table_is_for_people(self):
        process = run("bench", *ROWS)
        self.assertEqual(process.returncode, 0, process.stderr)
        for words in ("prefill 64", "decode batch 4, context 100", "of limit", "loads in"):
            self.assertIn(words, process.stdout)
        legend = process.stdout.splitlines()[-1]
        for words in ("limit: the least ms a step, by memory (mem)", "*: weights fit a cache", "!: fewer samples"):
            self.assertIn(words, legend)

    def test_samples_wait_for_their_turn(self):
        lines = figures("--turns", stdin="\n\nend\n\nend\nend\n")
        turns = [(line["turn"], line["samples"]) for line in lines if "turn" in line]
        self.assertEqual(turns[:4], [("prefill_64", 0), ("prefill_64", 1), ("prefill_64", 2),
                                     ("decode_batch1_context32", 0)])
        by_name = {line["name"]: line for line in lines if "name" in line}
        self.assertEqual(by_name["bench/prefill_64"]["samples"], 2)
        self.assertEqual(by_name["bench/decode_batch1_context32"]["samples"], 1)
        self.assertIn("skipped", by_name["bench/decode_batch4_context100"])

    def test_other_types_of_keys_and_values_and_both_halves(self):
        for line in figures("--kv-dtype", "i8", "--sub-batches", "2")[1:]:
            self.assertLess(0, line["median"])

    def test_bad_options_end_with_2(self):
        for arguments in (["--decode", "8x4"], ["--decode", "0@4"], ["--samples", "0"], ["--prefill", "-3"],
                          ["--seconds", "0"], ["--turns"], ["--model", "/does/not/exist.gguf"],
                          ["--compute", "abacus"], ["--attention", "abacus"], ["--context", "5"], ["--no-prefill", "--no-decode"]):
            process = run("bench", *arguments)
            self.assertEqual(process.returncode, 2, (arguments, process.stderr))
            self.assertTrue(process.stderr.strip(), arguments)


if __name__ == "__main__":
    unittest.main()
