// SPDX-License-Identifier: Apache-2.0
//
// ProductLaunch: the buffers and runs of sparse products on the compute units of a card.
//
// Every unit has a matrix buffer and a result buffer; units that reach one memory with their vector
// port share a vector buffer there. Threads: one. Errors: those of XRT; the caller treats the card
// as lost once a run was started.
#pragma once

#include <xrt/xrt_device.h>

#include <cstddef>
#include <span>
#include <vector>

#include "xrt/card/card_runs.h"
#include "xrt/card/kernel_units.h"
#include "xrt/card/mapped_buffer.h"

namespace tandem::device::xrt_card {

class ProductLaunch final : public CardRuns {
 public:
  ProductLaunch(const xrt::device& device, std::vector<KernelUnit> units);

  std::size_t num_units() const { return units_.size(); }
  std::size_t num_vectors() const { return vectors_.size(); }
  std::uint32_t most_sharers() const;
  std::size_t vector_of(std::size_t unit) const { return vector_of_[unit]; }

  // Sizes of the smallest memory that holds a matrix, a result or a vector.
  std::uint64_t matrix_memory_bytes() const { return matrix_memory_bytes_; }
  std::uint64_t call_memory_bytes() const { return call_memory_bytes_; }

  // Replaces the buffers.
  void allocate(std::size_t unit, std::size_t matrix_bytes, std::size_t result_bytes);
  void allocate_vectors(std::size_t bytes);

  std::span<std::byte> matrix(std::size_t unit) { return buffers_[unit].matrix.host; }
  void send_matrix(std::size_t unit);
  // bytes: at most those allocated.
  void send_vector(std::size_t vector, std::span<const std::byte> bytes);
  void start(std::size_t unit, std::uint32_t tag);

  // Reads the first `bytes` bytes of the unit's result in one transfer.
  const std::byte* fetch(std::size_t unit, std::size_t bytes);

 private:
  struct UnitBuffers {
    MappedBuffer matrix, result;
  };

  xrt::device device_;
  std::vector<KernelUnit> units_;
  std::vector<UnitBuffers> buffers_;
  std::vector<std::size_t> vector_of_;  // [units] index of its vector
  std::vector<int> vector_groups_;      // [vectors]
  std::vector<MappedBuffer> vectors_;
  std::uint64_t matrix_memory_bytes_ = 0, call_memory_bytes_ = 0;
};

}  // namespace tandem::device::xrt_card
