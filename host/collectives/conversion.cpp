// SPDX-License-Identifier: Apache-2.0
#include "collectives/conversion.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "collectives/sparse/merge.h"

namespace tandem::collectives {
namespace {

std::size_t value_bytes(DType type) { return dtype_block_bytes(type); }

// values: [num_values] of `type` <-> the accumulation type.
void widen(DType type, const void* from, void* to, std::size_t num_values) {
  if (num_values == 0) return;
  if (type != DType::kF16 && type != DType::kBF16) {
    std::memcpy(to, from, num_values * value_bytes(type));
    return;
  }
  dequantize_row(type, static_cast<const std::byte*>(from), static_cast<float*>(to), num_values);
}

void narrow(DType type, const void* from, void* to, std::size_t num_values) {
  if (num_values == 0) return;
  if (type != DType::kF16 && type != DType::kBF16) {
    std::memcpy(to, from, num_values * value_bytes(type));
    return;
  }
  const auto* values = static_cast<const float*>(from);
  auto* halves = static_cast<std::uint16_t*>(to);
  for (std::size_t at = 0; at < num_values; ++at) {
    halves[at] = type == DType::kF16 ? f32_to_f16(values[at]) : f32_to_bf16(values[at]);
  }
}

template <typename Body>
decltype(auto) visit_index(IndexType type, Body&& body) {
  if (type == IndexType::kU64) return body(std::uint64_t{});
  return body(std::uint32_t{});
}

// True where the indices ascend strictly. Throws where one is out of range.
template <typename I>
bool check_indices(std::span<const I> indices, std::uint64_t num_units) {
  bool ascending = true;
  for (std::size_t entry = 0; entry < indices.size(); ++entry) {
    if (indices[entry] >= num_units) {
      throw Error("collectives", "index " + std::to_string(indices[entry]) + " of entry " +
                                     std::to_string(entry) + " is out of range; the tensor has " +
                                     std::to_string(num_units) + " units");
    }
    ascending &= entry == 0 || indices[entry - 1] < indices[entry];
  }
  return ascending;
}

template <typename I>
void copy_indices(std::span<const I> from, SparseVector& to) {
  if (to.wide()) {
    std::copy(from.begin(), from.end(), to.indices<std::uint64_t>().begin());
  } else {
    std::transform(from.begin(), from.end(), to.indices<std::uint32_t>().begin(),
                   [](I index) { return static_cast<std::uint32_t>(index); });
  }
}

// Sorts `vector` by index, stably, and reduces repeated ones in their order.
SparseVector coalesce(const SparseVector& vector, Reduction reduction) {
  std::vector<std::size_t> order(vector.num_entries());
  std::iota(order.begin(), order.end(), std::size_t{0});
  SparseVector out(vector.domain(), vector.type());
  out.resize(vector.num_entries());
  visit_types(vector, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    const auto from = vector.indices<I>();
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return from[a] < from[b]; });
    const std::size_t width = vector.domain().width;
    std::size_t count = 0;
    for (const std::size_t entry : order) {
      const T* row = vector.values<T>().data() + entry * width;
      T* values = out.values<T>().data();
      if (count > 0 && out.indices<I>()[count - 1] == from[entry]) {
        T* to = values + (count - 1) * width;
        for (std::size_t i = 0; i < width; ++i) to[i] = reduce_values(reduction, to[i], row[i]);
        continue;
      }
      out.indices<I>()[count] = from[entry];
      std::copy_n(row, width, values + count * width);
      ++count;
    }
    out.resize(count);
  });
  return out;
}

}  // namespace

Domain checked_domain(std::uint64_t num_units, std::uint32_t width, DType type) {
  accumulation_type(type);  // throws for others than ours
  if (width == 0) throw Error("collectives", "a unit has at least one value: width is 0");
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (num_units > kLargest / 8 / width) {
    throw Error("collectives", std::to_string(num_units) + " units of " + std::to_string(width) +
                                   " values are more than 2^63 bytes; split the tensor");
  }
  return {num_units, width};
}

