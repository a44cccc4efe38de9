# SPDX-License-Identifier: Apache-2.0
# case.sh CMAKE: the tree looks like an installation of the vendor's tools: CMake modules find it, its xcpp links libraries
# that stand before the sources, and v++ -p takes its switches without a value.
cmake=$1
cp -r "$CASE_DIR" project
echo 'int scaled(int value) { return 3 * value; }' >project/scaled.cpp
echo 'target_sources(host PRIVATE scaled.cpp)' >>project/CMakeLists.txt
"$cmake" -S project -B build -DCMAKE_BUILD_TYPE=Debug >cmake.log 2>&1 || fail "$(cat cmake.log)"
"$cmake" --build build >build.log 2>&1 || fail "$(cat build.log)"

. "$TOOLS_DIR/build.sh"
build_xclbin vadd.link.xclbin u250 hw_emu
v++ -p -t hw_emu --platform u250 --package.ps_on_x86 --package.no_image vadd.link.xclbin -o vadd.xclbin
emconfigutil --platform u250 -q
export XCL_EMULATION_MODE=hw_emu
expect "TEST PASSED" build/host vadd.xclbin

# As a Makefile for SDAccel: libraries first, the compiler of the tree.
g++ -c project/scaled.cpp -o scaled.o
ar rc libscaled.a scaled.o
for compiler in xcpp "$XILINX_VITIS/bin/xcpp" "$XILINX_VIVADO/tps/lnx64/gcc-6.2.0/bin/g++"; do
  rm -f host
  "$compiler" -std=c++11 -w -L. -L"$XILINX_XRT/lib" -lscaled -lxilinxopencl -Wl,--as-needed -lpthread -o host project/host.cpp \
    -I"$XILINX_XRT/include" -I"$XILINX_HLS/include" -DCL_HPP_TARGET_OPENCL_VERSION=120 -DCL_TARGET_OPENCL_VERSION=120 \
    -DCL_HPP_MINIMUM_OPENCL_VERSION=120
  expect "TEST PASSED" ./host vadd.xclbin
done
refuse_code=0
xcpp -o host nothing.cpp >xcpp.log 2>&1 || refuse_code=$?
[ "$refuse_code" -eq 1 ] && grep -q nothing.cpp xcpp.log || fail "xcpp of a file that is missing: $refuse_code $(cat xcpp.log)"
