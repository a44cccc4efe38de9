// SPDX-License-Identifier: Apache-2.0
//
// A rank never waits for a pass that stands behind its own next one, so no schedule can lock.
#include "training/pipeline/pass_order.h"

#include <algorithm>
#include <limits>

#include "common/error.h"

namespace tandem::training {
namespace {

std::vector<Pass> all_forward_first(int micro_batches) {
  std::vector<Pass> passes;
  for (int micro = 0; micro < micro_batches; ++micro) passes.push_back({PassKind::kForward, micro});
  for (int micro = 0; micro < micro_batches; ++micro)
    passes.push_back({PassKind::kBackward, micro});
  return passes;
}

// The number'th forward or backward pass of a rank with several stages: groups of `ranks`
// micro-batches go through one chunk after the other.
Pass chunked(const PipelineShape& shape, PassKind kind, int number) {
  const int round = shape.ranks * shape.chunks;
  const int chunk = number % round / shape.ranks;
  return {kind, number / round * shape.ranks + number % shape.ranks,
          kind == PassKind::kForward ? chunk : shape.chunks - 1 - chunk};
}

std::vector<Pass> in_turn(const PipelineShape& shape, int ahead) {
  const int total = shape.micro_batches * shape.chunks;
  ahead = std::min(ahead, total);
  std::vector<Pass> passes;
  for (int number = 0; number < ahead; ++number) {
    passes.push_back(chunked(shape, PassKind::kForward, number));
  }
  for (int number = 0; number < total; ++number) {
    if (ahead + number < total) {
      passes.push_back(chunked(shape, PassKind::kForward, ahead + number));
    }
    passes.push_back(chunked(shape, PassKind::kBackward, number));
  }
  return passes;
}

// A rank puts off as many products for weights as there are ranks before it. They fill its waits
// for the last backward passes, and it keeps no more micro-batches than under 1F1B.
std::vector<Pass> with_late_weights(const PipelineShape& shape, int rank) {
  const int total = shape.micro_batches;
  const int ahead = std::min(shape.ranks - 1 - rank, total);
  std::vector<Pass> passes;
  for (int micro = 0; micro < ahead; ++micro) passes.push_back({PassKind::kForward, micro});
  int weights = 0;
  for (int micro = 0; micro < total; ++micro) {
    const bool is_last_forward = ahead + micro >= total;
    if (!is_last_forward) passes.push_back({PassKind::kForward, ahead + micro});
    passes.push_back({PassKind::kBackward, micro});
    if (is_last_forward || micro - weights >= rank) {
      passes.push_back({PassKind::kWeights, weights++});
    }
  }
  while (weights < total) passes.push_back({PassKind::kWeights, weights++});
  return passes;
}

[[noreturn]] void refuse(const std::string& text) { throw Error("train", text); }

// The progress of a step on all ranks; times are those at which passes end.
class StepClock {
 public:
  StepClock(const PipelineShape& shape, const std::vector<StageSeconds>& stages)
      : shape_(shape), stages_(stages) {
    const auto passes = static_cast<std::size_t>(shape.stages() * shape.micro_batches);
    forward_.assign(passes, kNotYet);
    backward_.assign(passes, kNotYet);
    for (int rank = 0; rank < shape.ranks; ++rank) orders_.push_back(pass_order(shape, rank));
    next_.resize(orders_.size());
    free_at_.resize(orders_.size());
  }

  double run() {
    for (bool moves = true; moves;) {
      moves = false;
      for (int rank = 0; rank < shape_.ranks; ++rank) {
        while (make_next(rank)) moves = true;
      }
    }
    for (std::size_t rank = 0; rank < orders_.size(); ++rank) {
      if (next_[rank] < orders_[rank].size()) return kNotYet;  // locked
    }
    return *std::ranges::max_element(free_at_);
  }

 private:
  static constexpr double kNotYet = std::numeric_limits<double>::infinity();

