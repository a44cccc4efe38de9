# SPDX-License-Identifier: Apache-2.0
# case.sh CMAKE BUILD: the tree is installed, moved to another place, and a project is built and run with it there.
cmake=$1 build=$2
unset XILINX_XRT XILINX_VITIS XILINX_HLS XILINX_VIVADO LD_LIBRARY_PATH OCL_ICD_VENDORS OPENCL_LAYERS
export PATH=${PATH#*/xrt/bin:}
"$cmake" --install "$build" --component fpga --prefix "$PWD/first place" >install.log 2>&1 || fail "$(tail -5 install.log)"
mv "first place" moved
. moved/setup.sh
same "$XILINX_XRT" "$PWD/moved/share/tandem/xrt"
same "$(readlink -f "$(command -v v++)")" "$PWD/moved/share/tandem/xrt/bin/v++"

# Nothing installed may point into the build or the sources.
links=$(find moved -type l -exec readlink {} + | grep -e "$build" -e "$(cd "$TOOLS_DIR/../../.." && pwd)" || true)
same "$links" ""

. "$TOOLS_DIR/build.sh"
build_host
build_xclbin vadd.xclbin u280 hw_emu --connectivity.sp vadd_1.out:"DDR[1]"
emconfigutil --platform u280 -q
expect "TEST PASSED" env XCL_EMULATION_MODE=hw_emu ./host vadd.xclbin
expect "[PASSED]" xbutil validate
ldd host | grep -q "$PWD/moved" || fail "the host program is not linked with the installed tree"
cat >stream.cpp <<'CPP'
#include <ap_fixed.h>
#include <hls_stream.h>
extern "C" void vadd(const int* a, const int* b, int* out, int length) {
  hls::stream<int> sums;
  for (int i = 0; i < length; ++i) sums.write(a[i] + b[i]);
  for (int i = 0; i < length; ++i) out[i] = sums.read();
}
CPP
v++ -c -t sw_emu --platform u280 -k vadd --depfile stream.d -o stream.xo stream.cpp
grep -q "moved/share/tandem/xrt/vitis/include/hls_stream.h" stream.d || fail "the HLS headers are not the installed ones"
same "$(grep -e "$build/" -e "$(cd "$TOOLS_DIR/../../.." && pwd)/" stream.d || true)" ""
v++ -l -t sw_emu --platform u280 -o stream.xclbin stream.xo
expect "TEST PASSED" env XCL_EMULATION_MODE=sw_emu ./host stream.xclbin
