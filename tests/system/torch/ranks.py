# SPDX-License-Identifier: Apache-2.0
"""Starts ranks of a Python program and looks at how they end.

Debian's PyTorch (/usr/bin/python3) is the one that is always tested; TANDEM_TORCH_PYTHON names the Python of another.
"""

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import mpi_folder  # noqa: E402
from ports import free_port  # noqa: E402
sys.path.pop()  # this folder must not pass for PyTorch

SOURCE = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("TANDEM_BINARY_DIR", SOURCE / "build" / "release")).resolve()
PACKAGE = BUILD / "python"
HERE = Path(__file__).resolve().parent
# PyTorch 1.13's torchrun breaks on Python 3.11 at its default for both; this names a rank that is not there.
TORCHRUN = ["-m", "torch.distributed.run", "-r", "9:1", "-t", "9:1", "--nproc_per_node", "2"]
DEBIAN = "/usr/bin/python3"


@functools.lru_cache(maxsize=None)
def torch_version(python):
    """The version of PyTorch that a Python has, as two numbers; None without."""
    try:
        found = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True,
                               timeout=1200)
    except OSError:
        return None
    return tuple(int(part) for part in found.stdout.split(".")[:2]) if found.returncode == 0 else None


def pythons():
    """Those to test. Debian's is first, the other one may be missing."""
    return [python for python in (DEBIAN, os.environ.get("TANDEM_TORCH_PYTHON")) if python]


def require(python=DEBIAN):
    """Skips where PyTorch or the package is missing."""
    if not (PACKAGE / "tandem" / "libtandem_training.so").is_file():
        raise unittest.SkipTest(f"{PACKAGE} is not built (target tandem_python)")
    if not python or torch_version(python) is None:
        raise unittest.SkipTest(f"{python or 'TANDEM_TORCH_PYTHON'} has no PyTorch (Debian: python3-torch)")


def require_current():
    """A PyTorch with FSDP2."""
    python = os.environ.get("TANDEM_TORCH_PYTHON")
    require(python)
    if torch_version(python) < (2, 6):
        raise unittest.SkipTest(f"{python} has PyTorch {torch_version(python)}, FSDP2 needs 2.6")
    return python


