// SPDX-License-Identifier: Apache-2.0
//
// A host program as users of XRT write it: one vadd on card 0 or the card of the second argument,
// checked. Prints the card's name once a bitstream is loaded, and the output's address.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  constexpr int kLength = 1024;  // a multiple of 64 bytes, which cards without DMA demand
  xrt::device device(argc == 3 ? static_cast<unsigned>(std::atoi(argv[2])) : 0);
  const xrt::uuid uuid = device.load_xclbin(argv[1]);
  std::printf("card: %s\n", device.get_info<xrt::info::device::name>().c_str());
  xrt::kernel vadd(device, uuid, "vadd");
  const size_t bytes = kLength * sizeof(unsigned);
  xrt::bo a(device, bytes, vadd.group_id(0));
  xrt::bo b(device, bytes, vadd.group_id(1));
  xrt::bo out(device, bytes, vadd.group_id(2));
  for (int i = 0; i < kLength; ++i) {
    a.map<unsigned*>()[i] = static_cast<unsigned>(3 * i);
    b.map<unsigned*>()[i] = static_cast<unsigned>(i + 7);
    out.map<unsigned*>()[i] = 0;
  }
  for (xrt::bo* buffer : {&a, &b, &out}) buffer->sync(XCL_BO_SYNC_BO_TO_DEVICE);
  vadd(a, b, out, kLength).wait();
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  std::printf("out at: 0x%llx\n", static_cast<unsigned long long>(out.address()));
  for (int i = 0; i < kLength; ++i) {
    if (out.map<unsigned*>()[i] == static_cast<unsigned>(4 * i + 7)) continue;
    std::printf("TEST FAILED\n");
    return 1;
  }
  std::printf("TEST PASSED\n");
  return 0;
}
