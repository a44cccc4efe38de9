// SPDX-License-Identifier: Apache-2.0
//
// AdaptivePartition: a tensor whose pattern changes between repeated runs of a kernel.
//
// It begins as a uniform grid along the Hilbert curve (curve.h): blocks of equal ranges of keys, so
// every entry is in exactly one block. Kernels and changes measure their time in each block.
// adapt() makes a round (block_plan.h): hot blocks are halved along the curve down to the depth
// limit, cold neighbours are fused, and the other blocks stay. It does so only if the gain over the
// remaining iterations exceeds the round's cost. A change of entries rebuilds only the blocks of
// these entries. Threads: one caller; `pool` runs the parts. Memory: 12 bytes and 2 per mode for an
// entry. Errors: Error if the modes have more than 64 index bits together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/sparse/adaptive/block_entries.h"
#include "tensor/sparse/adaptive/block_plan.h"
#include "tensor/sparse/formats/coo_tensor.h"
#include "tensor/sparse/formats/curve.h"
#include "tensor/sparse/kernels/mttkrp.h"

namespace tandem::sparse {

struct AdaptiveOptions {
  // 2^grid_bits blocks at first, or as many as the tensor has cells. The drift of
  // benchmarks/host/tensor is about 1.3 times as fast with 10 as with 6: coarse blocks wait for
  // rounds to be cut.
  int grid_bits = 10;
  PlanOptions plan;
  // Rounds may take this part of the time of changes and kernels. The expected remaining time is
  // included.
  double round_budget = 0.03;
  // Above 0: the time of kernels and changes per entry of a block, instead of measured times. The
  // budget and the first cost of a round stay measured.
  double seconds_per_entry = 0;
};

struct AdaptiveStats {
  std::size_t rounds = 0, refusals = 0;  // refusals: a plan whose gain was too small
  std::size_t splits = 0, fusions = 0;   // blocks
  std::size_t rebuilt_entries = 0;       // by rounds and changes
  double round_seconds = 0;              // planning included
};

class AdaptivePartition {
 public:
  // Duplicates are summed.
  AdaptivePartition(const CooTensor& tensor, const AdaptiveOptions& options, ThreadPool& pool);

  std::span<const CurveBlock> blocks() const { return blocks_; }
  std::span<const std::uint64_t> sizes() const { return sizes_; }
  std::size_t num_entries() const;
  const AdaptiveStats& stats() const { return stats_; }

  // Entries of `set` are inserted, or overwrite present ones. Entries of `removed` are removed;
  // their values are not used. A coordinate occurs once, in one of the two.
  void change(const CooTensor& set, const CooTensor& removed, ThreadPool& pool);

  // As mttkrp() of kernels/mttkrp.h, blocks divided among threads by their measured time.
  void mttkrp(std::span<const FactorMatrix<float>> factors, std::size_t mode,
              FactorMatrix<float>& out, ThreadPool& pool);

  // Makes a round if its gain within `remaining` iterations exceeds its cost. An iteration is one
  // change and `kernels` calls of mttkrp(). Returns whether it made a round.
  bool adapt(std::size_t remaining, std::size_t kernels, ThreadPool& pool);

 private:
  using Made = std::vector<std::vector<CurveBlock>>;  // [blocks] empty: the block stays

  double cost_of(std::size_t entries, double measured) const {
    return options_.seconds_per_entry > 0
               ? options_.seconds_per_entry * static_cast<double>(entries)
               : measured;
  }
  // Entries from position `first_removed` on are marked.
  CurveEntries sorted(const CooTensor& tensor, std::size_t first_removed, ThreadPool& pool) const;
  std::vector<CurveBlock> rebuilt(const CurveBlock& old, const CurveEntries& change,
                                  std::size_t begin, std::size_t end) const;
  std::vector<CurveBlock> fused(std::size_t begin, std::size_t end) const;  // blocks
  std::vector<BlockLoad> loads(std::size_t kernels) const;
  void make_round(const BlockPlan& plan, std::span<const double> shares, ThreadPool& pool);
  // Replaces block b by the blocks of made[b] if is_old[b] is false.
  void replace(Made& made, const std::vector<bool>& is_old);
  double gain_of(const BlockPlan& plan, std::span<const double> seconds, std::size_t threads) const;
  void halve(CurveBlock block, double share, double midpoint, int depth,
             std::vector<CurveBlock>& to) const;

  std::vector<std::uint64_t> sizes_;
  AdaptiveOptions options_;
  Curve curve_;
  std::vector<CurveBlock> blocks_;  // ascending, without gaps
  AdaptiveStats stats_;
  double entry_seconds_ = 0;    // of a thread to copy an entry, measured
  double work_seconds_ = 0;     // of changes and kernels so far
  std::size_t iterations_ = 0;  // calls of adapt()
};

}  // namespace tandem::sparse
