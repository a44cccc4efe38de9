// SPDX-License-Identifier: Apache-2.0
//
// Exercises: half in ports and arithmetic, hls_math for half and fixed-point numbers.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cmath>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kSide = 31, kSize = kSide * kSide;

// To 11 significant bits, to nearest even.
double rounded(double value) {
  if (value == 0) return 0;
  const double bit = std::ldexp(1.0, std::ilogb(value) - 10);
  return std::nearbyint(value / bit) * bit;
}
uint16_t bits_of(double value) {  // of a normal half or 0
  if (value == 0) return 0;
  const int exponent = std::ilogb(value);
  const auto digits = static_cast<int>(std::ldexp(std::fabs(value), 10 - exponent)) - 1024;
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 | digits);
}

void polar(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel kernel(device, uuid, "polar");
  xrt::bo x(device, kSize * 2, kernel.group_id(0)), y(device, kSize * 2, kernel.group_id(1)),
      lengths(device, kSize * 2, kernel.group_id(2)), angles(device, kSize * 2, kernel.group_id(3));
  const auto across = [](int i) { return i % kSide - 15.0; };
  const auto up = [](int i) { return i / kSide - 14.5; };
  for (int i = 0; i < kSize; ++i) {
    x.map<uint16_t*>()[i] = bits_of(across(i));
    y.map<uint16_t*>()[i] = bits_of(up(i));
  }
  x.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  y.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = kernel(x, y, lengths, angles, kSize);
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  lengths.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  angles.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (int i = 0; i < kSize; ++i) {
    const double square = rounded(rounded(across(i) * across(i)) + rounded(up(i) * up(i)));
    CHECK_EQ(lengths.map<uint16_t*>()[i], bits_of(rounded(std::sqrt(square))));
    const double angle = std::nearbyint(std::atan2(up(i), across(i)) * 8192) / 8192;
    CHECK_EQ(angles.map<int16_t*>()[i], static_cast<int16_t>(angle * 8192));
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, polar); }
