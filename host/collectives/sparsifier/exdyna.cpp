// SPDX-License-Identifier: Apache-2.0
//
// ExDyna: MiCRO with partitions that are runs of blocks. Partitions give blocks to their neighbours
// until all have equal counts.
//
// About 1,024 blocks, each a multiple of 32 values (smaller if N is small); the last partition has
// the remainder. Each bound moves a quarter of the way to the place that the counts of the step
// suggest; a partition keeps at least one block. With published_control, a partition with more than
// 1.05 of the mean count gives a block to a neighbour with less than 1 / 1.05, and each keeps a
// quarter of its even share: this takes hundreds of steps, and stops where neighbours are alike.
// Sends, clears and costs as micro; padded all-gathers waste less. Source: arXiv 2402.13781.
#include <algorithm>

#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/exchange.h"
#include "collectives/sparsifier/threshold_control.h"

namespace tandem::collectives {
namespace {

constexpr std::uint64_t kBlocks = 1024, kBlockMultiple = 32;
constexpr double kTolerance = 1.05;
constexpr double kShareOfWay = 0.25;  // of a bound's way in a step

class ExDyna final : public SparsifierAlgorithm {
 public:
  ExDyna(ResidualStore& store, const SparsifierOptions& options)
      : SparsifierAlgorithm(store, options), control_(options.published_control) {}

  ClearingRule clearing_rule() const override { return ClearingRule::kAllGlobal; }

  void reduce(StepContext& context) override {
    const std::uint64_t k = target(context.step);
    const auto n = static_cast<std::uint64_t>(context.group.world());
    if (bounds_.size() != n + 1) divide_evenly(n);
    if (control_.measures(context.step)) {
      const double own =
          timed_selection(context, [&] { return store_.candidates()->nth_largest(k); });
      control_.seed(context, own, options_.reduce);
    }
    const bool seeded = control_.seeded();
    const auto partition_of = [&](std::uint64_t rank) { return (context.step % n + rank) % n; };
    const std::uint64_t part = partition_of(static_cast<std::uint64_t>(context.group.rank()));
    const PartitionSelection own = timed_selection(context, [&] {
      return select_at_least_one(store_, first_value(part), first_value(part + 1), control_);
    });
    context.note = own.steep;
    const Indices all =
        reduce_union(context, store_, own.indices, Selectors::kExclusive, options_.reduce);
    keep_remainder(store_, all, context.remainder);
    if (!seeded) return;
    control_.follow(all.size(), sum_of(context.notes), k);
    std::vector<double> counts(n);
    for (std::uint64_t rank = 0; rank < n; ++rank) {
      counts[partition_of(rank)] = static_cast<double>(context.counts[rank]);
    }
    if (options_.published_control) {
      move_single_blocks(std::move(counts));
    } else {
      move_towards_balance(counts);
    }
  }

  void save(SparsifierState& state) const override {
    control_.save(state);
    state.numbers["blocks"] = {static_cast<double>(block_values_),
                               static_cast<double>(num_blocks_)};
    state.numbers["bounds"] = {bounds_.begin(), bounds_.end()};
  }

  void load(const SparsifierState& state) override {
    ThresholdControl control = control_;
    control.load(state);
    const std::vector<double>& blocks = numbers_of(state, "blocks", 2);
    const auto found = state.numbers.find("bounds");
    if (found == state.numbers.end() ||
        !std::is_sorted(found->second.begin(), found->second.end()) ||
        (!found->second.empty() &&
         (found->second.front() != 0 || found->second.back() != blocks[1])) ||
        !(blocks[0] >= 0 && blocks[1] >= 0) ||
        blocks[0] * blocks[1] > static_cast<double>(num_values_)) {
      throw Error("sparsifier",
                  "the state of exdyna must have ascending numbers 'bounds' from 0 "
                  "to the number of blocks");
    }
    control_ = control;
    block_values_ = static_cast<std::uint64_t>(blocks[0]);
    num_blocks_ = static_cast<std::uint64_t>(blocks[1]);
    bounds_.assign(found->second.begin(), found->second.end());
  }

