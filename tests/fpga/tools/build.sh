# SPDX-License-Identifier: Apache-2.0
# Sourced by cases that need a bitstream or the native host program.

# build_xclbin OUTPUT PLATFORM TARGET [LINK OPTION...]
build_xclbin() {
  local output=$1 platform=$2 target=$3
  shift 3
  v++ -c -t "$target" --platform "$platform" -k vadd -o vadd.xo "$TOOLS_DIR/vadd.cpp"
  v++ -l -t "$target" --platform "$platform" "$@" -o "$output" vadd.xo
}

# As Makefiles do: what the tree has suffices, no pkg-config.
build_host() {
  g++ -std=c++17 -O0 -o host "$TOOLS_DIR/native_host.cpp" -I"$XILINX_XRT/include" -L"$XILINX_XRT/lib" \
    -lxrt_coreutil -luuid -pthread
}
