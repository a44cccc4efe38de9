# SPDX-License-Identifier: Apache-2.0
# case.sh TANDEM: `tandem card` without any setup of the shell: runs, reports, searches depths.
tandem=$1
v++ -c -t hw_emu --platform u55c -k crossed -o crossed.xo "$CASE_DIR/crossed.cpp"
v++ -l -t hw_emu --platform u55c -o crossed.xclbin crossed.xo
sed 's/depth = 64/depth = Rows<16>::kDepth/' "$CASE_DIR/crossed.cpp" >unread.cpp
expect "unread.cpp:29: depth=Rows" v++ -c -t hw_emu --platform u55c -k crossed -o unread.xo unread.cpp
v++ -l -t hw_emu --platform u55c -o unread.xclbin unread.xo
g++ -std=c++17 -O0 -g -o host "$CASE_DIR/host.cpp" -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" -lxrt_coreutil -luuid -pthread
unset XILINX_XRT XILINX_VITIS XILINX_HLS XILINX_VIVADO LD_LIBRARY_PATH OCL_ICD_VENDORS OPENCL_LAYERS

# code_of COMMAND...: its exit code; its outputs go to the files printed and told.
code_of() {
  local code=0
  "$@" >printed 2>told || code=$?
  echo "$code"
}

same "$(code_of "$tandem" card run --strict -- ./host crossed.xclbin 0)" 0
same "$(cat printed)" RAN
same "$(cat told)" "tandem: the cards found no bugs in 1 run"
same "$(code_of "$tandem" card run -- ./host crossed.xclbin 0 9)" 9
same "$(code_of "$tandem" card run -- bash -c './host crossed.xclbin 0 && ./host crossed.xclbin 0')" 0
same "$(cat told)" "tandem: the cards found no bugs in 2 runs"
same "$(code_of "$tandem" card run --strict -- true)" 0
same "$(cat told)" "tandem: the program opened no emulated card"
same "$(TANDEM_CHECKS=none code_of "$tandem" card run -- ./host crossed.xclbin 0)" 0
same "$(cat told)" "tandem: the cards found no bugs in 1 run, 1 of them without memory checks"
same "$(code_of "$tandem" card run --time model -- true)" 0
same "$(cat told)" "tandem: the program opened no emulated card"

# A stated depth that v++ cannot read is no shallow one.
same "$(code_of "$tandem" card run --strict -- ./host unread.xclbin 1)" 0

# A bug is told with place and advice; it changes the exit code only with --strict.
export TANDEM_CARD_REPORT="$PWD/kept.jsonl"
same "$(code_of "$tandem" card run -- ./host crossed.xclbin 3)" 0
grep -q "crossed.cpp:30: warning: leftover_tokens in kernel 'crossed', unit 'crossed_1': stream 'tail' ends" told || fail "$(cat told)"
grep -q "    what to do: read as many values as are written" told || fail "no advice: $(cat told)"
same "$(grep -c "stream 'tail' ends" told)" 1
same "$(tail -1 told)" "tandem: the cards found 1 bug: 0 errors, 1 warning"
same "$(code_of "$tandem" card run --strict --sarif found.sarif -- ./host crossed.xclbin 3)" 4
same "$(grep -c "the cards found 1 bug" told)" 1
python3 -c '
import json
run = json.load(open("found.sarif"))["runs"][0]
assert [result["ruleId"] for result in run["results"]] == ["leftover_tokens"]
assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 30' || fail "SARIF"

# A file that cannot be written ends the command with its own error, unless the program has one.
same "$(code_of "$tandem" card run --sarif no/such/folder.sarif -- ./host crossed.xclbin 0 9)" 9
grep -q "cannot write 'no/such/folder.sarif'" told || fail "$(cat told)"
same "$(code_of "$tandem" card run --sarif no/such/folder.sarif -- ./host crossed.xclbin 0)" 2

# A report of two runs; the findings of the first are not the second's.
expect "leftover_tokens in kernel 'crossed', unit 'crossed_1' (2 times)" "$tandem" card report kept.jsonl
"$tandem" card report kept.jsonl --json >report.json
python3 -c '
import json
report = json.load(open("report.json"))
assert report["warnings"] == 1 and report["findings"][0]["count"] == 2, report' || fail "JSON"
unset TANDEM_CARD_REPORT

# A buffer is named by the place in the program that made it, not by XRT's header.
same "$(code_of "$tandem" card run -- ./host crossed.xclbin 4)" 0
grep -q "crossed.cpp:22: error: out_of_bounds in kernel 'crossed', unit 'crossed_1', argument 'out'" told || fail "$(cat told)"
grep -q "made at $CASE_DIR/host.cpp:16)" told || fail "$(cat told)"