 private:
  void divide_evenly(std::uint64_t n) {
    block_values_ = num_values_ / kBlocks / kBlockMultiple * kBlockMultiple;
    if (block_values_ == 0) {  // a small parameter: at least 8 blocks for a rank, if it has them
      block_values_ = std::clamp<std::uint64_t>(num_values_ / (8 * n), 1, kBlockMultiple);
    }
    num_blocks_ = num_values_ / block_values_;  // the remainder is less than a block
    bounds_.resize(n + 1);
    for (std::uint64_t part = 0; part <= n; ++part) bounds_[part] = num_blocks_ * part / n;
  }

  std::uint64_t first_value(std::uint64_t part) const {
    return part + 1 == bounds_.size() ? num_values_ : bounds_[part] * block_values_;
  }

  // counts: of the partitions in this step; moves are added as they would change them.
  void move_single_blocks(std::vector<double> counts) {
    const std::size_t n = counts.size();
    double mean = 0;
    for (const double count : counts) mean += count / static_cast<double>(n);
    const std::uint64_t least = std::max<std::uint64_t>(1, num_blocks_ / (4 * n));
    const double moved = options_.density * static_cast<double>(block_values_);
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const double left = counts[i] / mean, right = counts[i + 1] / mean;
      if (left > kTolerance && right < 1 / kTolerance && bounds_[i + 1] - bounds_[i] > least) {
        --bounds_[i + 1];
        counts[i] -= moved;
        counts[i + 1] += moved;
      } else if (right > kTolerance && left < 1 / kTolerance &&
                 bounds_[i + 2] - bounds_[i + 1] > least) {
        ++bounds_[i + 1];
        counts[i] += moved;
        counts[i + 1] -= moved;
      }
    }
  }

  // Where the bound would lie if every partition's count were spread evenly over its blocks.
  double balanced_bound(const std::vector<double>& counts, double wanted) const {
    double before = 0;
    for (std::size_t part = 0; part < counts.size(); ++part) {
      if (before + counts[part] >= wanted && counts[part] > 0) {
        const auto size = static_cast<double>(bounds_[part + 1] - bounds_[part]);
        return static_cast<double>(bounds_[part]) + size * (wanted - before) / counts[part];
      }
      before += counts[part];
    }
    return static_cast<double>(num_blocks_);
  }

  // Every bound moves a part of its way; if the way is a block or longer, at least one block.
  void move_towards_balance(const std::vector<double>& counts) {
    const std::size_t n = counts.size();
    double total = 0;
    for (const double count : counts) total += count;
    std::vector<std::uint64_t> next = bounds_;
    for (std::size_t i = 1; i < n; ++i) {
      const double wanted = total * static_cast<double>(i) / static_cast<double>(n);
      const double way = balanced_bound(counts, wanted) - static_cast<double>(bounds_[i]);
      const double moved = std::fabs(way) < 1 / kShareOfWay ? std::clamp(std::trunc(way), -1.0, 1.0)
                                                            : std::trunc(way * kShareOfWay);
      const auto place = static_cast<std::int64_t>(bounds_[i]) + static_cast<std::int64_t>(moved);
      next[i] = static_cast<std::uint64_t>(std::max<std::int64_t>(0, place));
    }
    if (num_blocks_ < n) return;  // a partition has a block at least
    for (std::size_t i = 1; i < n; ++i) {
      next[i] = std::clamp(next[i], next[i - 1] + 1, num_blocks_ - (n - i));
    }
    bounds_ = std::move(next);
  }

  ThresholdControl control_;
  std::uint64_t block_values_ = 0, num_blocks_ = 0;
  std::vector<std::uint64_t> bounds_;  // [n + 1] blocks; empty before the first step
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_exdyna(ResidualStore& store,
                                                 const SparsifierOptions& options) {
  return std::make_unique<ExDyna>(store, options);
}

}  // namespace tandem::collectives
