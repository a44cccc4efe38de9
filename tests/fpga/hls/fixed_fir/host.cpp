// SPDX-License-Identifier: Apache-2.0
//
// Exercises: ap_fixed in ports and arithmetic, quantisation and overflow, against whole numbers.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <random>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kSize = 2000, kTaps = 8;

// 26 fraction bits to 8, to nearest even, within 12 bits.
int16_t rounded(int64_t sum) {
  const int64_t below = sum >> 18, rest = sum & 0x3ffff;
  const int64_t up = rest > 0x20000 || (rest == 0x20000 && below % 2 != 0) ? 1 : 0;
  return static_cast<int16_t>(std::clamp<int64_t>(below + up, -2048, 2047));
}

void filter(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel fir(device, uuid, "fir");
  xrt::bo samples(device, kSize * 2, fir.group_id(0)), taps(device, kTaps * 2, fir.group_id(1)),
      results(device, kSize * 2, fir.group_id(2));
  auto* x = samples.map<int16_t*>();
  auto* h = taps.map<int16_t*>();
  std::mt19937 random(1);
  for (int i = 0; i < kSize; ++i) x[i] = static_cast<int16_t>(random());
  for (int tap = 0; tap < kTaps; ++tap) h[tap] = static_cast<int16_t>(random());
  samples.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  taps.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = fir(samples, taps, results, static_cast<uint16_t>(kSize));
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  results.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const auto* y = results.map<int16_t*>();
  for (int i = 0; i < kSize; ++i) {
    int64_t sum = 0;
    for (int tap = 0; tap < kTaps && tap <= i; ++tap) sum += int64_t{h[tap]} * x[i - tap];
    CHECK_EQ(y[i], rounded(sum));
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, filter); }
