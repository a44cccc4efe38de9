// SPDX-License-Identifier: Apache-2.0
//
// plan_cascade() sorts groups by their page lists. Sequences that share pages are then neighbours,
// and a level of the tree is a run of neighbours with a number of shared leading pages.
#include "attention/cascade_plan.h"

#include <algorithm>

namespace tandem::gpu_kernels {
namespace {

class Cascade {
 public:
  Cascade(const CascadeOptions& options, std::span<const DecodeGroup> groups,
          std::span<const std::int32_t> rows, std::span<const std::uint32_t> pages,
          CascadePlan& plan)
      : options_(options), groups_(groups), rows_(rows), pages_(pages), plan_(plan) {}

  void run() {
    plan_.own.clear();
    plan_.shared.clear();
    plan_.rows.assign(rows_.begin(), rows_.end());
    for (auto& level : plan_.level_rows) level.clear();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (num_whole_pages(i) > 0 && groups_[i].num_rows > 0) {
        order_.push_back(i);
      } else {
        add_own(i, 0);
      }
    }
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      const auto x = whole_pages(a), y = whole_pages(b);
      return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
    });
    divide(0, order_.size(), 0, 0, 0);
  }

 private:
  // Pages that the group's rows see whole; none if a window hides the first.
  std::int32_t num_whole_pages(std::size_t group) const {
    const DecodeGroup& g = groups_[group];
    return g.attend_begin == 0 ? g.num_attend / options_.page_tokens : 0;
  }
  std::span<const std::uint32_t> whole_pages(std::size_t group) const {
    return pages_.subspan(static_cast<std::size_t>(groups_[group].page_begin),
                          static_cast<std::size_t>(num_whole_pages(group)));
  }
  // The number of leading pages that two groups share.
  std::int32_t num_common(std::size_t a, std::size_t b) const {
    const auto x = whole_pages(a), y = whole_pages(b);
    const auto length = static_cast<std::ptrdiff_t>(std::min(x.size(), y.size()));
    return static_cast<std::int32_t>(std::mismatch(x.begin(), x.begin() + length, y.begin()).first -
                                     x.begin());
  }

  // Groups [begin, end) of the order agree in `depth` pages; `done` of them levels up to `level`
  // have taken care of.
  void divide(std::size_t begin, std::size_t end, std::int32_t depth, std::int32_t done,
              int level) {
    while (begin < end) {
      std::size_t run_end = begin + 1;
      std::int32_t common = num_whole_pages(order_[begin]);
      for (; run_end < end; ++run_end) {
        const std::int32_t next = num_common(order_[run_end - 1], order_[run_end]);
        if (next <= depth) break;
        common = std::min(common, next);
      }
      divide_run(begin, run_end, common, done, level);
      begin = run_end;
    }
  }

  // A run that agrees in `common` pages.
  void divide_run(std::size_t begin, std::size_t end, std::int32_t common, std::int32_t done,
                  int level) {
    if (end == begin + 1 || level + 1 == kMaxCascadeLevels) {
      for (std::size_t i = begin; i < end; ++i) add_own(order_[i], done);
      return;
    }
    const std::int64_t spared =
        static_cast<std::int64_t>(end - begin - 1) * (common - done) * options_.page_tokens;
    if (spared >= options_.min_tokens) {
      add_shared(begin, end, done, common, ++level);
      done = common;
    }
    divide(begin, end, common, done, level);
  }

  void add_shared(std::size_t begin, std::size_t end, std::int32_t from, std::int32_t to,
                  int level) {
    DecodeGroup shared = groups_[order_[begin]];
    shared.row_begin = static_cast<std::int32_t>(plan_.rows.size());
    for (std::size_t i = begin; i < end; ++i) {
      const auto own = rows_of(order_[i]);
      plan_.rows.insert(plan_.rows.end(), own.begin(), own.end());
      plan_.level_rows[level].insert(plan_.level_rows[level].end(), own.begin(), own.end());
    }
    shared.num_rows = static_cast<std::int32_t>(plan_.rows.size()) - shared.row_begin;
    shared.attend_begin = from * options_.page_tokens;
    shared.num_attend = to * options_.page_tokens;
    shared.out_offset += level * options_.max_rows;
    plan_.shared.push_back(shared);
  }

  void add_own(std::size_t group, std::int32_t done) {
    DecodeGroup own = groups_[group];
    own.attend_begin = std::max(own.attend_begin, done * options_.page_tokens);
    plan_.own.push_back(own);
    const auto rows = rows_of(group);
    plan_.level_rows[0].insert(plan_.level_rows[0].end(), rows.begin(), rows.end());
  }

  std::span<const std::int32_t> rows_of(std::size_t group) const {
    return rows_.subspan(static_cast<std::size_t>(groups_[group].row_begin),
                         static_cast<std::size_t>(groups_[group].num_rows));
  }

  const CascadeOptions& options_;
  std::span<const DecodeGroup> groups_;
  std::span<const std::int32_t> rows_;
  std::span<const std::uint32_t> pages_;
  CascadePlan& plan_;
  std::vector<std::size_t> order_;
};

}  // namespace

void plan_cascade(const CascadeOptions& options, std::span<const DecodeGroup> groups,
                  std::span<const std::int32_t> rows, std::span<const std::uint32_t> pages,
                  CascadePlan& plan) {
  Cascade(options, groups, rows, pages, plan).run();
}

}  // namespace tandem::gpu_kernels
