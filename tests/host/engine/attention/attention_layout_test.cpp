// SPDX-License-Identifier: Apache-2.0
//
// The layout of a sub-batch against a token-by-token model: every new token is appended once, in
// its slot, and every query attends to every token of its window exactly once.
#include "engine/attention/attention_layout.h"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>

namespace tandem::engine {
namespace {

constexpr int kLayoutPageTokens = 4;

// Replays a layout on pages that remember which token (sequence, position) they hold.
class Replay {
 public:
  using Token = std::pair<std::size_t, int>;

  Replay(const std::vector<RowGroup>& groups, const AttentionLayout& layout, int window)
      : groups_(groups), layout_(layout), window_(window) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (int position = 0; position < groups[i].past; ++position) {
        pages_[slot(i, position)] = {i, position};
      }
    }
  }

  void run() {
    for (const UnitShare& share : layout_.shares) {
      for (const auto& entry : share.sequences) append(share, entry);
      for (const auto& entry : share.sequences) attend(share, entry);
      std::multiset<int> answered(share.rows.begin(), share.rows.end());
      EXPECT_EQ(answered, (rows_answered_[{share.unit, share.ragged, share.part}]));
      EXPECT_EQ(std::set<int>(answered.begin(), answered.end()).size(), answered.size())
          << "a share answers a row once";
    }
    for (const auto& chunk : layout_.chunks) {
      for (int i = 0; i < chunk.num_rows; ++i) {
        const auto [sequence, position] = token_of(chunk.row_begin + i);
        for (int past = std::max(position - i, begin_of(position)); past <= position; ++past) {
          seen_[chunk.row_begin + i].insert({sequence, past});
        }
      }
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      for (int row = 0; row < groups_[i].num_rows; ++row) {
        const int position = groups_[i].past + row;
        EXPECT_EQ((pages_[slot(i, position)]), (Token{i, position})) << "appended in its slot";
        std::multiset<Token> expected;
        for (int p = begin_of(position); p <= position; ++p) expected.insert({i, p});
        EXPECT_EQ(seen_[groups_[i].row_begin + row], expected)
            << "row " << row << " of group " << i;
      }
    }
    EXPECT_EQ(appended_, total_rows()) << "each token once";
  }

 private:
  using Slot = std::tuple<int, PageId, int>;  // unit, page, token in the page
  int begin_of(int position) const {          // the first token that this one sees
    return window_ > 0 ? std::max(0, position + 1 - window_) : 0;
  }
  Slot slot(std::size_t group, int position) const {
    const BlockPlace& place =
        groups_[group].blocks[static_cast<std::size_t>(position / kLayoutPageTokens)];
    return {place.unit, place.page, position % kLayoutPageTokens};
  }
  Slot slot(const UnitShare& share, const device::AttentionSequence& entry, int held) const {
    EXPECT_LT(held / kLayoutPageTokens, entry.num_pages);
    return {share.unit,
            share.pages[static_cast<std::size_t>(entry.page_begin + held / kLayoutPageTokens)],
            held % kLayoutPageTokens};
  }
  Token token_of(int row) const {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const int inside = row - groups_[i].row_begin;
      if (inside >= 0 && inside < groups_[i].num_rows) return {i, groups_[i].past + inside};
    }
    ADD_FAILURE() << "row " << row << " belongs to no group";
    return {};
  }
  int total_rows() const {
    int rows = 0;
    for (const RowGroup& group : groups_) rows += group.num_rows;
    return rows;
  }
  void append(const UnitShare& share, const device::AttentionSequence& entry) {
    for (int i = 0; i < entry.num_new; ++i) {
      const int row = share.rows_read.begin + entry.new_begin + i;
      EXPECT_GE(row, share.new_rows.begin);
      EXPECT_LT(row, share.new_rows.end);
      EXPECT_LE(share.new_rows.end, share.rows_read.end);
      EXPECT_NE(share.part, SharePart::kQueries);
      pages_[slot(share, entry, entry.append_at + i)] = token_of(row);
      ++appended_;
    }
  }
  void attend(const UnitShare& share, const device::AttentionSequence& entry) {
    for (int i = 0; i < entry.num_q; ++i) {
      const int row = share.rows_read.begin + entry.q_begin + i;
      EXPECT_GE(row, share.q_rows.begin);
      EXPECT_LT(row, share.q_rows.end);
      EXPECT_LE(share.q_rows.end, share.rows_read.end);
      EXPECT_NE(share.part, SharePart::kAppends);
      rows_answered_[{share.unit, share.ragged, share.part}].insert(row);
      for (int held = entry.attend_begin; held < entry.num_attend; ++held) {
        seen_[row].insert(pages_.at(slot(share, entry, held)));
      }
    }
  }

  const std::vector<RowGroup>& groups_;
  const AttentionLayout& layout_;
  const int window_;
  std::map<Slot, Token> pages_;
  std::map<int, std::multiset<Token>> seen_;
  std::map<std::tuple<int, bool, SharePart>, std::multiset<int>> rows_answered_;
  int appended_ = 0;
};

