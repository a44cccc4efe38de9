# SPDX-License-Identifier: Apache-2.0
#
# Rough use of the hook: rough_cases.py runs once on 2 and once on 4 ranks, and on a current PyTorch.
import os
import unittest

from ranks import Cases


class RoughCases(Cases):
    program = "rough_cases.py"

    def test_statistics_are_of_the_buckets_that_there_are(self):
        for figures in self.of("statistics"):
            for number, found in enumerate(figures["found"]):
                self.assertEqual(found["names"], figures["names"])
                self.assertEqual(found["steps"], [number + 1, number + 1])

    def test_rules_may_be_a_dict_and_say_when_they_apply_to_nothing(self):
        for rank, found in enumerate(self.of("rules")):
            self.assertEqual(len(found["warnings"]), 1 if rank == 0 else 0)
            self.assertEqual([round(value, 6) for value in found["asked"]], [0.1])
            self.assertEqual(found["sparsified"], [128 * 64 + 64 + 64 * 4 + 4])
        self.assertIn("'7.*'", self.first("rules")["warnings"][0])

    def test_threads_of_a_dropped_module_end(self):
        for found in self.of("dropped"):
            self.assertEqual(found["during"], found["before"] + 2)
            self.assertEqual(found["after"], found["before"])
            self.assertEqual(len(found["good"]), 2)

    def test_two_modules_in_one_graph_reduce_side_by_side(self):
        for found in self.of("chained"):
            self.assertLess(max(found["far"]), 1e-6)
            self.assertEqual(found["same"], [True, True])
            self.assertEqual(found["steps"], [6, 6])

    def test_a_models_own_exceptions_come_out_as_they_are(self):
        for found in self.of("exceptions"):
            for where, (name, text) in zip(("forward", "backward"), found["errors"]):
                self.assertEqual([name, text], ["KeyError", f"'the {where} pass'"])
            self.assertEqual(len(found["other"]), 4)
            self.assertTrue(found["same"])

    def test_parameters_and_passes_in_bfloat16_train(self):
        for found in self.of("autocast"):
            self.assertTrue(found["same"] and found["finite"])
        for found in self.of("bfloat16"):
            if "skipped" in found:
                self.skipTest(found["skipped"])
            self.assertEqual(found["same"], [True, True])
            for losses in found["losses"]:
                self.assertLess(losses[-1], 0.5 * losses[0])

    def test_a_loss_scaler_sees_what_is_not_finite_on_every_rank(self):
        for found in self.of("scaler"):
            self.assertNotIn(True, found["finite"])
            self.assertEqual(found["moved"], 0)
            self.assertEqual(len(found["after"]), 3)
            self.assertTrue(found["same"])

    def test_parameters_of_one_value_are_reduced_at_any_density(self):
        mean = (self.world + 1) / 2
        for found in self.of("scalars"):
            for name, (sent, exact_steps) in found.items():
                with self.subTest(name):
                    steps = exact_steps if name.startswith("none") else 6
                    self.assertEqual(len(sent), 4)
                    if not name.startswith("some"):
                        self.assertEqual(sent, [steps * mean] * 4)

    def test_parameters_without_values_are_left_out(self):
        for found in self.of("empty"):
            self.assertLess(found["far"], 1e-6)
            self.assertTrue(found["same"])
            self.assertEqual(found["steps"], 6)

    def test_buckets_that_pytorch_leaves_out_do_not_stop_the_steps(self):
        for found in self.of("skipped_buckets"):
            if "skipped" in found:
                self.skipTest(found["skipped"])
            self.assertLess(found["far"], 1e-6)
            self.assertTrue(found["same"])
            self.assertEqual([found["steps"], found["layout"]["steps"]], [8, 8])
            self.assertEqual(found["layout"]["exact_steps"], 2)

    def test_ranks_with_fewer_batches_join_in(self):
        for found in self.of("uneven"):
            self.assertLess(found["far"], 1e-6)
            self.assertTrue(found["same"])
            self.assertEqual(found["steps"], 4 + self.world)

    def test_options_that_differ_are_the_same_error_on_every_rank(self):
        first = self.first("differences")["errors"]
        for name, error in first.items():
            with self.subTest(name):
                self.assertEqual(error[0], "TandemError")
                self.assertRegex(error[1], "on rank 0 and .* on rank 1")
        for found in self.of("differences"):
            self.assertEqual(found["errors"], first)
            self.assertEqual(len(found["after"]), 2)

    def test_a_rank_that_pauses_is_waited_for(self):
        for found in self.of("late_rank"):
            self.assertEqual(len(found["after"]), 2)
            self.assertTrue(found["same"])


class TwoRanksTest(RoughCases, unittest.TestCase):
    pass


class FourRanksTest(RoughCases, unittest.TestCase):
    world = 4


class CurrentTorchTest(RoughCases, unittest.TestCase):
    python = os.environ.get("TANDEM_TORCH_PYTHON")


class FourCurrentRanksTest(CurrentTorchTest):
    world = 4


if __name__ == "__main__":
    unittest.main()
