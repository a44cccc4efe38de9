// SPDX-License-Identifier: Apache-2.0
//
// AttentionLayout: walks each group's blocks once per unit.
//
// Tokens held on a unit are numbered in the order of its blocks; all blocks but the sequence's last
// are full, so a block that starts on the unit as its n-th begins at token n * page_tokens there.
// New rows in blocks that are neighbours both in the sequence and on the unit form one append
// segment; the first segment also carries the queries.
#include "engine/attention_layout.h"

#include <algorithm>

namespace tandem::engine {
namespace {

struct Segment {
  int new_row = 0;  // first row, in the group
  int num_new = 0;
  int append_at = 0;  // on the unit
};

// Calls visit(segment) for every append segment of the group on `unit`, in order, and returns
// how many tokens of the past the unit holds.
template <typename Visit>
int walk(const RowGroup& group, int page_tokens, int unit, std::vector<device::PageId>& pages,
         const Visit& visit) {
  const int end = group.past + group.num_rows;
  int held_past = 0, held = 0;  // tokens on the unit before this block
  Segment open;
  for (int block = 0, first = 0; first < end; ++block, first += page_tokens) {
    if (group.blocks[block].unit != unit) {
      if (open.num_new > 0) visit(open);
      open = {};
      continue;
    }
    pages.push_back(group.blocks[block].page);
    const int last = std::min(first + page_tokens, end);
    held_past += std::clamp(group.past - first, 0, page_tokens);
    const int new_first = std::max(first, group.past);
    if (new_first < last) {
      if (open.num_new == 0) open = {new_first - group.past, 0, held + new_first - first};
      open.num_new += last - new_first;
    }
    held += page_tokens;
  }
  if (open.num_new > 0) visit(open);
  return held_past;
}

}  // namespace

int home_unit(const RowGroup& group, int page_tokens) {
  return group.blocks[(group.past + group.num_rows - 1) / page_tokens].unit;
}

void AttentionLayout::build(std::span<const RowGroup> groups, int page_tokens, int num_units) {
  for (UnitShare& share : shares) spare_.push_back(std::move(share));
  shares.clear();
  chunks.clear();
  chunk_rows.clear();
  int num_rows = 0;
  for (const RowGroup& group : groups) {
    num_rows += group.num_rows;
    if (group.num_rows == 1) continue;
    chunks.push_back({group.row_begin, group.num_rows});
    for (int i = 0; i < group.num_rows; ++i) chunk_rows.push_back(group.row_begin + i);
  }
  for (int unit = 0; unit < num_units; ++unit) {
    UnitShare share = take_spare();
    share.unit = unit;
    for (const RowGroup& group : groups) add_group(group, page_tokens, share);
    for (device::AttentionSequence& sequence : share.sequences) {
      sequence.q_begin -= sequence.num_q > 0 ? share.row_begin : 0;
      sequence.new_begin -= sequence.num_new > 0 ? share.row_begin : 0;
    }
    (share.sequences.empty() ? spare_ : shares).push_back(std::move(share));
  }
  find_whole_answer(num_rows);
}

UnitShare AttentionLayout::take_spare() {
  UnitShare share;
  if (!spare_.empty()) {
    share = std::move(spare_.back());
    spare_.pop_back();
  }
  share.row_begin = share.row_end = 0;
  share.sequences.clear();
  share.pages.clear();
  share.rows.clear();
  return share;
}

void AttentionLayout::find_whole_answer(int num_rows) {
  std::size_t num_answered = chunk_rows.size();
  std::size_t num_partials = chunks.empty() ? 0 : 1;
  for (const UnitShare& share : shares) {
    num_answered += share.rows.size();
    num_partials += share.rows.empty() ? 0 : 1;
  }
  only_share = -1;
  only_causal = false;
  if (num_partials != 1 || num_answered != static_cast<std::size_t>(num_rows)) return;
  only_causal = !chunks.empty();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (!shares[i].rows.empty()) only_share = static_cast<int>(i);
  }
}

void AttentionLayout::add_group(const RowGroup& group, int page_tokens, UnitShare& share) {
  const auto cover = [&](int begin, int count) {
    if (share.row_begin == share.row_end) share.row_begin = begin, share.row_end = begin + count;
    share.row_begin = std::min(share.row_begin, begin);
    share.row_end = std::max(share.row_end, begin + count);
  };
  const auto page_begin = static_cast<std::int32_t>(share.pages.size());
  const std::size_t first_entry = share.sequences.size();
  const int held_past =
      walk(group, page_tokens, share.unit, share.pages, [&](const Segment& segment) {
        device::AttentionSequence entry;
        entry.new_begin = group.row_begin + segment.new_row;
        entry.num_new = segment.num_new;
        entry.append_at = segment.append_at;
        cover(entry.new_begin, entry.num_new);
        share.sequences.push_back(entry);
      });
  const bool appends = share.sequences.size() > first_entry;
  const bool decode = group.num_rows == 1;
  const int num_attend = held_past + (decode && appends ? 1 : 0);
  if (num_attend > 0) {
    if (!appends) share.sequences.emplace_back();
    device::AttentionSequence& entry = share.sequences[first_entry];
    entry.q_begin = group.row_begin;
    entry.num_q = group.num_rows;
    entry.num_attend = num_attend;
    cover(group.row_begin, group.num_rows);
    for (int i = 0; i < group.num_rows; ++i) share.rows.push_back(group.row_begin + i);
  }
  const auto num_pages = static_cast<std::int32_t>(share.pages.size()) - page_begin;
  for (std::size_t i = first_entry; i < share.sequences.size(); ++i) {
    share.sequences[i].page_begin = page_begin;
    share.sequences[i].num_pages = num_pages;
  }
}

}  // namespace tandem::engine
