# SPDX-License-Identifier: Apache-2.0
# case.sh ROOT: the hand-written cycle model of embedding_update agrees with the time model within 5 %, for all its rules.
python3 "$1/benchmarks/fpga_hls/cycle_models/cycle_models.py" models embedding >lines
python3 -c '
import json
runs = {run["case"]: run for run in map(json.loads, open("lines"))}
for case in "0 1000 64 1", "0 200 64 4", "1 1000 64 1", "2 1000 64 1", "2 100 64 1":
    run = runs["embedding " + case]
    assert abs(run["ratio"] - 1) <= 0.05, run
# The interval of measure, by its dependent additions, limits all rules.
for case in "0 1000 64 1", "1 1000 64 1", "2 1000 64 1":
    assert "carried dependence" in runs["embedding " + case]["why"], runs' || fail "$(cat lines)"
