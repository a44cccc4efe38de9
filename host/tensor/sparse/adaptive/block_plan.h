// SPDX-License-Identifier: Apache-2.0
//
// Decides from the costs of blocks which blocks of a partition are split and which are fused.
//
// Blocks are nodes of a graph whose edges join neighbours on the curve: block b and b + 1. The
// intensity of a block is its share of operations or of time, whichever is larger, normalised at
// the midpoint between the least and the greatest: -1 .. 1. Hot blocks are split, runs of cold
// neighbours are fused while their sum stays below the midpoint. Pure functions; threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem::sparse {

struct BlockLoad {
  std::size_t entries = 0;
  double operations = 0;  // counted, per iteration
  double seconds = 0;     // measured, per iteration; of all blocks or of none
};

struct PlanOptions {
  double hot = 0, cold = -0.5;         // intensities above and below
  std::size_t least_entries = 1024;    // blocks with less than twice this number are not split
  std::size_t most_entries = 1 << 12;  // of a fused block
};

// The share of all work of each block, the basis of its intensity. Sums to 1 or more.
std::vector<double> shares(std::span<const BlockLoad> blocks);

// [blocks] -1 .. 1; all 0 if they are equal.
std::vector<double> intensities(std::span<const double> shares);

// The most halvings of a block in one round: sqrt(log2 n), at least 1.
int depth_limit(std::size_t num_blocks);

struct BlockPlan {
  std::vector<bool> splits;      // [blocks]
  std::vector<bool> joins_next;  // [blocks] fused with its neighbour on the curve
  double midpoint = 0;           // of the shares
  bool changes_nothing() const;
};

BlockPlan plan_blocks(std::span<const BlockLoad> blocks, const PlanOptions& options);

// The work of a round, in entries.
struct RoundWork {
  std::size_t moved = 0;    // entries of the blocks that change
  std::size_t copied = 0;   // a halving copies the entries of a block, a fusion those of a run
  std::size_t longest = 0;  // copies of one block or run, which one thread makes

  // A lower bound of the copies that the busiest of `threads` threads makes.
  double copies_of_a_thread(std::size_t threads) const;
};

// depth: the most halvings of a block; all of them are counted.
RoundWork round_work(std::span<const BlockLoad> blocks, const BlockPlan& plan, int depth);

// What rounds may take: a part of the time of all iterations, if those to come are as those done.
struct RoundBudget {
  double part = 0;
  double work_seconds = 0, round_seconds = 0;  // of the iterations done
  std::size_t iterations = 1;                  // done

  // Whether all rounds so far and one of such a cost stay within it.
  bool allows(double cost, std::size_t remaining) const;
};

// Cuts blocks into consecutive runs of about equal seconds: run r is [bounds[r], bounds[r + 1]).
std::vector<std::size_t> balanced_runs(std::span<const double> seconds, std::size_t num_runs);

// The seconds of the slowest run of `bounds`.
double longest_run(std::span<const double> seconds, std::span<const std::size_t> bounds);

}  // namespace tandem::sparse
