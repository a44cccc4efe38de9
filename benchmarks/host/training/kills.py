#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Kills `tandem train` at random instants, again and again, and looks whether a checkpoint is ever lost.
#
#   benchmarks/host/training/kills.py --kills 1000 --binary build/release/bin/tandem
#
# The run saves after every step. Each kill is SIGKILL: one in ten at any instant of the start, the others a random time
# after the first step. The next start resumes and verifies every file's size and checksum; so a kill has lost something
# if it fails, or begins before a checkpoint that a step's line has proven. One start in five goes on from the checkpoint
# before the newest, so checkpoints are replaced, too. One JSON line: kills, lost, checkpoints, seconds.
import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHAPE = 'name = "tiny"\nlayers = 1\nwidth = 32\nheads = 2\nkv_heads = 1\nffn = 32\ncontext = 32\n'
WORDS = "the a cat dog bird sat ran flew on under over mat tree house red blue old new and then".split()
MOST_STEPS = 1_000_000_000


class Lost(Exception):
    pass


class Run:
    """One folder of checkpoints, and the processes that write it one after another."""

    def __init__(self, binary, folder, seed):
        self.binary, self.folder, self.draw = binary, Path(folder), random.Random(seed)
        self.out = self.folder / "out"
        (self.folder / "shape.toml").write_text(SHAPE)
        (self.folder / "text.txt").write_text(" ".join(self.draw.choice(WORDS) for _ in range(3000)))
        self.checkpoints = 0

    def source(self):
        """Options of the next start, and the step that it must at least go on from."""
        latest = self.out / "latest"
        if not latest.exists():
            if self.checkpoints:
                raise Lost("there is no 'latest'")
            return ["--model-config", self.folder / "shape.toml"], 0
        name = latest.read_text().strip()
        others = sorted(path.name for path in self.out.glob("step-*") if path.name < name)
        if others and self.draw.random() < 0.2:
            return ["--resume", self.out / others[-1], "--out", self.out], int(others[-1][5:])
        return ["--resume", self.out], int(name[5:])

    def start(self, source):
        arguments = [self.binary, "train", "--text", self.folder / "text.txt", *source, "--batch", 1, "--context", 8,
                     "--threads", 1, "--json", "--steps", MOST_STEPS, "--save-every", 1, "--keep", 3]
        if "--out" not in source:
            arguments += ["--out", self.out]
        return subprocess.Popen([str(each) for each in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    def kill_once(self):
        source, least = self.source()
        process = self.start(source)
        if self.checkpoints and self.draw.random() < 0.1:
            time.sleep(self.draw.random() * 0.5)
            process.kill()
            process.communicate()
            return
        first = process.stdout.readline()
        if not first:
            raise Lost(process.communicate()[1])
        if json.loads(first)["step"] != least + 1:
            raise Lost(f"goes on with {first.strip()}, not behind step {least}")
        time.sleep(self.draw.random() * 0.2)
        process.kill()
        lines = [line for line in process.communicate()[0].splitlines() if line.endswith("}")]
        proven = json.loads(lines[-1] if lines else first)["step"] - 1  # a step's line follows the save before it
        self.checkpoints += max(proven - least, 0)
        if proven > least:
            self.require(proven)

    def require(self, proven):
        name = (self.out / "latest").read_text().strip()
        if int(name[5:]) < proven:
            raise Lost(f"latest is {name}, after a save of step {proven}")
        if not (self.out / name / "checkpoint.json").exists():
            raise Lost(f"{name} has no checkpoint.json")


def main():
    parser = argparse.ArgumentParser(description="Kills `tandem train` at random instants.")
    parser.add_argument("--binary", default="build/release/bin/tandem")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="where checkpoints lie (default: a temporary folder)")
    options = parser.parse_args()
    begin, kills = time.monotonic(), 0
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run = Run(options.binary, folder, options.seed)
        lost = ""
        try:
            while kills < options.kills:
                run.kill_once()
                kills += 1
        except Lost as error:
            lost = str(error)
        print(json.dumps({"kills": kills, "lost": lost, "checkpoints": run.checkpoints,
                          "seconds": round(time.monotonic() - begin, 1)}))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
