// SPDX-License-Identifier: Apache-2.0
//
// HostOffload: runs the optimiser in host memory while the backward pass and the sums of gradients
// continue. Every rank gets the new weights.
//
// A rank updates the values that owned_range() gives it, and has state for those only. The updated
// weights of a bucket are gathered while the next bucket is updated. All ranks add the same
// parameters and submit the same buckets in the same order. Numerics: on every rank the bits of an
// Optimizer on one rank. Ownership: borrows the group, weights and copies; gradients until
// finish(). Threads: one at a time calls; two threads and a pool of its own work. Errors: Error for
// arguments that do not fit; a failed update breaks the group.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "training/optimizer/optimizer.h"
#include "training/reducer/call_queue.h"

namespace tandem::training {

struct OffloadOptions {
  int threads = 0;                            // that update; 0: one per physical core
  std::chrono::milliseconds timeout{60'000};  // of a gather
  // Gathers begin in finish(): for a group that is also the reducer's, which must be idle then.
  bool gathers_last = false;
};

struct OffloadedParameter {
  std::string name;
  std::uint32_t width = 1;  // values of a row
  UpdateRule rule = Adam{};
  std::span<float> weights;       // all of the parameter's
  std::span<std::uint16_t> copy;  // bf16, as many, or empty
};

struct OffloadBucket {
  std::span<const std::uint32_t> parameters;
  std::span<const float> gradients;  // the parameters' means, one after another without gaps
  // Returns when the means are there; empty: they are. It must throw on all ranks or on none: then
  // finish() throws the error, and the bucket's weights keep their values.
  std::function<void()> arrived;
};

struct OffloadStatistics {
  std::uint64_t steps = 0, buckets = 0, skipped_buckets = 0;
  double update_seconds = 0;  // with the wait for gradients
  double gather_seconds = 0;
  double exposed_seconds = 0;        // in finish()
  std::uint64_t gathered_bytes = 0;  // sent by this rank to each other one
  std::uint64_t state_bytes = 0;     // of this rank
};

// HostOffload offload(&group, options);           // a group of its own, or gathers_last
// const auto weight = offload.add({.name = "w", .rule = Adam{}, .weights = weights});
// offload.begin_step({.iteration = 1, .learning_rate = 1e-3});
// const Ticket ticket = reducer.submit(bucket);   // per bucket, as the reducer takes them
// offload.submit({.parameters = {&weight, 1}, .gradients = gradient,
//                 .arrived = [&] { reducer.wait(ticket, Deadline::never()); }});
// offload.finish(deadline);                       // every rank has the new weights
class HostOffload {
 public:
  // gather: null for a single rank.
  HostOffload(collectives::Group* gather, const OffloadOptions& options);
  ~HostOffload();  // ends what is queued
  HostOffload(const HostOffload&) = delete;
  HostOffload& operator=(const HostOffload&) = delete;

  // Error for a copy of another size, or what Optimizer::add() refuses. Before the first step.
  std::uint32_t add(const OffloadedParameter& parameter);

  // Error inside a step.
  void begin_step(const StepFactors& step);
  // Queues the update. Error outside a step, for an empty or unknown list, or another number of
  // gradients.
  void submit(const OffloadBucket& bucket);
  // Waits for the step's buckets. False if the deadline passes first; the step then goes on.
  // Rethrows the first error after all have ended.
  bool finish(Deadline deadline);

  // As Optimizer's, of what this rank owns. Between steps.
  std::vector<StateView> state();
  OffloadStatistics statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::training
