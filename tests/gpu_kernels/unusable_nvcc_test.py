# SPDX-License-Identifier: Apache-2.0
#
# unusable_nvcc_test.py NVCC CMAKE_FOLDER: an nvcc that refuses the host compiler leaves CUDA out, with a warning that
# says what to do; it does not end the configuration.
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

NVCC, CMAKE_FOLDER = (Path(argument).resolve() for argument in sys.argv[1:3])

PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(Asker LANGUAGES CXX)
include("{CMAKE_FOLDER}/TandemCuda.cmake")
"""
# Answers questions about itself, which is how the toolkit is found; compiles nothing.
REFUSING = f"""#!/bin/sh
case "$*" in
  *.cu*) echo "unsupported GNU version" >&2; exit 1 ;;
esac
exec "{NVCC}" "$@"
"""


class UnusableNvccTest(unittest.TestCase):
    def configure(self, nvcc_folder):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder)
            (source / "CMakeLists.txt").write_text(PROJECT)
            environment = {key: value for key, value in os.environ.items() if not key.startswith("CUDA")}
            environment["PATH"] = f"{nvcc_folder}:{environment['PATH']}"
            return subprocess.run(["cmake", "-S", source, "-B", source / "build", "-G", "Ninja"],
                                  capture_output=True, text=True, env=environment)

    def test_a_compiler_that_refuses_is_as_none(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = Path(folder) / "nvcc"
            fake.write_text(REFUSING)
            fake.chmod(0o755)
            configured = self.configure(folder)
        self.assertEqual(configured.returncode, 0, configured.stderr)
        self.assertIn("CUDA FALSE", configured.stdout)
        warning = " ".join(configured.stderr.split())
        self.assertIn("TANDEM_CUDA_HOST_COMPILER", warning)
        self.assertIn(str(fake), warning)

    def test_a_compiler_that_works_is_taken(self):
        configured = self.configure(NVCC.parent)
        self.assertEqual(configured.returncode, 0, configured.stderr)
        self.assertIn("CUDA TRUE", configured.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