TEST(AttentionLayout, LetsEveryQueryMeetEveryTokenOnce) {
  AttentionLayout layout;  // reused, as the executor does
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int num_units = 1 + static_cast<int>(random() % 3);
    const bool dealt = random() % 2 == 0;
    std::vector<std::vector<BlockPlace>> tables;
    std::vector<RowGroup> groups;
    std::vector<PageId> next_page(3);
    int row = 0;
    const std::size_t num_groups = 1 + random() % 5;
    for (std::size_t i = 0; i < num_groups; ++i) {
      const int past = static_cast<int>(random() % 20);
      const int num_rows = random() % 2 ? 1 : 1 + static_cast<int>(random() % 15);
      const int home = static_cast<int>(random() % static_cast<unsigned>(num_units));
      std::vector<BlockPlace>& table = tables.emplace_back();
      const int spare = static_cast<int>(random() % 3);
      for (int first = 0; first < past + num_rows + spare * kLayoutPageTokens;
           first += kLayoutPageTokens) {
        const int unit =
            dealt ? static_cast<int>(random() % static_cast<unsigned>(num_units)) : home;
        table.push_back({unit, next_page[static_cast<std::size_t>(unit)]++});
      }
      groups.push_back({table, past, num_rows, row});
      row += num_rows;
    }
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i].blocks = tables[i];
    std::vector<bool> early;
    for (int unit = 0; unit < num_units; ++unit) early.push_back(random() % 3 == 0);
    for (const int window : {0, 1, 2, kLayoutPageTokens, 7, 11, 100}) {
      SCOPED_TRACE(window);
      layout.build(groups, kLayoutPageTokens, early, window);
      Replay(groups, layout, window).run();
    }
  }
}

TEST(AttentionLayout, NeedsNoMergeWhenOnePartialIsTheWholeAnswer) {
  const std::vector<BlockPlace> left = {{0, 0}, {0, 1}}, right = {{1, 0}, {1, 1}};
  AttentionLayout layout;
  const RowGroup decodes[] = {{left, 4, 1, 0}, {left, 5, 1, 1}};
  layout.build(decodes, kLayoutPageTokens, {false, false});
  EXPECT_EQ(layout.only_share, 0);
  const RowGroup apart[] = {{left, 4, 1, 0}, {right, 5, 1, 1}};
  layout.build(apart, kLayoutPageTokens, {false, false});
  EXPECT_EQ(layout.only_share, -1);
  const RowGroup fresh[] = {{left, 0, 6, 0}};
  layout.build(fresh, kLayoutPageTokens, {false, false});
  EXPECT_TRUE(layout.only_causal);
  const RowGroup later[] = {{left, 4, 3, 0}};
  layout.build(later, kLayoutPageTokens, {false, false});
  EXPECT_FALSE(layout.only_causal);
  EXPECT_EQ(layout.only_share, -1);
}

