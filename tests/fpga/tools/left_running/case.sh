# SPDX-License-Identifier: Apache-2.0
# A program ends while a command of it can never end: XRT's exit waits for the command, and the card ends it then.
for kernel in give take; do
  v++ -c -t hw_emu --platform u55c -k $kernel -o $kernel.xo "$CASE_DIR/kernels.cpp"
done
v++ -l -t hw_emu --platform u55c --connectivity.sc give_1.out:take_1.in:16 -o linked.xclbin give.xo take.xo
g++ -std=c++17 -O0 -o host "$CASE_DIR/host.cpp" -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" -lxrt_coreutil -luuid -pthread
emconfigutil --platform u55c
expect "the state is 4" env XCL_EMULATION_MODE=hw_emu ./host linked.xclbin 8  # completed
expect "the state is 8" env XCL_EMULATION_MODE=hw_emu ./host linked.xclbin 9  # timed out, and the program ends