  std::size_t place(int stage, int micro) const {
    return static_cast<std::size_t>(stage * shape_.micro_batches + micro);
  }

  // When the pass may begin.
  double ready(const Pass& pass, int stage) const {
    if (pass.kind == PassKind::kWeights) return backward_[place(stage, pass.micro_batch)];
    if (pass.kind == PassKind::kForward) {
      return stage == 0 ? 0 : forward_[place(stage - 1, pass.micro_batch)];
    }
    const double own = forward_[place(stage, pass.micro_batch)];
    if (stage == shape_.stages() - 1) return own;
    return std::max(own, backward_[place(stage + 1, pass.micro_batch)]);
  }

  double seconds(const Pass& pass, int stage) const {
    const StageSeconds& cost = stages_[static_cast<std::size_t>(stage)];
    if (pass.kind == PassKind::kForward) return cost.forward;
    if (pass.kind == PassKind::kWeights) return cost.weights;
    return shape_.order == PassOrder::kZeroBubble ? cost.backward - cost.weights : cost.backward;
  }

  bool make_next(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (next_[at] == orders_[at].size()) return false;
    const Pass& pass = orders_[at][next_[at]];
    const int stage = pass.chunk * shape_.ranks + rank;
    const double begin = ready(pass, stage);
    if (begin == kNotYet) return false;
    free_at_[at] = std::max(free_at_[at], begin) + seconds(pass, stage);
    if (pass.kind == PassKind::kForward) forward_[place(stage, pass.micro_batch)] = free_at_[at];
    if (pass.kind == PassKind::kBackward) backward_[place(stage, pass.micro_batch)] = free_at_[at];
    ++next_[at];
    return true;
  }

  const PipelineShape shape_;
  const std::vector<StageSeconds>& stages_;
  std::vector<std::vector<Pass>> orders_;   // [ranks]
  std::vector<std::size_t> next_;           // [ranks]
  std::vector<double> free_at_;             // [ranks]
  std::vector<double> forward_, backward_;  // [stages, micro_batches]
};

}  // namespace

PassOrder pass_order_named(const std::string& name) {
  if (name == "gpipe") return PassOrder::kGpipe;
  if (name == "1f1b") return PassOrder::kOneForward;
  if (name == "interleaved") return PassOrder::kInterleaved;
  if (name == "zero-bubble") return PassOrder::kZeroBubble;
  refuse("there is no schedule '" + name + "'; choose gpipe, 1f1b, interleaved or zero-bubble");
}

void check_shape(const PipelineShape& shape) {
  if (shape.ranks < 1 || shape.micro_batches < 1 || shape.chunks < 1) {
    refuse("a pipeline needs at least one rank, one micro-batch and one stage per rank");
  }
  if (shape.order != PassOrder::kInterleaved) {
    if (shape.chunks > 1) refuse("several stages per rank need --schedule interleaved");
    return;
  }
  if (shape.micro_batches % shape.ranks == 0) return;
  refuse("--schedule interleaved needs a multiple of " + std::to_string(shape.ranks) +
         " micro-batches, as many as there are ranks, and --accumulate is " +
         std::to_string(shape.micro_batches));
}

std::vector<Pass> pass_order(const PipelineShape& shape, int rank) {
  check_shape(shape);
  const int behind = shape.ranks - 1 - rank;
  switch (shape.order) {
    case PassOrder::kGpipe:
      return all_forward_first(shape.micro_batches);
    case PassOrder::kOneForward:
      return in_turn(shape, behind);
    case PassOrder::kInterleaved:
      return in_turn(shape, 2 * behind + (shape.chunks - 1) * shape.ranks);
    case PassOrder::kZeroBubble:
      return with_late_weights(shape, rank);
  }
  return {};
}

double step_seconds(const PipelineShape& shape, const std::vector<StageSeconds>& stages) {
  return StepClock(shape, stages).run();
}

}  // namespace tandem::training
