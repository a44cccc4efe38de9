// SPDX-License-Identifier: Apache-2.0
//
// Two histograms take turns, so that equal neighbours need not wait for each other's count.
#include "collectives/sparsifier/magnitude_rank.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "common/error.h"
#include "common/raw_vector.h"

namespace tandem::collectives {
namespace {

constexpr std::uint32_t kBuckets = 4096;
constexpr std::size_t kSortedWhole = 4096;

std::uint32_t bits_of(float magnitude) { return std::bit_cast<std::uint32_t>(magnitude); }

struct Bucket {
  std::uint32_t least, most;  // bits
  std::uint64_t above;        // magnitudes in higher buckets
  std::uint64_t count;        // magnitudes in this one
};

Bucket bucket_of_rank(std::span<const float> magnitudes, std::uint64_t rank) {
  std::uint32_t least = ~0u, most = 0;
  for (const float magnitude : magnitudes) {
    least = std::min(least, bits_of(magnitude));
    most = std::max(most, bits_of(magnitude));
  }
  int shift = 0;
  while ((most - least) >> shift >= kBuckets) ++shift;
  std::array<std::array<std::uint32_t, kBuckets>, 2> counts{};
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    ++counts[i % 2][(bits_of(magnitudes[i]) - least) >> shift];
  }
  const auto count_of = [&](std::uint32_t bucket) {
    return std::uint64_t{counts[0][bucket]} + counts[1][bucket];
  };
  std::uint64_t above = 0;
  std::uint32_t bucket = kBuckets - 1;
  for (; above + count_of(bucket) < rank; --bucket) above += count_of(bucket);
  const std::uint32_t first = least + (bucket << shift);
  return {first, first + ((1u << shift) - 1), above, count_of(bucket)};
}

}  // namespace

RankedMagnitude nth_magnitude(std::span<const float> magnitudes, std::uint64_t rank) {
  TANDEM_CHECK_OP(rank, >=, std::uint64_t{1});
  TANDEM_CHECK_OP(rank, <=, magnitudes.size());
  Bucket bucket{0, ~0u, 0, magnitudes.size()};
  if (magnitudes.size() > kSortedWhole) bucket = bucket_of_rank(magnitudes, rank);
  RawVector<float> inside(bucket.count + 1);  // the loop may write one value beyond the count
  std::size_t count = 0;
  for (const float magnitude : magnitudes) {
    inside[count] = magnitude;
    const std::uint32_t bits = bits_of(magnitude);
    count += bits >= bucket.least && bits <= bucket.most ? 1 : 0;
  }
  inside.resize(bucket.count);
  const auto nth = inside.begin() + static_cast<std::ptrdiff_t>(rank - bucket.above - 1);
  std::nth_element(inside.begin(), nth, inside.end(), std::greater<>());
  RankedMagnitude result{*nth, bucket.above, bucket.above};
  for (const float magnitude : inside) {
    result.above += magnitude > result.value ? 1 : 0;
    result.at_least += magnitude >= result.value ? 1 : 0;
  }
  return result;
}

}  // namespace tandem::collectives
