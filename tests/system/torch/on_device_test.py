# SPDX-License-Identifier: Apache-2.0
#
# Buckets on a GPU through the hook, over the library that interprets CUDA kernels: what they give is what buckets in host
# memory give.
import os
import unittest
from pathlib import Path

from ranks import DEBIAN, HERE, require, run_ranks

LIBRARY = Path(os.environ.get("TANDEM_TRAINING_SIMT", "missing"))


class OnDevice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require()
        if not LIBRARY.is_file():
            raise unittest.SkipTest("the library over the interpreter is not built (target tandem_training_simt)")
        cls.stopped = unittest.TestCase()
        ranks, codes, outputs = run_ranks(cls.stopped, 2, [DEBIAN, str(HERE / "on_device_cases.py")],
                                          TANDEM_TRAINING_LIBRARY=LIBRARY)
        try:
            if any(codes):
                raise AssertionError(f"ranks ended with {codes}:\n" + "\n".join(outputs))
            cls.results = ranks.results()
        finally:
            cls.stopped.doCleanups()

    def test_means_and_states_are_those_of_host_memory(self):
        for results in self.results:
            for kind in ("f32", "f16"):
                self.assertTrue(results[kind]["same"], kind)
                self.assertTrue(results[kind]["state"], kind)
                self.assertGreater(results[kind]["steps"], 6)
                self.assertGreater(results[kind]["sparse"], 1500)

    def test_a_flat_gradient_is_reduced_where_it_lies(self):
        for results in self.results:
            self.assertEqual(results["flat"]["entries"], 10)
            self.assertEqual(results["flat"]["last"], 99.5)

    def test_each_bucket_has_a_stream_that_waits_for_the_kernels_before(self):
        for results in self.results:
            self.assertGreaterEqual(results["streams"]["made"], 17)
            self.assertTrue(results["streams"]["waited"])
            self.assertEqual(results["streams"]["recorded"], results["streams"]["made"])


if __name__ == "__main__":
    unittest.main()