same "$(code_of "$tandem" card run -- ./host crossed.xclbin 2)" 3
same "$(grep -c "waits for data in stream 'reply'" told)" 2  # the message, and the wait itself
grep -q "error: deadlock in kernel 'crossed'" told || fail "$(cat told)"
grep -q "    process 'give' waits for data in stream 'reply', which holds 0: .*crossed.cpp:11" told || fail "$(cat told)"
same "$(GITHUB_ACTIONS=true code_of "$tandem" card run -- ./host crossed.xclbin 2)" 3
grep -q "^::error file=.*crossed.cpp,line=11,title=deadlock::kernel 'crossed'" told || fail "$(cat told)"
same "$(code_of "$tandem" card run --strict -- ./host crossed.xclbin 1)" 0

# Faults by a script; the log is a script that repeats them; a mistake is told with its place before anything runs.
echo "launch 1 fail" >fails.faults
[ "$(code_of "$tandem" card run --faults fails.faults --faults-log log.faults -- ./host crossed.xclbin 0)" != 0 ] || fail "no fault"
same "$(cat log.faults)" "launch 1 card=0 fail"
[ "$(code_of "$tandem" card run --faults log.faults -- ./host crossed.xclbin 0)" != 0 ] || fail "no fault by the log"
printf 'seed 3\nlaunch 1 explode\n' >wrong.faults
same "$(code_of "$tandem" card run --faults wrong.faults -- touch ran)" 2
grep -q "wrong.faults:2: field 'explode': is not a fault" told || fail "$(cat told)"
[ ! -e ran ] || fail "it ran"
"$tandem" card storm --seed 5 --events 100 >storm.faults
same "$("$tandem" card storm --seed 5 --events 100)" "$(cat storm.faults)"
[ "$("$tandem" card storm --seed 6 --events 100)" != "$(cat storm.faults)" ] || fail "one storm for two seeds"
same "$(code_of "$tandem" card run --faults storm.faults -- true)" 0

# The depths that a run needs, whatever is stated.
"$tandem" card depths --json -- ./host crossed.xclbin 0 >least.json
python3 -c '
import json
streams = {each["stream"]: each for each in json.load(open("least.json"))["streams"]}
assert {name: each["depth"] for name, each in streams.items()} == {"head": 1, "tail": 1}, streams
assert streams["head"]["stated"] == 64 and streams["head"]["line"] == 28, streams' || fail "depths without a bug"
expect "crossed.cpp:28: stream 'head': depth 48 suffices (64 is stated)" "$tandem" card depths -- ./host crossed.xclbin 1
expect "crossed.cpp:30: stream 'tail': depth 1 suffices (4 is stated)" "$tandem" card depths -- ./host crossed.xclbin 1

# said TEXT COMMAND...: it ends with 2 and says so.
said() {
  local text=$1
  shift
  same "$(code_of "$@")" 2
  grep -qF -- "$text" told || fail "'$*' did not say '$text' but: $(cat told)"
}
said "the command fails whatever depths its streams have" "$tandem" card depths -- ./host crossed.xclbin 2
said "exit code 9" "$tandem" card depths -- ./host crossed.xclbin 0 9
said "the script of faults 'nothing' cannot be read" "$tandem" card run --faults nothing -- ./host crossed.xclbin 0
said "guess not in {model}" "$tandem" card run --strict --time guess -- ./host crossed.xclbin 0
said "program is required" "$tandem" card run --strict
said "program is required" "$tandem" card depths --
said "cannot read 'nothing.jsonl'" "$tandem" card report nothing.jsonl
for missing in ./no_such_program no_such_program; do
  same "$(code_of "$tandem" card run -- "$missing" 1)" 127
  same "$(cat told)" "tandem: there is no program '$missing'; after -- give its path, such as ./host, or a name of PATH"
done
touch no_program
same "$(code_of "$tandem" card run -- ./no_program)" 126
grep -q "^tandem: .*/no_program: Permission denied" told || fail "$(cat told)"
same "$(TANDEM_CARD_REPORT=clean.jsonl code_of "$tandem" card run -- ./host crossed.xclbin 0)" 0
expect "no bugs" "$tandem" card report clean.jsonl
same "$(TANDEM_CARD_SCOPE=shared code_of "$tandem" card run -- bash -c 'echo "${TANDEM_CARD_SCOPE%%.*}"; [ "$TANDEM_CARD_SCOPE" != shared ]')" 0
same "$(cat printed)" shared
same "$(code_of "$tandem" card depths -- bash -c 'kill -TERM $$')" 143
same "$(code_of "$tandem" card run -- bash -c 'kill -KILL $$')" 137
