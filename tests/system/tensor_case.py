# SPDX-License-Identifier: Apache-2.0
#
# What the tests of `tandem tensor` share: a folder with a small tensor, and how to call the command.
import os
import pathlib
import tempfile
import unittest
import unittest.mock

from daemon import run

SMALL = "1 1 2 0.5\n3 2 1 1\n1 1 2 0.25\n2 4 3 -1\n"


class TensorCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.small = self.write("small.tns", SMALL)
        kernels = unittest.mock.patch.dict(os.environ, {"TANDEM_KERNEL_CACHE": str(self.folder / "kernels")})
        kernels.start()
        self.addCleanup(kernels.stop)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def tensor(self, *arguments):
        process = run("tensor", *arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    def refused(self, *arguments, words):
        process = run("tensor", *arguments)
        self.assertEqual(process.returncode, 2, process.stdout + process.stderr)
        self.assertIn(words, process.stderr)

    def generate(self, *arguments, name="made.tns"):
        self.tensor("generate", *arguments, "--out", self.folder / name)
        return self.folder / name
