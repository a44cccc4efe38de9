// SPDX-License-Identifier: Apache-2.0
//
// Shapes and pointers are checked here, before any data is read; indices are checked in coalesce().
#include "collectives/conversion.h"

#include <algorithm>
#include <limits>

#include "tensor/sparse/coalesce.h"
#include "tensor/sparse/wire_values.h"

namespace tandem::collectives {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

void check_memory(const void* values, std::size_t count, const Placement& placement) {
  require_host(placement, "collectives", "indices or values");
  if (count > 0 && values == nullptr) {
    throw Error("collectives",
                "indices or values are null, but there are " + std::to_string(count) + " of them");
  }
}

}  // namespace

Domain checked_domain(std::uint64_t num_units, std::uint32_t width, DType type) {
  accumulation_type(type);  // throws for a type that has no sums
  if (width == 0) throw Error("collectives", "a unit has at least one value: width is 0");
  if (num_units > kMostBytes / 8 / width) {
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
  check_memory(view.indices, view.num_entries, view.placement);
  check_memory(view.values, view.num_entries, view.placement);
  if (view.num_entries > kMostBytes / 8 / view.width) {
    throw Error("collectives", std::to_string(view.num_entries) + " entries of " +
                                   std::to_string(view.width) +
                                   " values are more than 2^63 bytes; check num_entries");
  }
  const sparse::CoalesceInput input{domain,
                                    view.type,
                                    view.index_type == IndexType::kU64,
                                    view.num_entries,
                                    view.indices,
                                    view.values,
                                    view.sorted_unique};
  return coalesce(input, reduction);
}

SparseVector to_vector(const DenseView& view, std::uint32_t width) {
  if (width == 0 || view.num_values % width != 0) {
    throw Error("collectives", std::to_string(view.num_values) + " values are not units of " +
                                   std::to_string(width) + "; choose a width that divides them");
  }
  check_memory(view.values, view.num_values, view.placement);
  return extract(view.values, checked_domain(view.num_values / width, width, view.type), view.type);
}

DenseVector to_dense_vector(const DenseView& view, Reduction reduction) {
  check_memory(view.values, view.num_values, view.placement);
  DenseVector dense(checked_domain(view.num_values, 1, view.type), accumulation_type(view.type),
                    reduction);
  if (view.num_values == 0) return dense;
  visit_type(dense.type(), [&](auto value) {
    sparse::load_wire(static_cast<const std::byte*>(view.values), view.num_values, dense.type(),
                      view.type,
                      reinterpret_cast<std::byte*>(dense.values<decltype(value)>().data()));
  });
  return dense;
}

SparseVector slice(const SparseVector& vector, std::uint64_t first_unit, std::uint64_t end_unit) {
  SparseVector part({end_unit - first_unit, vector.domain().width}, vector.type());
  visit_types(vector, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    const auto all = vector.indices<I>();
    const auto first = std::lower_bound(all.begin(), all.end(), first_unit);
    const auto end = std::lower_bound(first, all.end(), end_unit);
    part.resize(static_cast<std::size_t>(end - first));
    visit_types(part, [&](auto part_index, auto) {
      using J = decltype(part_index);
      std::transform(first, end, part.indices<J>().begin(),
                     [&](I unit) { return static_cast<J>(unit - first_unit); });
    });
    const std::size_t width = vector.domain().width;
    const auto rows = vector.values<T>().subspan(
        static_cast<std::size_t>(first - all.begin()) * width, part.num_entries() * width);
    std::copy(rows.begin(), rows.end(), part.values<T>().begin());
  });
  return part;
}

SparseTensor to_tensor(const SparseVector& vector, DType type, IndexType index_type) {
  const bool as_u64 = index_type == IndexType::kU64;
  SparseTensor tensor;
  tensor.num_units = vector.domain().num_units;
  tensor.width = vector.domain().width;
  tensor.type = type;
  tensor.index_type = index_type;
  tensor.num_entries = vector.num_entries();
  tensor.indices.resize(tensor.num_entries * (as_u64 ? 8 : 4));
  tensor.values.resize(tensor.num_entries * tensor.width * dtype_block_bytes(type));
  if (tensor.num_entries == 0) return tensor;
  export_indices(vector, as_u64, tensor.indices.data());
  export_values(vector, type, tensor.values.data());
  return tensor;
}

void write_values(const DenseVector& from, const DenseView& view) {
  if (view.num_values == 0) return;
  visit_type(from.type(), [&](auto value) {
    sparse::store_wire(reinterpret_cast<const std::byte*>(from.values<decltype(value)>().data()),
                       view.num_values, from.type(), view.type,
                       static_cast<std::byte*>(view.values));
  });
}

}  // namespace tandem::collectives
