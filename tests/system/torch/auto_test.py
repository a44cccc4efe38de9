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
            self.assertTrue(later["same"])

    def test_after_the_first_dense_step_ddp_goes_on_without_the_hook(self):
        for found in self.of("without_hook"):
            for name in ("plain", "gradient_as_bucket_view", "find_unused_parameters"):
                self.assertEqual(found[name]["hooked"], 0, name)
                self.assertLess(found[name]["apart"], 1e-6, name)
                self.assertTrue(found[name]["same"], name)

    def test_the_hook_is_not_taken_off_within_a_step_or_where_another_reducer_would_go_on(self):
        for found in self.of("without_hook"):
            self.assertEqual(found["kept_reducer"], {"same_reducer": True, "same": True})
            self.assertEqual(found["in_backward"], {"during": True, "evaluated": True, "later": False, "same": True})

    def test_a_hook_that_looks_for_nan_stays_and_so_does_one_within_a_script_s_own(self):
        for found in self.of("hook_stays"):
            self.assertEqual(found["non_finite"]["hooked"], 6)
            self.assertGreaterEqual(found["own"], 27)

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

    def test_the_warm_up_of_a_low_density_is_ddp_s_own(self):
        for found in self.of("warmup"):
            self.assertEqual([found["steps"], found["bytes"], found["trial"]], [101, 0, 2])
            self.assertLess(found["apart"], 1e-6)
            self.assertGreater(found["later_bytes"], 0)
            self.assertGreater(found["gradual_bytes"], 0)
            self.assertTrue(found["same"])

    def test_with_rules_the_library_makes_the_trial(self):
        for found in self.of("rules"):
            self.assertIn(found["outcome"], ("dense", "sparse"))
            self.assertGreater(found["calls"], 20)  # dense steps too
            self.assertTrue(found["same"])


class TwoRanksTest(AutoCases, unittest.TestCase):
    pass


class FourRanksTest(AutoCases, unittest.TestCase):
    world = 4


class CurrentTorchTest(AutoCases, unittest.TestCase):
    python = os.environ.get("TANDEM_TORCH_PYTHON")


class FourCurrentRanksTest(CurrentTorchTest):
    world = 4


if __name__ == "__main__":
    unittest.main()
