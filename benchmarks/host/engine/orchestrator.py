#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every figure that the orchestrator promises, one after another, each with its goal.

    python3 benchmarks/host/engine/orchestrator.py --build build/release --folder /tmp/orchestrator [--only NAME]...

    plan         a plan costs at most 2 % of a step at batch 64 with three units
    simulation   a million requests in a minute, 1,000 devices for an hour of load in ten (processor seconds)
    modes        `tandem simulate --attention auto` is within 3 % of the best fixed mode in every case
    served       16 clients, prompts of 256 and outputs of 64 tokens, 1B shape, Q8_0: with --target-itl-ms 150 the 99th
                 percentile between tokens is at most 200 ms, and the throughput at least 0.9 of that without the target
    slow_cards   emulated cards are slower than host memory: --attention auto is within 3 % of --attention cpu
    speculation  --draft lookup: at least 1.5x on a text that repeats itself, never below 0.98x
    validation   the simulation of this machine: within 10 % of the throughput, 20 % of the 99th percentile between tokens

A line of JSON per figure: value, goal, whether it is met, and the load when it began. Each NAME ends within eight minutes
on a quiet machine: sampling stops after --seconds. stderr shows the progress. --results has a row per figure; a later run
replaces the rows of what it measures. The last four need a quiet machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks/host"))
from progress import Progress

# 1.04 B parameters.
SHAPE = ["--layers", "16", "--width", "2048", "--q-heads", "32", "--kv-heads", "8", "--head-dim", "64", "--ffn", "8192",
         "--vocab", "32000", "--context", "4096", "--type", "q8_0"]
SMALL = ["--layers", "8", "--width", "512", "--q-heads", "8", "--kv-heads", "4", "--head-dim", "64", "--ffn", "1376",
         "--vocab", "8192", "--context", "4096", "--type", "q8_0"]
NUM_MODES = 126
NUM_SPEEDS = 4
HEADER = ["| figure | goal | seen | met | samples | load |", "|---|---|---|---|---|---|"]


class Table:
    """A Markdown file with a row per figure. Other lines stay."""

    def __init__(self, path):
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else ["# Figures of the orchestrator", "", *HEADER]
        self.begin = lines.index(HEADER[0]) + len(HEADER)
        end = next((i for i in range(self.begin, len(lines)) if not lines[i].startswith("|")), len(lines))
        self.above, self.below = lines[: self.begin], lines[end:]
        self.rows = {line.split("|")[1].strip(): line for line in lines[self.begin : end]}

    def write(self, name, cells):
        self.rows[name] = "| " + " | ".join([name, *cells]) + " |"
        self.path.write_text("\n".join([*self.above, *self.rows.values(), *self.below]) + "\n")


