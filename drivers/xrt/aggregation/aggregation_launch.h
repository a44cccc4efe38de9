// SPDX-License-Identifier: Apache-2.0
//
// AggregationLaunch: the buffers and runs of one aggregation on the compute units of a card.
//
// Every unit has an input buffer and a result buffer. Both are kept between calls and grow by
// powers of two, up to the size of their memory. start() sends one unit's used bytes in one
// transfer and starts it. fetch() reads bytes of its result in one transfer. Threads: one. Errors:
// those of XRT. After an error of reserve() the unit has no buffers and may be tried again; after
// any other the caller treats the card as lost.
#pragma once

#include <xrt/xrt_device.h>

#include <cstddef>
#include <span>
#include <vector>

#include "xrt/card/card_runs.h"
#include "xrt/card/kernel_units.h"
#include "xrt/card/mapped_buffer.h"

namespace tandem::device::xrt_card {

class AggregationLaunch final : public CardRuns {
 public:
  AggregationLaunch(const xrt::device& device, std::vector<KernelUnit> units);

  std::size_t num_units() const { return units_.size(); }

  // Size of the smallest memory that holds an input or a result.
  std::uint64_t memory_bytes() const { return memory_bytes_; }

  void reserve(std::size_t unit, std::size_t input_bytes, std::size_t result_bytes);

  std::span<std::byte> input(std::size_t unit) { return buffers_[unit].input.host; }

  void start(std::size_t unit, std::size_t input_bytes);

  // The whole result; bytes [begin, end) are read from the card.
  const std::byte* fetch(std::size_t unit, std::size_t begin, std::size_t end);

 private:
  struct UnitBuffers {
    MappedBuffer input, result;
  };

  void grow_both(std::size_t unit, std::size_t input_bytes, std::size_t result_bytes);

  xrt::device device_;
  std::vector<KernelUnit> units_;
  std::vector<UnitBuffers> buffers_;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace tandem::device::xrt_card
