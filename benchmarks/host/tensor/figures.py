#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Every figure that sparse tensors, tiles and pruned weights promise, with its goal.
#
#   python3 benchmarks/host/tensor/figures.py [--programs build/release/bin] [--folder DIR] [--quick] [GROUP...]
#
# Prints a line per figure: what was seen, the goal, and whether it is met; last the machine's load. Groups, in their order:
# mttkrp, fibres, generated, features, generate, partition, stencil, products, decode; none named: all. Each is a program of its own run, so that a
# group which fails does not end the others. Each takes less than 8 minutes on two quiet cores. decode needs
# 17 GB of disk in --folder (a temporary one without it) for four 1B models, and takes models and tensors that it finds there.
# --quick takes fewer samples.
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# Sizes and density as of the tensors of FROSTT; entries anywhere.
TENSORS = {"g1000": (["1000", "1000", "1000"], 0.000995536, {1: 1.9, 2: 1.0}),
           "uber": (["183", "24", "1140", "1717"], 3.8153e-4, {2: 7.5}),
           "nips": (["2482", "2862", "14036", "17"], 1.7936e-6, {2: 4.0})}
WIDE = ["22476", "22476", "23776223"]
WIDE_ENTRIES = 28_400_000


class Figures:
    def __init__(self, options, folder):
        self.options, self.folder, self.all_met = options, pathlib.Path(folder), True

    def program(self, name):
        return str(pathlib.Path(self.options.programs) / name)

    def run(self, name, *arguments):
        command = [self.program(name), *map(str, arguments)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {process.stderr.strip()}")
        return process.stdout

    def run_json(self, *arguments):
        return json.loads(self.run("tandem", *arguments, "--json"))

    def show(self, what, seen, goal=None, at_most=True):
        met = goal is None or (seen <= goal if at_most else seen >= goal)
        self.all_met &= met
        limit = "" if goal is None else f"   goal {'<=' if at_most else '>='} {goal:g}   {'met' if met else 'NOT MET'}"
        print(f"{what:<58} {seen:10.4g}{limit}", flush=True)

    def tensor(self, name):
        sizes, density, _ = TENSORS[name]
        path = self.folder / f"{name}.tns"
        if not path.exists():
            self.run("tandem", "tensor", "generate", *sizes, "--density", density, "--seed", 1, "--out", path)
        return path

    def mttkrp(self):
        seconds = 0.3 if self.options.quick else 1
        for name, (sizes, _, goals) in TENSORS.items():
            for threads, goal in goals.items():
                runs = [self.run_json("tensor", "bench", "--op", "mttkrp", self.tensor(name), "--rank", 16, "--mode", mode,
                                      "--threads", threads, "--seconds", seconds) for mode in range(len(sizes))]
                for run in runs:
                    self.show(f"mttkrp {name} mode {run['mode']}, {threads} threads, ms", run["ms"], goal)
                build = statistics.median(run["build_ms"] / run["nnz"] * 1e3 for run in runs)
                self.show(f"blocks {name}, {threads} threads, s per 1 M entries", build, 0.15)

    def fibres(self):
        """A tensor times a vector and times 32 columns: over the naive loop, and of the memory's read bandwidth."""
        for name, (sizes, _, _) in TENSORS.items():
            for mode in range(len(sizes)):
                for threads in (1, 2):
                    lines = self.run("bench_fibre_products", self.tensor(name), mode, threads).splitlines()
                    for line in map(json.loads, lines):
                        op = line["name"]
                        run = self.run_json("tensor", "bench", "--op", op, self.tensor(name), "--columns", 32, "--mode", mode,
                                            "--threads", threads, "--seconds", 0.3)
                        what = f"{op} {name} mode {mode}, {threads} threads"
                        self.show(f"{what}, ms", line["ms"])
                        self.show(f"{what}: times naive", line["times_naive"])
                        self.show(f"{what} ({run['method']}), of read bandwidth", run["of_read_bandwidth"])

    def generated(self):
        """Kernels compiled for the pattern over those of the program, in turns."""
        for name, mode, rank in (("g1000", 0, 16), ("g1000", 1, 32), ("g1000", 2, 64), ("uber", 0, 16), ("uber", 2, 32)):
            def ms(kernels):
                return self.run_json("tensor", "bench", "--op", "mttkrp", self.tensor(name), "--rank", rank, "--mode", mode,
                                     "--threads", 1, "--seconds", 0.3, "--kernels", kernels)["ms"]
            turns = [ms("generic") / ms("generated") for _ in range(3 if self.options.quick else 7)]
            self.show(f"generated mttkrp {name} mode {mode}, rank {rank}: times generic", statistics.median(turns))

    def features(self):
        runs = [self.run_json("tensor", "features", self.tensor("g1000"), "--threads", 2)["ms"] / 1e3
                for _ in range(3 if self.options.quick else 9)]
        self.show("features of 1 M entries, 2 threads, s", statistics.median(runs), 0.05)

    def generate(self):
        path = self.folder / "wide.tns"
        cells = 1
        for size in WIDE:
            cells *= int(size)
        try:
            made = self.run_json("tensor", "generate", *WIDE, "--density", repr(WIDE_ENTRIES / cells), "--seed", 1, "--out", path)
            self.show("generate 28.4 M entries, s", made["ms"] / 1e3, 20)
            self.show("generate 28.4 M entries and write the file, s", made["total_ms"] / 1e3)
            self.show("generate 28.4 M entries, entries too many or too few", abs(made["nnz"] - WIDE_ENTRIES), 0)
        finally:
            path.unlink(missing_ok=True)

    def partition(self):
        run = json.loads(self.run("bench_adaptive_partition", 2))
        self.show("partition: rounds, part of 100 iterations", run["round_share"], 0.05)
        self.show("partition: building, part of 100 iterations", run["build_share"])
        for blocks in (64, 512, 4096):
            self.show(f"partition: times a static grid of {blocks} blocks", run[f"times_static_{blocks}"], 1.3, at_most=False)
            self.show(f"partition, tuned: times a static grid of {blocks} blocks", run[f"tuned_times_static_{blocks}"], 1.3,
                      at_most=False)

    def stencil(self):
        cells, steps = (192, 4) if self.options.quick else (400, 24)
        for kind in ("heat", "jacobi", "rk3"):
            run = self.run_json("stencil", kind, "--cells", cells, "--steps", steps, "--threads", 2)
            self.show(f"stencil {kind} {cells}^3: of triad, a sweep", run["of_triad"], 0.9, at_most=False)
            self.show(f"stencil {kind}: a copy, of triad", run["triad"]["copy_gb_per_s"] / run["triad"]["gb_per_s"])
            if "fused" in run:
                self.show(f"stencil {kind}: fused, times a sweep", run["fused"]["speedup"], 1.5, at_most=False)

    def products(self):
        for dtype in ("f32", "bf16"):
            for line in map(json.loads, self.run("bench_cpu_sparse", dtype).splitlines()):
                name = line["name"].removeprefix("cpu_sparse/")
                if name.endswith("crossover"):
                    print(f"products {name:<49} {line['zeros']:>10}", flush=True)
                elif "_zeros50" not in name:
                    goal = 1.5 if name.endswith("values_rows1_zeros90") else 1 if "_zeros90" in name else None
                    self.show(f"products {name}: times the whole matrix", line["median"], goal, at_most=False)

    def pruned_model(self, dtype, own_output):
        """Nine of ten values are zero from the start: the same as by --prune, without its minutes."""
        model = self.folder / f"zeros_{dtype}{'_output' if own_output else ''}.gguf"
        if not model.exists():
            self.run("tandem-random-model", model, "--type", dtype, "--context", 512, "--zeros", 0.9,
                     *(["--own-output"] if own_output else []))
        return model

    @staticmethod
    def answer(program):
        line = program.stdout.readline()
        if not line:
            raise RuntimeError(f"tandem bench ended with {program.wait()}")
        return json.loads(line)

    def decode_turns(self, model):
        """Tokens/s of one sequence with and without zeros, both programs alive and one at work, in turns."""
        programs = {}
        try:
            for form in ("never", "auto"):
                command = [self.program("tandem"), "bench", "-m", model, "--cpu-sparse", form, "--json", "--turns", "--loads", 1,
                           "--samples", 1000, "--seconds", 100000, "--no-prefill", "--decode", "1@32"]
                programs[form] = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                  stderr=subprocess.DEVNULL, text=True, bufsize=1)
                for _ in range(2):  # the loads, and that it is ready
                    self.answer(programs[form])
            turns = []
            for _ in range(3 if self.options.quick else 9):
                turn = []
                for form in ("never", "auto"):
                    programs[form].stdin.write("\n")
                    turn.append(self.answer(programs[form])["tokens_per_s"])
                turns.append(turn)
            return turns
        finally:
            for program in programs.values():
                program.kill()
                program.wait()

    def decode(self):
        """A whole output is the table of embeddings: its share of the time is one that no zeros shorten."""
        for dtype in ("f32", "bf16"):
            for own_output in (False, True):
                turns = self.decode_turns(self.pruned_model(dtype, own_output))
                name = f"decode, 1B shape, {dtype}, {'output pruned' if own_output else 'output whole'}"
                self.show(f"{name}, whole, tokens/s", statistics.median(whole for whole, _ in turns))
                self.show(f"{name}, no zeros, tokens/s", statistics.median(sparse for _, sparse in turns))
                goal = 3 if own_output else None
                self.show(f"{name}, times the whole", statistics.median(sparse / whole for whole, sparse in turns), goal, at_most=False)


GROUPS = ("mttkrp", "fibres", "generated", "features", "generate", "partition", "stencil", "products", "decode")


def main():
    parser = argparse.ArgumentParser(description="The figures of sparse tensors, tiles and pruned weights, with their goals")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--programs", default="build/release/bin")
    parser.add_argument("--folder")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    options = parser.parse_args()
    unknown = [group for group in options.groups if group not in GROUPS]
    if unknown:
        parser.error(f"'{unknown[0]}' is none of {', '.join(GROUPS)}")
    with tempfile.TemporaryDirectory() as temporary:
        figures = Figures(options, options.folder or temporary)
        figures.folder.mkdir(parents=True, exist_ok=True)
        for group in options.groups or GROUPS:
            try:
                getattr(figures, group)()
            except (RuntimeError, OSError, ValueError, LookupError) as error:
                figures.all_met = False
                print(f"{group}: {error}", flush=True)
        print("load", *(f"{load:.1f}" for load in os.getloadavg()))
    return 0 if figures.all_met else 1


if __name__ == "__main__":
    sys.exit(main())
