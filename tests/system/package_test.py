# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` lays down works away from the source tree: the program, and find_package(Tandem).
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import BUILD, SOURCE


def run(*arguments, **options):
    process = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, **options)
    if process.returncode != 0:
        raise AssertionError(f"{arguments} ended with {process.returncode}:\n{process.stdout}{process.stderr}")
    return process.stdout


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.root = Path(cls.directory.name)
        cls.prefix = cls.root / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def test_the_installed_program_finds_its_demo_model(self):
        text = run(self.prefix / "bin" / "tandem", "generate", "--prompt", "Once upon a time", "--max-tokens", 8,
                   "--attention", "cpu", cwd=self.root)
        self.assertGreater(len(text), len("Once upon a time"))

    def test_the_installed_cards_serve(self):
        setup = next(self.prefix.rglob("setup.sh"))
        command = (f"source '{setup}' && XCL_EMULATION_MODE=sw_emu '{self.prefix}/bin/tandem' generate "
                   "--prompt 'Once upon a time' --max-tokens 8 --attention xrt:0 --json")
        self.assertIn('"device": "xrt:0"', run("bash", "-c", command, cwd=self.root))

    def test_a_project_that_finds_the_package_builds_and_runs(self):
        source = self.root / "consumer"
        shutil.copytree(SOURCE / "tests" / "system" / "package", source)
        run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", source / "build")
        model = next(self.prefix.rglob("tandem-stories-q8_0.gguf"))
        self.assertTrue(run(source / "build" / "consumer", model).strip())


if __name__ == "__main__":
    unittest.main()
