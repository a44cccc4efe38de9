# SPDX-License-Identifier: Apache-2.0
# setup.sh: any folder, any number of times, both as XRT's and as Vitis' script; the tree answers where Makefiles look.
tree=$XILINX_XRT
shells=bash
command -v zsh >/dev/null && shells="bash zsh"
for shell in $shells; do
  for script in setup.sh vitis/settings64.sh Vitis/2022.2/settings64.sh; do
    found=$(env -i PATH=/usr/bin:/bin $shell -c "cd /; . '$tree/$script'; . '$tree/$script'; cd '$tree/vitis'; . ../setup.sh
      echo \$XILINX_XRT \$XILINX_VITIS \$XILINX_HLS \$XILINX_VIVADO \$PATH \$LD_LIBRARY_PATH \$OCL_ICD_VENDORS")
    same "$found" "$tree $tree/Vitis/2022.2 $tree/Vitis_HLS/2022.2 $tree/Vivado/2022.2 $tree/Vitis/2022.2/bin:$tree/bin:/usr/bin:/bin $tree/lib $tree/icd"
  done
done
ln -s "$tree" "a link with blanks"
same "$(env -i PATH=/usr/bin:/bin bash -c ". 'a link with blanks/setup.sh'; echo \$XILINX_XRT")" "$tree"

for tool in v++ emconfigutil platforminfo xclbinutil xbutil xcpp; do
  same "$(command -v $tool)" "$tree/Vitis/2022.2/bin/$tool"
  [ -x "$tree/bin/$tool" ] || fail "no $tool in the tree's bin"
  [ -x "$XILINX_VITIS/bin/$tool" ] || fail "no $tool in XILINX_VITIS"
done
cat >headers.cpp <<'CPP'
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_ext_xilinx.h>
#include <experimental/xrt_ip.h>
#include <experimental/xrt_xclbin.h>
#include <ert.h>
#include <xclbin.h>
#include <xclhal2.h>
#include <xrt.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>
#include <ap_int.h>
#include <hls_stream.h>
int main() {
  ap_uint<9> wide = 511;
  hls::stream<int> stream;
  stream.write(3);
  cl_platform_id platform;
  return wide == 511 && stream.read() == 3 && clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS ? 0 : 1;
}
CPP
g++ -std=c++17 -w headers.cpp -o headers -I"$XILINX_XRT/include" -I"$XILINX_VIVADO/include" -L"$XILINX_XRT/lib" \
  -lOpenCL -lxrt_coreutil -lxrt_core -luuid -pthread -lrt -lstdc++
./headers || fail "a program with every header"
g++ -std=c++17 -w headers.cpp -o direct -I"$XILINX_XRT/include" -I"$XILINX_VIVADO/include" -L"$XILINX_XRT/lib" \
  -lxilinxopencl -pthread
./direct || fail "a program linked with libxilinxopencl"
for header in CL/cl2.hpp CL/opencl.hpp CL/cl2xrt.hpp; do [ -e "$XILINX_XRT/include/$header" ] || fail "no $header"; done
