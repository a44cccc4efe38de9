// SPDX-License-Identifier: Apache-2.0
//
// Ranges of layers, and maps of ranges of bytes.
#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "common/error.h"
#include "parallel/layer_ranges.h"
#include "parallel/range_map.h"

namespace tandem::device::parallel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LayerRanges, DivideByWeightAndLeaveEveryUnitALayer) {
  const auto counts = [](int layers, std::vector<double> weights) {
    const auto ranges = LayerRanges::by_weight(layers, weights);
    std::vector<int> all;
    for (int unit = 0; unit < ranges.num_units(); ++unit) all.push_back(ranges.count(unit));
    return all;
  };
  EXPECT_THAT(counts(6, {1, 1, 1}), ElementsAre(2, 2, 2));
  EXPECT_THAT(counts(5, {1, 1}), ElementsAre(3, 2));
  EXPECT_THAT(counts(4, {100, 1, 1}), ElementsAre(2, 1, 1));
  EXPECT_THAT(counts(8, {3, 1}), ElementsAre(6, 2));
  EXPECT_THAT(counts(3, {0, 0, 0}), ElementsAre(1, 1, 1));
  try {
    counts(2, {1, 1, 1});
    FAIL() << "a unit would have no layer";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("2 layers"));
  }
  EXPECT_THROW(LayerRanges({{2, 0}}), Error);
  const int given[] = {1, 3, 1};
  const LayerRanges ranges(given);
  EXPECT_EQ(ranges.unit_of(0), 0);
  EXPECT_EQ(ranges.unit_of(1), 1);
  EXPECT_EQ(ranges.unit_of(3), 1);
  EXPECT_EQ(ranges.unit_of(4), 2);
  EXPECT_THROW(ranges.unit_of(5), Error);
}

TEST(RangeMap, IsAnArrayOfBytesInFewRanges) {
  constexpr std::size_t kSize = 40;
  std::mt19937 random(3);
  RangeMap<int> map(kSize, 0);
  std::vector<int> naive(kSize, 0);
  for (int turn = 0; turn < 3000; ++turn) {
    const std::size_t begin = random() % kSize, end = begin + random() % (kSize - begin + 1);
    const int value = static_cast<int>(random() % 3);
    std::size_t at = begin;
    map.update(begin, end, [&](std::size_t from, std::size_t to, int& range) {
      EXPECT_EQ(from, at);
      for (at = from; at < to; ++at) EXPECT_EQ(naive[at], range);
      range = value;
    });
    EXPECT_EQ(at, end);
    std::fill(naive.begin() + static_cast<std::ptrdiff_t>(begin),
              naive.begin() + static_cast<std::ptrdiff_t>(end), value);
    std::size_t ranges = 0, changes = 1, covered = 0;
    map.visit(0, kSize, [&](std::size_t from, std::size_t to, int range) {
      ++ranges;
      for (std::size_t i = from; i < to; ++i, ++covered) EXPECT_EQ(naive[i], range);
    });
    for (std::size_t i = 1; i < kSize; ++i) changes += naive[i] != naive[i - 1] ? 1 : 0;
    EXPECT_EQ(covered, kSize);
    EXPECT_EQ(ranges, changes);
  }
}

}  // namespace
}  // namespace tandem::device::parallel
