#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The studies of `tandem simulate`, one JSON line per figure:
#   reproduced  published results, the simulated ones and the error
#   design      what each part of the design gains on cards, switched off in turn
#   modes       `--attention auto` against every mode that an operator might fix
#   speed       simulated requests per second of real time on one core
# Usage: studies.py [--tandem build/release/bin/tandem] [--only reproduced|design|modes|speed]
import argparse
import json
import resource
import subprocess
import time

# GQA models with 8-bit weights on a GPU whose memory holds little KV, and four cards: many sequences, and few long ones.
DESIGN = {
    "64 sequences of 1K + 1K": [
        "--model", "llama-3-8b", "--weights", "q8_0", "--devices", "l40s:14+4*u55c", "--max-running", "64", "--load",
        "batch:64,prompt=1024,output=1024,requests=64"],
    "3 sequences of 20K + 1K": [
        "--model", "llama-3.1-8b", "--weights", "q8_0", "--devices", "l40s:14+4*u55c", "--load",
        "batch:3,prompt=20000,output=1000,requests=12"],
    "one card, 100 to 4,000 + 50 to 1,000": [
        "--model", "llama-3-8b", "--weights", "q8_0", "--devices", "l40s:16+u55c", "--load",
        "batch:256,prompt=100..4000,output=50..1000,requests=512"],
}
MODE_DEVICES = ["l40s+4*u55c", "l40s:26+cpu:200", "l40s+2*u50@25gbe", "t4+cpu:400", "a10g+cpu:50", "a10g+cpu:190",
                "h100-sxm+4*h20@400gbe", "h100-sxm+4*v80", "2*h100-sxm/nvlink4+cpu:300"]
MODE_LOADS = ["batch:1,prompt=32,output=32", "batch:8,prompt=500,output=32", "batch:48,prompt=100,output=32",
              "batch:48,prompt=1000,output=32", "batch:64,prompt=100..2000,output=20..400,requests=128",
              "batch:128,prompt=500..1500,output=100..300,requests=256", "poisson:4,prompt=100..2000,output=20..400,requests=100"]
SPEED = {
    "a million requests, 64 in flight": [
        "--model", "llama-2-7b", "--devices", "h200", "--load",
        "batch:64,prompt=128,output=64,requests=1000000"],
    "a million requests, 64 in flight, with four cards": [
        "--model", "llama-2-7b", "--devices", "l40s+4*u55c", "--load",
        "batch:64,prompt=128,output=64,requests=1000000"],
    "a million requests of many lengths, 64 in flight, with four cards": [
        "--model", "llama-2-7b", "--devices", "l40s+4*u55c", "--load",
        "batch:64,prompt=64..192,output=32..96,requests=1000000"],
    "an hour of load on 1,000 devices": [
        "--model", "llama-2-7b", "--devices", "200x(l40s+4*u55c)", "--load",
        "poisson:300,prompt=256,output=128,seconds=3600"],
}


def simulate(tandem, *arguments):
    answer = subprocess.run([tandem, "simulate", *arguments, "--json"], capture_output=True, text=True)
    if answer.returncode != 0:
        raise SystemExit(f"tandem simulate {' '.join(arguments)}: {answer.stderr.strip()}")
    return json.loads(answer.stdout)


def reproduced(tandem):
    for system in ("hpu", "neo", "lamina"):
        for row in simulate(tandem, "--reproduce", system)["rows"]:
            yield {"name": f"reproduced.{system}", **{key: row[key] for key in ("what", "published", "simulated", "error")}}


def design(tandem):
    for load, arguments in DESIGN.items():
        for row in simulate(tandem, "--design", *arguments)["rows"]:
            yield {"name": "design", "load": load, **row}


def modes(tandem):
    ratios = []
    for kv in ("f16", "i8"):
        for devices in MODE_DEVICES:
            for load in MODE_LOADS:
                case = ["--model", "llama-3-8b", "--weights", "q8_0", "--kv-dtype", kv, "--devices", devices, "--load", load]
                auto = simulate(tandem, *case)["seconds"]
                fixed = [simulate(tandem, *case, "--attention", policy, "--sub-batches", count)["seconds"]
                         for policy in ("own", "units") for count in ("1", "2")]
                ratios.append(auto / min(fixed))
                yield {"name": "simulation.modes", "devices": devices, "load": load, "kv_dtype": kv, "auto_s": auto,
                       "over_best_fixed": ratios[-1], "worst_fixed_over_auto": max(fixed) / auto}
    yield {"name": "simulation.modes.all", "cases": len(ratios), "above_1.03": sum(ratio > 1.03 for ratio in ratios),
           "most_over_best_fixed": max(ratios)}


def speed(tandem):
    for name, arguments in SPEED.items():
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.monotonic()
        result = simulate(tandem, *arguments)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        yield {"name": "simulation.speed", "what": name, "processor_s": seconds, "elapsed_s": time.monotonic() - begin,
               "requests": result["requests"], "steps": result["steps"], "requests_per_s": result["requests"] / seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--only", choices=["reproduced", "design", "modes", "speed"])
    options = parser.parse_args()
    for study in (reproduced, design, modes, speed):
        if options.only in (None, study.__name__):
            for figure in study(options.tandem):
                print(json.dumps(figure), flush=True)


if __name__ == "__main__":
    main()
