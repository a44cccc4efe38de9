# SPDX-License-Identifier: Apache-2.0
#
# The sparsifier study: its committed pages are those that its script writes from the committed figures, and a Python that
# cannot measure is refused before an hour's work.
import pathlib
import subprocess
import sys
import tempfile
import unittest

STUDY = pathlib.Path(__file__).resolve().parents[2] / "benchmarks/host/collectives/sparsifier_study"


def study(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        found = subprocess.run([sys.executable, "-B", str(STUDY / "study.py"), "--out", folder, *arguments], capture_output=True,
                               text=True, timeout=1200)
        return found, {path.name: path.read_text() for path in pathlib.Path(folder).iterdir()}


class StudyTest(unittest.TestCase):
    def test_the_committed_pages_are_those_of_the_committed_figures(self):
        found, pages = study("--figures", str(STUDY / "figures.json"))
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(sorted(pages), ["RESULTS.md", "bert.svg", "demo.svg", "resnet50.svg"])
        for name, text in pages.items():
            self.assertEqual(text, (STUDY / name).read_text(), name)

    def test_a_python_that_cannot_measure_is_refused_at_once(self):
        found, pages = study("--python", "/bin/false")
        self.assertEqual(found.returncode, 1)
        self.assertIn("host/model/demo/requirements.txt", found.stderr)
        self.assertEqual(pages, {})


if __name__ == "__main__":
    unittest.main()
