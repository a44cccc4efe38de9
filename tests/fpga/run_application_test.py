# SPDX-License-Identifier: Apache-2.0
"""The judge of the FPGA corpus: which outputs and exit codes it takes for a pass, and for the failure that is meant."""
import os
import subprocess
import sys
import tempfile
import unittest

JUDGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_application.py")
PASSED = "echo TEST PASSED"
FAILED = "echo TEST FAILED; exit 1"
WRONG_VALUE = "echo 'tests/host.cpp:37: sums[i] is 0, not 3996'"
NOT_LOADED = "echo 'exception: failed to load xclbin: Invalid argument'"


class RunApplicationTest(unittest.TestCase):
    def judge(self, script, *options):
        """(whether the judge says yes, what it says)"""
        with tempfile.TemporaryDirectory() as tree:
            with open(os.path.join(tree, "setup.sh"), "w") as setup:
                setup.write("export TREE_IS_SET_UP=1\n")
            command = [sys.executable, "-B", JUDGE, "--mode", "sw_emu", "--timeout", "20", "--tree", tree, *options]
            done = subprocess.run([*command, "--", "bash", "-c", script], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        return done.returncode == 0, done.stdout

    def accepts(self, script, *options):
        yes, said = self.judge(script, *options)
        self.assertTrue(yes, said)

    def refuses(self, reason, script, *options):
        yes, said = self.judge(script, *options)
        self.assertFalse(yes)
        self.assertIn(reason, said)

    def test_a_program_passes_when_it_says_so_and_exits_with_0(self):
        self.accepts(PASSED, "--expect", "pass")
        self.accepts('[ -n "$TREE_IS_SET_UP" ] && ' + PASSED, "--expect", "pass")
        self.refuses("it exited with 3", PASSED + "; exit 3", "--expect", "pass")
        self.refuses("it exited with 0", "true", "--expect", "pass")
        self.refuses("it exited with 1", WRONG_VALUE + "; " + FAILED, "--expect", "pass")

    def test_a_broken_kernel_is_noticed_by_a_check_that_names_a_value(self):
        self.accepts(WRONG_VALUE + "; " + FAILED, "--expect", "fail")
        self.accepts("echo loaded; " + WRONG_VALUE + "; echo TEST FAILED", "--expect", "fail")
        self.refuses("it passed although", PASSED, "--expect", "fail")
        self.refuses("said nothing", "true", "--expect", "fail")

    def test_a_program_that_could_not_begin_says_nothing_about_its_checks(self):
        self.refuses("failed to load xclbin", NOT_LOADED + "; " + FAILED, "--expect", "fail")
        self.refuses("failed to load xclbin", WRONG_VALUE + "; " + NOT_LOADED + "; " + FAILED, "--expect", "fail")
        self.refuses("no check named a value", FAILED, "--expect", "fail")
        self.refuses("no check named a value", "echo 'host.cpp:9: loaded does not hold'; " + FAILED, "--expect", "fail")
        self.refuses("no check named a value", "exit 127", "--expect", "fail")

    def test_an_application_may_ask_for_another_failure(self):
        expected = ("--expect", "fail", "--expect-text", "burst .* full")
        self.accepts("echo 'before its burst is full'; " + NOT_LOADED + "; " + FAILED, *expected)
        self.refuses("without printing 'burst .* full'", WRONG_VALUE + "; " + FAILED, *expected)
        self.refuses("it passed although", "echo 'the burst is full'; " + PASSED, *expected)

    def test_no_failure_is_a_signal_or_a_process_left_behind(self):
        self.refuses("SIGKILL", WRONG_VALUE + "; kill -KILL $$", "--expect", "fail")
        self.refuses("did not end within", PASSED + "; sleep 60", "--expect", "pass", "--timeout", "0.5")


unittest.main(argv=sys.argv[:1])
