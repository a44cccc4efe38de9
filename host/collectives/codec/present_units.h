// SPDX-License-Identifier: Apache-2.0
//
// PresentUnits: collects the units that differ from the reduction's identity from received runs of
// dense values. Shared by the formats that send values without an index each (narrow domains only).
// Threads: one. Cost: a pass over the values through a buffer in the L1 cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "collectives/codec/format.h"
#include "tensor/sparse/wire_values.h"

namespace tandem::collectives {

class PresentUnits {
 public:
  // capacity: the number of units in all calls of add(); the caller holds their bytes.
  PresentUnits(const Encoded& encoded, Reduction reduction, std::uint64_t capacity)
      : encoded_(encoded), reduction_(reduction), out_(encoded.domain, encoded.type) {
    out_.resize(static_cast<std::size_t>(capacity));
    chunk_units_ = std::max<std::size_t>(1, 1024 / encoded.domain.width);
    buffer_.resize(chunk_units_ * out_.row_bytes());
  }

  // from: [num_units, width] of the wire type, of the units from `first` on.
  void add(std::uint64_t first, std::uint64_t num_units, const std::byte* from) {
    const std::size_t row_bytes = encoded_.domain.width * dtype_block_bytes(encoded_.wire);
    for (std::uint64_t done = 0; done < num_units; done += chunk_units_) {
      const auto units = std::min<std::uint64_t>(chunk_units_, num_units - done);
      sparse::load_wire(from + done * row_bytes, units * encoded_.domain.width, encoded_.type,
                        encoded_.wire, buffer_.data());
      visit_type(encoded_.type, [&](auto zero) { keep<decltype(zero)>(first + done, units); });
    }
  }

  SparseVector finish() {
    out_.resize(count_);
    return std::move(out_);
  }

 private:
  template <typename T>
  void keep(std::uint64_t first, std::size_t num_units) {
    const std::size_t width = encoded_.domain.width;
    const T absent = identity_of<T>(reduction_);
    const T* row = reinterpret_cast<const T*>(buffer_.data());
    std::uint32_t* indices = out_.indices<std::uint32_t>().data();
    T* values = out_.values<T>().data();
    // Every unit is written at the end of the output and stays if it is present: no branches.
    for (std::size_t unit = 0; unit < num_units; ++unit, row += width) {
      bool present = false;
      for (std::size_t i = 0; i < width; ++i) present |= row[i] != absent;
      indices[count_] = static_cast<std::uint32_t>(first + unit);
      std::copy_n(row, width, values + count_ * width);
      count_ += present;
    }
  }

  Encoded encoded_;
  Reduction reduction_;
  SparseVector out_;
  std::size_t count_ = 0;
  std::size_t chunk_units_ = 1;
  ByteBuffer buffer_;  // [chunk_units_, width] of the decoded type
};

// Writes the identity of `reduction` into [num_values] of `wire`.
void fill_identity(std::byte* to, std::size_t num_values, DType wire, Reduction reduction);

}  // namespace tandem::collectives
