// SPDX-License-Identifier: Apache-2.0
//
// Walks each group's blocks once per unit.
//
// Tokens held on a unit are numbered in the order of its blocks. All blocks but the sequence's last
// are full, so that the n-th block on the unit begins at token n * page_tokens there. New rows in
// blocks that are neighbours both in the sequence and on the unit form one append segment; the
// first segment also carries the queries. Tokens in blocks that a window leaves out are not
// counted.
#include "engine/attention/attention_layout.h"

#include <algorithm>
#include <iterator>

namespace tandem::engine {
namespace {

struct Segment {
  int new_row = 0;  // first row, in the group
  int num_new = 0;
  int append_at = 0;  // on the unit
};

// The first token that row i of the group sees.
int window_begin(const RowGroup& group, int i, int window) {
  return window > 0 ? std::max(0, group.past + i + 1 - window) : 0;
}

// A group's blocks on one unit.
struct Held {
  std::vector<int> firsts;  // the position of each block's first token
  int past = 0;             // tokens of the past in them

  // The number of held tokens before `position`.
  int before(int position, int page_tokens) const {
    const auto next = std::ranges::upper_bound(firsts, position);
    const auto blocks = static_cast<int>(next - firsts.begin());
    if (blocks == 0) return 0;
    return (blocks - 1) * page_tokens +
           std::min(position - firsts[static_cast<std::size_t>(blocks) - 1], page_tokens);
  }
};

// Calls visit(segment) for every append segment of the group on `unit`, in order, leaving out
// blocks that end before `from`.
template <typename Visit>
Held walk(const RowGroup& group, int page_tokens, int unit, int from,
          std::vector<device::PageId>& pages, const Visit& visit) {
  const int end = group.past + group.num_rows;
  Held held;
  Segment open;
  for (int block = from / page_tokens, first = block * page_tokens; first < end;
       ++block, first += page_tokens) {
    if (group.blocks[block].unit != unit) {
      if (open.num_new > 0) visit(open);
      open = {};
      continue;
    }
    pages.push_back(group.blocks[block].page);
    const int last = std::min(first + page_tokens, end);
    held.past += std::clamp(group.past - first, 0, page_tokens);
    const int new_first = std::max(first, group.past);
    if (new_first < last) {
      const int begin = static_cast<int>(held.firsts.size()) * page_tokens;
      if (open.num_new == 0) open = {new_first - group.past, 0, begin + new_first - first};
      open.num_new += last - new_first;
    }
    held.firsts.push_back(first);
  }
  if (open.num_new > 0) visit(open);
  return held;
}

// Rows [first, first + count) of the sub-batch see the tokens [begin, end) held.
struct Sight {
  int first = 0, count = 0, begin = 0, end = 0;
};

void answer(UnitShare& share, device::AttentionSequence& entry, const Sight& sight) {
  entry.q_begin = sight.first;
  entry.num_q = sight.count;
  entry.attend_begin = sight.begin;
  entry.num_attend = sight.end;
  for (int i = 0; i < sight.count; ++i) share.rows.push_back(sight.first + i);
}

void give_pages(UnitShare& share, std::size_t first_entry, std::size_t page_begin) {
  for (std::size_t i = first_entry; i < share.sequences.size(); ++i) {
    share.sequences[i].page_begin = static_cast<std::int32_t>(page_begin);
    share.sequences[i].num_pages = static_cast<std::int32_t>(share.pages.size() - page_begin);
  }
}

// What rows with windows see of the past before `common`; from there on all of them see it.
void add_ragged(const RowGroup& group, int page_tokens, int window, const Held& held, int common,
                UnitShare& share) {
  for (int i = 0; i < group.num_rows; ++i) {
    const int begin = held.before(window_begin(group, i, window), page_tokens);
    if (begin >= common) break;  // the later rows see less
    device::AttentionSequence* last = share.sequences.empty() ? nullptr : &share.sequences.back();
    if (i > 0 && last->attend_begin == begin) {
      share.rows.push_back(group.row_begin + i);
      ++last->num_q;
      continue;
    }
    answer(share, share.sequences.emplace_back(), {group.row_begin + i, 1, begin, common});
  }
}

void add_group(const RowGroup& group, int page_tokens, int window, UnitShare& share,
               UnitShare& ragged) {
  const std::size_t page_begin = share.pages.size(), first_entry = share.sequences.size();
  const std::size_t ragged_page = ragged.pages.size(), ragged_entry = ragged.sequences.size();
  const int from = window_begin(group, 0, window);
  const Held held =
      walk(group, page_tokens, share.unit, from, share.pages, [&](const Segment& segment) {
        device::AttentionSequence entry;
        entry.new_begin = group.row_begin + segment.new_row;
        entry.num_new = segment.num_new;
        entry.append_at = segment.append_at;
        share.sequences.push_back(entry);
      });
  // An entry that appends may also attend. It then sees what it appends, unless queries go first.
  const bool appends = share.sequences.size() > first_entry && share.part != SharePart::kQueries;
  const int end = held.past + (group.num_rows == 1 && appends ? 1 : 0);
  const int begin =
      std::min(held.before(window_begin(group, group.num_rows - 1, window), page_tokens), end);
  if (begin < end) {
    if (!appends) share.sequences.emplace_back();
    answer(share, appends ? share.sequences[first_entry] : share.sequences.back(),
           {group.row_begin, group.num_rows, begin, end});
  }
  give_pages(share, first_entry, page_begin);
  add_ragged(group, page_tokens, window, held, begin, ragged);
  if (ragged.sequences.size() == ragged_entry) return;
  ragged.pages.insert(ragged.pages.end(),
                      share.pages.begin() + static_cast<std::ptrdiff_t>(page_begin),
                      share.pages.end());
  give_pages(ragged, ragged_entry, ragged_page);
}

}  // namespace

void RowSpan::cover(int first, int count) {
  if (count == 0) return;
  if (empty()) begin = first, end = first + count;
  begin = std::min(begin, first);
  end = std::max(end, first + count);
}

void AttentionLayout::build(std::span<const RowGroup> groups, int page_tokens,
                            const std::vector<bool>& early, int window) {
  for (UnitShare& share : shares) spare_.push_back(std::move(share));
  shares.clear();
  chunks.clear();
  chunk_rows.clear();
  int num_rows = 0;
  for (const RowGroup& group : groups) {
    num_rows += group.num_rows;
    const auto home = static_cast<std::size_t>(home_unit(group, page_tokens));
    if (group.num_rows == 1 && !early[home]) continue;
    chunks.push_back({group.row_begin, group.num_rows});
    for (int i = 0; i < group.num_rows; ++i) chunk_rows.push_back(group.row_begin + i);
  }
  for (int unit = 0; unit < static_cast<int>(early.size()); ++unit) {
    const SharePart part =
        early[static_cast<std::size_t>(unit)] ? SharePart::kQueries : SharePart::kAll;
    UnitShare share = take_spare(unit, false, part), ragged = take_spare(unit, true, part);
    for (const RowGroup& group : groups) add_group(group, page_tokens, window, share, ragged);
    keep_parts(std::move(share));
    keep(std::move(ragged));
  }
  find_whole_answer(num_rows);
}

UnitShare AttentionLayout::take_spare(int unit, bool ragged, SharePart part) {
  UnitShare share;
  if (!spare_.empty()) {
    share = std::move(spare_.back());
    spare_.pop_back();
  }
  share.unit = unit;
  share.ragged = ragged;
  share.part = part;
  share.rows_read = share.q_rows = share.new_rows = {};
  share.sequences.clear();
  share.pages.clear();
  share.rows.clear();
  return share;
}

// The appends of a unit that gets queries early become a separate share.
void AttentionLayout::keep_parts(UnitShare share) {
  const auto appends = [](const device::AttentionSequence& entry) { return entry.num_new > 0; };
  if (share.part == SharePart::kAll || std::ranges::none_of(share.sequences, appends)) {
    return keep(std::move(share));
  }
  UnitShare later = take_spare(share.unit, false, SharePart::kAppends);
  later.pages = share.pages;
  std::ranges::copy_if(share.sequences, std::back_inserter(later.sequences), appends);
  std::erase_if(share.sequences, appends);
  keep(std::move(share));
  keep(std::move(later));
}

// Makes rows relative to the share's first. A share without work is spare.
void AttentionLayout::keep(UnitShare share) {
  for (const device::AttentionSequence& sequence : share.sequences) {
    share.q_rows.cover(sequence.q_begin, sequence.num_q);
    share.new_rows.cover(sequence.new_begin, sequence.num_new);
  }
  share.rows_read = share.q_rows;
  share.rows_read.cover(share.new_rows.begin, share.new_rows.end - share.new_rows.begin);
  for (device::AttentionSequence& sequence : share.sequences) {
    sequence.q_begin -= sequence.num_q > 0 ? share.rows_read.begin : 0;
    sequence.new_begin -= sequence.num_new > 0 ? share.rows_read.begin : 0;
  }
  (share.sequences.empty() ? spare_ : shares).push_back(std::move(share));
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

}  // namespace tandem::engine
