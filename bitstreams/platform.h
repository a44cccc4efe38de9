// SPDX-License-Identifier: Apache-2.0
//
// The card platforms a bitstream may be built for and an emulated card may play: name, memory
// banks, link.
//
// Figures are public data-sheet figures. Bank bases are the device addresses a kernel sees; banks
// of one memory are contiguous, so a range of banks is one address interval. Threads: any (constant
// data).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::xclbin {

enum class BankType : uint8_t { kHbm, kDdr };

struct Bank {
  std::string tag;  // "HBM[3]", "DDR[0]": as in a Vitis connectivity file
  BankType type = BankType::kHbm;
  uint64_t base = 0;
  uint64_t size_bytes = 0;
};

struct Platform {
  std::string name;  // "u55c"
  std::string vbnv;  // vendor:board:name:version string of the xclbin header
  std::vector<Bank> banks;
  uint32_t kernel_clock_mhz = 300;
  uint32_t pcie_generation = 3;
  uint32_t pcie_lanes = 16;
  double memory_gb_per_s = 0;

  // One past the last device address.
  uint64_t memory_end() const;
};

// The platform called `name` (u55c, u280, u50). Throws Error listing the known names.
const Platform& find_platform(const std::string& name);
std::vector<std::string> platform_names();

}  // namespace tandem::xclbin