class Figures:
    def __init__(self, options):
        self.build = Path(options.build).resolve()
        self.folder = Path(options.folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.samples, self.seconds = options.samples, options.seconds
        self.table = Table(Path(options.results))
        self.missed = 0
        self.load = 0.0

    def program(self, name):
        return str(self.build / "bin" / name)

    def model(self, name, shape):
        path = self.folder / f"{name}.gguf"
        if not path.exists():
            subprocess.run([self.program("tandem-random-model"), path, *shape], check=True)
        return str(path)

    def lines(self, *command, environment=None):
        """Its lines as they come."""
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, cwd=ROOT,
                              env=environment) as running:
            yield from (line.rstrip("\n") for line in running.stdout)
        if running.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}: exit code {running.returncode}")

    def show(self, name, value, goal, is_met, samples=1):
        self.missed += not is_met
        print(json.dumps({"name": name, "value": value, "goal": goal, "met": is_met, "samples": samples,
                          "load": round(self.load, 1)}), flush=True)
        self.table.write(name, [goal, f"{value:.4g}", "yes" if is_met else "**no**", str(samples), f"{self.load:.1f}"])

    def studies(self, only, count):
        script = ROOT / "benchmarks/host/simulation/studies.py"
        progress = Progress(f"{only}, simulations", count)
        for line in self.lines(sys.executable, script, "--tandem", self.program("tandem"), "--only", only):
            yield json.loads(line)
            progress.step()

    def plan(self):
        for line in self.lines(self.program("bench_engine_plan")):
            row = json.loads(line)
            if row["name"] == "engine_plan/step":
                share = row["median"] / row["step_us"]
                self.show("plan over the step", share, "at most 0.02", share <= 0.02)

    def simulation(self):
        for row in self.studies("speed", NUM_SPEEDS):
            goal = 600 if "1,000 devices" in row["what"] else 60
            self.show(row["what"], row["processor_s"], f"at most {goal} s of a processor", row["processor_s"] <= goal)

    def modes(self):
        last = list(self.studies("modes", NUM_MODES + 1))[-1]
        most = last["most_over_best_fixed"]
        self.show(f"auto over the best fixed mode, the most of {last['cases']} cases", most, "at most 1.03", most <= 1.03,
                  last["cases"])

    def served(self):
        model = self.model("shape-1b", SHAPE)
        script = ROOT / "benchmarks/host/server/streams.py"
        rows = self.lines(sys.executable, script, "--model", model, "--tandem", self.program("tandem"), "--clients", 16,
                          "--requests", 2, "--prompt", 256, "--tokens", 64, "--samples", self.samples, "--json", "--warm", 1,
                          "--seconds", self.seconds, "--options=--no-prefix-cache",
                          "--against-options=--no-prefix-cache --target-itl-ms 150")
        by_name = {row["program"]: row for row in map(json.loads, rows)}
        free, bound = by_name["tandem"], by_name["against"]
        print(json.dumps({"without": free, "with": bound}), file=sys.stderr)
        self.show("served: 99th percentile between tokens with the target (ms)", bound["gap_p99_ms"], "at most 200",
                  bound["gap_p99_ms"] <= 200, bound["samples"])
        ratio = bound["tokens_per_s"] / free["tokens_per_s"]
        self.show("served: throughput with the target over that without", ratio, "at least 0.9", ratio >= 0.9,
                  bound["samples"])

    def decode_seconds(self, model, attention):
        environment = self.card_environment() if attention == "auto" else None
        command = [self.program("tandem"), "generate", "--model", model, "--prompt", "hello " * 200, "--json",
                   "--max-tokens", "100", "--ignore-eos", "--temperature", "0", "--attention", attention]
        return json.loads("\n".join(self.lines(*command, environment=environment)))["seconds"]["decode"]

    def card_environment(self):
        setup = self.build / "xrt" / "setup.sh"
        text = subprocess.run(["bash", "-c", f"source '{setup}' >/dev/null && env -0"], capture_output=True, check=True).stdout
        words = dict(line.decode().split("=", 1) for line in text.split(b"\0") if b"=" in line)
        return {**words, "XCL_EMULATION_MODE": "sw_emu", "TANDEM_CARDS": "2", "XDG_CACHE_HOME": str(self.folder)}

    def slow_cards(self):
        model = self.model("small", SMALL)
        ratios = []
        progress = Progress("slow_cards", 3 * self.samples, self.seconds)
        before = self.decode_seconds(model, "cpu")
        while progress.done < 3 * self.samples and not progress.is_over():
            auto = self.decode_seconds(model, "auto")
            behind = self.decode_seconds(model, "cpu")
            ratios.append(2 * auto / (before + behind))
            before = behind
            progress.step(f"{statistics.median(ratios):.3f}")
        progress.end()
        ratio = statistics.median(ratios)
        self.show("auto over host memory alone, two emulated cards there", ratio, "at most 1.03", ratio <= 1.03, len(ratios))

    def speculation(self):
        script = ROOT / "benchmarks/host/engine/speculation.py"
        for line in self.lines(sys.executable, script, "--program", self.program("tandem"), "--random-model",
                               self.program("tandem-random-model"), "--folder", self.folder, "--samples", 3 * self.samples,
                               "--seconds", self.seconds, "--json"):
            row = json.loads(line)
            goal = 1.5 if row["name"] == "copying" else 0.98
            self.show(f"speculation: {row['name']}", row["ratio"], f"at least {goal}", row["ratio"] >= goal, row["samples"])

    def validation(self):
        script = ROOT / "benchmarks/host/simulation/validate.py"
        for line in self.lines(sys.executable, script, "--tandem", self.program("tandem"), "--model",
                               self.model("shape-1b", SHAPE), "--samples", 12, "--requests", 2, "--rounds", self.samples,
                               "--seconds", self.seconds):
            row = json.loads(line)
            goal = 0.2 if "p99" in row["name"] else 0.1
            self.show(f"{row['name']}: error", row["error"], f"within {goal}", abs(row["error"]) <= goal, row["samples"])


FIGURES = ["plan", "simulation", "modes", "served", "slow_cards", "speculation", "validation"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--folder", required=True, help="where models with random weights are kept")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=400, help="of sampling, per NAME")
    parser.add_argument("--results", default=Path(__file__).parent / "RESULTS.md", help="the table")
    parser.add_argument("--only", action="append", choices=FIGURES)
    options = parser.parse_args()
    figures = Figures(options)
    for name in options.only or FIGURES:
        figures.load = os.getloadavg()[0]
        begin = time.monotonic()
        getattr(figures, name)()
        print(f"{name}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    sys.exit(1 if figures.missed else 0)


if __name__ == "__main__":
    main()
