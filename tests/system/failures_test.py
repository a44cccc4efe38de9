# SPDX-License-Identifier: Apache-2.0
#
# scripts/failures.py: reads what ctest writes, and says the last lines of failed tests only.
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = TREE / "scripts" / "failures.py"
TESTS = """
add_test(passes sh -c "echo this passed")
add_test(fails sh -c "echo first; echo '<second> & third'; exit 3")
add_test(ends sh -c "kill -SEGV $$")
add_test(floods sh -c "yes | head -200000; echo the end; exit 1")
"""


def truncation():
    """What ctest leaves out of a long output, by every preset of tests alike."""
    presets = json.loads((TREE / "CMakePresets.json").read_text())["testPresets"]
    (choice,) = {preset["output"]["testOutputTruncation"] for preset in presets}
    return choice


class FailuresTest(unittest.TestCase):
    def test_the_last_lines_of_failed_tests_are_printed(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(TESTS)
            ran = subprocess.run(["ctest", "--output-junit", "results.xml", "--test-output-truncation", truncation()], cwd=folder, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 8, ran.stdout)
            printed = subprocess.run([sys.executable, "-B", SCRIPT, f"{folder}/results.xml", "1"], capture_output=True, text=True)
        self.assertEqual(printed.stderr, "")
        self.assertEqual(printed.stdout, "\n== fails failed; its last lines:\n  <second> & third\n"
                                         "\n== ends failed; its last lines:\n"
                                         "\n== floods failed; its last lines:\n  the end\n")


if __name__ == "__main__":
    unittest.main()
