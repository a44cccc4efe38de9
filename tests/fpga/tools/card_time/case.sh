# SPDX-License-Identifier: Apache-2.0
# case.sh TANDEM: modelled times of kernels whose time follows from their source.
tandem=$1
objects=()
for kernel in apart shared sum chain shallow deep; do
  v++ -c -t hw_emu --platform u250 -k $kernel -o $kernel.xo "$CASE_DIR/timed.cpp"
  objects+=($kernel.xo)
done
v++ -l -t hw_emu --platform u250 -o timed.xclbin "${objects[@]}"
g++ -std=c++17 -O0 -o host "$CASE_DIR/host.cpp" -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" -lxrt_coreutil -luuid -pthread

# The table for people goes to standard error; the program's own output stays alone.
same "$("$tandem" card run --time model -- ./host timed.xclbin sum 4096 2>told)" RAN
grep -q "kernel 'sum', unit 'sum_1': 1 run, modelled" told || fail "$(cat told)"
grep -q "limited by loop timed.cpp:24: II 6: carried dependence through fadd" told || fail "$(cat told)"
grep -q "memory checks are off in timed runs" told || fail "$(cat told)"

export TANDEM_CARD_REPORT="$PWD/times.jsonl"
for kernel in apart shared sum chain shallow deep; do
  "$tandem" card run --time model -- ./host timed.xclbin $kernel 4096 2>/dev/null
done
expect "memory checks are off in timed runs" "$tandem" card report times.jsonl
"$tandem" card report times.jsonl --json >report.json
python3 -c '
import json
report = json.load(open("report.json"))
assert report["findings"] == [], report["findings"]
runs = {run["kernel"]: run for run in report["runs"]}
assert abs(report["modelled_us"] - sum(run["modelled_us"] for run in report["runs"])) < 1e-6
def check(run, cycles, limit):
    assert abs(run["cycles"] - cycles) < 0.02 * cycles, (run["kernel"], run["cycles"])
    assert abs(run["modelled_us"] - run["launch_us"] - run["cycles"] / 300) < 0.01, run
    assert run["limit"] == limit, (run["kernel"], run["limit"])
latency = 2 * (0.233 * 300 + 7)
check(runs["apart"], 4096 + latency, "loop timed.cpp:12")
check(runs["sum"], 6 * 4096 + latency, "loop timed.cpp:24")
check(runs["chain"], 3 * 4096 + latency, "loop timed.cpp:32")
# Elements wait in `near` for the long way: two of them, and one that the first process holds.
streams = {stream["stream"]: stream for stream in runs["shallow"]["streams"]}
assert runs["shallow"]["limit"].startswith("stream near (timed.cpp:"), runs["shallow"]["limit"]
assert runs["shallow"]["cycles"] > 4 * runs["deep"]["cycles"], (runs["shallow"]["cycles"], runs["deep"]["cycles"])
assert streams["near"]["depth"] == 2 and not streams["near"]["stated"] and streams["near"]["values"] == 4096
assert streams["near"]["full_cycles"] > 3 * 4096 and 10 < streams["near"]["sufficient_depth"] < 64, streams
best = runs["shallow"]["advice"][0]
assert best["text"].startswith("stream near"), best
saved = runs["shallow"]["kernel_us"] - runs["deep"]["kernel_us"]
assert abs(best["saves_us"] - saved) < 0.02 * saved, (best, saved)
assert abs(runs["deep"]["cycles"] - 4096 - latency) < 0.05 * 4096, runs["deep"]
assert {loop["ii"] for loop in runs["deep"]["loops"]} == {1}, runs["deep"]["loops"]
assert {process["process"] for process in runs["deep"]["processes"]} == {"fork", "far_way", "meet"}
assert all(stream["full_cycles"] < 200 for stream in runs["deep"]["streams"]), runs["deep"]["streams"]
assert runs["sum"]["advice"][0]["text"].startswith("loop timed.cpp:24: an II of 1 (carried"), runs["sum"]["advice"]
assert runs["shared"]["advice"][0]["text"].startswith("ports: a bundle of its own"), runs["shared"]["advice"]
saved = runs["shared"]["kernel_us"] - runs["apart"]["kernel_us"]
assert abs(runs["shared"]["advice"][0]["saves_us"] - saved) < 0.01 * saved, (runs["shared"]["advice"], saved)
# Each of the six programs syncs three buffers to the card.
assert [transfer["direction"] for transfer in report["transfers"]] == ["to_device"], report["transfers"]
transfer = report["transfers"][0]
assert transfer["copies"] == 18 and transfer["bytes"] == 18 * 16384, transfer
assert 18 * 5 < transfer["modelled_us_low"] <= transfer["modelled_us"] <= transfer["modelled_us_high"], transfer
# Nothing overlaps, so the whole takes the sum of its parts.
parts = report["modelled_us"] + transfer["modelled_us"]
assert abs(report["makespan_us"] - parts) < 0.01 * parts, (report["makespan_us"], parts)
assert runs["shared"]["limit"] == "port more" and runs["shared"]["cycles"] > 5 * runs["apart"]["cycles"]
assert [loop["ii"] for loop in runs["sum"]["loops"]] == [6]
ports = {port["argument"]: port for port in runs["apart"]["ports"]}
assert {name: port["bytes"] for name, port in ports.items()} == {"in": 16384, "more": 16384, "out": 16384}
assert ports["out"]["direction"] == "write" and ports["in"]["bank"].startswith("DDR"), ports
for port in ports.values():
    assert abs(port["bandwidth"] - 16.384 / runs["apart"]["kernel_us"]) < 0.01, port
