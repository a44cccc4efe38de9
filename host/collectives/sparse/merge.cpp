// SPDX-License-Identifier: Apache-2.0
//
// merge() keeps a heap of the parts' heads, ordered by (index, part): n log k.
#include "collectives/sparse/merge.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <vector>

#include "collectives/sparse/wire_values.h"

namespace tandem::collectives {

SparseVector merge(std::span<const SparseVector> parts, Reduction reduction) {
  TANDEM_CHECK(!parts.empty());
  SparseVector out(parts.front().domain(), parts.front().type());
  std::size_t total = 0;
  for (const SparseVector& part : parts) {
    TANDEM_CHECK(part.domain() == out.domain() && part.type() == out.type());
    total += part.num_entries();
  }
  out.resize(total);
  visit_types(out, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    using Head = std::tuple<I, std::size_t, std::size_t>;  // index, part, entry
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (parts[part].num_entries() > 0) heads.emplace(parts[part].indices<I>()[0], part, 0);
    }
    const std::size_t width = out.domain().width;
    const auto indices = out.indices<I>();
    const auto values = out.values<T>();
    std::size_t count = 0;
    while (!heads.empty()) {
      const auto [at, part, entry] = heads.top();
      heads.pop();
      const SparseVector& source = parts[part];
      const auto from = source.values<T>().subspan(entry * width, width);
      if (count > 0 && indices[count - 1] == at) {
        T* to = values.data() + (count - 1) * width;
        for (std::size_t i = 0; i < width; ++i) to[i] = reduce_values(reduction, to[i], from[i]);
      } else {
        indices[count] = at;
        std::copy(from.begin(), from.end(),
                  values.begin() + static_cast<std::ptrdiff_t>(count * width));
        ++count;
      }
      if (entry + 1 < source.num_entries()) {
        heads.emplace(source.indices<I>()[entry + 1], part, entry + 1);
      }
    }
    out.resize(count);
  });
  return out;
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

namespace {

template <typename T>
void divide_values(std::span<T> values, int divisor) {
  for (T& value : values) value /= static_cast<T>(divisor);
}

}  // namespace

void divide(SparseVector& vector, int divisor) {
  visit_type(vector.type(),
             [&](auto zero) { divide_values(vector.values<decltype(zero)>(), divisor); });
}

void divide(DenseVector& vector, int divisor) {
  visit_type(vector.type(),
             [&](auto zero) { divide_values(vector.values<decltype(zero)>(), divisor); });
}

void round_to_wire(SparseVector& vector, DType wire) {
  if (wire == vector.type()) return;
  TANDEM_CHECK(vector.type() == DType::kF32 && (wire == DType::kF16 || wire == DType::kBF16));
  const auto values = vector.values<float>();
  round_values(values.data(), values.size(), wire);
}

}  // namespace tandem::collectives
