// SPDX-License-Identifier: Apache-2.0
//
// Launch: the buffers and runs that carry one descriptor through the compute units of a card.
//
// Made once and reused. The descriptor's buffer and one result buffer per unit stay on the card and
// grow by powers of two. start() sends the used bytes in one transfer and starts the units; fetch()
// reads a result in one transfer. Runs of one unit execute in the order of their start, because XRT
// has a queue per compute unit. Threads: one. Errors: those of XRT; the caller then treats the card
// as lost.
#pragma once

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "xrt/attention/unit_shares.h"
#include "xrt/card/card_runs.h"

namespace tandem::device::xrt_card {

// A compute unit with its share of the heads and pages, and the pools that hold them.
struct PooledUnit {
  xrt::kernel kernel;
  UnitShare share;
  xrt::bo keys, values;
  std::uint32_t pool_words = 0;  // size of each pool in words
};

class Launch final : public CardRuns {
 public:
  // `units` must outlive the launch.
  Launch(const xrt::device& device, std::span<const PooledUnit> units);

  // Makes room. result_bytes: one per unit, 0 for a unit that does not run.
  void reserve(std::size_t descriptor_bytes, std::span<const std::size_t> result_bytes);

  std::span<std::byte> descriptor() { return {descriptor_host_, descriptor_bytes_}; }

  // Sends the descriptor and starts the units whose result_bytes in the last reserve() were not 0.
  void start(std::size_t descriptor_bytes);

  // Reads the first `num_bytes` of the unit's result from the card.
  const std::byte* fetch(std::size_t unit, std::size_t num_bytes);

 private:
  struct UnitResult {
    xrt::bo buffer;
    std::byte* host = nullptr;
    std::size_t capacity_bytes = 0;
    bool selected = false;
  };

  void grow_descriptor(std::size_t bytes);
  void grow_result(std::size_t unit, std::size_t bytes);

  xrt::device device_;
  std::span<const PooledUnit> units_;
  xrt::bo descriptor_;
  std::byte* descriptor_host_ = nullptr;
  std::size_t descriptor_bytes_ = 0;
  std::vector<UnitResult> results_;
};

}  // namespace tandem::device::xrt_card
