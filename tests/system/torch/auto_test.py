# SPDX-License-Identifier: Apache-2.0
#
# The sparsifier auto in DistributedDataParallel: its trial, its dense steps, and what they do with NaN.
import os
import unittest

from ranks import Cases


class AutoCases(Cases):
    program = "auto_cases.py"

    def test_dense_steps_that_win_are_those_of_plain_ddp(self):
        for found in self.of("dense"):
            self.assertEqual(found["open"]["trial"]["outcome"], "open")
            self.assertGreater(found["open"]["residual"], 0)
            flushed, later = found["flushed"], found["later"]
            self.assertEqual(flushed["trial"], {"outcome": "dense", "dense_step_seconds": 1.0, "sparse_step_seconds": 2.0})
            self.assertEqual(flushed["residual"], 0)
            self.assertLess(found["apart"], 1e-6)
            self.assertEqual(later["bytes"], flushed["bytes"])  # the library sends nothing any more
            self.assertEqual(later["steps"], flushed["steps"] + 4)
            self.assertTrue(later["same"])

    def test_sparse_steps_that_win_stay_sparse(self):
        for found in self.of("sparse"):
            self.assertEqual(found["later"]["trial"]["outcome"], "sparse")
            self.assertGreater(found["later"]["residual"], 0)
            self.assertGreater(found["apart"], 1e-4)
            self.assertTrue(found["later"]["same"])

    def test_the_slowest_rank_counts(self):
        for found in self.of("ranks"):
            self.assertEqual(found["later"]["trial"],
                             {"outcome": "dense", "dense_step_seconds": 1.0, "sparse_step_seconds": 1.5})

    def test_a_value_that_is_not_finite_stops_or_skips_a_dense_step(self):
        for found in self.of("non_finite"):
            self.assertEqual(found["stop"]["error"][0], "NonFiniteError")
            self.assertRegex(found["stop"]["error"][1], r"step 23: the gradient of \d\.(weight|bias) has a NaN or an infinity")
            self.assertIsNone(found["skip"]["error"])
            for choice in ("stop", "skip"):
                self.assertTrue(found[choice]["same"])
                self.assertTrue(all(loss == loss for loss in found[choice]["after"]))
            self.assertIsNone(found["None"]["error"])
            self.assertEqual([found["skip"]["finite"], found["None"]["finite"]], [True, False])  # None: as in plain DDP

    def test_the_outcome_is_part_of_the_state(self):
        for found in self.of("state"):
            self.assertEqual(found["outcomes"], [["dense"] * 3, ["sparse"] * 3])

    def test_with_rules_the_library_makes_the_trial(self):
        for found in self.of("rules"):
            self.assertIn(found["outcome"], ("dense", "sparse"))
            self.assertGreater(found["calls"], 20)  # dense steps too
            self.assertTrue(found["same"])


class TwoRanksTest(AutoCases, unittest.TestCase):
    pass


class CurrentTorchTest(AutoCases, unittest.TestCase):
    python = os.environ.get("TANDEM_TORCH_PYTHON")


if __name__ == "__main__":
    unittest.main()
