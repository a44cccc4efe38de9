# SPDX-License-Identifier: Apache-2.0
#
# Scripts that nobody here wrote, unmodified, under the launcher: accelerate's own tests, whose asserts compare with training in
# one process, and a Lightning Trainer. They run where TANDEM_TORCH_PYTHON has those packages.
import functools
import os
import re
import subprocess
import unittest

from ranks import HERE, TORCHRUN, environment, free_port, require

PYTHON = os.environ.get("TANDEM_TORCH_PYTHON")


@functools.lru_cache(maxsize=None)
def has(module):
    return PYTHON and subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, timeout=1200).returncode == 0


def torchrun(*arguments, **more):
    """Exit status and output of two ranks under the launcher."""
    command = [PYTHON, *TORCHRUN[:2], "--nproc_per_node", "2", "--master_port", str(free_port()), "-m", "tandem.torch",
               *arguments]
    found = subprocess.run(command, capture_output=True, text=True, timeout=1200, env=environment(**more), cwd=HERE)
    return found.returncode, found.stdout + found.stderr


class ScriptsTest(unittest.TestCase):
    def needs(self, module):
        require(PYTHON)
        if not has(module):
            self.skipTest(f"{PYTHON} has no package {module}")

    def test_accelerates_own_scripts_pass_with_exact_gradients(self):
        self.needs("accelerate")
        for name in ("test_script", "test_sync"):
            with self.subTest(name):
                code, output = torchrun("--dense-exact", "-m", f"accelerate.test_utils.scripts.{name}",
                                        ACCELERATE_USE_CPU="true")
                self.assertEqual(code, 0, output)
                self.assertIn("tandem: hook on DistributedDataParallel", output)

    def check_lightning(self, *arguments):
        self.needs("lightning")
        code, output = torchrun("--sparsifier", "micro", "--density", "0.01", str(HERE / "lightning_script.py"), *arguments)
        self.assertEqual(code, 0, output)
        self.assertIn("tandem: hook on DistributedDataParallel(Model): micro, density 0.01", output)
        found = re.findall(r"rank \d: losses ([\d.]+) ([\d.]+), same (\w+)", output)
        self.assertEqual([same for _, _, same in found], ["True", "True"], output)
        for first, last, _ in found:
            self.assertLess(float(last), 0.3 * float(first))

    def test_a_lightning_trainer_trains_sparsely(self):
        self.check_lightning()

    def test_a_lightning_trainer_with_manual_optimization_does_too(self):
        self.check_lightning("manual")


if __name__ == "__main__":
    unittest.main()
