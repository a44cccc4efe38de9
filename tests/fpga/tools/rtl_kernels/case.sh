# SPDX-License-Identifier: Apache-2.0
# RTL kernels: packaged by vivado's Tcl commands, translated by Verilator, run behind the card's registers, memory and streams.
command -v tclsh >/dev/null || { echo "SKIPPED: install the package tcl" && exit 0; }
cp -r "$CASE_DIR/hdl" "$CASE_DIR/scripts" "$CASE_DIR/stream" .

package() { vivado -mode batch -source scripts/gen_xo.tcl -tclargs "$1" vadd hw_emu u55c u55c; }
link() { v++ -l -t hw_emu --platform u55c "$@"; }

package vadd.xo
refuse "install the package verilator" env TANDEM_VERILATOR=/no/verilator v++ -l -t hw_emu --platform u55c -o no.xclbin vadd.xo
[ ! -e no.xclbin ] || fail "an output of a failed link"
command -v verilator >/dev/null || { echo "SKIPPED: install the package verilator" && exit 0; }
g++ -std=c++17 -O0 -o host "$CASE_DIR/host.cpp" -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" -lxrt_coreutil -luuid -pthread

# Two units; results, a register that the kernel changes, and a second run of each unit.
link --save-temps --temp_dir temps --connectivity.nk vadd:2 --connectivity.sp vadd_1.m_axi_gmem:HBM[3] -o vadd.xclbin vadd.xo
expect "TEST PASSED" ./host vadd.xclbin 0 vadd_1 vadd_2
expect "TEST PASSED" env XCL_EMULATION_MODE=sw_emu ./host vadd.xclbin 0 vadd_1
# Memory that is not ready in half of the cycles makes it slower and changes nothing else.
cycles() { python3 -c 'import json,sys; print([run["cycles"] for run in map(json.loads, open(sys.argv[1])) if run["kind"] == "run_time"])' "$1"; }
for stalls in 0 7; do
  expect "TEST PASSED" env TANDEM_RTL_STALLS=$stalls TANDEM_TIME=model TANDEM_CARD_REPORT="$PWD/time$stalls.jsonl" ./host vadd.xclbin 0 vadd_1
done
python3 -c '
import sys
fast, slow = eval(sys.argv[1]), eval(sys.argv[2])
assert len(fast) == 2 and fast[0] == fast[1] and all(4000 < each < 20000 for each in fast), fast
assert len(slow) == 2 and min(slow) > max(fast), (fast, slow)' "$(cycles time0.jsonl)" "$(cycles time7.jsonl)" || fail "cycles: $(cycles time0.jsonl) $(cycles time7.jsonl)"

# The kernel's mistakes, as vadd.sv numbers them.
no_wlast=2 crosses=3 too_many=4 pulses=5 far_away=6 stops=7 fatal=8
# finds KIND TEXT [COMMAND...]: a finding of the report has that kind, names the port, and holds TEXT.
finds() {
  rm -f found.jsonl
  TANDEM_CARD_REPORT="$PWD/found.jsonl" "${@:3}" >printed 2>told || true
  grep "\"kind\": \"$1\"" found.jsonl | grep "\"port\": \"m_axi_gmem\"" | grep -q "$2" || fail "$1: $2: $(cat found.jsonl told printed)"
}
finds axi_protocol "port m_axi_gmem: WLAST is missing at beat 16 of a burst" ./host vadd.xclbin $no_wlast vadd_1
grep -q "TEST PASSED" printed || fail "$(cat printed)"
finds axi_protocol "WLAST" env TANDEM_CHECKS=all,strict ./host vadd.xclbin $no_wlast vadd_1
grep -q "the run ended with state 5" printed || fail "not fatal: $(cat printed)"
finds axi_protocol "crosses a boundary of 4 KB" ./host vadd.xclbin $crosses vadd_1
finds out_of_bounds "port m_axi_gmem: the kernel reads .* of a buffer of 4000 bytes" ./host vadd.xclbin $too_many vadd_1
finds out_of_bounds "reads 64 bytes at device address 0x10000000" ./host vadd.xclbin $far_away vadd_1
grep -q "TEST FAILED" printed || fail "$(cat printed)"
finds axi_protocol "AWVALID falls before AWREADY" env TANDEM_RTL_STALLS=1 TANDEM_CARD_DEADLINE=5 ./host vadd.xclbin $pulses vadd_1
expect "the run ended with state 5" bash -c 'TANDEM_CARD_DEADLINE=2 TANDEM_CARD_REPORT="$PWD/late.jsonl" ./host vadd.xclbin 1 vadd_1 || true'
grep -q '"kind": "never_ends"' late.jsonl || fail "$(cat late.jsonl)"
# $stop and $fatal end the run, not the card. The finding names the source, also without checks.
ends() {
  rm -f ended.jsonl
  TANDEM_CARD_REPORT="$PWD/ended.jsonl" "${@:2}" >printed 2>told || true
  grep '"kind": "rtl_stop", "severity": "error", "kernel": "vadd", "unit": "vadd_1"' ended.jsonl | grep -q "$1" || fail "$1: $(cat ended.jsonl told printed)"
  grep -q "the run ended with state 5" printed && grep -q "the next run is right" printed || fail "$1: $(cat printed told)"
}
line_of() { grep -n -F "$1" hdl/vadd.sv | cut -d: -f1; }
ends "src/vadd.sv\", \"line\": $(line_of '$stop'), \"message\": \"\$stop ends the run" ./host vadd.xclbin $stops vadd_1
ends "src/vadd.sv\", \"line\": $(line_of '$fatal'), \"message\": .*: mistake 8 of 1000 words" ./host vadd.xclbin $fatal vadd_1
ends "src/vadd.sv" env TANDEM_CHECKS=none ./host vadd.xclbin $stops vadd_1
grep -q "rtl_stop: .*src/vadd.sv:$(line_of '$stop')" told || fail "not told: $(cat told)"

