# SPDX-License-Identifier: Apache-2.0
# case.sh ROOT: the cycles that drivers expect of a kernel are those of the time model within 5 %; the stages of attention_decode
# are loops that start an iteration each cycle.
python3 "$1/benchmarks/fpga_hls/cycle_models/cycle_models.py" models >lines
python3 -c '
import json
runs = {run["case"]: run for run in map(json.loads, open("lines"))}
expected = [run for run in runs.values() if run["by_hand"]]
assert {run["name"] for run in expected} == {"cycle_model." + kernel for kernel in ("aggregation", "embedding", "product")}, runs
for run in expected:
    assert abs(run["ratio"] - 1) <= 0.05, run
# The interval of measure, by its dependent additions, limits all rules.
for case in "0 1000 64 1", "1 1000 64 1", "2 1000 64 1":
    assert "carried dependence" in runs["embedding " + case]["why"], runs
# A step for each chunk of each pair of rows; what is before and behind them does not grow with them.
for rows in 4, 8, 16:
    steps = 256 * 16 * 4 * rows / 2
    assert steps < runs[f"attention {rows} 256 128"]["modelled"] < steps + 6000, runs' || fail "$(cat lines)"
