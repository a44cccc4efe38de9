# SPDX-License-Identifier: Apache-2.0
#
# The package in a new virtual environment, by the lines of its page; Debian's PyTorch comes from the system.
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

from ranks import DEBIAN, PACKAGE, SOURCE, TORCHRUN, environment, free_port, require, require_current

PAGE = SOURCE / "host" / "training" / "python" / "README.md"


def run(*command, cwd, **more):
    variables = dict(environment(**more), PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
    variables["PYTHONPATH"] = variables.pop("INSTALLED", "")
    found = subprocess.run(command, capture_output=True, text=True, timeout=1200, env=variables, cwd=cwd)
    if found.returncode != 0:
        raise AssertionError(f"{command} ended with {found.returncode}:\n{found.stdout}{found.stderr}")
    return found.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require(DEBIAN)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.place = Path(cls.folder.name)

    def test_the_pages_lines_install_it_and_the_example_trains(self):
        page = PAGE.read_text()
        lines = re.search(r"^python3 -m venv.*\n.*pip install.*$", page, re.M)[0]
        lines = lines.replace("python3 -m venv", f"{DEBIAN} -m venv").replace("build/release/python", str(PACKAGE))
        run("bash", "-ec", lines, cwd=self.place)
        python = self.place / "venv" / "bin" / "python"
        where = run(python, "-c", "import tandem.torch; print(tandem.library_path())", cwd=self.place)
        self.assertTrue(where.startswith(str(self.place)), where)
        output = run(python, *TORCHRUN, "--master_port", str(free_port()),
                     PACKAGE / "examples" / "ddp_three_lines.py", cwd=self.place, STEPS="41")
        losses = [float(value) for value in re.findall(r"step \d+: loss ([\d.]+)", output)]
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[-1], losses[0])
        self.assertIn("'exact_steps'", output)
        self.assertTrue((self.place / "checkpoint-rank1.pt").is_file())

    def test_one_wheel_serves_every_python_and_has_the_library(self):
        for source in (PACKAGE, PAGE.parent):
            with tempfile.TemporaryDirectory() as folder:
                before = sorted(PAGE.parent.rglob("*"))
                run(DEBIAN, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", folder, source, cwd=folder,
                    TANDEM_TRAINING_LIBRARY=PACKAGE / "tandem" / "libtandem_training.so")
                wheel, = Path(folder).glob("*.whl")
                self.assertRegex(wheel.name, r"^tandem-0\.1\.0-py3-none-linux_\w+\.whl$")
                names = zipfile.ZipFile(wheel).namelist()
                for name in ("tandem/libtandem_training.so", "tandem/torch/__main__.py", "tandem/py.typed"):
                    self.assertIn(name, names)
                after = [path for path in sorted(PAGE.parent.rglob("*")) if "__pycache__" not in path.parts]
                self.assertEqual(after, [path for path in before if "__pycache__" not in path.parts])

    def test_without_a_built_library_cmake_builds_it(self):
        """In a copy of the package's part of the tree, with a cmake that notes its arguments and gives the library."""
        tree = self.place / "tree"
        shutil.copytree(PAGE.parent, tree / "host" / "training" / "python")
        shutil.copy(SOURCE / "CMakePresets.json", tree)
        cmake = self.place / "bin" / "cmake"
        cmake.parent.mkdir()
        cmake.write_text("""#!/bin/sh
echo "$@" >>cmake-calls
case "$1" in --build) mkdir -p build/demo/python/tandem && cp "$LIBRARY" build/demo/python/tandem ;; esac
""")
        cmake.chmod(0o755)
        library = PACKAGE / "tandem" / "libtandem_training.so"
        run(DEBIAN, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", self.place / "made",
            tree / "host" / "training" / "python", cwd=self.place, LIBRARY=library,
            PATH=f"{cmake.parent}:{os.environ['PATH']}")
        self.assertEqual((tree / "cmake-calls").read_text(),
                         "--preset demo\n--build --preset demo --target tandem_training_c\n")
        wheel, = (self.place / "made").glob("*.whl")
        with zipfile.ZipFile(wheel) as made:
            self.assertEqual(made.read("tandem/libtandem_training.so"), library.read_bytes())

    def test_the_pages_lines_install_it_beside_a_current_torch(self):
        python = require_current()
        target = self.place / "current"
        run(python, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--target", target, str(PACKAGE),
            cwd=self.place)
        output = run(python, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", str(free_port()),
                     PACKAGE / "examples" / "ddp_three_lines.py", cwd=self.place, STEPS="21", INSTALLED=target)
        self.assertIn("'exact_steps'", output)


if __name__ == "__main__":
    unittest.main()
