# SPDX-License-Identifier: Apache-2.0
#
# The hook in DistributedDataParallel over gloo: hook_cases.py runs once on 2 and once on 4 ranks for each PyTorch.
import os
import unittest

from ranks import Cases


class HookCases(Cases):
    """Those that depend on the number of ranks."""

    program = "hook_cases.py"
    cases = tuple("case_" + name for name in ("exact", "sparse", "accumulation", "unused", "resume", "embedding", "groups", "types",
                                              "non_finite", "different_ranks", "edges"))

    def test_exact_gradients_are_those_of_plain_ddp(self):
        for found in self.of("exact"):
            self.assertLess(found["exact"], 1e-6)
            self.assertLess(found["whole"], 1e-6)
            plain, exact, whole = found["losses"]
            for other in (exact, whole):
                for expected, loss in zip(plain, other):
                    self.assertAlmostEqual(loss, expected, delta=1e-5 * max(1, expected))

    def test_sparse_gradients_train_as_far_as_dense_ones(self):
        for found in self.of("sparse"):
            dense, sparse = found["losses"]
            self.assertTrue(found["same"])
            self.assertLess(sparse[-1], 0.2 * sparse[0])
            self.assertLess(sparse[-1], 2 * dense[-1] + 0.01)
            statistics = found["statistics"]
            self.assertEqual(statistics["steps"], 80)
            self.assertEqual(statistics["hook"]["exact_steps"], 3)
            sent = [bucket["density_sent"] for bucket in statistics["buckets"] if bucket["density_asked"] < 1]
            self.assertTrue(sent)
            self.assertLess(max(sent), 0.2)

    def test_gradients_accumulate_without_the_hook(self):
        for found in self.of("accumulation"):
            self.assertLess(found["distance"], 1e-6)
            self.assertEqual(found["steps"], 6)
            self.assertTrue(found["same"])
            self.assertGreater(found["moved"], 0.001)

    def test_parameters_may_be_unused_on_some_ranks(self):
        for found in self.of("unused"):
            self.assertLess(found["distance"], 1e-6)
            self.assertTrue(found["same"])
            self.assertTrue(found["layout"]["settled"])
            self.assertEqual(found["layout"]["exact_steps"], 2)

    def test_a_resumed_run_repeats_the_unbroken_one_bit_for_bit(self):
        for found in self.of("resume"):
            for name, distances in found.items():
                with self.subTest(name):
                    self.assertEqual(distances["resumed"], 0)
                    self.assertEqual(distances["pickled"], 0)
                    self.assertGreater(distances["without_state"], 0)

    def test_rows_of_embeddings_stay_rows(self):
        for found in self.of("embedding"):
            self.assertEqual(found["layouts"], ["torch.sparse_coo"])
            self.assertLess(max(found["farthest"]), 1e-6)
            self.assertLess(found["distance"], 1e-6)
            self.assertTrue(found["same"])
            self.assertEqual(found["rows"], 1)

    def test_modules_and_subsets_of_ranks_have_groups_of_their_own(self):
        half = self.world // 2
        for rank, found in enumerate(self.of("groups")):
            self.assertLess(found["distance"], 1e-6)
            self.assertGreater(found["moved"], 0.001)
            self.assertLess(found["subset"], 1e-6)
            first = rank // half * half
            self.assertEqual(found["ranks"], list(range(first, first + half)))

    def test_gradients_of_all_float_types_are_reduced(self):
        mean = (self.world + 1) / 2
        for found in self.of("types"):
            self.assertEqual(len(found), 4)
            for kind, means in found.items():
                self.assertEqual(means, [[mean]] * 4, kind)

    def test_a_nan_stops_is_skipped_or_clipped_by_option(self):
        for found in self.of("non_finite"):
            name, text = found["stop"]["error"]
            self.assertEqual(name, "NonFiniteError")
            self.assertIn(f"rank {self.world - 1}", text)
            self.assertRegex(text, r"step 5.*(weight|bias)")
            for choice in ("skip", "clip"):
                self.assertIsNone(found[choice]["error"])
                self.assertTrue(found[choice]["finite"])
            self.assertEqual(found["skip"]["biggest"], 0)
            self.assertGreater(found["clip"]["biggest"], 0)
            for choice in ("stop", "skip", "clip"):
                self.assertTrue(found[choice]["same"], choice)
                self.assertEqual(len(found[choice]["after"]), 3)

    def test_ranks_that_differ_are_told_what_differs(self):
        for found in self.of("different_ranks"):
            self.assertEqual(found["options"][0], "TandemError")
            self.assertRegex(found["options"][1], "density.*0.05.*0.1|density.*0.1.*0.05")
            self.assertEqual(found["names"][0], "TandemError")
            self.assertIn("0.weight", found["names"][1])
            self.assertIn("1.weight", found["names"][1])
            self.assertTrue(found["same"])

    def test_densities_and_buckets_at_their_edges_work(self):
        for found in self.of("edges"):
            self.assertEqual(found["zero"], [0, True])
            self.assertAlmostEqual(found["one"], 5 * (self.world + 1) / 2, places=5)
            for density in ("0.0", "1.0"):
                self.assertLess(found[density][-1], found[density][0])


class TwoRanksTest(HookCases, unittest.TestCase):
    cases = ()  # all

    def test_both_ways_to_register_give_the_same_weights(self):
        self.assertEqual(self.first("idioms")["distance"], 0)

    def test_steps_are_exact_until_the_buckets_have_settled(self):
        found = self.first("layouts")
        for name, exact_steps in (("default", 3), ("static", 4), ("view", 3), ("unused", 2)):
            with self.subTest(name):
                self.assertLess(found[name]["distance"], 1e-6)
                self.assertTrue(found[name]["same"])
                self.assertGreater(found[name]["buckets"], 1)
                self.assertTrue(found[name]["settled"])
                self.assertEqual(found[name]["steps"], 6)
                self.assertEqual(found[name]["exact_steps"], exact_steps)

    def test_misuse_is_a_sentence(self):
        found = self.first("misuse")
        for name, text in (("twice", "attach() gave it one"), ("foreign", "has a communication hook already")):
            self.assertEqual(found[name][0], "TandemError")
            self.assertIn(text, found[name][1])
        self.assertIn("Sequential", found["no_ddp"][1])
        self.assertIn("did you mean 'density'", found["option"][1])
        self.assertIn("density 2", found["density"][1])
        self.assertIn("top_k", found["sparsifier"][1])
        self.assertIn("rank 17", found["other_rank"][1])
        self.assertIn("format", found["format"][1])
        self.assertIn("bind", found["unbound"][1])
        self.assertIn("bound already", found["bound"][1])
        self.assertEqual(len(found["works"]), 2)


class FourRanksTest(HookCases, unittest.TestCase):
    world = 4


class CurrentTorchTest(TwoRanksTest):
    python = os.environ.get("TANDEM_TORCH_PYTHON")


class FourCurrentRanksTest(FourRanksTest):
    python = os.environ.get("TANDEM_TORCH_PYTHON")


if __name__ == "__main__":
    unittest.main()
