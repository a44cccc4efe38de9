// SPDX-License-Identifier: Apache-2.0
//
// Page tables, prefix reuse and placement, by example.
#include "engine/kv_cache/kv_cache.h"

#include <gmock/gmock.h>

namespace tandem::engine {
namespace {

constexpr int kPageTokens = 4;

std::vector<TokenId> count_up(std::size_t length, TokenId first = 0) {
  std::vector<TokenId> tokens(length);
  for (std::size_t i = 0; i < length; ++i) tokens[i] = first + static_cast<TokenId>(i);
  return tokens;
}

KvCache cache_of(std::initializer_list<std::uint32_t> pages,
                 Placement placement = Placement::kSequences, bool prefix_cache = true) {
  KvCache cache(kPageTokens, placement, prefix_cache);
  for (const std::uint32_t num_pages : pages) cache.add_unit(num_pages, 1.0);
  return cache;
}

PageTable computed(KvCache& cache, const std::vector<TokenId>& tokens) {
  PageTable table;
  cache.attach(table, tokens);
  EXPECT_TRUE(cache.extend(table, tokens.size()));
  cache.publish(table, tokens, tokens.size());
  return table;
}

TEST(KvCache, TakesABlockPerPageOfTokens) {
  KvCache cache = cache_of({8});
  PageTable table;
  EXPECT_TRUE(cache.extend(table, 4));
  EXPECT_EQ(table.blocks.size(), 1u);
  EXPECT_TRUE(cache.extend(table, 5));
  EXPECT_EQ(table.blocks.size(), 2u);
  EXPECT_EQ(cache.num_available(), 6u);
  cache.release(table);
  EXPECT_EQ(cache.num_available(), 8u);
  EXPECT_EQ(cache.unit_pages(0).used, 0u);
}

TEST(KvCache, ChangesNothingWhenPagesDoNotSuffice) {
  KvCache cache = cache_of({2});
  PageTable table;
  ASSERT_TRUE(cache.extend(table, 3));
  EXPECT_FALSE(cache.extend(table, 9));
  EXPECT_EQ(table.blocks.size(), 1u);
  EXPECT_EQ(cache.num_available(), 1u);
  cache.release(table);
}

TEST(KvCache, SharesThePagesOfAComputedPrefix) {
  KvCache cache = cache_of({8});
  const auto tokens = count_up(10);
  PageTable first = computed(cache, tokens);
  PageTable second;
  EXPECT_EQ(cache.attach(second, tokens), 8u);
  EXPECT_EQ(second.blocks[0], first.blocks[0]);
  EXPECT_EQ(second.blocks[1], first.blocks[1]);
  EXPECT_EQ(cache.num_sole(first), 1u) << "only the open block would come back";
  cache.release(first);
  EXPECT_EQ(cache.unit_pages(0).used, 2u);
  cache.release(second);
  EXPECT_EQ(cache.unit_pages(0).used, 0u);
  EXPECT_EQ(cache.unit_pages(0).idle, 2u);
}

TEST(KvCache, AlwaysLeavesATokenToCompute) {
  KvCache cache = cache_of({8});
  PageTable first = computed(cache, count_up(8));
  EXPECT_EQ(cache.probe(count_up(8)).num_blocks, 1u);
  EXPECT_EQ(cache.probe(count_up(9)).num_blocks, 2u);
  EXPECT_EQ(cache.probe(count_up(4)).num_blocks, 0u);
  cache.release(first);
}

TEST(KvCache, FindsABlockOnlyBehindItsOwnPrefix) {
  KvCache cache = cache_of({8});
  PageTable first = computed(cache, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(cache.probe(std::vector<TokenId>{9, 9, 9, 9, 5, 6, 7, 8, 0}).num_blocks, 0u);
  EXPECT_EQ(cache.probe(std::vector<TokenId>{5, 6, 7, 8, 0}).num_blocks, 0u);
  cache.release(first);
}

TEST(KvCache, DoesNotTrustAHash) {
  const auto collide = [](PrefixKey, std::span<const TokenId>) { return PrefixKey{42}; };
  KvCache cache(kPageTokens, Placement::kSequences, true, collide);
  cache.add_unit(8, 1.0);
  PageTable first = computed(cache, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(cache.probe(std::vector<TokenId>{1, 2, 3, 4, 0}).num_blocks, 1u);
  EXPECT_EQ(cache.probe(std::vector<TokenId>{9, 2, 3, 4, 0}).num_blocks, 0u);
  EXPECT_EQ(cache.probe(std::vector<TokenId>{1, 2, 3, 4, 5, 6, 7, 8, 0}).num_blocks, 1u);
  PageTable second = computed(cache, {9, 2, 3, 4});
  EXPECT_NE(second.blocks[0], first.blocks[0]);
  cache.release(first);
  cache.release(second);
  EXPECT_EQ(cache.num_available(), 8u);
}

TEST(KvCache, TablesWithAnotherSaltShareNothingWhateverTheHash) {
  const auto collide = [](PrefixKey, std::span<const TokenId>) -> PrefixKey { return 7; };
  for (const PrefixIndex::Hash hash : {PrefixIndex::Hash(hash_block), PrefixIndex::Hash(collide)}) {
    KvCache cache(kPageTokens, Placement::kSequences, true, hash);
    cache.add_unit(8, 1.0);
    const auto tokens = count_up(9);
    PageTable first;
    first.salt = 1;
    ASSERT_TRUE(cache.extend(first, 9));  // without attach(), as for scores of a prompt
    cache.publish(first, tokens, 9);
    EXPECT_EQ(cache.probe(tokens).num_blocks, 0u);
    EXPECT_EQ(cache.probe(tokens, 2).num_blocks, 0u);
    EXPECT_GT(cache.probe(tokens, 1).num_blocks, 0u);
    PageTable second;
    second.salt = 2;
    EXPECT_EQ(cache.attach(second, tokens), 0u);
    cache.release(first);
    EXPECT_EQ(first.salt, 1u) << "a preempted sequence is still its caller's";
    EXPECT_GT(cache.attach(first, tokens), 0u);
  }
}

TEST(KvCache, EvictsTheLongestIdleTailFirst) {
  KvCache cache = cache_of({4});
  PageTable first = computed(cache, count_up(8));
  cache.release(first);
  PageTable other;
  ASSERT_TRUE(cache.extend(other, 12));
  EXPECT_EQ(cache.probe(count_up(9)).num_blocks, 1u) << "the head of the prefix outlives its tail";
  cache.release(other);
}

TEST(KvCache, FindsNothingWhenThePrefixCacheIsOff) {
  KvCache cache = cache_of({8}, Placement::kSequences, false);
  PageTable first = computed(cache, count_up(8));
  EXPECT_EQ(cache.probe(count_up(9)).num_blocks, 0u);
  cache.release(first);
  EXPECT_EQ(cache.unit_pages(0).idle, 0u);
}

TEST(KvCache, KeepsASequenceOnOneUnitUntilThatIsFull) {
  KvCache cache = cache_of({4, 6});
  PageTable table;
  for (std::size_t tokens = 1; tokens <= 24; ++tokens) ASSERT_TRUE(cache.extend(table, tokens));
  EXPECT_THAT(table.held, testing::ElementsAre(4u, 2u));
  cache.release(table);
  ASSERT_TRUE(cache.extend(table, 24));
  EXPECT_THAT(table.held, testing::ElementsAre(0u, 6u)) << "it fits whole on the second";
  cache.release(table);
}

TEST(KvCache, JoinsTheUnitOfAPrefixWhileItsLoadIsAtMostTwiceTheLeast) {
  for (const bool has_other_work : {true, false}) {
    KvCache cache = cache_of({40, 40});
    PageTable first = computed(cache, count_up(24)), other, joins;
    if (has_other_work) {
      ASSERT_TRUE(cache.extend(other, 16));
    }
    auto tokens = count_up(8);
    tokens.resize(12, 99);
    EXPECT_EQ(cache.attach(joins, tokens), 8u);
    ASSERT_TRUE(cache.extend(joins, tokens.size()));
    EXPECT_EQ(joins.blocks.back().unit, has_other_work ? 0 : 1) << "7 pages here, 5 or 1 there";
    for (PageTable* table : {&first, &other, &joins}) cache.release(*table);
  }
}

TEST(KvCache, SpreadsSequencesByBandwidth) {
  KvCache cache(kPageTokens, Placement::kSequences, false);
  cache.add_unit(100, 1.0);
  cache.add_unit(100, 3.0);
  std::vector<PageTable> tables(40);
  for (PageTable& table : tables) ASSERT_TRUE(cache.extend(table, 4));
  EXPECT_EQ(cache.unit_pages(0).used, 10u);
  EXPECT_EQ(cache.unit_pages(1).used, 30u);
  for (PageTable& table : tables) cache.release(table);
}

TEST(KvCache, DealsBlocksByBandwidthAndSparesAFullUnit) {
  KvCache cache(kPageTokens, Placement::kPages, false);
  cache.add_unit(1000, 1.0);
  cache.add_unit(1000, 3.0);
  PageTable table;
  ASSERT_TRUE(cache.extend(table, 80 * kPageTokens));
  EXPECT_NEAR(table.held[0], 20, 2);
  cache.release(table);

  KvCache small(kPageTokens, Placement::kPages, false);
  small.add_unit(4, 1.0);
  small.add_unit(100, 1.0);
  ASSERT_TRUE(small.extend(table, 104 * kPageTokens)) << "every page can be had";
  EXPECT_THAT(table.held, testing::ElementsAre(4u, 100u));
  small.release(table);
}

TEST(KvCache, InterleavesInEqualSharesWhateverTheBandwidth) {
  KvCache cache(kPageTokens, Placement::kInterleave, false);
  cache.add_unit(1000, 1.0);
  cache.add_unit(1000, 100.0);
  cache.add_unit(1000, 10.0);
  PageTable table;
  ASSERT_TRUE(cache.extend(table, 9 * kPageTokens));
  EXPECT_THAT(table.held, testing::ElementsAre(3u, 3u, 3u));
  cache.release(table);
}

TEST(KvCache, MovesASharedPageForAllWhoHoldIt) {
  KvCache cache = cache_of({8, 8});
  const auto tokens = count_up(10);
  PageTable first = computed(cache, tokens), second;
  ASSERT_EQ(cache.attach(second, tokens), 8u);
  const BlockPlace from = first.blocks[1];
  const auto to = cache.reserve(1 - from.unit);
  ASSERT_TRUE(to);
  PageTable* tables[] = {&first, &second};
  cache.relocate(from, *to, tables);
  EXPECT_EQ(first.blocks[1], *to);
  EXPECT_EQ(second.blocks[1], *to);
  EXPECT_TRUE(KvCache::touches(first, to->unit));
  EXPECT_EQ(cache.unit_pages(from.unit).used, 2u);
  EXPECT_EQ(cache.unit_pages(to->unit).used, 1u);
  cache.release(first);
  cache.release(second);
  EXPECT_EQ(cache.unit_pages(to->unit).idle, 1u);
  PageTable third;
  EXPECT_EQ(cache.attach(third, tokens), 8u) << "the prefix is found where it is";
  EXPECT_EQ(third.blocks[1], *to);
  cache.release(third);
}

TEST(KvCache, ForgetsWhatALostUnitHeld) {
  KvCache cache = cache_of({4, 4}, Placement::kPages);
  const auto tokens = count_up(16);
  PageTable table = computed(cache, tokens);
  ASSERT_TRUE(KvCache::touches(table, 0));
  ASSERT_TRUE(KvCache::touches(table, 1));
  cache.lose_unit(0);
  EXPECT_EQ(cache.num_pages(), 4u);
  cache.release(table);
  EXPECT_EQ(cache.num_available(), 4u);
  EXPECT_EQ(cache.probe(tokens).num_blocks, 0u) << "the chain begins on the lost unit";
  EXPECT_EQ(cache.add_unit(2, 1.0), 2);
  ASSERT_TRUE(cache.extend(table, 24));
  EXPECT_THAT(table.held, testing::ElementsAre(0u, 4u, 2u));
  cache.release(table);
}

TEST(KvCache, GivesTheNumberOfALostUnitToTheOneThatComesBack) {
  KvCache cache = cache_of({4, 4}, Placement::kPages);
  const auto tokens = count_up(16);
  PageTable table = computed(cache, tokens);
  cache.lose_unit(0);
  cache.release(table);
  cache.return_unit(0, 3);
  EXPECT_TRUE(cache.unit_pages(0).alive);
  EXPECT_EQ(cache.unit_pages(0).total, 3u);
  EXPECT_EQ(cache.num_pages(), 7u);
  EXPECT_EQ(cache.probe(tokens).num_blocks, 0u) << "its pages are empty";
  ASSERT_TRUE(cache.extend(table, 28));
  EXPECT_THAT(table.held, testing::ElementsAre(3u, 4u));
  cache.release(table);
  EXPECT_EQ(cache.num_available(), 7u);
}

TEST(KvCache, FindsAWholePrefixAgainThatWasRebuiltAfterALoss) {
  KvCache cache = cache_of({8, 8}, Placement::kPages);
  const auto tokens = count_up(17);
  PageTable table = computed(cache, tokens);
  ASSERT_TRUE(KvCache::touches(table, 0) && KvCache::touches(table, 1));
  cache.lose_unit(table.blocks[0].unit);
  cache.release(table);
  table = computed(cache, tokens);
  EXPECT_EQ(cache.probe(tokens).num_blocks, 4u);
  EXPECT_EQ(cache.probe(tokens).num_in_use, 4u);
  cache.release(table);
  EXPECT_EQ(cache.probe(tokens).num_blocks, 4u);
  EXPECT_EQ(cache.num_available(), 8u);
  ASSERT_TRUE(cache.extend(table, 32)) << "every page can be had, each once";
  EXPECT_EQ(cache.probe(tokens).num_blocks, 0u);
  cache.release(table);
}

TEST(KvCache, KeepsAPrefixThatATwinStillHolds) {
  KvCache cache = cache_of({8});
  const auto tokens = count_up(13);
  PageTable first, twin, other;
  ASSERT_TRUE(cache.extend(first, 8));
  ASSERT_TRUE(cache.extend(twin, 8));
  cache.publish(first, tokens, 8);
  cache.publish(twin, tokens, 8);  // its pages stay private
  cache.release(first);
  ASSERT_TRUE(cache.extend(other, 24)) << "takes the pages of the first";
  cache.release(other);
  ASSERT_TRUE(cache.extend(twin, 13));
  cache.publish(twin, tokens, 13);
  EXPECT_EQ(cache.probe(tokens).num_blocks, 3u);
  cache.release(twin);
  EXPECT_EQ(cache.unit_pages(0).idle, 3u);
}

TEST(KvCache, OnlyPagesThatASequenceHoldsAreInUse) {
  KvCache cache = cache_of({8});
  const auto tokens = count_up(9);
  PageTable table = computed(cache, tokens);
  EXPECT_EQ(cache.probe(tokens).num_in_use, 2u);
  cache.release(table);
  EXPECT_EQ(cache.probe(tokens).num_blocks, 2u);
  EXPECT_EQ(cache.probe(tokens).num_in_use, 0u)
      << "attaching to them takes them from the idle ones";
}

// The first sequence has all its 50 pages; the second has 10 and will have 60.
TEST(KvCache, WhatASequenceHoldsAlreadyIsNoGrowth) {
  KvCache cache = cache_of({100, 100});
  PageTable first, second, third;
  ASSERT_TRUE(cache.extend(first, 50 * kPageTokens, 50 * kPageTokens));
  ASSERT_TRUE(cache.extend(second, 10 * kPageTokens, 60 * kPageTokens));
  ASSERT_NE(first.blocks.back().unit, second.blocks.back().unit);
  ASSERT_TRUE(cache.extend(third, kPageTokens));
  EXPECT_EQ(third.blocks.back().unit, first.blocks.back().unit);
}

}  // namespace
}  // namespace tandem::engine