TEST(AttentionLayout, LeavesOutPagesBeforeTheWindow) {
  const std::vector<BlockPlace> blocks = {{0, 5}, {0, 6}, {0, 7}, {0, 8}};
  AttentionLayout layout;
  const RowGroup decode[] = {{blocks, 13, 1, 0}};  // sees 9..13
  layout.build(decode, kLayoutPageTokens, {false}, 5);
  ASSERT_EQ(layout.shares.size(), 1u);
  EXPECT_EQ(layout.shares[0].pages, (std::vector<PageId>{7, 8}));
  EXPECT_EQ(layout.shares[0].sequences[0].append_at, 5);
  EXPECT_EQ(layout.shares[0].sequences[0].attend_begin, 1);
  EXPECT_EQ(layout.shares[0].sequences[0].num_attend, 6);
}

TEST(AttentionLayout, ReadsWhatAllRowsOfAChunkSeeOnce) {
  const std::vector<BlockPlace> blocks = {{0, 0}, {0, 1}, {0, 2}, {0, 3}};
  AttentionLayout layout;
  const RowGroup chunk[] = {{blocks, 12, 3, 0}};  // 5..12, 6..13, 7..14
  layout.build(chunk, kLayoutPageTokens, {false}, 8);
  ASSERT_EQ(layout.shares.size(), 2u);
  ASSERT_EQ(layout.shares[0].sequences.size(), 1u);
  EXPECT_EQ(layout.shares[0].sequences[0].num_q, 3);
  EXPECT_EQ(layout.shares[0].sequences[0].attend_begin, 3);  // the first page is left out
  EXPECT_EQ(layout.shares[0].sequences[0].num_attend, 8);
  EXPECT_TRUE(layout.shares[1].ragged);
  EXPECT_EQ(layout.shares[1].rows, (std::vector<std::int32_t>{0, 1}));
}

TEST(AttentionLayout, GivesAUnitOnlyTheRowsItNeeds) {
  const std::vector<BlockPlace> left = {{0, 0}, {0, 1}}, right = {{1, 0}, {1, 1}};
  const RowGroup groups[] = {{left, 4, 1, 0}, {left, 2, 1, 1}, {right, 5, 1, 2}};
  AttentionLayout layout;
  layout.build(groups, kLayoutPageTokens, {false, false});
  ASSERT_EQ(layout.shares.size(), 2u);
  EXPECT_EQ(layout.shares[0].rows_read.begin, 0);
  EXPECT_EQ(layout.shares[0].rows_read.end, 2);
  EXPECT_EQ(layout.shares[1].rows_read.begin, 2);
  EXPECT_EQ(layout.shares[1].rows_read.end, 3);
  EXPECT_EQ(layout.shares[1].sequences[0].q_begin, 0);
}

TEST(AttentionLayout, AsksAUnitForThePastBeforeItAppends) {
  const std::vector<BlockPlace> card = {{0, 0}, {0, 1}}, host = {{1, 0}, {1, 1}};
  const RowGroup groups[] = {{card, 5, 1, 0}, {host, 5, 1, 1}};
  AttentionLayout layout;
  layout.build(groups, kLayoutPageTokens, {true, false});
  ASSERT_EQ(layout.shares.size(), 3u);
  EXPECT_EQ(layout.shares[0].part, SharePart::kQueries);
  EXPECT_EQ(layout.shares[0].sequences[0].num_attend, 5);
  EXPECT_TRUE(layout.shares[0].new_rows.empty());
  EXPECT_EQ(layout.shares[1].part, SharePart::kAppends);
  EXPECT_EQ(layout.shares[1].sequences[0].append_at, 5);
  EXPECT_TRUE(layout.shares[1].rows.empty());
  EXPECT_EQ(layout.shares[2].part, SharePart::kAll);
  EXPECT_EQ(layout.shares[2].sequences[0].num_attend, 6);
  EXPECT_EQ(layout.chunk_rows, (std::vector<std::int32_t>{0})) << "its newest token by itself";
}

}  // namespace
}  // namespace tandem::engine
