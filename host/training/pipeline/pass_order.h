// SPDX-License-Identifier: Apache-2.0
//
// pass_order: which passes a rank of a pipeline makes in a step, and in which order.
//
// Every rank holds `chunks` stages: chunk c of rank r is stage c * ranks + r. A micro-batch goes
// forward through all stages, then backward. Backward passes of a stage are in the order of the
// micro-batches under every schedule, so gradients are added up in the order of a run on one rank.
// step_seconds() is the time of a step, event by event. Pure; threads: any. Errors: Error("train",
// ...) for what a schedule does not allow. Sources: GPipe (arXiv 1811.06965), PipeDream with
// flushes and its interleaved form (arXiv 2104.04473), ZB-H1 of zero bubble (arXiv 2401.10241).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::training {

enum class PassOrder : std::uint8_t {
  kGpipe,        // all forward passes, then all backward passes
  kOneForward,   // one forward and one backward pass alternate
  kInterleaved,  // likewise, with several stages per rank
  kZeroBubble    // likewise; products for weights fill idle times
};

// "gpipe", "1f1b", "interleaved", "zero-bubble".
PassOrder pass_order_named(const std::string& name);

enum class PassKind : std::uint8_t {
  kForward,
  kBackward,  // under zero-bubble without the products for weights
  kWeights
};

struct Pass {
  PassKind kind = PassKind::kForward;
  int micro_batch = 0;
  int chunk = 0;  // of the rank
  bool operator==(const Pass&) const = default;
};

struct PipelineShape {
  PassOrder order = PassOrder::kOneForward;
  int ranks = 1;
  int micro_batches = 1;
  int chunks = 1;  // stages of a rank; above 1 with kInterleaved only
  int stages() const { return ranks * chunks; }
};

// Throws Error if the schedule does not support these numbers.
void check_shape(const PipelineShape& shape);

std::vector<Pass> pass_order(const PipelineShape& shape, int rank);

// The time of one micro-batch on a stage. `weights` is the part of `backward` that kWeights can
// delay.
struct StageSeconds {
  double forward = 0, backward = 0, weights = 0;
};

// stages: [shape.stages()]. Transfers cost nothing here.
double step_seconds(const PipelineShape& shape, const std::vector<StageSeconds>& stages);

}  // namespace tandem::training
