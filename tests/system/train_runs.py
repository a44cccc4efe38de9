# SPDX-License-Identifier: Apache-2.0
#
# TrainRuns: a small text, a small model, and `tandem train` on them: one process, or the ranks of mpirun. LightRuns: the
# same without libtorch.
import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import BUILD, TANDEM

LIGHT = BUILD / "tests" / "system" / "light_trainer" / "libtandem_trainer.so"

SHAPE = """
name = "tiny"
layers = 2
width = 64
heads = 4
kv_heads = 2
ffn = 64
context = 64
"""
WORDS = "the a cat dog bird sat ran flew on under over mat tree house red blue old new and then".split()
SMALL = ["--batch", 2, "--context", 32, "--rate", "1e-2", "--json", "--threads", 1]


def text_of(seed, words=4000):
    draw = random.Random(seed)
    return " ".join(draw.choice(WORDS) for _ in range(words)) + ".\n"


def light_program(folder):
    """A `tandem-train` in `folder` that computes by light_trainer/: without libtorch, which each process loads for a second."""
    program, library = folder / "bin" / "tandem-train", folder / "lib" / "tandem" / LIGHT.name
    for file in (program, library):
        file.parent.mkdir(parents=True)
    shutil.copy(BUILD / "bin" / "tandem-train", program)
    library.symlink_to(LIGHT.resolve())
    for name in ("xrt", "share"):  # emulated cards and their images
        (folder / name).symlink_to((BUILD / name).resolve())
    return str(program)


@unittest.skipUnless((BUILD / "lib" / "tandem" / "libtandem_trainer.so").exists(), "this build has no libtorch")
class TrainRuns(unittest.TestCase):
    one_step = None
    program = TANDEM

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "text.txt").write_text(text_of(1))
        (self.folder / "valid.txt").write_text(text_of(2, 300))
        (self.folder / "shape.toml").write_text(SHAPE)

    def copy_one_step(self, out):
        """As from_scratch("--steps", 1, "--out", out); all tests share the run."""
        if TrainRuns.one_step is None:
            folder = tempfile.TemporaryDirectory()
            unittest.addModuleCleanup(setattr, TrainRuns, "one_step", None)
            unittest.addModuleCleanup(folder.cleanup)
            TrainRuns.one_step = Path(folder.name) / "run"
            self.from_scratch("--steps", 1, "--out", TrainRuns.one_step)
        shutil.copytree(TrainRuns.one_step, out)

    def start(self, *arguments, ranks=0, mpi_arguments=(), environment=None, **options):
        prefix = ["mpirun", "--oversubscribe", "--bind-to", "none", *mpi_arguments, "-n", str(ranks)] if ranks else []
        variables = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **(environment or {})}
        outputs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([*prefix, self.program, "train", *map(str, arguments)], text=True,
                                env={**os.environ, **variables}, **{**outputs, **options})

    def train(self, *arguments, ranks=0, code=0, small=True, mpi_arguments=(), environment=None):
        if ranks and shutil.which("mpirun") is None:
            self.skipTest("mpirun is not installed")
        common = ["--text", self.folder / "text.txt", *SMALL] if small else []
        process = self.start(*common, *arguments, ranks=ranks, mpi_arguments=mpi_arguments,
                             environment=environment)
        out, error = process.communicate(timeout=1200)
        if (process.returncode == 0) != (code == 0):
            raise AssertionError(f"{arguments} ended with {process.returncode}:\n{out}{error}")
        if code != 0:
            return error
        self.log = error
        return [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    def from_scratch(self, *arguments, **options):
        return self.train("--model-config", self.folder / "shape.toml", *arguments, **options)


class LightRuns(TrainRuns):
    """With light_program(): of what does not depend on the passes of a model."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program = light_program(Path(folder.name))
