// SPDX-License-Identifier: Apache-2.0
//
// The addresses of a design's compute units in the card's register space, for every section that
// mentions them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bitstreams/xclbin/xclbin_writer.h"

namespace tandem::xclbin {

struct PlacedUnit {
  const Kernel* kernel = nullptr;
  std::string name;
  uint64_t base = 0;  // multiple of 64 KiB, ascending in unit order; kNoBase when free-running
};

constexpr uint64_t kNoBase = ~uint64_t{0};

// Units in the order of the kernels and of their names: the order of IP_LAYOUT and of interrupt
// ids.
std::vector<PlacedUnit> place_units(const Design& design);

// The kernel clock a design runs at.
uint32_t clock_mhz(const Design& design);

}  // namespace tandem::xclbin
