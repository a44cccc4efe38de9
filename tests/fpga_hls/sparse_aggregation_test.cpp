// SPDX-License-Identifier: Apache-2.0
//
// The sparse_aggregation kernel, called as a C++ function, against a loop over the sources.
//
// Every bit must agree, except the payload of a NaN. Counts from the input alone check the cycle
// model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "fpga_hls/aggregation_harness.h"

namespace tandem::sparse_aggregation {
namespace {

bool same_value(std::uint32_t value_type, std::uint64_t a, std::uint64_t b) {
  if (value_type == kF32 && is_nan(static_cast<std::uint32_t>(a))) {
    return is_nan(static_cast<std::uint32_t>(b));
  }
  return a == b;
}

void expect_exact(const Settings& settings, const Input& input) {
  const Answer answer = run(settings, make_descriptor(settings, input));
  ASSERT_EQ(answer.header.status, kOk) << "detail " << answer.header.detail;
  EXPECT_EQ(answer.header.tag, 77u);
  EXPECT_EQ(answer.words.back()[0], kGuard);
  const Entries want = expected(settings, input);
  ASSERT_EQ(answer.entries.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(answer.entries[i].first, want[i].first) << i;
    ASSERT_TRUE(same_value(settings.value_type, answer.entries[i].second, want[i].second))
        << "position " << want[i].first << ": " << answer.entries[i].second << " instead of "
        << want[i].second;
  }
}

class SparseAggregation : public ::testing::Test {
 protected:
  std::uint64_t below(std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(random_);
  }

  // Any bits: for f32 also NaN, infinities and subnormals now and then.
  std::uint64_t value(const Settings& settings) {
    if (settings.value_type == kU64) return random_();
    switch (below(20)) {
      case 0:
        return static_cast<std::uint32_t>(random_());
      case 1:
        return static_cast<std::uint32_t>(below(2)) << 31;  // a zero
      case 2:
        return static_cast<std::uint32_t>(random_()) & 0x80ffffffu;  // small or subnormal
      default:
        return std::bit_cast<std::uint32_t>(std::normal_distribution<float>()(random_));
    }
  }

  Entries source(const Settings& settings, std::size_t count) {
    std::set<std::uint32_t> positions;
    while (positions.size() < count) {
      positions.insert(static_cast<std::uint32_t>(below(settings.num_positions)));
    }
    Entries entries;
    for (const std::uint32_t position : positions) entries.emplace_back(position, value(settings));
    return entries;
  }

