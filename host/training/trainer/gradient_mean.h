// SPDX-License-Identifier: Apache-2.0
//
// GradientMean: the mean of the gradients over all ranks, computed while the backward pass runs.
//
// The same messages also average a few numbers of the step. GradientMean fills the buckets of a
// Reducer. A NaN or an infinity on one rank appears on all ranks. A single rank has no reducer: its
// gradients already are the means. Ownership: borrows group and parameters. Threads: one. Errors:
// those of the reducer; TransportError if a rank is lost or late.
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
  // a fixed scheme, so that a repeated run has the same bits
  std::string scheme = "allgather_sparse";
  // Only for a sparsifier below density 1. true: it gets directions of the ranks' own optimisers
  // (local_directions.h) if the rule has them; false: gradients.
  bool steps = true;
  std::uint64_t dense_below = 16384;
  std::optional<std::uint64_t> warmup_steps;  // absent: chosen by the density
  std::uint64_t bucket_bytes = 4 << 20;
  std::uint64_t seed = 1;
  std::chrono::milliseconds timeout{60'000};
};

// The figures since the last reading, on this rank.
struct ReduceFigures {
  double density_sent = 1;  // share of the sparsified values, in the last call of each bucket
  double build_up = 1;
  std::uint64_t bytes_sent = 0;
};

// The part of the state that a checkpoint contains.
struct ReduceState {
  std::vector<std::uint32_t> order;  // order of the buckets; empty: not known yet
  std::vector<std::byte> reducer;    // state of this rank's reducer; empty: none
};

// Whether a sparsifier gets the gradient of the parameter.
bool is_sparsified(const ReduceOptions& options, const ParameterSpec& spec);

// Parameters whose mean gradients are being computed.
struct MeanBucket {
  std::vector<std::uint32_t> parameters;
  std::span<const float> values;  // one parameter after another; valid until the next step
  std::function<void()> arrived;  // returns when the means have arrived; empty: they are there
};
using MeanListener = std::function<void(const MeanBucket&)>;

class GradientMean final : public GradientListener {
 public:
  static constexpr std::size_t kNumbers = 4;
  using Numbers = std::array<float, kNumbers>;

  // group: null for one rank. listener: called for every parameter once per step during the
  // backward pass; may be empty.
  GradientMean(collectives::Group* group, ParameterSet& parameters, const ReduceOptions& options,
               MeanListener listener = {});
  ~GradientMean() override;

  void ready(std::size_t parameter) override;
  // Call it after the backward pass: it replaces `numbers` by their means. gradient() of every
  // parameter is then the mean, until the next pass.
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
  std::shared_ptr<Reducer> reducer_;  // shared with waits for its buckets
  std::unique_ptr<GradientBuckets> buckets_;
  Numbers numbers_{};
  std::uint64_t bytes_before_ = 0;
  std::vector<std::uint64_t> calls_before_;  // number of calls that sparsified
};

}  // namespace tandem::training
