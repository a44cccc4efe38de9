// SPDX-License-Identifier: Apache-2.0
//
// A kernel that does what `mode` says: succeed, crash or hang. Every unit counts its own launches.
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace {

enum Mode : std::uint32_t {
  kWrite = 0,
  kReadNull = 1,
  kAbort = 2,
  kWriteFarAway = 3,
  kThrow = 4,
  kExit = 5,
  kOverflowStack = 6,
  kWaitForFlag = 7,
  kSleep = 8,
  kSleepUntilFlag = 9,  // unlike kWaitForFlag it spends its time outside the kernel's code
};

std::uint32_t num_launches = 0;

volatile std::uint32_t* volatile sink;

std::uint32_t recurse(std::uint32_t depth) {
  volatile std::uint32_t local[4096];
  local[depth % 4096] = depth;
  sink = local;
  return recurse(depth + 1) + local[0];
}

}  // namespace

// out: [3] = {value, launches of this unit, a flag the host may set}
extern "C" void trial(std::uint32_t mode, std::uint32_t value, std::uint32_t* out) {
#pragma HLS interface m_axi port = out offset = slave bundle = gmem0
#pragma HLS interface s_axilite port = mode
#pragma HLS interface s_axilite port = value
#pragma HLS interface s_axilite port = return
  ++num_launches;
  switch (mode) {
    case kReadNull:
      out[0] = *static_cast<volatile std::uint32_t*>(nullptr);
      break;
    case kAbort:
      std::abort();
    case kWriteFarAway:
      out[std::uint64_t{1} << 40] = value;
      break;
    case kThrow:
      throw std::runtime_error("a kernel threw");
    case kExit:
      std::exit(0);
    case kOverflowStack:
      out[0] = recurse(0);
      break;
    case kWaitForFlag:
      while (reinterpret_cast<std::atomic<std::uint32_t>*>(out + 2)->load() == 0) {
      }
      break;
    case kSleepUntilFlag:
      while (reinterpret_cast<std::atomic<std::uint32_t>*>(out + 2)->load() == 0) usleep(10000);
      break;
    case kSleep:
      usleep(value);
      break;
    default:
      break;
  }
  out[0] = value;
  out[1] = num_launches;
}