  std::mt19937_64 random_{5};
};

TEST_F(SparseAggregation, GivesTheBitsOfALoopOverTheSources) {
  for (const std::uint32_t type : {kF32, kU64}) {
    for (const std::uint32_t reduction : {kSum, kMax}) {
      for (const std::uint32_t format : {kCoo, kBitmap}) {
        for (const std::uint32_t tile_bits : {9u, 11u, 18u}) {
          const Settings settings = {type, reduction, format, tile_bits, 5000};
          Input input;
          for (const std::size_t count : {300, 0, 2500, 1, 17, 900}) {
            input.push_back(source(settings, count));
          }
          expect_exact(settings, input);
        }
      }
    }
  }
}

TEST_F(SparseAggregation, TakesSourcesOfEverySizeAroundAWord) {
  for (const std::uint32_t type : {kF32, kU64}) {
    for (const std::uint32_t format : {kCoo, kBitmap}) {
      const Settings settings = {type, kSum, format, 9, 600};
      for (std::size_t count = 0; count <= 50; ++count) {
        expect_exact(settings, {source(settings, count), source(settings, 50 - count)});
      }
    }
  }
}

TEST_F(SparseAggregation, TakesOneSourceAndNoEntriesAtAll) {
  for (const std::uint32_t format : {kCoo, kBitmap}) {
    const Settings settings = {kF32, kSum, format, 12, 9000};
    expect_exact(settings, {source(settings, 1000)});
    expect_exact(settings, {{}});
    expect_exact(settings, {{}, {}, {}});
  }
}

TEST_F(SparseAggregation, TakesThePositionsAtTheEndsOfTheLargestPartition) {
  const std::uint64_t all = std::uint64_t{1} << 32;
  for (const std::uint32_t format : {kCoo, kBitmap}) {
    const Settings settings = {kU64, kSum, format, 18, all};
    const auto last = static_cast<std::uint32_t>(all - 1);
    expect_exact(settings, {{{0, 1}, {1u << 18, 2}, {last, ~0ull}}, {{last - 1, 5}, {last, 3}}});
  }
}

TEST_F(SparseAggregation, SurvivesEveryEntryInOneBank) {
  // All positions whose bank is 3: full FIFOs, one bank doing all the work.
  const Settings settings = {kF32, kSum, kCoo, 15, 1u << 15};
  Input input(3);
  for (std::uint32_t position = 0; position < settings.num_positions; ++position) {
    if (bank_of(position) != 3) continue;
    for (Entries& entries : input) entries.emplace_back(position, value(settings));
  }
  ASSERT_EQ(input[0].size(), settings.num_positions / 8);
  expect_exact(settings, input);
}

TEST_F(SparseAggregation, SpreadsRegularStridesOverTheBanks) {
  for (const std::uint32_t stride : {1u, 2u, 4u, 8u, 16u, 64u, 512u, 4096u}) {
    std::vector<int> counts(kBanks, 0);
    const std::uint32_t num = (1u << kMaxTileBits) / stride;
    for (std::uint32_t i = 0; i < num; ++i) ++counts[bank_of(i * stride)];
    EXPECT_LE(*std::max_element(counts.begin(), counts.end()), static_cast<int>(num / kBanks) + 1)
        << "stride " << stride;
  }
}

TEST_F(SparseAggregation, AddsInTheOrderOfTheSources) {
  const auto bits = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  const Settings settings;
  Input input = {{{7, bits(1e8f)}}, {{7, bits(1.0f)}}, {{7, bits(-1e8f)}}, {{7, bits(1.0f)}}};
  EXPECT_EQ(run(settings, make_descriptor(settings, input)).entries[0].second, bits(1.0f));
  std::swap(input[1], input[2]);
  EXPECT_EQ(run(settings, make_descriptor(settings, input)).entries[0].second, bits(2.0f));
  // A lone negative zero is no sum and stays what it is.
  EXPECT_EQ(run(settings, make_descriptor(settings, {{{7, bits(-0.0f)}}})).entries[0].second,
            bits(-0.0f));
}

TEST_F(SparseAggregation, TakesAThousandSources) {
  const Settings settings = {kF32, kSum, kCoo, 10, 3000};
  Input input;
  for (int s = 0; s < 1000; ++s) input.push_back(source(settings, below(6)));
  expect_exact(settings, input);
}

TEST(SparseAggregationNumerics, AddAsTheProcessorAdds) {
  std::mt19937_64 random(3);
  const std::vector<std::uint32_t> corners = {
      0u,          0x80000000u, 1u,          0x80000001u, 0x007fffffu, 0x00800000u, 0x00800001u,
      0x80800000u, 0x3f800000u, 0xbf800000u, 0x7f7fffffu, 0xff7fffffu, 0x7f800000u, 0xff800000u,
      0x7fc00000u, 0xffc12345u, 0x7f800001u, 0x34000000u, 0x33800000u, 0x33800001u, 0x4b800000u};
  const auto check = [](std::uint32_t a, std::uint32_t b) {
    const float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
    ASSERT_TRUE(same_value(kF32, add_f32(a, b), std::bit_cast<std::uint32_t>(x + y)))
        << std::hex << a << " + " << b << " = " << add_f32(a, b);
    ASSERT_TRUE(
        same_value(kF32, max_f32(a, b), std::bit_cast<std::uint32_t>(y > x || y != y ? y : x)))
        << std::hex << a << " max " << b << " = " << max_f32(a, b);
  };
  for (const std::uint32_t a : corners) {
    for (const std::uint32_t b : corners) check(a, b);
  }
  for (int i = 0; i < 2'000'000; ++i) {
    const auto a = static_cast<std::uint32_t>(random());
    auto b = static_cast<std::uint32_t>(random());
    check(a, b);
    // Exponents close to each other, where cancellation and rounding live.
    b = (b & 0x807fffffu) | ((a + ((static_cast<std::uint32_t>(i) % 64) << 23)) & 0x7f800000u);
    check(a, b);
    check(a & 0x81ffffffu, b & 0x81ffffffu);  // near and below the smallest normal number
  }
}

class BadSparseAggregation : public SparseAggregation {
 protected:
  BadSparseAggregation() : input_{source(settings_, 600), source(settings_, 40)} {
    good_ = make_descriptor(settings_, input_);
  }

  void expect_status(const Descriptor& d, std::uint32_t status, std::uint32_t detail) {
    const Answer answer = run(settings_, d, kResultWords);
    EXPECT_EQ(answer.header.status, status);
    EXPECT_EQ(answer.header.detail, detail);
    EXPECT_EQ(answer.header.tag, 77u);
    EXPECT_EQ(answer.header.num_words, 1u);
    EXPECT_EQ(answer.words.back()[0], kGuard);
  }

  template <typename Break>
  void expect_broken(std::uint32_t status, std::uint32_t detail, Break&& break_it) {
    Descriptor d = good_;
    break_it(d);
    d.put_tables();
    expect_status(d, status, detail);
  }

