// SPDX-License-Identifier: Apache-2.0
//
// Sorting is LSD radix, 11 bits a pass, over as many bits as the domain's indices have; it is
// stable, so entries of one index stay in the order given.
#include "tensor/sparse/coalesce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "tensor/sparse/wire_values.h"

namespace tandem::sparse {
namespace {

enum class Order : std::uint8_t { kAscending, kOther };

[[noreturn]] void reject_index(std::size_t entry, std::uint64_t index, std::uint64_t num_units) {
  throw Error("sparse", "entry " + std::to_string(entry) + " has index " + std::to_string(index) +
                            ", but the tensor has " + std::to_string(num_units) + " units");
}

// Range and order of all indices; the loop has no exit, so that it runs in vectors.
template <typename U>
Order check(std::span<const U> indices, const CoalesceInput& input) {
  bool ascending = true, inside = true;
  const std::uint64_t limit = input.domain.num_units;
  for (std::size_t entry = 0; entry < indices.size(); ++entry) {
    inside &= indices[entry] < limit;
  }
  for (std::size_t entry = 1; entry < indices.size(); ++entry) {
    ascending &= indices[entry - 1] < indices[entry];
  }
  if (!inside) {
    const auto wrong = std::ranges::find_if(indices, [&](U index) { return index >= limit; });
    reject_index(static_cast<std::size_t>(wrong - indices.begin()), *wrong, limit);
  }
  if (!ascending && input.sorted_unique) {
    const auto wrong = std::ranges::adjacent_find(indices, std::ranges::greater_equal{});
    const auto entry = static_cast<std::size_t>(wrong - indices.begin()) + 1;
    throw Error("sparse", "entry " + std::to_string(entry) + " has index " +
                              std::to_string(indices[entry]) + " after " +
                              std::to_string(indices[entry - 1]) +
                              ", but the tensor was announced as sorted and unique");
  }
  return ascending ? Order::kAscending : Order::kOther;
}

template <typename I>
struct Place {
  I index;
  I entry;  // I is wide enough: see coalesce()
};

template <typename I>
void radix_sort(RawVector<Place<I>>& places, std::uint64_t num_units) {
  constexpr int kBits = 11;
  constexpr std::size_t kBuckets = std::size_t{1} << kBits;
  RawVector<Place<I>> other(places.size());
  const int bits = static_cast<int>(std::bit_width(num_units - 1));
  for (int shift = 0; shift < bits; shift += kBits) {
    std::array<std::size_t, kBuckets> next{};
    const auto bucket = [&](const Place<I>& place) { return (place.index >> shift) % kBuckets; };
    for (const auto& place : places) ++next[bucket(place)];
    std::size_t begin = 0;
    for (std::size_t& count : next) begin += std::exchange(count, begin);
    for (const auto& place : places) other[next[bucket(place)]++] = place;
    std::swap(places, other);
  }
}

// Rows of the input in the accumulation type T.
template <typename T>
class Rows {
 public:
  explicit Rows(const CoalesceInput& input)
      : values_(static_cast<const std::byte*>(input.values)),
        type_(input.type),
        width_(input.domain.width) {}

  void load(std::size_t entry, std::size_t num_rows, T* to) const {
    const std::byte* from = values_ + entry * width_ * dtype_block_bytes(type_);
    load_wire(from, num_rows * width_, accumulation_type(type_), type_,
              reinterpret_cast<std::byte*>(to));
  }

 private:
  const std::byte* values_;
  DType type_;
  std::size_t width_;
};

template <typename I, typename U, typename T>
void reduce_sorted(std::span<const U> indices, const Rows<T>& rows, Reduction reduction,
                   SparseVector& out) {
  RawVector<Place<I>> places(indices.size());
  for (std::size_t entry = 0; entry < indices.size(); ++entry) {
    places[entry] = {static_cast<I>(indices[entry]), static_cast<I>(entry)};
  }
  radix_sort(places, out.domain().num_units);
  const std::size_t width = out.domain().width;
  RawVector<T> row(width);
  std::size_t count = 0;
  visit_types(out, [&](auto index, auto) {
    using Index = decltype(index);
    const auto to = out.indices<Index>();
    T* values = out.values<T>().data();
    for (const Place<I>& place : places) {
      if (count == 0 || to[count - 1] != place.index) {
        to[count] = static_cast<Index>(place.index);
        rows.load(place.entry, 1, values + count++ * width);
        continue;
      }
      rows.load(place.entry, 1, row.data());
      T* sum = values + (count - 1) * width;
      for (std::size_t i = 0; i < width; ++i) sum[i] = reduce_values(reduction, sum[i], row[i]);
    }
  });
  out.resize(count);
}

template <typename U>
SparseVector coalesce_typed(const CoalesceInput& input, Reduction reduction) {
  const std::span<const U> indices(static_cast<const U*>(input.indices), input.num_entries);
  const Order order = check(indices, input);
  SparseVector out(input.domain, accumulation_type(input.type));
  out.resize(indices.size());
  visit_types(out, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    const Rows<T> rows(input);
    if (order == Order::kAscending) {
      std::ranges::transform(indices, out.indices<I>().begin(),
                             [](U unit) { return static_cast<I>(unit); });
      rows.load(0, indices.size(), out.values<T>().data());
    } else if (indices.size() > (std::uint64_t{1} << 32)) {
      reduce_sorted<std::uint64_t>(indices, rows, reduction, out);
    } else {
      reduce_sorted<I>(indices, rows, reduction, out);
    }
  });
  return out;
}

}  // namespace

SparseVector coalesce(const CoalesceInput& input, Reduction reduction) {
  if (input.num_entries == 0) return SparseVector(input.domain, accumulation_type(input.type));
  return input.indices_are_u64 ? coalesce_typed<std::uint64_t>(input, reduction)
                               : coalesce_typed<std::uint32_t>(input, reduction);
}

}  // namespace tandem::sparse
