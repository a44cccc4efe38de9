// SPDX-License-Identifier: Apache-2.0
//
// HostOffload: runs the optimiser in host memory while the backward pass and the sums of gradients
// continue. Every rank gets the new weights.
//
// A rank updates only the values of owned_range(), and has state only for them. The updated weights
// of a bucket are gathered while the next bucket is updated. All ranks add the same parameters and
// submit the same buckets in the same order. Numerics: every rank gets the bits of an Optimizer on
// one rank. Ownership: borrows the group, weights and copies; gradients until finish(). Threads:
// one call at a time; two threads and a pool of its own work. Errors: Error for invalid arguments;
// a failed update breaks the group.
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
  int threads = 0;                            // threads that update; 0: one per physical core
  std::chrono::milliseconds timeout{60'000};  // of a gather
  // Gathers start in finish(): for a group that the reducer also uses; the reducer must then be
  // idle.
  bool gathers_last = false;
};

struct OffloadedParameter {
  std::string name;
  std::uint32_t width = 1;  // values of a row
  UpdateRule rule = Adam{};
  std::span<float> weights;       // of the whole parameter
  std::span<std::uint16_t> copy;  // the same number of bf16 values, or empty
};

struct OffloadBucket {
  std::span<const std::uint32_t> parameters;
  std::span<const float> gradients;  // the parameters' means, one after another without gaps
  // Returns when the means have arrived; empty: they are already there. It must throw on all ranks
  // or on none; finish() then throws the error, and the bucket's weights do not change.
  std::function<void()> arrived;
};

struct OffloadStatistics {
  std::uint64_t steps = 0, buckets = 0, skipped_buckets = 0;
  double update_seconds = 0;  // including the wait for gradients
  double gather_seconds = 0;
  double exposed_seconds = 0;        // time in finish()
  std::uint64_t gathered_bytes = 0;  // sent by this rank to each other rank
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
  ~HostOffload();  // finishes what is queued
  HostOffload(const HostOffload&) = delete;
  HostOffload& operator=(const HostOffload&) = delete;

  // Call it before the first step. Errors: Error for a copy of another size, and those of
  // Optimizer::add().
  std::uint32_t add(const OffloadedParameter& parameter);

  // Error inside a step.
  void begin_step(const StepFactors& step);
  // Queues the update. Errors: Error outside a step, for an empty or unknown list, or for a wrong
  // number of gradients.
  void submit(const OffloadBucket& bucket);
  // Waits for the step's buckets. Returns false if the deadline passes first; the step then
  // continues. When all buckets have ended, rethrows the first error.
  bool finish(Deadline deadline);

  // As Optimizer::state(), for the values that this rank owns. Call it between steps.
  std::vector<StateView> state();
  OffloadStatistics statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::training