  static constexpr auto kResultWords =
      static_cast<std::uint32_t>(result_words(kCoo, kF32, 10, 5, 640));
  Settings settings_ = {kF32, kSum, kCoo, 10, 5000};
  Input input_;
  Descriptor good_;
};

TEST_F(BadSparseAggregation, HeadersAreRefused) {
  expect_broken(kBadMagic, 5, [](Descriptor& d) { d.header.magic = 5; });
  expect_broken(kBadVersion, 9, [](Descriptor& d) { d.header.abi_version = 9; });
  expect_broken(kBadShape, 0, [](Descriptor& d) { d.header.value_type = 2; });
  expect_broken(kBadShape, 0, [](Descriptor& d) { d.header.reduction = 2; });
  expect_broken(kBadShape, 0, [](Descriptor& d) { d.header.format = 2; });
  expect_broken(kBadShape, 0, [](Descriptor& d) { d.header.tile_bits = 8; });
  expect_broken(kBadShape, 0, [](Descriptor& d) { d.header.tile_bits = 19; });
  expect_broken(kBadShape, 0, [](Descriptor& d) { d.header.num_sources = 0; });
  expect_broken(kBadShape, 0, [](Descriptor& d) { d.header.num_sources = kMaxSources + 1; });
  expect_broken(kBadShape, 0, [](Descriptor& d) { d.header.num_tiles = 6; });  // of 5 there are
}

TEST_F(BadSparseAggregation, PartsOutsideTheDescriptorAreRefused) {
  expect_broken(kBadSection, 0, [](Descriptor& d) { ++d.header.num_words; });
  expect_broken(kBadSection, 0, [](Descriptor& d) { d.header.num_words = 2; });
  for (const std::uint32_t word : {static_cast<std::uint32_t>(good_.words.size()), ~0u}) {
    const auto move = [&](std::uint32_t DescriptorHeader::*field) {
      Descriptor d = good_;
      DescriptorHeader h = d.header;
      h.*field = word;
      d.put(0, &h, sizeof(h));
      expect_status(d, kBadSection, 0);
    };
    move(&DescriptorHeader::sources_word);
    move(&DescriptorHeader::tiles_word);
    move(&DescriptorHeader::ends_word);
    expect_broken(kBadSection, 2, [&](Descriptor& d) { d.sources[1].positions_word = word; });
    expect_broken(kBadSection, 1, [&](Descriptor& d) { d.sources[0].values_word = word; });
  }
  expect_broken(kBadShape, 2, [](Descriptor& d) { d.sources[1].num_entries = ~0u; });
  expect_broken(kBadSection, 2, [](Descriptor& d) { d.sources[1].num_entries = kMaxEntries; });
}

TEST_F(BadSparseAggregation, TablesThatContradictTheDataAreRefused) {
  expect_broken(kBadTile, 4, [](Descriptor& d) { d.tiles[4] = 5; });
  expect_broken(kBadTile, 2, [](Descriptor& d) { d.tiles[2] = d.tiles[1]; });
  expect_broken(kBadEnds, 0, [](Descriptor& d) { d.ends[0] = 601; });
  expect_broken(kBadEnds, 1, [](Descriptor& d) { d.ends[16 + 1] = 0; });
  expect_broken(kBadEnds, 1, [](Descriptor& d) { --d.ends[4 * 16 + 1]; });
  expect_broken(kBadPosition, 0, [](Descriptor& d) { ++d.ends[0]; });  // of the next tile
}

TEST_F(BadSparseAggregation, PositionsOutOfRangeOrOrderAreRefused) {
  const auto with = [&](std::size_t source, std::size_t entry, std::uint32_t position) {
    Descriptor d = good_;
    auto* lanes = reinterpret_cast<std::uint32_t*>(&d.words[d.sources[source].positions_word]);
    lanes[entry] = position;
    return d;
  };
  expect_status(with(0, 599, 5000), kBadPosition, 0);  // one beyond the last, in its tile
  expect_status(with(0, 599, ~0u), kBadPosition, 0);
  expect_status(with(1, 39, 8191), kBadPosition, 1);
  expect_status(with(0, 300, 0), kBadPosition, 0);
  for (const std::size_t entry : {1u, 7u, 8u, 16u, 100u}) {  // a repetition, across groups too
    expect_status(with(0, entry, input_[0][entry - 1].first), kBadPosition, 0);
  }
}

TEST_F(BadSparseAggregation, RepetitionsAcrossRunsAreRefused) {
  const Settings settings = {kF32, kSum, kCoo, 18, 1u << 18};
  const Input input = {source(settings, 9000)};  // more than the groups of a run
  const Descriptor good = make_descriptor(settings, input);
  for (std::size_t entry = 8; entry < 9000; entry += 8) {  // runs end between groups of eight
    Descriptor d = good;
    reinterpret_cast<std::uint32_t*>(&d.words[d.sources[0].positions_word])[entry] =
        input[0][entry - 1].first;
    const Answer answer = run(settings, d);
    ASSERT_EQ(answer.header.status, kBadPosition) << entry;
  }
}

TEST_F(BadSparseAggregation, ResultsThatMightNotFitAreRefused) {
  EXPECT_EQ(run(settings_, good_, kResultWords).header.status, kOk);
  const Answer answer = run(settings_, good_, kResultWords - 1);
  EXPECT_EQ(answer.header.status, kBadResult);
  EXPECT_EQ(answer.words[1][0], kGuard);
  const Answer tiny = run(settings_, good_, 0);
  EXPECT_EQ(tiny.words[0][0], kGuard);
}

// What the model counts, from the input alone; for tiles that need a single run each.
struct ExpectedCycles {
  std::uint32_t runs = 0, accumulate = 0, emit_runs = 0, emit = 0;
};

ExpectedCycles count_cycles(const Settings& settings, const Input& input) {
  ExpectedCycles c;
  std::map<std::uint32_t, Input> tiles;
  std::vector<std::uint32_t> taken(input.size(), 0);
  for (std::size_t s = 0; s < input.size(); ++s) {
    for (const auto& entry : input[s]) {
      Input& tile = tiles[entry.first >> settings.tile_bits];
      tile.resize(input.size());
      tile[s].push_back(entry);
    }
  }
  std::uint32_t packed = 0;
  for (const auto& [number, tile] : tiles) {
    std::uint32_t words = 0, groups = 0;
    std::vector<std::uint32_t> banks(kBanks, 0);
    std::set<std::uint32_t> rows, stripes, positions;
    for (std::size_t s = 0; s < tile.size(); ++s) {
      const auto count = static_cast<std::uint32_t>(tile[s].size());
      if (count == 0) continue;
      const std::uint32_t first = taken[s], last = taken[s] + count - 1;
      taken[s] += count;
      const std::uint32_t per_word = kWordBytes / value_bytes(settings.value_type);
      words += last / 16 - first / 16 + 1 + last / per_word - first / per_word + 1;
      groups += last / 8 - first / 8 + 1 + 1;  // and a fence
      for (auto& bank : banks) bank += 8 + kDrainCycles;
      for (const auto& [position, value] : tile[s]) {
        const std::uint32_t offset = position & ((1u << settings.tile_bits) - 1);
        ++banks[bank_of(offset)];
        rows.insert(offset / 8);
        stripes.insert(offset / 256);
        positions.insert(offset);
      }
    }
    EXPECT_LE(groups, 256u) << "the case needs more than one run a tile";
    for (auto& bank : banks) bank -= kDrainCycles;  // after the last source nothing waits
    ++c.runs;
    c.accumulate +=
        std::max({port_cycles(words), groups, *std::max_element(banks.begin(), banks.end())});
    ++c.emit_runs;
    const auto visits = static_cast<std::uint32_t>(stripes.size() + rows.size() + 1);
    const auto done = static_cast<std::uint32_t>(packed + positions.size());
    const std::uint32_t records = done / 16 - packed / 16, octets = done / 8 - packed / 8;
    packed = done;
    const std::uint32_t record = record_words(settings.value_type);
    c.emit += std::max({2u << (settings.tile_bits - 9), visits, octets + records * (record - 1),
                        port_cycles(records * record)});
  }
  return c;
}

TEST_F(SparseAggregation, CountsTheCyclesThatTheModelSays) {
  for (const std::uint32_t type : {kF32, kU64}) {
    const Settings settings = {type, kSum, kCoo, 11, 20'000};
    const Input input = {source(settings, 3000), source(settings, 1), source(settings, 1500)};
    const ExpectedCycles want = count_cycles(settings, input);
    const Answer answer = run(settings, make_descriptor(settings, input));
    EXPECT_EQ(answer.header.num_runs, want.runs);
    EXPECT_EQ(answer.header.accumulate_cycles, want.accumulate);
    EXPECT_EQ(answer.header.num_emit_runs, want.emit_runs);
    EXPECT_EQ(answer.header.emit_cycles, want.emit);
    EXPECT_EQ(modelled_cycles(3, 10, answer.header), 800u + 3 + 10 * (3 + 120) + want.runs * 120 +
                                                         want.accumulate + want.emit_runs * 40 +
                                                         want.emit);
  }
}

TEST_F(SparseAggregation, VisitsOnlyTouchedTiles) {
  const Settings settings = {kF32, kSum, kCoo, 18, std::uint64_t{1} << 32};
  const Answer answer = run(settings, make_descriptor(settings, {{{5, 1}, {0x80000000u, 2}}}));
  EXPECT_EQ(answer.header.num_runs, 2u);
  EXPECT_EQ(answer.header.emit_cycles, 2 * 1024u);
}

}  // namespace
}  // namespace tandem::sparse_aggregation
