// SPDX-License-Identifier: Apache-2.0
//
// Copies of two emulated cards, for trace_transports_test.py: 4096 bytes to card 0, 4096 from card
// 0 to card 1, 1000 from card 1 to the host, and 512 within card 1.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>

#include <cstdio>
#include <cstring>

int main() {
  constexpr std::size_t kBytes = 4096;
  xrt::device first(0), second(1);
  xrt::bo source(first, kBytes, 0), target(second, kBytes, 0);
  std::memset(source.map(), 7, kBytes);
  source.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  xrt::bo window(second, source.export_buffer());
  target.copy(window);
  target.sync(XCL_BO_SYNC_BO_FROM_DEVICE, 1000, 0);
  xrt::bo other(second, kBytes, 0);
  other.copy(target, 512);
  if (target.map<char*>()[999] == 7) return 0;
  std::puts("the bytes did not arrive");
  return 1;
}
