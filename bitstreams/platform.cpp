// SPDX-License-Identifier: Apache-2.0
//
// The table of platforms. Source: the vendor's public data sheets of the Alveo U50, U55C and U280
// cards.
#include "bitstreams/platform.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::xclbin {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

void add_banks(Platform& platform, BankType type, int count, uint64_t size_bytes) {
  uint64_t base = platform.memory_end();
  const std::string prefix = type == BankType::kHbm ? "HBM[" : "DDR[";
  for (int bank = 0; bank < count; ++bank) {
    platform.banks.push_back({prefix + std::to_string(bank) + "]", type, base, size_bytes});
    base += size_bytes;
  }
}

std::vector<Platform> make_platforms() {
  Platform u55c{"u55c", "xilinx_u55c_gen3x16_xdma_base_3", {}, 300, 3, 16, 460.0};
  add_banks(u55c, BankType::kHbm, 32, 512 * kMiB);
  Platform u280{"u280", "xilinx_u280_gen3x16_xdma_base_1", {}, 300, 3, 16, 460.0};
  add_banks(u280, BankType::kHbm, 32, 256 * kMiB);
  add_banks(u280, BankType::kDdr, 2, 16 * kGiB);
  Platform u50{"u50", "xilinx_u50_gen3x16_xdma_base_5", {}, 300, 3, 16, 316.0};
  add_banks(u50, BankType::kHbm, 32, 256 * kMiB);
  return {u55c, u280, u50};
}

const std::vector<Platform>& platforms() {
  static const std::vector<Platform> table = make_platforms();
  return table;
}

}  // namespace

uint64_t Platform::memory_end() const {
  return banks.empty() ? 0 : banks.back().base + banks.back().size_bytes;
}

std::vector<std::string> platform_names() {
  std::vector<std::string> names;
  for (const Platform& platform : platforms()) names.push_back(platform.name);
  return names;
}

const Platform& find_platform(const std::string& name) {
  const auto& table = platforms();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Platform& platform) { return platform.name == name; });
  if (found != table.end()) return *found;
  std::string known;
  for (const std::string& candidate : platform_names()) known += " " + candidate;
  throw Error("xclbin", "platform '" + name + "' is unknown; choose one of:" + known);
}

}  // namespace tandem::xclbin