' || fail "$(cat report.json)"

# Drawings of it.
"$tandem" card report times.jsonl --timeline timeline.json --roofline roofline.svg >/dev/null
python3 -c '
import json, xml.etree.ElementTree as xml
events = json.load(open("timeline.json"))["traceEvents"]
names = {event["args"]["name"] for event in events if event["ph"] == "M"}
for name in "unit deep_1", "process meet", "port in read", "memory", "channel DDR[0], sum_1", "host link of card 0", "to_device":
    assert any(each == name or each.startswith(name + " of card ") for each in names), (name, names)  # of one program each
dots = [each.text for each in xml.parse("roofline.svg").iter() if each.tag.endswith("title")]
assert any(dot.startswith("sum: ") for dot in dots), dots' || fail "drawings"
code=0
output=$("$tandem" card report /dev/null --timeline none.json 2>&1) || code=$?
[ "$code" -eq 2 ] && [[ $output == *"no modelled times"* ]] || fail "a timeline of no times: $code, $output"

# A bitstream without a copy that counts runs, and says so.
TANDEM_KERNEL_TIME=off v++ -c -t hw_emu --platform u250 -k sum -o plain.xo "$CASE_DIR/timed.cpp"
v++ -l -t hw_emu --platform u250 -o plain.xclbin plain.xo
expect "has no time model; build it again" "$tandem" card run --time model -- ./host plain.xclbin sum 64
same "$("$tandem" card run -- ./host timed.xclbin sum 64 2>&1)" "RAN
tandem: the cards found no bugs in 1 run"
# Checks that the user named are not dropped without a word.
expect "TANDEM_CHECKS=memory: kernels are not checked, since TANDEM_TIME is set" \
  env TANDEM_TIME=model TANDEM_CHECKS=memory ./host timed.xclbin sum 64
refuse "TANDEM_KERNEL_TIME is 'maybe'" env TANDEM_KERNEL_TIME=maybe v++ -c -t hw_emu --platform u250 -k sum -o no.xo "$CASE_DIR/timed.cpp"
code=0
"$tandem" card run --time guess -- ./host timed.xclbin sum 64 2>told || code=$?
same "$code" 2

# OpenCL's profiling times of a kernel are those of the model: its end is that long after its start.
g++ -std=c++17 -O0 -o opencl_host "$CASE_DIR/opencl_host.cpp" -lOpenCL
rm -f "$TANDEM_CARD_REPORT"
TANDEM_TIME=model ./opencl_host timed.xclbin sum 4096 >nanoseconds
python3 -c '
import json
lines = [json.loads(line) for line in open("times.jsonl")]
assert {line["interface"] for line in lines if line["kind"] == "transfer_time"} <= {"opencl"}, lines
modelled = [line["modelled_us"] for line in lines if line["kind"] == "run_time"]
told = [int(line) / 1000 for line in open("nanoseconds")]
assert len(told) == len(modelled) == 2, (told, modelled)
for here, there in zip(told, modelled):
    assert abs(here - there) < 0.01, (told, modelled)' || fail "$(cat nanoseconds)"
