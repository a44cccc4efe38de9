// SPDX-License-Identifier: Apache-2.0
//
// merge() takes two parts side by side, more by windows where entries are dense enough, else by
// keys; see merge_windows.h.
#include "tensor/sparse/merge.h"

#include <algorithm>

#include "tensor/sparse/merge_windows.h"
#include "tensor/sparse/wire_values.h"

namespace tandem::sparse {

namespace {

// Windows pay where a part has a handful of entries in each.
constexpr double kEntriesPerWindow = 4;

bool windows_pay(std::span<const SparseVector> parts) {
  if (parts.front().domain().width != 1) return false;
  double entries = 0, range = 0, held = 0;
  for (const SparseVector& part : parts) {
    const std::size_t count = part.num_entries();
    if (count == 0) continue;
    const std::uint64_t first = part.index_at(0), last = part.index_at(count - 1);
    entries += static_cast<double>(count);
    range = std::max(range, static_cast<double>(last - first + 1));
    ++held;
  }
  const double windows = range / static_cast<double>(kWindowUnits) + 1;
  return entries > kEntriesPerWindow * windows * held;
}

}  // namespace

SparseVector merge(std::span<const SparseVector> parts, Reduction reduction) {
  TANDEM_CHECK(!parts.empty());
  const SparseVector* only = &parts.front();  // that has entries, or the last of those
  const SparseVector* earlier = only;
  std::size_t num_held = 0;
  for (const SparseVector& part : parts) {
    TANDEM_CHECK(part.domain() == parts.front().domain() && part.type() == parts.front().type());
    if (part.num_entries() == 0) continue;
    earlier = only;
    only = &part;
    ++num_held;
  }
  if (num_held <= 1) return *only;
  if (num_held == 2 && only->domain().width == 1) {
    return merge_two(*earlier, *only, reduction);
  }
  return windows_pay(parts) ? merge_by_windows(parts, reduction) : merge_by_keys(parts, reduction);
}

void reduce_into(DenseVector& dense, const SparseVector& vector, Reduction reduction) {
  TANDEM_CHECK(dense.domain() == vector.domain() && dense.type() == vector.type());
  visit_types(vector, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    const std::size_t width = vector.domain().width;
    const auto indices = vector.indices<I>();
    const T* from = vector.values<T>().data();
    T* to = dense.values<T>().data();
    for (std::size_t entry = 0; entry < indices.size(); ++entry) {
      for (std::size_t i = 0; i < width; ++i) {
        T& sum = to[indices[entry] * width + i];
        sum = reduce_values(reduction, sum, from[entry * width + i]);
      }
    }
  });
}

SparseVector compact(const DenseVector& dense, Reduction reduction) {
  SparseVector out(dense.domain(), dense.type());
  visit_types(out, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    const std::size_t width = dense.domain().width;
    const auto values = dense.values<T>();
    const T absent = identity_of<T>(reduction);
    const auto present = [&](std::uint64_t unit) {
      for (std::size_t i = 0; i < width; ++i) {
        if (values[unit * width + i] != absent) return true;
      }
      return false;
    };
    std::size_t count = 0;
    for (std::uint64_t unit = 0; unit < dense.domain().num_units; ++unit) count += present(unit);
    out.resize(count);
    std::size_t at = 0;
    for (std::uint64_t unit = 0; unit < dense.domain().num_units; ++unit) {
      if (!present(unit)) continue;
      out.indices<I>()[at] = static_cast<I>(unit);
      std::copy_n(values.data() + unit * width, width, out.values<T>().data() + at * width);
      ++at;
    }
  });
  return out;
}

void divide(SparseVector& vector, int divisor) {
  visit_type(vector.type(), [&](auto zero) {
    using T = decltype(zero);
    for (T& value : vector.values<T>()) value /= static_cast<T>(divisor);
  });
}

void round_to_wire(SparseVector& vector, DType wire) {
  if (wire == vector.type()) return;
  TANDEM_CHECK(vector.type() == DType::kF32 && (wire == DType::kF16 || wire == DType::kBF16));
  const auto values = vector.values<float>();
  round_values(values.data(), values.size(), wire);
}

}  // namespace tandem::sparse