SparseVector to_vector(const SparseView& view, Reduction reduction) {
  const Domain domain = checked_domain(view.num_units, view.width, view.type);
  if (view.index_type == IndexType::kU32 && domain.wide()) {
    throw Error("collectives", "32-bit indices cannot name " + std::to_string(view.num_units) +
                                   " units; use 64-bit ones above 2^32");
  }
  if (view.num_entries > 0 && (view.indices == nullptr || view.values == nullptr)) {
    throw Error("collectives", "indices or values are null, but there are " +
                                   std::to_string(view.num_entries) + " entries");
  }
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (view.num_entries > kLargest / 8 / view.width) {
    throw Error("collectives", std::to_string(view.num_entries) + " entries of " +
                                   std::to_string(view.width) +
                                   " values are more than 2^63 bytes; check num_entries");
  }
  SparseVector vector(domain, accumulation_type(view.type));
  const bool ascending = visit_index(view.index_type, [&](auto index) {
    using I = decltype(index);
    const std::span<const I> indices(static_cast<const I*>(view.indices), view.num_entries);
    const bool sorted = check_indices(indices, view.num_units);
    if (view.sorted_unique && !sorted) {
      throw Error("collectives",
                  "indices were promised sorted and unique but are not; clear sorted_unique");
    }
    vector.resize(view.num_entries);
    copy_indices(indices, vector);
    return sorted;
  });
  visit_type(vector.type(), [&](auto value) {
    using T = decltype(value);
    widen(view.type, view.values, vector.values<T>().data(), view.num_entries * view.width);
  });
  return ascending ? std::move(vector) : coalesce(vector, reduction);
}

SparseVector to_vector(const DenseView& view, std::uint32_t width) {
  accumulation_type(view.type);
  if (width == 0 || view.num_values % width != 0) {
    throw Error("collectives", std::to_string(view.num_values) + " values are not units of " +
                                   std::to_string(width) + "; choose a width that divides them");
  }
  if (view.num_values > 0 && view.values == nullptr) {
    throw Error("collectives",
                "values are null, but there are " + std::to_string(view.num_values) + " of them");
  }
  DenseVector dense(checked_domain(view.num_values / width, width, view.type),
                    accumulation_type(view.type), Reduction::kSum);
  read_all(view, dense);
  return compact(dense, Reduction::kSum);
}

SparseTensor to_tensor(const SparseVector& vector, DType type, IndexType index_type) {
  return to_tensor(vector, 0, vector.domain().num_units, type, index_type);
}

SparseTensor to_tensor(const SparseVector& vector, std::uint64_t first_unit, std::uint64_t end_unit,
                       DType type, IndexType index_type) {
  SparseTensor tensor;
  tensor.num_units = end_unit - first_unit;
  tensor.width = vector.domain().width;
  tensor.type = type;
  tensor.index_type = index_type;
  visit_types(vector, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    const auto all = vector.indices<I>();
    const auto first = std::lower_bound(all.begin(), all.end(), first_unit);
    const auto end = std::lower_bound(first, all.end(), end_unit);
    const auto skipped = static_cast<std::size_t>(first - all.begin());
    tensor.num_entries = static_cast<std::size_t>(end - first);
    visit_index(index_type, [&](auto own_index) {
      using J = decltype(own_index);
      tensor.indices.resize(tensor.num_entries * sizeof(J));
      std::transform(first, end, reinterpret_cast<J*>(tensor.indices.data()),
                     [&](I unit) { return static_cast<J>(unit - first_unit); });
    });
    tensor.values.resize(tensor.num_entries * tensor.width * value_bytes(type));
    narrow(type, vector.values<T>().data() + skipped * tensor.width, tensor.values.data(),
           tensor.num_entries * tensor.width);
  });
  return tensor;
}

void write_dense(const SparseVector& vector, const DenseView& view) {
  if (view.num_values == 0) return;
  const std::size_t row_bytes = vector.domain().width * value_bytes(view.type);
  auto* to = static_cast<std::byte*>(view.values);
  std::memset(to, 0, view.num_values * value_bytes(view.type));
  visit_types(vector, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    const auto indices = vector.indices<I>();
    const T* rows = vector.values<T>().data();
    const std::size_t width = vector.domain().width;
    for (std::size_t entry = 0; entry < indices.size(); ++entry) {
      narrow(view.type, rows + entry * width, to + indices[entry] * row_bytes, width);
    }
  });
}

void read_all(const DenseView& view, DenseVector& to) {
  visit_type(to.type(), [&](auto value) {
    widen(view.type, view.values, to.values<decltype(value)>().data(), view.num_values);
  });
}

void write_all(const DenseVector& from, const DenseView& view) {
  visit_type(from.type(), [&](auto value) {
    narrow(view.type, from.values<decltype(value)>().data(), view.values, view.num_values);
  });
}

}  // namespace tandem::collectives
