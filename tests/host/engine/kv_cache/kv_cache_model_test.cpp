// SPDX-License-Identifier: Apache-2.0
//
// Random operations on the KV cache, against a naive model of what its pages hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "engine/kv_cache/kv_cache.h"

namespace tandem::engine {
namespace {

constexpr int kModelPageTokens = 4;

using Live = std::vector<std::pair<PageTable, std::vector<TokenId>>>;

// The naive model knows pages by what they hold: every block of a table in use stands for a prefix,
// no page serves two prefixes, an open block belongs to one sequence, and pages in use are counted.
void check_pages(const KvCache& cache, const Live& live, int num_units) {
  std::map<std::pair<int, PageId>, std::vector<TokenId>> holds;
  for (std::size_t i = 0; i < live.size(); ++i) {
    const auto& [table, tokens] = live[i];
    for (std::size_t block = 0; block < table.blocks.size(); ++block) {
      const std::size_t end = std::min((block + 1) * kModelPageTokens, tokens.size());
      std::vector<TokenId> prefix(tokens.begin(),
                                  tokens.begin() + static_cast<std::ptrdiff_t>(end));
      if (end % kModelPageTokens != 0) prefix.push_back(-1 - static_cast<TokenId>(i));
      const auto key = std::pair(table.blocks[block].unit, table.blocks[block].page);
      const auto [it, added] = holds.try_emplace(key, prefix);
      ASSERT_TRUE(added || it->second == prefix) << "one page, two prefixes";
    }
  }
  std::vector<std::uint32_t> used(static_cast<std::size_t>(num_units));
  for (const auto& [key, prefix] : holds) ++used[static_cast<std::size_t>(key.first)];
  for (int unit = 0; unit < num_units; ++unit) {
    const UnitPages pages = cache.unit_pages(unit);
    ASSERT_EQ(pages.used, used[static_cast<std::size_t>(unit)]);
    ASSERT_LE(pages.used + pages.idle, pages.total);
  }
}

// One random operation on the cache and on what the naive model knows of it.
class RandomUse {
 public:
  explicit RandomUse(std::uint32_t seed)
      : random_(seed),
        num_units_(1 + static_cast<int>(pick(3))),
        prefix_cache_(pick(4) > 0),
        cache_(kModelPageTokens, pick(2) ? Placement::kPages : Placement::kSequences,
               prefix_cache_) {
    for (int unit = 0; unit < num_units_; ++unit) {
      cache_.add_unit(static_cast<std::uint32_t>(1 + pick(12)), static_cast<double>(1 + pick(3)));
    }
  }

  void step() {
    const std::size_t action = pick(5);
    if (num_lost_ + 1 < num_units_ && pick(80) == 0) {
      lose(num_lost_++);
    } else if (action == 0 || live_.empty()) {
      begin();
    } else if (action == 1) {
      auto& [table, tokens] = live_[pick(live_.size())];
      const std::size_t full = prefix_cache_ ? tokens.size() / kModelPageTokens : 0;
      const bool has_news = table.num_published < full;
      cache_.publish(table, tokens, tokens.size());
      auto longer = tokens;
      longer.push_back(0);
      if (has_news) {
        ASSERT_EQ(cache_.probe(longer).num_blocks, full);
      }
    } else if (action == 2) {
      auto& [table, tokens] = live_[pick(live_.size())];
      if (cache_.extend(table, tokens.size() + 1)) tokens.push_back(static_cast<TokenId>(pick(2)));
    } else if (action == 3) {
      move(live_[pick(live_.size())].first);
    } else {
      end(pick(live_.size()));
    }
    ASSERT_NO_FATAL_FAILURE(check_pages(cache_, live_, num_units_));
  }

  void finish() {
    while (!live_.empty()) end(live_.size() - 1);
    EXPECT_EQ(cache_.num_available(), cache_.num_pages());
  }

 private:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  void begin() {
    // Few distinct tokens, so that prefixes are often shared.
    std::vector<TokenId> tokens(1 + pick(20));
    for (TokenId& token : tokens) token = static_cast<TokenId>(pick(12) == 0);
    PageTable table;
    const PrefixProbe probe = cache_.probe(tokens);
    ASSERT_EQ(cache_.attach(table, tokens), probe.num_blocks * kModelPageTokens);
    ASSERT_LT(table.blocks.size() * kModelPageTokens, tokens.size());
    const std::size_t missing = cache_.blocks_for(tokens.size()) - table.blocks.size();
    const bool fits = missing <= cache_.num_available();
    ASSERT_EQ(cache_.extend(table, tokens.size()), fits);
    if (fits) {
      live_.emplace_back(std::move(table), std::move(tokens));
    } else {
      cache_.release(table);
    }
  }

  void lose(int unit) {
    cache_.lose_unit(unit);
    for (std::size_t i = live_.size(); i > 0; --i) {
      if (!KvCache::touches(live_[i - 1].first, unit)) continue;
      cache_.release(live_[i - 1].first);
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
  }

  // Any page to any unit; now and then the unit that it comes from or goes to dies on the way.
  void move(const PageTable& table) {
    const BlockPlace from = table.blocks[pick(table.blocks.size())];
    const int unit = static_cast<int>(pick(static_cast<std::size_t>(num_units_)));
    const bool can =
        unit >= num_lost_ && cache_.unit_pages(unit).used < cache_.unit_pages(unit).total;
    const auto to = cache_.reserve(unit);
    ASSERT_EQ(to.has_value(), can);
    if (!to) return;
    if (num_lost_ + 1 < num_units_ && pick(20) == 0) {
      lose(num_lost_++);
      cache_.give_back(*to);
      return;
    }
    std::vector<PageTable*> tables;
    for (auto& [other, tokens] : live_) tables.push_back(&other);
    cache_.relocate(from, *to, tables);
  }

  void end(std::size_t index) {
    const std::uint32_t sole = cache_.num_sole(live_[index].first);
    const std::uint32_t before = cache_.num_available();
    cache_.release(live_[index].first);
    ASSERT_EQ(cache_.num_available(), before + sole);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  std::mt19937 random_;
  int num_units_;
  int num_lost_ = 0;
  bool prefix_cache_;
  KvCache cache_;
  Live live_;
};

TEST(KvCacheModel, AgreesWithANaiveModelUnderRandomOperations) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomUse use(seed);
    for (int step = 0; step < 200; ++step) ASSERT_NO_FATAL_FAILURE(use.step());
    use.finish();
  }
}

}  // namespace
}  // namespace tandem::engine
