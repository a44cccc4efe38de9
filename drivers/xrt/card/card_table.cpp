// SPDX-License-Identifier: Apache-2.0
//
// Platform names contain the card's: xilinx_u55c_gen3x16_xdma_base_3. A generation and lane count
// in the name decide the link.
#include "xrt/card/card_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace tandem::device::xrt_card {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

struct Row {
  std::string_view part;
  CardFacts facts;
};

constexpr std::array kCards = {
    Row{"u55c", {16 * kGiB, 460e9, 16e9}}, Row{"u50", {8 * kGiB, 316e9, 16e9}},
    Row{"u280", {8 * kGiB, 460e9, 16e9}},  Row{"u250", {64 * kGiB, 77e9, 16e9}},
    Row{"u200", {64 * kGiB, 77e9, 16e9}},  Row{"v80", {32 * kGiB, 819e9, 32e9}},
};

}  // namespace

CardFacts card_facts(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Row& row : kCards) {
    if (lower.find(row.part) != std::string::npos) return row.facts;
  }
  return {};
}

}  // namespace tandem::device::xrt_card
