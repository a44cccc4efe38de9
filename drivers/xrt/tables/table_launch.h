// SPDX-License-Identifier: Apache-2.0
//
// TableLaunch: the buffers and runs of embedding tables on the compute units of a card.
//
// Every unit has a table buffer, an input buffer and a result buffer. Input and result are kept
// between calls and grow. Threads: one. Errors: those of XRT; the caller treats the card as lost
// once a run was started.
#pragma once

#include <xrt/xrt_device.h>

#include <cstddef>
#include <span>
#include <vector>

#include "xrt/card/card_runs.h"
#include "xrt/card/kernel_units.h"
#include "xrt/card/mapped_buffer.h"

namespace tandem::device::xrt_card {

class TableLaunch final : public CardRuns {
 public:
  TableLaunch(const xrt::device& device, std::vector<KernelUnit> units);

  std::size_t num_units() const { return units_.size(); }

  // Sizes of the smallest memory that holds a unit's tables, and an input or a result.
  std::uint64_t table_memory_bytes() const { return table_memory_bytes_; }
  std::uint64_t call_memory_bytes() const { return call_memory_bytes_; }

  // Replaces every unit's table buffer.
  void allocate_tables(std::size_t bytes);
  std::span<std::byte> table(std::size_t unit) { return buffers_[unit].table.host; }
  void send_table(std::size_t unit);

  void reserve(std::size_t unit, std::size_t input_bytes, std::size_t result_bytes);
  std::span<std::byte> input(std::size_t unit) { return buffers_[unit].input.host; }
  void start(std::size_t unit, std::size_t input_bytes);

  // Reads the first `bytes` bytes of the unit's result in one transfer.
  const std::byte* fetch(std::size_t unit, std::size_t bytes);

 private:
  struct UnitBuffers {
    MappedBuffer table, input, result;
  };

  xrt::device device_;
  std::vector<KernelUnit> units_;
  std::vector<UnitBuffers> buffers_;
  std::uint64_t table_memory_bytes_ = 0, call_memory_bytes_ = 0;
};

}  // namespace tandem::device::xrt_card
