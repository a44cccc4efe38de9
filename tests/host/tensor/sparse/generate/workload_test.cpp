// SPDX-License-Identifier: Apache-2.0
//
// The workload generators produce the statistics that they promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "support/scratch_path.h"
#include "support/tree.h"
#include "tensor/sparse/generate/captured.h"
#include "tensor/sparse/generate/model_shapes.h"
#include "tensor/sparse/generate/random_subset.h"
#include "tensor/sparse/generate/synthetic.h"
#include "tensor/sparse/generate/tokens.h"
#include "tensor/sparse/supports.h"

namespace tandem::sparse {
namespace {

std::vector<SparseVector> world_of(const SyntheticOptions& options, int world,
                                   std::uint64_t seed = 5) {
  std::vector<SparseVector> by_rank;
  for (int rank = 0; rank < world; ++rank) {
    by_rank.push_back(synthetic_gradient(options, rank, world, seed));
  }
  return by_rank;
}

void expect_sorted_unique(const SparseVector& vector) {
  const auto indices = vector.indices<std::uint32_t>();
  for (std::size_t at = 0; at < indices.size(); ++at) {
    ASSERT_LT(indices[at], vector.domain().num_units);
    if (at > 0) {
      ASSERT_LT(indices[at - 1], indices[at]);
    }
  }
}

TEST(RandomSubset, IsSortedDistinctAndOfTheAskedSize) {
  for (const std::uint64_t count : {0u, 1u, 12u, 13u, 500u, 9'999u, 10'000u}) {
    Random random(count);
    std::vector<std::uint32_t> places;
    append_subset(7, 10'000, count, random, places);
    ASSERT_EQ(places.size(), count);
    for (std::size_t at = 0; at < places.size(); ++at) {
      EXPECT_GE(places[at], 7u);
      EXPECT_LT(places[at], 10'007u);
      if (at > 0) {
        EXPECT_LT(places[at - 1], places[at]);
      }
    }
  }
}

TEST(RandomSubset, ChoosesEveryPlaceEquallyOften) {
  std::vector<int> chosen(1000, 0);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    std::vector<std::uint32_t> places;
    append_subset(0, 1000, 100, random, places);
    for (std::uint32_t place : places) ++chosen[place];
  }
  // 200 expected, standard deviation 13.4; six of them over 1,000 places.
  for (int times : chosen) EXPECT_NEAR(times, 200, 80);
  double chi_square = 0;
  for (int times : chosen) chi_square += (times - 200.0) * (times - 200.0) / (200.0 * 0.9);
  EXPECT_NEAR(chi_square, 1000, 6 * std::sqrt(2000.0));
}

TEST(Synthetic, HasTheExactDensityAndSortedIndices) {
  for (const double density : {0.0, 0.0001, 0.01, 0.2, 1.0}) {
    SyntheticOptions options;
    options.domain = {100'000, 1};
    options.density = density;
    const SparseVector vector = synthetic_gradient(options, 0, 4, 1);
    EXPECT_EQ(vector.num_entries(), std::llround(100'000 * density));
    expect_sorted_unique(vector);
  }
}

TEST(Synthetic, IndependentSupportsOverlapByTheDensity) {
  SyntheticOptions options;
  options.domain = {1'000'000, 1};
  options.density = 0.05;
  const auto statistics = measure_supports(world_of(options, 4));
  EXPECT_NEAR(statistics.overlap, 0.05, 0.005);
  EXPECT_NEAR(statistics.skew, 1.0, 0.02);
  EXPECT_NEAR(statistics.union_entries, 1e6 * (1 - std::pow(0.95, 4)), 1000);
}

TEST(Synthetic, HasTheAskedOverlap) {
  for (const double overlap : {0.0, 0.03, 0.3, 0.7, 1.0}) {
    SyntheticOptions options;
    options.domain = {1'000'000, 1};
    options.density = 0.02;
    options.overlap = overlap;
    const auto by_rank = world_of(options, 8);
    EXPECT_NEAR(measure_supports(by_rank).overlap, overlap, 0.01) << overlap;
    for (const auto& vector : by_rank) expect_sorted_unique(vector);
  }
}

TEST(Synthetic, HasTheAskedSkewAndOverlapTogether) {
  for (const double overlap : {0.0, 0.3, 0.8}) {
    SyntheticOptions options;
    options.domain = {1'000'000, 1};
    options.density = 0.01;
    options.overlap = overlap;
    set_skew(options, 6, 16);
    const auto statistics = measure_supports(world_of(options, 16));
    EXPECT_NEAR(statistics.skew, 6, 0.1) << overlap;
    EXPECT_NEAR(statistics.overlap, overlap, 0.01) << overlap;
  }
}

TEST(Synthetic, FirstEighthHoldsSixtyPercent) {
  SyntheticOptions options;
  options.domain = {800'000, 1};
  options.density = 0.01;
  set_first_eighth_skew(options);
  const SparseVector vector = synthetic_gradient(options, 3, 8, 9);
  const auto indices = vector.indices<std::uint32_t>();
  const auto head = std::count_if(indices.begin(), indices.end(),
                                  [](std::uint32_t index) { return index < 100'000; });
  EXPECT_EQ(head, 4800);
  EXPECT_NEAR(measure_supports(world_of(options, 16)).skew, 4.8, 0.1);
}

TEST(Synthetic, ZipfSupportsAreSkewedAndOverlap) {
  SyntheticOptions options;
  options.domain = {200'000, 1};
  options.density = 0.0113;
  options.zipf_exponent = 1.5;
  const auto by_rank = world_of(options, 128);
  const auto statistics = measure_supports(by_rank);
  EXPECT_NEAR(statistics.density, 0.0113, 0.0003);
  EXPECT_GT(statistics.skew, 60);
  EXPECT_GT(statistics.overlap, 0.3);
  for (const auto& vector : by_rank) {
    expect_sorted_unique(vector);
    EXPECT_NEAR(static_cast<double>(vector.num_entries()), 2260, 23);
  }
}

TEST(Synthetic, RunsAreAlignedAndKeepTheDensity) {
  SyntheticOptions options;
  options.domain = {64'000, 1};
  options.density = 0.05;
  options.run_units = 64;
  const SparseVector vector = synthetic_gradient(options, 0, 2, 3);
  EXPECT_EQ(vector.num_entries(), 3200u);
  const auto indices = vector.indices<std::uint32_t>();
  for (std::size_t at = 0; at < indices.size(); ++at) EXPECT_EQ(indices[at] % 64, at % 64);
}

TEST(Synthetic, DependsOnRankAndSeedAndOnNothingElse) {
  SyntheticOptions options;
  options.domain = {10'000, 2};
  const auto make = [&](int rank, std::uint64_t seed) {
    const SparseVector vector = synthetic_gradient(options, rank, 2, seed);
    const auto indices = vector.indices<std::uint32_t>();
    const auto values = vector.values<float>();
    return std::make_pair(std::vector<std::uint32_t>(indices.begin(), indices.end()),
                          std::vector<float>(values.begin(), values.end()));
  };
  EXPECT_EQ(make(0, 1), make(0, 1));
  EXPECT_NE(make(0, 1).first, make(1, 1).first);
  EXPECT_NE(make(0, 1).first, make(0, 2).first);
}

TEST(Synthetic, ValuesSumExactlyInAnyOrder) {
  SyntheticOptions options;
  options.domain = {1000, 4};
  options.density = 1;
  const SparseVector vector = synthetic_gradient(options, 1, 2, 3);
  for (float value : vector.values<float>()) {
    EXPECT_NE(value, 0.0f);
    EXPECT_LE(std::fabs(value), 4.0f);
    EXPECT_EQ(value * 256, std::floor(value * 256));
  }
}

TEST(Synthetic, RefusesWhatCannotBe) {
  SyntheticOptions options;
  options.domain = {1000, 1};
  options.density = 0.5;
  options.overlap = 0.3;
  EXPECT_THROW(synthetic_gradient(options, 0, 2, 1), Error);
  options.overlap = 0;
  EXPECT_THROW(synthetic_gradient(options, 0, 4, 1), Error);
  options.overlap = -1;
  EXPECT_THROW(set_skew(options, 17, 16), Error);
  set_skew(options, 8, 16);
  EXPECT_THROW(synthetic_gradient(options, 0, 2, 1), Error);
  options = {};
  options.domain = {1000, 1};
  options.run_units = 7;
  EXPECT_THROW(synthetic_gradient(options, 0, 2, 1), Error);
}

TEST(Tokens, NumbersWordsByFrequencyAndSumsRepeatedRows) {
  const TokenCorpus corpus = TokenCorpus::from_text("b a, a c a b");
  EXPECT_EQ(corpus.vocabulary_size(), 4u);
  EXPECT_EQ(corpus.tokens(), (std::vector<std::uint32_t>{1, 0, 2, 0, 3, 0, 1}));
  const SparseVector rows = corpus.embedding_gradient(2, 4, 0, 1, 0);
  EXPECT_EQ(rows.num_entries(), 3u);
  expect_sorted_unique(rows);
  EXPECT_EQ(rows.domain(), (Domain{4, 2}));
}

TEST(Tokens, TheCorpusFollowsZipf) {
  const std::string path = (tandem::test::source_dir() / "../shared/models/corpus.txt").string();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  const TokenCorpus corpus(path);
  std::vector<SparseVector> by_rank;
  for (int rank = 0; rank < 8; ++rank) {
    by_rank.push_back(corpus.embedding_gradient(1, 1024, rank, 8, 0));
  }
  const auto statistics = measure_supports(by_rank);
  EXPECT_GT(statistics.skew, 2);
  EXPECT_GT(statistics.overlap, 0.2);
  EXPECT_LT(statistics.density, 0.3);
}

TEST(Captured, KeepsTheLargestMagnitudesAndTheLowerIndexOfEqualOnes) {
  const std::vector<float> values = {1, -5, 2, 5, -2, 2, std::nanf("")};
  const SparseVector kept = top_k(values, 4);
  const auto indices = kept.indices<std::uint32_t>();
  EXPECT_EQ(std::vector<std::uint32_t>(indices.begin(), indices.end()),
            (std::vector<std::uint32_t>{1, 2, 3, 6}));
  EXPECT_EQ(kept.values<float>()[0], -5.0f);
  EXPECT_EQ(top_k(values, 100).num_entries(), values.size());
}

TEST(Captured, ReadsRawFloatsAndRefusesOtherFiles) {
  const tandem::test::ScratchPath file("captured.bin");
  const std::string path = file.string();
  const std::vector<float> values = {1.5f, -2.0f};
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), sizeof(float) * 2);
  EXPECT_EQ(read_captured_gradient(path), values);
  std::ofstream(path, std::ios::binary) << "abc";
  EXPECT_THROW(read_captured_gradient(path), Error);
  std::remove(path.c_str());
  EXPECT_THROW(read_captured_gradient(path), Error);
}

TEST(ModelShapes, HaveThePublishedDensitiesAtAnyScale) {
  for (const ModelShape& shape : model_shapes()) {
    const std::uint64_t scale = std::max<std::uint64_t>(1, shape.sparse_values / 2'000'000);
    for (const bool as_rows : {false, true}) {
      const auto vector = synthetic_gradient(synthetic_options(shape, scale, as_rows), 0, 4, 1);
      const double density = static_cast<double>(vector.num_entries()) /
                             static_cast<double>(vector.domain().num_units);
      EXPECT_NEAR(density, shape.density, 0.2 * shape.density) << shape.name;
    }
  }
  EXPECT_THROW(model_shape("unheard-of"), Error);
}

}  // namespace
}  // namespace tandem::sparse
