#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulation of this machine against this machine: `tandem bench` and a served load.

    build/release/bin/tandem-random-model /tmp/small.gguf --layers 8 --width 512 --q-heads 8 --kv-heads 4 \\
        --head-dim 64 --ffn 1376 --vocab 8192 --context 4096 --type q8_0
    python3 benchmarks/host/simulation/validate.py --model /tmp/small.gguf

`tandem devices --measure` gives the table of costs from which `tandem simulate` predicts. A round measures the table, then
decode rows, then a served load. One JSON line per figure: medians over the rounds of the measured value, the predicted one
and the error, and the errors of all rounds. Goals: 10 % of the throughput, 20 % of the 99th percentile between tokens.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HOST = Path(__file__).resolve().parent.parent
SERVER = HOST / "server"
sys.path.insert(0, str(HOST))
from progress import Progress


def run(*command):
    answer = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if answer.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{answer.stderr.strip()}")
    return answer.stdout


# Microseconds of a step outside of its parts, as the plan of /status showed them for the model above with 1 and 16 rows
# (medians): in the runner, and in the loop around it, which `tandem bench` does not have.
def runner_us(rows):
    return 13 + 2.7 * rows


def loop_us(rows):
    return 22 + 2.3 * rows


def simulated(options, table, load, max_step_tokens, host_us):
    return json.loads(run(options.tandem, "simulate", "--model", options.model, "--devices", table, "--attention", "own",
                          "--kv-dtype", options.kv_dtype, "--max-running", options.max_running, "--max-step-tokens",
                          max_step_tokens, "--host-us", host_us, "--load", load, "--json"))


def show(name, unit, pairs):
    """pairs: (measured, predicted) of every round."""
    errors = [predicted / measured - 1 for measured, predicted in pairs]
    print(json.dumps({"name": f"simulation.validation.{name}", "unit": unit,
                      "measured": statistics.median(measured for measured, _ in pairs),
                      "simulated": statistics.median(predicted for _, predicted in pairs),
                      "error": statistics.median(errors), "samples": len(pairs), "errors": errors}), flush=True)


def decode_rows(options, table):
    for line in run(options.tandem, "bench", "--model", options.model, "--attention", "cpu", "--no-prefill", "--kv-dtype",
                    options.kv_dtype, "--decode", options.decode, "--samples", options.samples, "--json").splitlines():
        row = json.loads(line)
        if not row["name"].startswith("bench/decode"):
            continue
        batch, context = row["batch"], row["context"]
        # All prompts in one step, so that the other steps decode.
        result = simulated(options, table, f"batch:{batch},prompt={context},output=16,requests={batch}", batch * context,
                           runner_us(batch))
        yield f"decode {batch}@{context}", "tokens/s", (row["median"], batch / result["itl_ms"]["p50"] * 1e3)


def served_load(options, table):
    lines = run(sys.executable, SERVER / "streams.py", "--model", options.model, "--tandem", options.tandem, "--clients",
                options.clients, "--requests", options.requests, "--prompt", options.prompt, "--tokens", options.tokens,
                "--samples", 1, "--warm", 1, "--json",
                f"--options=--max-running {options.max_running} --max-step-tokens {options.max_step_tokens} "
                f"--kv-dtype {options.kv_dtype} --no-prefix-cache").splitlines()
    measured = json.loads(lines[-1])
    result = simulated(options, table, f"batch:{options.clients},prompt={options.prompt},output={options.tokens},"
                                       f"requests={options.clients * options.requests}", options.max_step_tokens,
                       runner_us(options.clients) + loop_us(options.clients))
    yield "served throughput", "tokens/s", (measured["tokens_per_s"], result["tokens_per_s"])
    yield "served p99 between tokens", "ms", (measured["gap_p99_ms"], result["itl_ms"]["p99"])


def pair_error(figures, name):
    """Of the last round."""
    measured, predicted = next(pairs[-1] for (named, _), pairs in figures.items() if named == name)
    return predicted / measured - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tandem", default="build/release/bin/tandem")
    parser.add_argument("--kv-dtype", default="f16")
    parser.add_argument("--decode", default="1@256,4@256,16@256,4@1024,16@1024")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--requests", type=int, default=4, help="of every client, one after the other")
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=240, help="no further round begins that would end after this time")
    parser.add_argument("--max-running", type=int, default=16)
    parser.add_argument("--max-step-tokens", type=int, default=256)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.json")
        progress = Progress("validation, rounds", options.rounds, options.seconds)
        figures = {}
        while progress.done < options.rounds and not progress.is_over():
            table.write_text(run(options.tandem, "devices", "--measure", "--json", "--model", options.model, "--kv-dtype",
                                 options.kv_dtype))
            for name, unit, pair in [*decode_rows(options, table), *served_load(options, table)]:
                figures.setdefault((name, unit), []).append(pair)
            progress.step(f"served throughput {pair_error(figures, 'served throughput'):+.0%}")
        progress.end()
        for (name, unit), pairs in figures.items():
            show(name, unit, pairs)


if __name__ == "__main__":
    main()
