// SPDX-License-Identifier: Apache-2.0
//
// How sequences and pages are dealt over units: by given shares, and by shared prefixes.
#include <gmock/gmock.h>

#include <optional>
#include <span>
#include <vector>

#include "engine/kv_cache/kv_cache.h"

namespace tandem::engine {
namespace {

constexpr int kSharedPageTokens = 4;

TEST(KvShares, DealsSequencesAndPagesByShares) {
  KvCache whole(kSharedPageTokens, Placement::kSequences, false);
  for (const double share : {0.5, 0.3, 0.2}) whole.add_unit(100, 1e9, share);
  std::vector<PageTable> tables(20);
  for (PageTable& table : tables) ASSERT_TRUE(whole.extend(table, 2 * kSharedPageTokens));
  EXPECT_EQ(whole.unit_pages(0).used, 20u);
  EXPECT_EQ(whole.unit_pages(1).used, 12u);
  EXPECT_EQ(whole.unit_pages(2).used, 8u);
  for (PageTable& table : tables) whole.release(table);

  KvCache dealt(kSharedPageTokens, Placement::kPages, false);
  dealt.add_unit(30, 1e12, 0.5);  // neither bandwidth nor how full it is counts
  dealt.add_unit(1000, 1e9, 0.3);
  dealt.add_unit(1000, 1e9, 0.2);
  PageTable table;
  ASSERT_TRUE(dealt.extend(table, 50 * kSharedPageTokens));
  EXPECT_THAT(table.held, testing::ElementsAre(25u, 15u, 10u));
  ASSERT_TRUE(dealt.extend(table, 100 * kSharedPageTokens))
      << "a full unit's share goes to the others";
  EXPECT_THAT(table.held, testing::ElementsAre(30u, 42u, 28u));
  dealt.release(table);
}

TEST(KvShares, ASequenceHasAHomeOnceItHasABlockOfItsOwn) {
  for (const Placement placement :
       {Placement::kSequences, Placement::kPages, Placement::kInterleave}) {
    KvCache cache(kSharedPageTokens, placement, true);
    for (int unit = 0; unit < 2; ++unit) cache.add_unit(100, 1e9);
    EXPECT_EQ(cache.places_by_sequence(), placement == Placement::kSequences);
    const std::vector<TokenId> tokens(2 * kSharedPageTokens, 7);
    PageTable first, second;
    EXPECT_EQ(cache.home(first), std::nullopt);
    ASSERT_TRUE(cache.extend(first, tokens.size()));
    cache.publish(first, tokens, tokens.size());
    ASSERT_EQ(cache.attach(second, tokens), static_cast<std::size_t>(kSharedPageTokens));
    EXPECT_EQ(cache.home(second), std::nullopt) << "a prefix that others computed is no home";
    ASSERT_TRUE(cache.extend(second, tokens.size()));
    const auto unit_of = [&](const PageTable& table) {
      return cache.places_by_sequence() ? std::optional(table.blocks.back().unit) : std::nullopt;
    };
    EXPECT_EQ(cache.home(first), unit_of(first));
    EXPECT_EQ(cache.home(second), unit_of(second));
    for (PageTable* table : {&first, &second}) cache.release(*table);
  }
}

// The small unit is empty now, but a long sequence would hold it up later.
TEST(KvShares, AHomeIsChosenByWhatAllWillHoldInTheEnd) {
  const auto home_of = [](std::size_t in_the_end, std::size_t growth_of_large) {
    KvCache cache(kSharedPageTokens, Placement::kSequences, false);
    cache.add_unit(1000, 1e9, 0.1), cache.add_unit(1000, 1e9, 0.9);
    PageTable held;
    cache.set_share(0, 1e-9);
    EXPECT_TRUE(cache.extend(held, 20 * kSharedPageTokens));
    EXPECT_EQ(held.blocks.front().unit, 1);
    cache.set_share(0, 0.1);
    cache.expect_growth(std::vector<std::size_t>{0, growth_of_large});
    PageTable table;
    EXPECT_TRUE(cache.extend(table, kSharedPageTokens, in_the_end * kSharedPageTokens));
    return table.blocks.front().unit;
  };
  EXPECT_EQ(home_of(0, 0), 0) << "1 / 0.1 against 21 / 0.9";
  EXPECT_EQ(home_of(100, 0), 1) << "100 / 0.1 against 120 / 0.9";
  EXPECT_EQ(home_of(100, 1000), 0) << "against 1120 / 0.9";
}

TEST(KvShares, ThoseThatComeTogetherCountWithTheirGrowth) {
  KvCache cache(kSharedPageTokens, Placement::kSequences, false);
  cache.add_unit(1000, 1e9, 0.5), cache.add_unit(1000, 1e9, 0.5);
  std::vector<PageTable> tables(3);
  const std::size_t in_the_end[] = {100, 40, 40};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    ASSERT_TRUE(cache.extend(tables[i], kSharedPageTokens, in_the_end[i] * kSharedPageTokens));
  }
  EXPECT_EQ(tables[0].blocks.front().unit, 0);
  EXPECT_EQ(tables[1].blocks.front().unit, 1);
  EXPECT_EQ(tables[2].blocks.front().unit, 1) << "both short ones beside the long one";
  cache.expect_growth({});
  PageTable next;
  ASSERT_TRUE(cache.extend(next, kSharedPageTokens, 2 * kSharedPageTokens));
  EXPECT_EQ(next.blocks.front().unit, 0) << "what was expected is forgotten: 1 page against 2";
}

TEST(KvShares, ANewShareHoldsForPagesThatAreDealtLater) {
  for (const Placement placement : {Placement::kSequences, Placement::kPages}) {
    KvCache cache(kSharedPageTokens, placement, false);
    for (int unit = 0; unit < 2; ++unit) cache.add_unit(100, 1e9);
    cache.set_share(0, 0.9), cache.set_share(1, 0.1);
    std::vector<PageTable> tables(20);
    for (PageTable& table : tables) ASSERT_TRUE(cache.extend(table, kSharedPageTokens));
    const std::uint32_t first = cache.unit_pages(0).used;
    EXPECT_GE(first, 18u);
    cache.set_share(0, 1e-9), cache.set_share(1, 1);
    PageTable late;
    ASSERT_TRUE(cache.extend(late, 10 * kSharedPageTokens));
    EXPECT_EQ(cache.unit_pages(0).used, first) << "what lies there stays";
    for (PageTable& table : tables) cache.release(table);
    cache.release(late);
  }
}

TEST(KvShares, AnUnknownBandwidthIsTheMeanOfTheOthers) {
  KvCache cache(kSharedPageTokens, Placement::kPages, false);
  for (const double bandwidth : {4e9, 0.0, 8e9}) cache.add_unit(100, bandwidth);
  EXPECT_EQ(cache.weight(1), 6e9);
  EXPECT_EQ(cache.weight(2), 8e9);
}

// Of equal bandwidth, with 10 and 100 pages.
TEST(KvShares, WithoutSharesANearlyFullUnitGetsFewerPages) {
  KvCache cache(kSharedPageTokens, Placement::kPages, false);
  cache.add_unit(10, 1e9), cache.add_unit(100, 1e9);
  PageTable table;
  ASSERT_TRUE(cache.extend(table, 30 * kSharedPageTokens));
  EXPECT_LE(table.held[0], 8u);
  EXPECT_GE(table.held[0], 5u);
}

std::vector<int> units_of(const PageTable& table) {
  std::vector<int> units;
  for (const BlockPlace& place : table.blocks) units.push_back(place.unit);
  return units;
}

// 8, 4 and 2 pages are left: a sequence of 7 fits the first, and one of 11 fits nowhere.
TEST(KvShares, ASequenceThatFitsNowhereIsSplitByWhatUnitsHaveLeftWithItsTailNear) {
  KvCache cache(kSharedPageTokens, Placement::kSequences, false);
  for (const std::uint32_t pages : {4u, 8u, 2u}) cache.add_unit(pages, 1e9);
  cache.set_near(0);
  PageTable fits;
  ASSERT_TRUE(cache.extend(fits, 7 * kSharedPageTokens));
  EXPECT_THAT(fits.held, testing::ElementsAre(0u, 7u, 0u));
  cache.release(fits);
  PageTable table;
  ASSERT_TRUE(cache.extend(table, 11 * kSharedPageTokens));
  EXPECT_THAT(table.held, testing::ElementsAre(3u, 7u, 1u));
  const std::vector<int> places = units_of(table);
  EXPECT_THAT(std::span(places).last(3), testing::Each(0));
  EXPECT_EQ(cache.home(table), 0) << "it grows near the compute device";
  ASSERT_TRUE(cache.extend(table, 12 * kSharedPageTokens));
  EXPECT_THAT(table.held, testing::ElementsAre(4u, 7u, 1u));
  ASSERT_TRUE(cache.extend(table, 14 * kSharedPageTokens)) << "and then where there is room";
  EXPECT_THAT(table.held, testing::ElementsAre(4u, 8u, 2u));
  EXPECT_FALSE(cache.extend(table, 15 * kSharedPageTokens));
}

// Four and six pages are left where the shares are, and eight where there is none.
TEST(KvShares, AUnitWithoutAShareGetsOnlyWhatOthersCannotHold) {
  KvCache cache(kSharedPageTokens, Placement::kSequences, false);
  cache.add_unit(4, 1e9, 0.5), cache.add_unit(6, 1e9, 0.5), cache.add_unit(8, 1e9, 1e-9);
  PageTable table;
  ASSERT_TRUE(cache.extend(table, 13 * kSharedPageTokens));
  EXPECT_THAT(table.held, testing::ElementsAre(4u, 6u, 3u));
}

TEST(KvShares, OfPagesThatAreDealtTogetherTheLastAreNear) {
  for (const int near : {0, 1, 2}) {
    KvCache cache(kSharedPageTokens, Placement::kPages, false);
    for (const double share : {0.5, 0.3, 0.2}) cache.add_unit(100, 1e9, share);
    cache.set_near(near);
    PageTable table;
    ASSERT_TRUE(cache.extend(table, 20 * kSharedPageTokens));
    EXPECT_THAT(table.held, testing::ElementsAre(10u, 6u, 4u)) << "the shares do not change";
    const std::vector<int> first = units_of(table);
    const std::size_t tail = table.held[static_cast<std::size_t>(near)];
    EXPECT_THAT(std::span(first).last(tail), testing::Each(near));
    ASSERT_TRUE(cache.extend(table, 40 * kSharedPageTokens));
    const std::vector<int> second = units_of(table);
    EXPECT_THAT(std::span(second).first(20), testing::ElementsAreArray(first)) << "what lies, lies";
    EXPECT_THAT(std::span(second).last(tail), testing::Each(near));
  }
}

// A decode row adds one block at a time.
TEST(KvShares, ADecodeRowsBlockIsNearWhileThatHasLessThanItsShare) {
  KvCache cache(kSharedPageTokens, Placement::kPages, false);
  for (const double share : {0.5, 0.5}) cache.add_unit(100, 1e9, share);
  cache.set_near(1);
  PageTable table;
  ASSERT_TRUE(cache.extend(table, 10 * kSharedPageTokens));
  EXPECT_THAT(table.held, testing::ElementsAre(5u, 5u));
  for (std::size_t blocks = 11; blocks <= 20; ++blocks) {
    ASSERT_TRUE(cache.extend(table, blocks * kSharedPageTokens));
    EXPECT_EQ(table.blocks.back().unit, blocks % 2 == 1 ? 1 : 0) << "one ahead of its share";
  }
  EXPECT_THAT(table.held, testing::ElementsAre(10u, 10u));
  cache.set_share(1, 1e-9);
  PageTable elsewhere;
  for (std::size_t blocks = 1; blocks <= 3; ++blocks) {
    ASSERT_TRUE(cache.extend(elsewhere, blocks * kSharedPageTokens));
  }
  EXPECT_THAT(elsewhere.held, testing::ElementsAre(3u, 0u)) << "near, but slow";
  KvCache equal(kSharedPageTokens, Placement::kInterleave, false);
  for (int unit = 0; unit < 2; ++unit) equal.add_unit(100, 1e9, 0.5);
  equal.set_near(1);
  PageTable dealt;
  for (std::size_t blocks = 1; blocks <= 3; ++blocks) {
    ASSERT_TRUE(equal.extend(dealt, blocks * kSharedPageTokens));
  }
  EXPECT_THAT(dealt.held, testing::ElementsAre(2u, 1u)) << "interleaved pages stay in their order";
}

TEST(KvShares, AWithheldPageCountsUntilItsUnitIsLost) {
  KvCache cache(kSharedPageTokens, Placement::kPages, false);
  cache.add_unit(4, 1e9);
  PageTable table;
  ASSERT_TRUE(cache.extend(table, kSharedPageTokens));
  cache.withhold(table.blocks.front());
  cache.release(table);
  EXPECT_EQ(cache.num_pages(), 3u);
  EXPECT_EQ(cache.num_available(), 3u);
  EXPECT_EQ(cache.unit_pages(0).total, 3u);
  EXPECT_EQ(cache.unit_pages(0).used, 0u) << "nobody's page: an idle server has none in use";
  EXPECT_FALSE(cache.extend(table, 4 * kSharedPageTokens));
  cache.lose_unit(0);
  EXPECT_EQ(cache.num_pages(), 0u);
  cache.return_unit(0, 4);
  EXPECT_EQ(cache.num_pages(), 4u);
  EXPECT_TRUE(cache.extend(table, 4 * kSharedPageTokens));
}

// Equal shares. The first unit has four pages left, and the sequence will need 24: it gets a page
// now and then, not the first ones.
TEST(KvShares, AUnitThatRunsOutIsDealtWhatItHasLeftOverTheWholeSequence) {
  KvCache cache(kSharedPageTokens, Placement::kPages, false);
  for (const std::uint32_t pages : {4u, 100u}) cache.add_unit(pages, 1e9, 0.5);
  PageTable table;
  constexpr std::size_t kEnd = 24 * kSharedPageTokens;
  std::vector<std::size_t> at_first;
  for (std::size_t tokens = kSharedPageTokens; tokens <= kEnd; tokens += kSharedPageTokens) {
    ASSERT_TRUE(cache.extend(table, tokens, kEnd));
    if (table.blocks.back().unit == 0) at_first.push_back(table.blocks.size());
  }
  ASSERT_EQ(at_first.size(), 4u);
  EXPECT_LE(at_first[1], 12u);
  EXPECT_GT(at_first[1], 4u) << "half of them in the first quarter would be its share alone";
  EXPECT_GT(at_first[3], 12u);
}

TEST(KvShares, JoinsTheUnitOfAPrefixWhileItsLoadIsAtMostTwiceTheLeast) {
  for (const bool has_other_work : {true, false}) {
    KvCache cache(kSharedPageTokens, Placement::kSequences, true);
    for (int unit = 0; unit < 2; ++unit) cache.add_unit(40, 1.0);
    PageTable first, other, joins;
    const std::vector<TokenId> tokens(6 * kSharedPageTokens, 7);
    ASSERT_TRUE(cache.extend(first, tokens.size()));
    cache.publish(first, tokens, tokens.size());
    if (has_other_work) {
      ASSERT_TRUE(cache.extend(other, 4 * kSharedPageTokens));
    }
    EXPECT_EQ(cache.attach(joins, std::span(tokens).first(3 * kSharedPageTokens)),
              2u * kSharedPageTokens);
    ASSERT_TRUE(cache.extend(joins, 3 * kSharedPageTokens));
    EXPECT_EQ(joins.blocks.back().unit, has_other_work ? 0 : 1) << "7 pages here, 5 or 1 there";
    for (PageTable* table : {&first, &other, &joins}) cache.release(*table);
  }
}

}  // namespace
}  // namespace tandem::engine
