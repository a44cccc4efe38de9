// SPDX-License-Identifier: Apache-2.0
//
// Facts about a card that XRT does not report, by the card's name: memory size, memory and link
// bandwidth.
//
// Figures are from the vendor's data sheets (Alveo DS963, DS965, DS978). Pure. Threads: any.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem::device::xrt_card {

struct CardFacts {
  std::uint64_t memory_bytes = 0;
  double memory_bandwidth_bytes_per_s = 0;
  double link_bandwidth_bytes_per_s = 0;
};

// All zero for a card outside the table.
CardFacts card_facts(std::string_view name);

}  // namespace tandem::device::xrt_card
