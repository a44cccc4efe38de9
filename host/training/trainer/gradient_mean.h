// SPDX-License-Identifier: Apache-2.0
//
// GradientMean: the mean of the gradients over all ranks, computed while the backward pass runs.
//
// The same messages carry the means of a few numbers of the step. GradientMean fills the buckets of
// a Reducer, which also knows `--reduce auto`. A NaN or an infinity of one rank becomes one of all
// ranks. A single rank has no reducer: its gradients are the means already. Ownership: borrows
// group and parameters. Threads: one. Errors: those of the reducer; TransportError when a rank is
// lost or late.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "training/reducer/gradient_buckets.h"
#include "training/reducer/reducer.h"
#include "training/trainer/computation.h"
#include "training/trainer/parameter_set.h"
#include "training/trainer/reduce_choice.h"

namespace tandem::training {

struct ReduceOptions {
  ReduceChoice choice;
  std::string scheme = "allgather_sparse";  // named, so that a run has the same bits again
  // Of a named sparsifier below density 1: it gets directions of the ranks' own optimisers
  // (local_directions.h), where the rule has such; false: gradients.
  bool steps = true;
  std::uint64_t dense_below = 16384;
  std::optional<std::uint64_t> warmup_steps;  // absent: as the density asks
  std::uint64_t bucket_bytes = 4 << 20;
  std::uint64_t seed = 1;
  std::chrono::milliseconds timeout{60'000};
};

// Of the steps since the last reading, on this rank.
struct ReduceFigures {
  double density_sent = 1;  // of the sparsified values, in the last call of each bucket
  double build_up = 1;
  std::uint64_t bytes_sent = 0;
};

// What a checkpoint keeps of it.
struct ReduceState {
  std::vector<std::uint32_t> order;  // of the buckets; empty: not settled
  std::vector<std::byte> reducer;    // of this rank; empty: none
};

// Whether a sparsifier gets the parameter's gradient.
bool is_sparsified(const ReduceOptions& options, const ParameterSpec& spec);

// Parameters whose mean gradients are on their way.
struct MeanBucket {
  std::vector<std::uint32_t> parameters;
  std::span<const float> values;  // one after another; until the next step
  std::function<void()> arrived;  // returns when the means are there; empty: they are
};
using MeanListener = std::function<void(const MeanBucket&)>;

class GradientMean final : public GradientListener {
 public:
  static constexpr std::size_t kNumbers = 4;
  using Numbers = std::array<float, kNumbers>;

  // group: null for one rank. listener: hears of every parameter once per step, while the backward
  // pass goes on; may be empty.
  GradientMean(collectives::Group* group, ParameterSet& parameters, const ReduceOptions& options,
               MeanListener listener = {});
  ~GradientMean() override;

  void ready(std::size_t parameter) override;
  // After the backward pass: numbers are their means, and so is gradient() of every parameter until
  // the next pass.
  void finish(Numbers& numbers);
  std::span<const float> gradient(std::size_t parameter) const;

  ReduceFigures figures();

  ReduceState state();
  void restore(const ReduceState& state);

 private:
  void build(const std::vector<std::uint32_t>& order);
  void tell(const GradientBuckets::Submitted& bucket);

  collectives::Group* group_;
  ParameterSet& parameters_;
  ReduceOptions options_;
  MeanListener listener_;
  std::shared_ptr<Reducer> reducer_;  // also of buckets that somebody waits for
  std::unique_ptr<GradientBuckets> buckets_;
  Numbers numbers_{};
  std::uint64_t bytes_before_ = 0;
  std::vector<std::uint64_t> calls_before_;  // that sparsified
};

}  // namespace tandem::training
