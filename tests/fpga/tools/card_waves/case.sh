# SPDX-License-Identifier: Apache-2.0
# case.sh TANDEM: waveforms of modelled runs. Kernels and host are those of card_time.
tandem=$1
export TANDEM_KERNEL_CHECKS=off  # half the time of v++ -c
source_dir=$(dirname "$CASE_DIR")/card_time
objects=()
for kernel in sum chain shallow; do
  v++ -c -t hw_emu --platform u250 -k $kernel -o $kernel.xo "$source_dir/timed.cpp"
  objects+=($kernel.xo)
done
v++ -l -t hw_emu --platform u250 -o timed.xclbin "${objects[@]}"
g++ -std=c++17 -O0 -o host "$source_dir/host.cpp" -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" -lxrt_coreutil -luuid -pthread

cat >read_vcd.py <<'END'
import json, sys

def read_vcd(path):
    """The changes (picoseconds, value) of each signal, by its path; level and registers as numbers."""
    paths, signals, scopes, now = {}, {}, [], 0
    for line in open(path):
        words = line.split()
        if words[0] == "$timescale": assert words[1:3] == ["1", "ps"], line
        elif words[0] == "$scope": scopes.append(words[2])
        elif words[0] == "$upscope": scopes.pop()
        elif words[0] == "$var":
            assert words[3] not in paths, line
            paths[words[3]] = ".".join(scopes + [words[4]])
        elif words[0][0] == "#":
            assert int(words[0][1:]) >= now, "times go back"
            now = int(words[0][1:])
        elif words[0][0] == "b":
            value = words[0][1:]
            signals.setdefault(paths[words[1]], []).append((now, value if "x" in value else int(value, 2)))
        elif words[0][0] in "01x":
            signals.setdefault(paths[words[0][1:]], []).append((now, words[0][0]))
    return signals

def spans(changes, value, end):
    """How long a signal has a value."""
    return sum(min(b, end) - a for (a, is_now), (b, _) in zip(changes, changes[1:] + [(end, "")]) if is_now == value)
END

same "$("$tandem" card run --vcd shallow.vcd -- ./host timed.xclbin shallow 512 2>told)" RAN
grep -q "kernel 'shallow', unit 'shallow_1': 1 run, modelled" told || fail "$(cat told)"
TANDEM_CARD_REPORT=$PWD/shallow.jsonl "$tandem" card run --vcd again.vcd -- ./host timed.xclbin shallow 512 2>/dev/null
python3 - <<'END' || fail "$(head -60 again.vcd)"
import json
from read_vcd import read_vcd, spans
signals = read_vcd("again.vcd")
lines = [json.loads(line) for line in open("shallow.jsonl")]
(run,) = [line for line in lines if line["kind"] == "run_time"]
unit = "card_0.shallow_1."
cycle = 1e6 / 300
start = [at for at, value in signals[unit + "control.ap_start"] if value == "1"]
end = [at for at, value in signals[unit + "control.ap_done"] if value == "1"]
assert len(start) == len(end) == 1, (start, end)
assert abs(end[0] + cycle - start[0] - run["cycles"] * cycle) < cycle, (start, end, run["cycles"])
assert spans(signals[unit + "control.ap_idle"], "0", end[0] + 10 * cycle) > 0.99 * run["cycles"] * cycle
# What waits in `near` is what the replay told: full as long as its writer waits, never above its depth.
near = signals[unit + "stream_near.level"]
assert max(value for _, value in near if value != "x") == 2, near[:20]
(stream,) = [each for each in run["streams"] if each["stream"] == "near"]
full = spans(signals[unit + "stream_near.full"], "1", end[0]) / cycle
assert full > 0.9 * stream["full_cycles"] > 1000, (full, stream)
for process in "fork", "far_way", "meet":
    values = [value for _, value in signals[unit + f"process_{process}.ap_start"]]
    assert values == ["x", "0", "1", "0"], (process, values)
(fork,) = [each for each in run["processes"] if each["process"] == "fork"]
waits = spans(signals[unit + "process_fork.waits"], "1", end[0]) / cycle
assert abs(waits - fork["waiting_cycles"]) < 0.02 * waits, (waits, fork)
# Registers: addresses of three buffers and the count.
assert [value for _, value in signals[unit + "registers.n"]] == ["x", 512]
assert len({signals[unit + "registers." + name][-1][1] for name in ("in", "out")}) == 2
END

# Two runs of two kernels in one report, drawn later; a kernel without streams has no stream.
export TANDEM_CARD_REPORT=$PWD/two.jsonl
for kernel in sum chain sum; do
  TANDEM_TIME=model TANDEM_WAVES=on XCL_EMULATION_MODE=hw_emu ./host timed.xclbin $kernel 64 >/dev/null
done
"$tandem" card report two.jsonl --vcd two.vcd >/dev/null
same "$("$tandem" card report two.jsonl --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["findings"]))')" 0
python3 - <<'END' || fail "$(head -60 two.vcd)"
from read_vcd import read_vcd
signals = read_vcd("two.vcd")
cards = sorted({name.split(".")[0] for name in signals})
assert cards == ["card_0", "card_1", "card_2"], cards  # each program has its own
assert not any("stream_" in name for name in signals if ".sum_1." in name), list(signals)
assert any(name.endswith("chain_1.stream_second.level") for name in signals), list(signals)
END
unset TANDEM_CARD_REPORT

code=0
TANDEM_WAVES=maybe TANDEM_TIME=model XCL_EMULATION_MODE=hw_emu ./host timed.xclbin sum 64 >told 2>&1 || code=$?
[ $code -ne 0 ] && grep -q "TANDEM_WAVES is 'maybe'; set it to on or off" told || fail "$(cat told)"
code=0
TANDEM_WAVES=on XCL_EMULATION_MODE=hw_emu ./host timed.xclbin sum 64 >told 2>&1 || code=$?
[ $code -ne 0 ] && grep -q "waveforms need modelled times" told || fail "$(cat told)"
code=0
output=$("$tandem" card report shallow.jsonl --vcd no/such/folder.vcd 2>&1) || code=$?
[ $code -eq 2 ] && [[ $output == *"--vcd: cannot write"* ]] || fail "$code: $output"
# A file that cannot be written keeps no other back, and a program's own status stays.
code=0
"$tandem" card run --sarif no/such/folder.sarif --vcd kept.vcd -- bash -c './host timed.xclbin sum 64; exit 7' >told 2>&1 || code=$?
[ $code -eq 7 ] && grep -q "no/such/folder.sarif" told && [ -s kept.vcd ] || fail "$code: $(cat told)"
grep -v run_waves shallow.jsonl >plain.jsonl
code=0
output=$("$tandem" card report plain.jsonl --vcd none.vcd 2>&1) || code=$?
[ $code -eq 2 ] && [[ $output == *"no waveforms; run the program with --vcd"* ]] || fail "$code: $output"
