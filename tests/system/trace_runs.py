# SPDX-License-Identifier: Apache-2.0
#
# TraceCommTest: runs `tandem trace-comm` into a folder of its own; matrices to compare its reports with.
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import TANDEM

RANKS = 4
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def matrix(cells):
    """[dst][src] from {(source, destination): value}."""
    return [[cells.get((source, to), 0) for source in range(RANKS)] for to in range(RANKS)]


def sum_of(*matrices):
    return [[sum(cells) for cells in zip(*rows)] for rows in zip(*matrices)]


def ring(value):
    return matrix({(rank, (rank + 1) % RANKS): value for rank in range(RANKS)})


class TraceCommTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "run"

    def trace_comm(self, *arguments, code=0, environment=None):
        process = subprocess.run([TANDEM, "trace-comm", *map(str, arguments)], capture_output=True, text=True,
                                 timeout=300, env=environment or ENVIRONMENT, stdin=subprocess.DEVNULL)
        self.assertEqual(process.returncode, code, process.stdout + process.stderr)
        return process

    def report(self):
        return json.loads(Path(f"{self.out}.json").read_text())
