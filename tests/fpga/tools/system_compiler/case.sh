# SPDX-License-Identifier: Apache-2.0
# The system-compiler flow: a project with VPP_ACC as its Makefile calls it.
cp -r "$CASE_DIR/project" "project"
cd project
expect "TEST PASSED" make test TARGET=sw_emu DEVICE=u250
expect "TEST PASSED" make run TARGET=hw_emu DEVICE=u250
same "$(stat -c %s out.dat)" 80  # four words of each of five jobs
# A header that changes, and the platform under its other name.
touch src/acc.hpp
same "$(make -n host TARGET=hw_emu DEVICE=u250 | grep -c 'g++ .* -c -o')" 2
expect "TEST PASSED" make test TARGET=hw_emu PLATFORM=xilinx_u250_gen3x16_xdma_3_1_202020_1
code=0
output=$(make run TARGET=hw DEVICE=u250 2>&1) || code=$?
[ "$code" -ne 0 ] || fail "hardware was built: $output"
[[ $output == *"hardware needs the vendor's tools"* ]] || fail "$output"
make clean TARGET=sw_emu
[ ! -e build_sc.sw_emu ] || fail "clean left the build"

# Processes: one call stays as it is, several become processes, lines and comments stay.
script=$XILINX_VITIS/system_compiler/examples/vpp_processes.py
/usr/bin/python3 "$script" src/acc.cpp >rewritten.cpp
same "$(grep -c 'vpp::Process<vpp_free_' rewritten.cpp)" 4
same "$(wc -l <rewritten.cpp)" "$(($(wc -l <src/acc.cpp) + 2))"
grep -q 'A call in a comment: void adder::compute(int\*) { move(a); increment(b); }' rewritten.cpp || fail "a comment changed"
grep -q 'filter::compute(int\* in, int size, int\* out, int\* count) { keep(' rewritten.cpp || fail "one call changed"
