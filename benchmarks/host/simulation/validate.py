#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulation of this machine against this machine: `tandem bench` and a served load.

    build/release/bin/tandem-random-model /tmp/small.gguf --layers 8 --width 512 --q-heads 8 --kv-heads 4 \\
        --head-dim 64 --ffn 1376 --vocab 8192 --context 4096 --type q8_0
    python3 benchmarks/host/simulation/validate.py --model /tmp/small.gguf

`tandem devices --measure` gives the table of costs from which `tandem simulate` predicts. One JSON line per figure, with the
measured value, the predicted one and the error. Goals: 10 % of the throughput, 20 % of the 99th percentile between tokens.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SERVER = Path(__file__).resolve().parent.parent / "server"


def run(*command):
    answer = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if answer.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{answer.stderr.strip()}")
    return answer.stdout


def simulated(options, table, load, max_step_tokens):
    return json.loads(run(options.tandem, "simulate", "--model", options.model, "--devices", table, "--attention", "own",
                          "--kv-dtype", options.kv_dtype, "--max-running", options.max_running, "--max-step-tokens",
                          max_step_tokens, "--host-us", options.host_us, "--load", load, "--json"))


def show(name, unit, measured, predicted):
    print(json.dumps({"name": f"simulation.validation.{name}", "unit": unit, "measured": measured, "simulated": predicted,
                      "error": predicted / measured - 1}), flush=True)


def decode_rows(options, table):
    for line in run(options.tandem, "bench", "--model", options.model, "--attention", "cpu", "--no-prefill", "--kv-dtype",
                    options.kv_dtype, "--decode", options.decode, "--samples", options.samples, "--json").splitlines():
        row = json.loads(line)
        if not row["name"].startswith("bench/decode"):
            continue
        batch, context = row["batch"], row["context"]
        # All prompts in one step, so that the other steps decode.
        result = simulated(options, table, f"batch:{batch},prompt={context},output=16,requests={batch}", batch * context)
        show(f"decode {batch}@{context}", "tokens/s", row["median"], batch / result["itl_ms"]["p50"] * 1e3)


def served_load(options, table):
    lines = run(sys.executable, SERVER / "streams.py", "--model", options.model, "--tandem", options.tandem, "--clients",
                options.clients, "--requests", options.requests, "--prompt", options.prompt, "--tokens", options.tokens,
                "--samples", options.rounds, "--json", f"--options=--max-running {options.max_running} --max-step-tokens "
                f"{options.max_step_tokens} --kv-dtype {options.kv_dtype} --no-prefix-cache").splitlines()
    measured = json.loads(lines[-1])
    result = simulated(options, table, f"batch:{options.clients},prompt={options.prompt},output={options.tokens},"
                                       f"requests={options.clients * options.requests}", options.max_step_tokens)
    show("served throughput", "tokens/s", measured["tokens_per_s"], result["tokens_per_s"])
    show("served p99 between tokens", "ms", measured["gap_p99_ms"], result["itl_ms"]["p99"])


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
    parser.add_argument("--max-running", type=int, default=16)
    parser.add_argument("--max-step-tokens", type=int, default=256)
    parser.add_argument("--host-us", type=float, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.json")
        table.write_text(run(options.tandem, "devices", "--measure", "--json", "--model", options.model, "--kv-dtype",
                             options.kv_dtype))
        decode_rows(options, table)
        served_load(options, table)


if __name__ == "__main__":
    main()
