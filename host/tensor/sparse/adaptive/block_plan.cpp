// SPDX-License-Identifier: Apache-2.0
//
// Intensities, the plan of a round, and runs for the threads.
#include "tensor/sparse/adaptive/block_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tandem::sparse {

std::vector<double> shares(std::span<const BlockLoad> blocks) {
  double operations = 0, seconds = 0;
  for (const BlockLoad& block : blocks) {
    operations += block.operations;
    seconds += block.seconds;
  }
  std::vector<double> result;
  result.reserve(blocks.size());
  for (const BlockLoad& block : blocks) {
    const double counted = operations > 0 ? block.operations / operations : 0;
    const double measured = seconds > 0 ? block.seconds / seconds : 0;
    result.push_back(std::max(counted, measured));
  }
  return result;
}

std::vector<double> intensities(std::span<const double> shares) {
  std::vector<double> result(shares.size(), 0.0);
  if (shares.empty()) return result;
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  const double middle = (*least + *most) / 2, half = (*most - *least) / 2;
  if (half == 0) return result;
  for (std::size_t i = 0; i < shares.size(); ++i) result[i] = (shares[i] - middle) / half;
  return result;
}

int depth_limit(std::size_t num_blocks) {
  const double levels = std::log2(static_cast<double>(std::max<std::size_t>(num_blocks, 2)));
  return std::max(1, static_cast<int>(std::sqrt(levels)));
}

bool BlockPlan::changes_nothing() const {
  return std::ranges::count(splits, true) == 0 && std::ranges::count(joins_next, true) == 0;
}

BlockPlan plan_blocks(std::span<const BlockLoad> blocks, const PlanOptions& options) {
  BlockPlan plan{std::vector<bool>(blocks.size()), std::vector<bool>(blocks.size()), 0};
  if (blocks.empty()) return plan;
  const std::vector<double> share = shares(blocks);
  const std::vector<double> intensity = intensities(share);
  const auto [least, most] = std::minmax_element(share.begin(), share.end());
  plan.midpoint = (*least + *most) / 2;
  double run_share = 0;
  std::size_t run_entries = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    plan.splits[b] = intensity[b] > options.hot && blocks[b].entries >= 2 * options.least_entries;
    const bool is_joined = b > 0 && plan.joins_next[b - 1];
    run_share = (is_joined ? run_share : 0) + share[b];
    run_entries = (is_joined ? run_entries : 0) + blocks[b].entries;
    if (b + 1 == blocks.size()) break;
    const bool are_cold = intensity[b] < options.cold && intensity[b + 1] < options.cold;
    plan.joins_next[b] = are_cold && run_share + share[b + 1] <= plan.midpoint &&
                         run_entries + blocks[b + 1].entries <= options.most_entries;
  }
  return plan;
}

double RoundWork::copies_of_a_thread(std::size_t threads) const {
  return std::max(static_cast<double>(copied) / static_cast<double>(threads),
                  static_cast<double>(longest));
}

RoundWork round_work(std::span<const BlockLoad> blocks, const BlockPlan& plan, int depth) {
  RoundWork work;
  std::size_t run = 0;
  const auto take = [&](std::size_t copies) {
    work.copied += copies;
    work.longest = std::max(work.longest, copies);
  };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const bool is_fused = plan.joins_next[b] || (b > 0 && plan.joins_next[b - 1]);
    if (plan.splits[b] || is_fused) work.moved += blocks[b].entries;
    if (plan.splits[b]) take(blocks[b].entries * static_cast<std::size_t>(depth));
    run = is_fused ? run + blocks[b].entries : 0;
    if (is_fused && !plan.joins_next[b]) {
      take(run);
      run = 0;
    }
  }
  return work;
}

bool RoundBudget::allows(double cost, std::size_t remaining) const {
  const double done = static_cast<double>(iterations);
  const double all = work_seconds / done * (done + static_cast<double>(remaining));
  return round_seconds + cost <= part * all;
}

std::vector<std::size_t> balanced_runs(std::span<const double> seconds, std::size_t num_runs) {
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::vector<std::size_t> bounds{0};
  double sum = 0;
  std::size_t block = 0;
  for (std::size_t run = 1; run < num_runs; ++run) {
    const double until = total * static_cast<double>(run) / static_cast<double>(num_runs);
    // A block goes to the run in which more than half of it lies.
    while (block < seconds.size() && sum + seconds[block] / 2 <= until) sum += seconds[block++];
    bounds.push_back(block);
  }
  bounds.push_back(seconds.size());
  return bounds;
}

double longest_run(std::span<const double> seconds, std::span<const std::size_t> bounds) {
  double longest = 0;
  for (std::size_t run = 0; run + 1 < bounds.size(); ++run) {
    const auto at = [&](std::size_t i) {
      return seconds.begin() + static_cast<std::ptrdiff_t>(bounds[i]);
    };
    longest = std::max(longest, std::accumulate(at(run), at(run + 1), 0.0));
  }
  return longest;
}

}  // namespace tandem::sparse
