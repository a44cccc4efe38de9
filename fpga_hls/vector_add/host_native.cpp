// SPDX-License-Identifier: Apache-2.0
//
// Vector addition through XRT's native C++ API: vadd_native <xclbin> [device index]. Prints TEST
// PASSED.
//
// An ordinary XRT program: the same binary runs on a card and on an emulated one.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

constexpr uint32_t kLength = 100000;

int run(const char* xclbin_path, unsigned int device_index) {
  xrt::device device(device_index);
  const auto uuid = device.load_xclbin(xclbin_path);
  xrt::kernel vadd(device, uuid, "vadd");
  xrt::bo a(device, kLength * sizeof(uint32_t), vadd.group_id(0));
  xrt::bo b(device, kLength * sizeof(uint32_t), vadd.group_id(1));
  xrt::bo out(device, kLength * sizeof(uint32_t), vadd.group_id(2));
  auto* a_data = a.map<uint32_t*>();
  auto* b_data = b.map<uint32_t*>();
  auto* out_data = out.map<uint32_t*>();
  for (uint32_t i = 0; i < kLength; ++i) {
    a_data[i] = 3 * i + 1;
    b_data[i] = 0xffffff00u + i;
    out_data[i] = 0xdeadbeef;
  }
  a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  b.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto launch = vadd(a, b, out, kLength);
  const ert_cmd_state state = launch.wait();
  if (state != ERT_CMD_STATE_COMPLETED) {
    std::printf("TEST FAILED: the kernel ended in state %d\n", static_cast<int>(state));
    return EXIT_FAILURE;
  }
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (uint32_t i = 0; i < kLength; ++i) {
    const uint32_t expected = 3 * i + 1 + 0xffffff00u + i;
    if (out_data[i] != expected) {
      std::printf("TEST FAILED: out[%u] is %u, not %u\n", i, out_data[i], expected);
      return EXIT_FAILURE;
    }
  }
  std::printf("TEST PASSED\n");
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s <xclbin> [device index]\n", argv[0]);
    return EXIT_FAILURE;
  }
  try {
    return run(argv[1], argc > 2 ? static_cast<unsigned int>(std::atoi(argv[2])) : 0);
  } catch (const std::exception& error) {
    std::printf("TEST FAILED: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
