// SPDX-License-Identifier: Apache-2.0
//
// Entries of all ranks sorted by unit, then reduced in rank order.
#include "apps/collectives/bench_reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tandem::apps {
namespace {

using collectives::SparseTensor;

template <typename T>
T read_as(const SparseTensor& tensor, std::size_t at) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    return tensor.values_as<std::uint64_t>()[at];
  } else {
    return value_at(tensor, at);
  }
}

// The ranks' tensors, in rank order.
std::vector<SparseTensor> gather_tensors(collectives::Group& group, const SparseTensor& own) {
  auto indices = collectives::allgatherv(group, own.indices);
  auto values = collectives::allgatherv(group, own.values);
  std::vector<SparseTensor> all(indices.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    all[rank].num_units = own.num_units;
    all[rank].width = own.width;
    all[rank].type = own.type;
    all[rank].num_entries = indices[rank].size() / sizeof(std::uint32_t);
    all[rank].indices = std::move(indices[rank]);
    all[rank].values = std::move(values[rank]);
  }
  return all;
}

// Entries of all ranks in the order of (unit, rank), reduced one after another.
template <typename T>
SparseTensor reduce(const std::vector<SparseTensor>& all, const std::string& reduction) {
  struct Place {
    std::uint32_t unit;
    std::uint32_t rank;
    std::size_t entry;
  };
  std::vector<Place> places;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto units = all[rank].indices_as<std::uint32_t>();
    for (std::size_t entry = 0; entry < units.size(); ++entry) {
      places.push_back({units[entry], static_cast<std::uint32_t>(rank), entry});
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.unit < b.unit; });
  const std::size_t width = all.front().width;
  std::vector<std::uint32_t> units;
  std::vector<T> sums;
  for (const Place& place : places) {
    const bool first = units.empty() || units.back() != place.unit;
    if (first) units.push_back(place.unit);
    for (std::size_t k = 0; k < width; ++k) {
      const T value = read_as<T>(all[place.rank], place.entry * width + k);
      if (first) {
        sums.push_back(value);
        continue;
      }
      T& sum = sums[(units.size() - 1) * width + k];
      sum = reduction == "max" ? std::max(sum, value) : static_cast<T>(sum + value);
    }
  }
  if (reduction == "mean") {
    for (T& sum : sums) sum /= static_cast<T>(all.size());
  }
  SparseTensor out;
  out.num_units = all.front().num_units;
  out.width = all.front().width;
  out.type = std::is_same_v<T, std::uint64_t> ? DType::kU64 : DType::kF64;
  out.num_entries = units.size();
  const auto unit_bytes = std::as_bytes(std::span(units));
  const auto sum_bytes = std::as_bytes(std::span(sums));
  out.indices.assign(unit_bytes.begin(), unit_bytes.end());
  out.values.assign(sum_bytes.begin(), sum_bytes.end());
  return out;
}

}  // namespace

double value_at(const SparseTensor& tensor, std::size_t at) {
  switch (tensor.type) {
    case DType::kF32:
      return tensor.values_as<float>()[at];
    case DType::kF64:
      return tensor.values_as<double>()[at];
    case DType::kF16:
      return f16_to_f32(tensor.values_as<std::uint16_t>()[at]);
    case DType::kBF16:
      return bf16_to_f32(tensor.values_as<std::uint16_t>()[at]);
    default:
      return static_cast<double>(tensor.values_as<std::uint64_t>()[at]);
  }
}

SparseTensor reference_reduction(collectives::Group& group, const SparseTensor& own,
                                 const std::string& reduction) {
  const auto all = gather_tensors(group, own);
  return own.type == DType::kU64 ? reduce<std::uint64_t>(all, reduction)
                                 : reduce<double>(all, reduction);
}

double relative_difference(const SparseTensor& expected, const SparseTensor& result) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (expected.type == DType::kU64) {
    const bool equal = expected.num_entries == result.num_entries &&
                       expected.indices == result.indices && expected.values == result.values;
    return equal ? 0 : kInfinite;
  }
  const auto a = expected.indices_as<std::uint32_t>();
  const auto b = result.indices_as<std::uint32_t>();
  const std::size_t width = expected.width;
  double largest = 0, difference = 0;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool has_a = i < a.size() && (j == b.size() || a[i] <= b[j]);
    const bool has_b = j < b.size() && (i == a.size() || b[j] <= a[i]);
    for (std::size_t k = 0; k < width; ++k) {
      const double left = has_a ? value_at(expected, i * width + k) : 0;
      const double right = has_b ? value_at(result, j * width + k) : 0;
      if (!(std::abs(left - right) <= std::numeric_limits<double>::max())) return kInfinite;
      largest = std::max({largest, std::abs(left), std::abs(right)});
      difference = std::max(difference, std::abs(left - right));
    }
    i += has_a ? 1 : 0;
    j += has_b ? 1 : 0;
  }
  return largest > 0 ? difference / largest : 0;
}

}  // namespace tandem::apps
