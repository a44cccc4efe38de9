# SPDX-License-Identifier: Apache-2.0
# case.sh TANDEM: `tandem card watch` beside a program that uses a card; `tandem card run --gdb`.
tandem=$1
v++ -c -g -O0 -t hw_emu --platform u55c -k vadd -o vadd.xo "$TOOLS_DIR/vadd.cpp"
v++ -l -t hw_emu --platform u55c -o vadd.xclbin vadd.xo
g++ -std=c++17 -O0 -o idle "$CASE_DIR/idle.cpp" -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" -lxrt_coreutil -luuid -pthread
g++ -std=c++17 -O0 -o host "$TOOLS_DIR/native_host.cpp" -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" -lxrt_coreutil -luuid -pthread
python3 "$CASE_DIR/watch.py" "$tandem" ./idle vadd.xclbin

# gdb reads its commands from a file, as from a keyboard.
if command -v gdb >/dev/null; then
  printf 'backtrace\ninfo locals\ndelete\ncontinue\n' >keys
  "$tandem" card run --gdb vadd -- ./host vadd.xclbin <keys >printed 2>told || fail "$(cat printed told)"
  tr -s '\n ' ' ' <printed >flat  # gdb breaks long lines
  grep -q "hit Breakpoint 1[.0-9]*, .*#0 vadd (.* at [^ ].*vadd.cpp:.*TEST PASSED" flat || fail "$(head -50 printed) $(cat told)"
  "$tandem" card run --gdb vadd.cpp:16 -- ./host vadd.xclbin <keys >printed 2>told || fail "$(cat printed told)"
  tr -s '\n ' ' ' <printed >flat
  grep -q "hit Breakpoint 1[.0-9]*, .* at [^ ].*vadd.cpp:16 .*TEST PASSED" flat || fail "$(head -50 printed) $(cat told)"
else
  code=0
  "$tandem" card run --gdb vadd -- ./host vadd.xclbin >printed 2>told || code=$?
  same "$code" 2
  grep -q "apt-get install gdb" told || fail "$(cat told)"
fi
code=0
"$tandem" card run --gdb "vadd; quit" -- touch ran >printed 2>told || code=$?
same "$code" 2
[ ! -e ran ] || fail "the program ran"
