# SPDX-License-Identifier: Apache-2.0
# case.sh TANDEM: gcov of a kernel after runs on an emulated card.
tandem=$1
export TANDEM_KERNEL_CHECKS=off TANDEM_KERNEL_TIME=off  # less time of v++ -c
mkdir objects
TANDEM_KERNEL_COVERAGE=on v++ -c -t hw_emu --platform u55c -k clipped -o objects/clipped.xo "$CASE_DIR/clipped.cpp"
v++ -l -t hw_emu --platform u55c -o clipped.xclbin objects/clipped.xo
same "$(ls objects/*.gcda 2>/dev/null)" ""  # neither compiling nor linking is a run
g++ -std=c++17 -O0 -o host "$CASE_DIR/host.cpp" -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" -lxrt_coreutil -luuid -pthread

# counts LINE: how often gcov says that it ran; "#####" is never.
counts() { awk -F: -v line="$1" '$2 + 0 == line { gsub(/ /, "", $1); print $1 }' clipped.cpp.gcov; }
read_counts() {
  local data
  data=$(find lines -name '*.gcda')
  [ "$(wc -l <<<"$data")" -eq 1 ] || fail "not one file of counts: $data"
  gcov "$data" >/dev/null
}

same "$("$tandem" card run --coverage lines -- ./host clipped.xclbin 20 2>told)" RAN
grep -q "^tandem: coverage: gcov '.*clipped.*.gcda'" told || fail "$(cat told)"
read_counts
same "$(counts 5) $(counts 6) $(counts 8) $(counts 15)" "10 ##### 10 10"

# Runs add up, in one folder that needs no other file.
"$tandem" card run --coverage lines -- ./host clipped.xclbin 3 2>/dev/null
mv objects moved
read_counts
same "$(counts 5) $(counts 6) $(counts 8)" "20 6 14"
mv moved objects

# Without the command the counts stand beside the kernel object, as gcov's always do.
XCL_EMULATION_MODE=hw_emu ./host clipped.xclbin 3
gcov objects/*.gcda >/dev/null
same "$(counts 5) $(counts 6)" "10 6"

# Other kernels count nothing, and say how they would.
v++ -c -t hw_emu --platform u55c -k clipped -o plain.xo "$CASE_DIR/clipped.cpp"
v++ -l -t hw_emu --platform u55c -o plain.xclbin plain.xo
code=0
output=$("$tandem" card run --coverage none -- ./host plain.xclbin 3 2>&1) || code=$?
[ $code -eq 2 ] && [[ $output == *"TANDEM_KERNEL_COVERAGE=on v++ -c"* ]] || fail "$code: $output"
rm objects/*.gcno lines -r
code=0
output=$("$tandem" card run --coverage lines -- ./host clipped.xclbin 3 2>&1) || code=$?
[ $code -eq 2 ] && [[ $output == *"which v++ -c wrote, cannot be copied"* ]] || fail "$code: $output"
refuse "TANDEM_KERNEL_COVERAGE is 'maybe'" env TANDEM_KERNEL_COVERAGE=maybe v++ -c -t hw_emu --platform u55c -k clipped -o no.xo "$CASE_DIR/clipped.cpp"
