# SPDX-License-Identifier: Apache-2.0
# case.sh TANDEM: kernels in OpenCL C have the modelled time of their twins in C++.
tandem=$1
g++ -std=c++17 -O0 -o host "$CASE_DIR/../card_time/host.cpp" -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" -lxrt_coreutil -luuid -pthread
for language in cl cpp; do
  objects=()
  for kernel in sum slow staged; do
    v++ -c -t hw_emu --platform u250 -k $kernel -o $kernel.$language.xo "$CASE_DIR/twins.$language"
    objects+=($kernel.$language.xo)
  done
  if [ $language = cl ]; then
    v++ -c -t hw_emu --platform u250 -k items -o items.xo "$CASE_DIR/twins.cl"
    objects+=(items.xo)
  fi
  v++ -l -t hw_emu --platform u250 -o $language.xclbin "${objects[@]}"
  for kernel in sum slow staged; do
    TANDEM_CARD_REPORT="$PWD/$language.jsonl" "$tandem" card run --time model -- ./host $language.xclbin $kernel 4096 2>/dev/null
  done
  "$tandem" card report $language.jsonl --json >$language.json
done
TANDEM_CARD_REPORT="$PWD/items.jsonl" "$tandem" card run --time model -- ./host cl.xclbin items 4096 2>/dev/null
"$tandem" card report items.jsonl --json >items.json
python3 -c '
import json
runs = {language: {run["kernel"]: run for run in json.load(open(language + ".json"))["runs"]} for language in ("cl", "cpp")}
for name, twin in runs["cpp"].items():
    run = runs["cl"][name]
    assert abs(run["cycles"] - twin["cycles"]) < 0.03 * twin["cycles"], (name, run["cycles"], twin["cycles"])
    assert [loop["ii"] for loop in run["loops"]] == [loop["ii"] for loop in twin["loops"]], (name, run["loops"], twin["loops"])
    assert [(port["argument"], port["direction"], port["bytes"]) for port in run["ports"]] \
        == [(port["argument"], port["direction"], port["bytes"]) for port in twin["ports"]], (name, run["ports"])
    assert run["limit"].startswith("loop twins.cl:"), run["limit"]
assert [loop["ii"] for loop in runs["cl"]["sum"]["loops"]] == [6], runs["cl"]["sum"]["loops"]
assert [loop["ii"] for loop in runs["cl"]["slow"]["loops"]] == [3], runs["cl"]["slow"]["loops"]
assert [loop["line"] for loop in runs["cl"]["slow"]["loops"]] == [15], runs["cl"]["slow"]["loops"]
iis = [loop["ii"] for loop in runs["cl"]["staged"]["loops"]]
assert iis == [1, 1, 4], iis  # of one bank with two ports, 8 reads take 4 cycles
items = json.load(open("items.json"))["runs"]
assert len(items) == 1 and {port["argument"]: port["bytes"] for port in items[0]["ports"]} == {"in": 4, "more": 4, "out": 4}, items
' || fail "$(cat cl.json cpp.json)"
