// SPDX-License-Identifier: Apache-2.0
//
// Exercises: 512-bit ports, ranges, concatenation, reductions, rotation and an ap_uint as scalar.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <bit>
#include <bitset>
#include <random>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kSize = 600;
constexpr uint32_t kMask = 0x5aa50ff0;

void reorder(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel kernel(device, uuid, "reorder");
  xrt::bo in(device, kSize * 64, kernel.group_id(0)), out(device, kSize * 64, kernel.group_id(1)),
      parities(device, kSize * 4, kernel.group_id(2));
  auto* words = in.map<uint32_t*>();
  std::mt19937 random(2);
  for (int i = 0; i < kSize * 16; ++i) words[i] = random();
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = kernel(in, out, parities, kSize, kMask);
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  parities.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const auto* got = out.map<uint32_t*>();
  const auto* marks = parities.map<uint32_t*>();
  for (int i = 0; i < kSize; ++i) {
    std::bitset<512> want;
    for (int bit = 0; bit < 512; ++bit) {
      want[bit] = ((words[16 * i + 15 - bit / 32] ^ kMask) >> (bit % 32)) & 1;
    }
    uint32_t zeros = 0;
    while (zeros < 512 && !want[511 - zeros]) ++zeros;
    CHECK_EQ(marks[i], (static_cast<uint32_t>(want.count() % 2) << 31) | zeros);
    const int by = i % 512;
    want = (want << by) | (want >> (512 - by));
    for (int bit = 0; bit < 512; ++bit) {
      CHECK_EQ((got[16 * i + bit / 32] >> (bit % 32)) & 1, want[bit] ? 1u : 0u);
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, reorder); }
