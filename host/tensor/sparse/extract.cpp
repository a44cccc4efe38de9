// SPDX-License-Identifier: Apache-2.0
//
// extract() writes every unit at the end of the output and keeps it if it is present: no branches.
// The output's size is guessed from the density so far and corrected chunk by chunk.
#include <algorithm>
#include <type_traits>

#include "tensor/sparse/coalesce.h"
#include "tensor/sparse/hashed_places.h"
#include "tensor/sparse/wire_values.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kChunkValues = 4096;

template <typename I, typename T>
void extract_typed(const std::byte* dense, DType type, SparseVector& out) {
  const Domain domain = out.domain();
  const std::size_t width = domain.width;
  const std::uint64_t chunk_units = std::max<std::uint64_t>(1, kChunkValues / width);
  const std::size_t row_bytes = width * dtype_block_bytes(type);
  RawVector<T> rows(chunk_units * width);
  std::size_t count = 0;
  for (std::uint64_t first = 0; first < domain.num_units; first += chunk_units) {
    const std::uint64_t units = std::min(chunk_units, domain.num_units - first);
    if (count + units + kSlack > out.num_entries()) {
      const double density = static_cast<double>(count + 1) / static_cast<double>(first + units);
      const double guess = density * 1.05 * static_cast<double>(domain.num_units);
      out.resize(std::max(count + 16 * units + kSlack, static_cast<std::size_t>(guess)));
    }
    const auto indices = out.indices<I>();
    if constexpr (sizeof(I) == 4 && std::is_same_v<T, float>) {
      if (type == DType::kF32 && width == 1) {
        count += find_values(reinterpret_cast<const float*>(dense) + first, units,
                             static_cast<std::uint32_t>(first), indices.data() + count,
                             out.values<T>().data() + count);
        continue;
      }
    }
    load_wire(dense + first * row_bytes, units * width, out.type(), type,
              reinterpret_cast<std::byte*>(rows.data()));
    T* values = out.values<T>().data();
    const T* row = rows.data();
    for (std::uint64_t unit = 0; unit < units; ++unit, row += width) {
      bool present = false;
      for (std::size_t i = 0; i < width; ++i) present |= row[i] != T{0};
      indices[count] = static_cast<I>(first + unit);
      std::copy_n(row, width, values + count * width);
      count += present;
    }
  }
  out.resize(count);
}

}  // namespace

SparseVector extract(const void* dense, Domain domain, DType type) {
  SparseVector out(domain, accumulation_type(type));
  visit_types(out, [&](auto index, auto value) {
    extract_typed<decltype(index), decltype(value)>(static_cast<const std::byte*>(dense), type,
                                                    out);
  });
  return out;
}

}  // namespace tandem::sparse
