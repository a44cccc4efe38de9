// SPDX-License-Identifier: Apache-2.0
//
// Counts what the size of a vector's encodings depends on, in one pass over the indices.
#include <bit>

#include "collectives/codec/format.h"

namespace tandem::collectives {

EncodingStatistics encoding_statistics(const SparseVector& vector) {
  EncodingStatistics statistics{vector.domain(), static_cast<double>(vector.num_entries()), 0};
  const std::uint64_t units = units_per_block(vector.domain());
  if (vector.num_entries() == 0) return statistics;
  visit_types(vector, [&](auto index, auto) {
    using I = decltype(index);
    const auto indices = vector.indices<I>();
    std::size_t blocks = 1;
    // Nearly always a power of two. A shift then replaces the division, and the loop vectorises.
    if (std::has_single_bit(units)) {
      const int shift = std::countr_zero(units);
      for (std::size_t i = 1; i < indices.size(); ++i) {
        blocks += indices[i] >> shift != indices[i - 1] >> shift;
      }
    } else {
      for (std::size_t i = 1; i < indices.size(); ++i) {
        blocks += indices[i] / units != indices[i - 1] / units;
      }
    }
    statistics.num_blocks = static_cast<double>(blocks);
  });
  return statistics;
}

}  // namespace tandem::collectives