def environment(**more):
    """Without what a launcher round this test may have set."""
    kept = {name: value for name, value in os.environ.items()
            if name == mpi_folder.VARIABLE or not name.startswith(("OMPI_", "PMI", "SLURM_", "TORCHELASTIC_", "TANDEM_"))
            and name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")}
    return dict(kept, PYTHONPATH=str(PACKAGE), OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1", MKL_NUM_THREADS="1",
                **{name: str(value) for name, value in more.items()})


class ForkedProcess:
    """As subprocess.Popen, as far as the tests need it."""

    def __init__(self, nursery, pid):
        self.nursery, self.pid, self.returncode = nursery, pid, None

    def poll(self):
        self.nursery.hear()
        self.returncode = self.nursery.ended.get(self.pid)
        return self.returncode

    def kill(self):
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # nursery.py waits for it beside this
                os.kill(self.pid, signal.SIGKILL)

    def wait(self):
        while self.poll() is None:
            time.sleep(0.02)
        return self.returncode


class Nursery:
    """nursery.py, which forks processes that have PyTorch already."""

    def __init__(self, python):
        self.process = subprocess.Popen([python, str(HERE / "nursery.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment())
        self.ended, self.started, self.rest = {}, [], b""
        atexit.register(self.close)

    def hear(self, seconds=0):
        """What it has said by now."""
        while select.select([self.process.stdout], [], [], seconds)[0]:
            found = os.read(self.process.stdout.fileno(), 1 << 16)
            if not found:
                raise AssertionError(f"nursery.py ended with {self.process.wait()}")
            *lines, self.rest = (self.rest + found).split(b"\n")
            for line in map(json.loads, lines):
                if "started" in line:
                    self.ended.pop(line["started"], None)  # the number was an earlier process's
                    self.started.append(line["started"])
                else:
                    self.ended[line["ended"]] = line["status"]
            if lines:
                return

    def start(self, words, output, cwd, variables):
        order = {"words": words, "output": output, "cwd": str(cwd), "environment": variables}
        self.process.stdin.write((json.dumps(order) + "\n").encode())
        self.process.stdin.flush()
        while not self.started:
            self.hear(1)
        return ForkedProcess(self, self.started.pop())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@functools.lru_cache(maxsize=None)
def nursery(python):
    return Nursery(python)


class Ranks:
    """`world` processes of `command`; output is kept per rank. cwd: a folder of their own without it. forked: by nursery()."""

    def __init__(self, world, command, cwd=None, forked=False, **more):
        self.folder = tempfile.TemporaryDirectory()
        port = free_port()
        self.processes, self.files = [], []
        for rank in range(world):
            self.files.append(open(Path(self.folder.name) / f"rank{rank}", "w+"))
            place, variables = cwd or self.folder.name, environment(
                RANK=rank, WORLD_SIZE=world, LOCAL_RANK=rank, LOCAL_WORLD_SIZE=world, MASTER_ADDR="127.0.0.1",
                MASTER_PORT=port, OUT=self.folder.name, **more)
            if forked:
                process = nursery(command[0]).start(command[1:], self.files[-1].name, place, variables)
            else:
                process = subprocess.Popen(command, stdout=self.files[-1], stderr=subprocess.STDOUT, cwd=place, env=variables)
            self.processes.append(process)

    def wait(self, seconds=1200):
        """Their exit statuses and outputs. A rank that fails ends the others, which may wait for it, soon after."""
        end = time.monotonic() + seconds
        while any(process.poll() is None for process in self.processes):
            if any(process.returncode for process in self.processes):
                end = min(end, time.monotonic() + 120)
            if time.monotonic() > end:
                break
            time.sleep(0.1)
        hanging = [rank for rank, process in enumerate(self.processes) if process.poll() is None]
        self.end()
        outputs = self.outputs()
        if hanging and not any(process.returncode > 0 for process in self.processes):
            raise AssertionError(f"ranks {hanging} hang:\n" + "\n".join(outputs))
        return [process.returncode for process in self.processes], outputs

    def outputs(self):
        return [(Path(self.folder.name) / f"rank{rank}").read_text() for rank in range(len(self.processes))]

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    def results(self):
        return [json.loads((Path(self.folder.name) / f"results{rank}.json").read_text())
                for rank in range(len(self.processes))]

    def close(self):
        self.end()
        for file in self.files:
            file.close()
        self.folder.cleanup()


def run_ranks(test, world, command, seconds=1200, **more):
    """Runs them to their end; the Ranks, exit statuses and outputs."""
    ranks = Ranks(world, command, **more)
    test.addCleanup(ranks.close)
    codes, outputs = ranks.wait(seconds)
    return ranks, codes, outputs


class Cases:
    """The figures of a program's cases, run once; subclasses say which program and Python and how many ranks."""

    program, python, world, cases = "", DEBIAN, 2, ()

    @classmethod
    def setUpClass(cls):
        require(cls.python)
        stopped = unittest.TestCase()
        ranks, codes, outputs = run_ranks(stopped, cls.world, [cls.python, str(HERE / cls.program), *cls.cases], 1200,
                                          forked=True)
        try:
            if any(codes):
                raise AssertionError(f"ranks ended with {codes}:\n" + "\n".join(outputs))
            cls.all_results = ranks.results()
        finally:
            stopped.doCleanups()

    def of(self, case):
        """The case's figures on every rank."""
        return [results["case_" + case] for results in self.all_results]

    def first(self, case):
        return self.of(case)[0]


if __name__ == "__main__":
    sys.exit("a module of the tests")