# What cannot be translated is told with file and line, or by name.
sed -i 's/assign interrupt = 0;/assign interrupt = nothing;/' hdl/vadd.sv
rm -rf packaged_kernel_*
package vadd.xo
refuse "src/vadd.sv:$(grep -n 'nothing' hdl/vadd.sv | cut -d: -f1):" v++ -l -t hw_emu --platform u55c -o no.xclbin vadd.xo
sed -i 's/assign interrupt = nothing;/assign interrupt = 0; vendor_core core (.clk(ap_clk));/' hdl/vadd.sv
rm -rf packaged_kernel_*
package vadd.xo
refuse "cores and macros of the vendor's cannot be translated" v++ -l -t hw_emu --platform u55c -o no.xclbin vadd.xo
sed -i 's/vendor_core core (.clk(ap_clk));/xpm_fifo_sync #(.READ_DATA_WIDTH(8)) fifo (.wr_clk(ap_clk));/' hdl/vadd.sv
rm -rf packaged_kernel_*
package vadd.xo
link -o no.xclbin vadd.xo >told 2>&1 && fail "a source's own \$error is lost"
grep -q "this model of a FIFO has equal read and write widths" told || fail "$(cat told)"
echo "entity other is end other;" >packaged_kernel_vadd_hw_emu_u55c/src/other.vhd
echo 'package_xo -force -xo_path vadd.xo -kernel_name vadd -ip_directory packaged_kernel_vadd_hw_emu_u55c' >again.tcl
vivado -mode batch -source again.tcl
refuse "has VHDL: $PWD/packaged_kernel_vadd_hw_emu_u55c/src/other.vhd" v++ -l -t hw_emu --platform u55c -o no.xclbin vadd.xo
head -c 5000 vadd.xo >short.xo
refuse "short.xo: is truncated" v++ -l -t hw_emu --platform u55c -o no.xclbin short.xo

# vivado refuses what it is not.
echo 'launch_runs synth_1' >synth.tcl
refuse "'launch_runs' is no command that this vivado knows" vivado -mode batch -source synth.tcl
echo 'create_project p p; create_ip -name fir_compiler -vendor xilinx.com -library ip -module_name fir' >core.tcl
refuse "'fir_compiler' is a core of Vivado's" vivado -mode batch -source core.tcl
echo 'package_xo -xo_path x.xo -kernel_name vadd -ip_directory nowhere' >nowhere.tcl
refuse "nowhere has no component.xml" vivado -mode batch -source nowhere.tcl
echo 'package_xo -xo_path x.xo -kernel_name vadd -ip_directory packaged_kernel_vadd_hw_emu_u55c -kernel_xml none.xml' >no_xml.tcl
refuse "package_xo: no such file: none.xml" vivado -mode batch -source no_xml.tcl
[ ! -e x.xo.part ] || fail "a part of a kernel object is left"
echo 'create_project p p; set_property -name top -value vadd -objects [current_fileset]; puts "top: [get_property top [current_fileset]]"' >named.tcl
expect "top: vadd" vivado -mode batch -source named.tcl
echo 'exit 3' >ends.tcl
vivado -mode batch -source ends.tcl && fail "the script's own exit code is lost"

# Streams between C++ kernels and RTL kernels without control.
cd stream
vivado -mode batch -source package.tcl
# A second RTL kernel in the same bitstream, described by its ports alone.
sed 's/module plus/module step/' plus.v >step.v
sed 's/ -kernel_xml kernel.xml//; s/plus/step/g' package.tcl >step.tcl
vivado -mode batch -source step.tcl
export TANDEM_KERNEL_CHECKS=off TANDEM_KERNEL_TIME=off  # of the C++ kernels: less to compile
for kernel in feed drain; do v++ -c -t hw_emu --platform u55c -k $kernel -o $kernel.xo movers.cpp; done
g++ -std=c++17 -O0 -o host host.cpp -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" -lxrt_coreutil -luuid -pthread
cat >link.cfg <<END
[connectivity]
sc=feed_1.words:plus_1.in:4
sc=plus_1.out:step_1.in:2
sc=step_1.out:drain_1.words:2
END
# Verilator's program is Perl, which warns of a locale that is not there.
LC_ALL=xx_XX.UTF-8 link --config link.cfg -o plus.xclbin feed.xo drain.xo plus.xo step.xo
for stalls in 0 3; do expect "TEST PASSED" env TANDEM_RTL_STALLS=$stalls ./host plus.xclbin 0; done
# Words that nobody writes: `feed` could be started again, so this is no deadlock, but the deadline ends it.
expect "drain ended with state 5" bash -c 'TANDEM_CARD_DEADLINE=5 TANDEM_CARD_REPORT="$PWD/stuck.jsonl" ./host plus.xclbin 1 || true'
grep -q '"kind": "never_ends".*waits for data in stream' stuck.jsonl || fail "$(cat stuck.jsonl)"
