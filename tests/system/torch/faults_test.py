# SPDX-License-Identifier: Apache-2.0
#
# A rank is lost in mid-run: the others end with the typed error, before the deadline, and hang nowhere.
import re
import unittest

from ranks import DEBIAN, HERE, Ranks, require

TIMEOUT = 20


class FaultsTest(unittest.TestCase):
    def ends(self, fault, world):
        require(DEBIAN)
        ranks = Ranks(world, [DEBIAN, str(HERE / "fault_worker.py"), fault, str(TIMEOUT)])
        self.addCleanup(ranks.close)
        for rank, process in enumerate(ranks.processes):
            if rank != 1:
                process.wait(200)
        return [output for rank, output in enumerate(ranks.outputs()) if rank != 1]

    def check(self, outputs, at_most):
        for output in outputs:
            found = re.search(r"ended (\w+) ([\d.]+) s: (.*)", output)
            self.assertIsNotNone(found, output)
            self.assertEqual(found[1], "TransportError", output)
            self.assertLess(float(found[2]), at_most, output)
            self.assertIn("again TransportError", output)

    def test_a_killed_rank_ends_the_others_with_a_transport_error(self):
        self.check(self.ends("kill", 4), TIMEOUT)

    def test_a_rank_that_stands_still_ends_the_others_at_the_deadline(self):
        self.check(self.ends("stop", 2), TIMEOUT + 30)

    def test_a_rank_that_leaves_early_ends_the_others(self):
        self.check(self.ends("leave", 2), TIMEOUT)


if __name__ == "__main__":
    unittest.main()
