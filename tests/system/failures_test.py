# SPDX-License-Identifier: Apache-2.0
#
# scripts/failures.py: reads what ctest writes, and says the last lines of failed tests only.
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "failures.py"
TESTS = """
add_test(passes sh -c "echo this passed")
add_test(fails sh -c "echo first; echo '<second> & third'; exit 3")
add_test(ends sh -c "kill -SEGV $$")
"""


class FailuresTest(unittest.TestCase):
    def test_the_last_lines_of_failed_tests_are_printed(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(TESTS)
            ran = subprocess.run(["ctest", "--output-junit", "results.xml"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 8, ran.stdout)
            printed = subprocess.run([sys.executable, "-B", SCRIPT, f"{folder}/results.xml", "1"], capture_output=True, text=True)
        self.assertEqual(printed.stderr, "")
        self.assertEqual(printed.stdout, "\n== fails failed; its last lines:\n  <second> & third\n"
                                         "\n== ends failed; its last lines:\n")


if __name__ == "__main__":
    unittest.main()
