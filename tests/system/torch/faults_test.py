# SPDX-License-Identifier: Apache-2.0
#
# A rank is lost in mid-run: the others end with the typed error, before the deadline, and hang nowhere.
import re
import signal
import time
import unittest

from ranks import DEBIAN, HERE, Ranks, require

TIMEOUT = 120  # only the rank that stands still is waited for that long
STANDS_STILL = 20
HANGS = 300


class FaultsTest(unittest.TestCase):
    def ends(self, fault, world, timeout=TIMEOUT):
        require(DEBIAN)
        ranks = Ranks(world, [DEBIAN, str(HERE / "fault_worker.py"), fault, str(timeout)])
        self.addCleanup(ranks.close)
        for rank, process in enumerate(ranks.processes):
            if rank != 1:
                process.wait(1200)
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

    def test_a_rank_killed_inside_a_backward_pass_ends_the_others(self):
        self.check(self.ends("kill_inside", 4), TIMEOUT)

    def test_a_rank_that_stands_still_ends_the_others_at_the_deadline(self):
        self.check(self.ends("stop", 2, STANDS_STILL), HANGS)

    def test_a_rank_that_leaves_early_ends_the_others(self):
        self.check(self.ends("leave", 2), TIMEOUT)

    def interrupted(self, fault, line, ranks_to_interrupt):
        """Outputs of ranks that get Ctrl-C once they have printed `line`; they end without the deadline's help."""
        require(DEBIAN)
        ranks = Ranks(2, [DEBIAN, str(HERE / "fault_worker.py"), fault, "600"])
        self.addCleanup(ranks.close)
        end = time.monotonic() + 1200
        while any(line not in ranks.outputs()[rank] for rank in ranks_to_interrupt) and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(1)
        for rank in ranks_to_interrupt:
            ranks.processes[rank].send_signal(signal.SIGINT)
        for rank in ranks_to_interrupt:
            ranks.processes[rank].wait(1200)
        return [ranks.outputs()[rank] for rank in ranks_to_interrupt]

    def test_ctrl_c_ends_ranks_that_train(self):
        outputs = self.interrupted("interrupt", "trains", (0, 1))
        self.assertIn("KeyboardInterrupt", "".join(outputs))
        for output in outputs:
            self.assertTrue("KeyboardInterrupt" in output or "ended TransportError" in output, output)

    def test_ctrl_c_ends_a_rank_that_waits_for_one_that_does_not_come(self):
        output, = self.interrupted("absent", "starts", (0,))
        self.assertIn("KeyboardInterrupt", output)
        self.assertNotIn("trains", output)
        self.assertNotIn("Exception ignored", output)


if __name__ == "__main__":
    unittest.main()
