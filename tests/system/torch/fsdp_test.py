# SPDX-License-Identifier: Apache-2.0
#
# FSDP of a current PyTorch (TANDEM_TORCH_PYTHON): sparse between hosts, in place of the reduce-scatter, and FSDP1.
import unittest

from ranks import HERE, require_current, run_ranks


class FsdpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        python = require_current()
        cls.addCleanup = cls.addClassCleanup
        ranks, codes, outputs = run_ranks(cls, 4, [python, str(HERE / "fsdp_cases.py")], 1000)
        if any(codes):
            raise AssertionError(f"ranks ended with {codes}:\n" + "\n".join(outputs))
        cls.found = ranks.results()[0]

    def test_exact_hooks_give_what_fsdp2_gives(self):
        exact = self.found["fsdp2"]["exact"]
        self.assertLess(max(exact["far"]), 1e-6)
        self.assertEqual(exact["steps"], [4, 4])

    def test_modules_have_residuals_by_name(self):
        for parameters in self.found["fsdp2"]["sparse"]["parameters"]:
            self.assertEqual(parameters, ["0", "2", "root"])

    def test_sparse_hooks_send_little_and_train(self):
        sparse = self.found["fsdp2"]["sparse"]
        for losses in sparse["losses"]:
            self.assertLess(losses[-1], 0.6 * losses[0])
        self.assertLess(max(sparse["sent"]), 0.4)

    def test_steps_end_where_the_root_has_no_parameters(self):
        found = self.found["rootless"]
        self.assertEqual(found["steps"], 5)
        self.assertEqual(sorted(found["buckets"]), ["0", "2", "4"])
        self.assertLess(found["hidden"], found["seconds"])  # FSDP waits for each call
        for _, calls, dense_calls in found["buckets"].values():
            self.assertEqual([calls, dense_calls], [5, 2])

    def test_units_of_fsdp1_keep_their_residuals_where_others_are_frozen_or_unused(self):
        for name, found in self.found["frozen"].items():
            with self.subTest(name):
                self.assertLess(found["far"], 1e-6)
                self.assertEqual(found["steps"], 4)
                calls = {unit: figures[1] for unit, figures in found["buckets"].items()}
                self.assertEqual(calls, {"root": 4, "layers.0": 4, "layers.2": 2, "layers.3": 4})

    def test_fsdp1_takes_the_alias(self):
        for name, (far, steps) in self.found["fsdp1"].items():
            self.assertLess(far, 1e-6, name)
            self.assertEqual(steps, 6, name)


if __name__ == "__main__":
    unittest.main()
