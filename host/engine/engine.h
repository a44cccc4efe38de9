// SPDX-License-Identifier: Apache-2.0
//
// Engine: continuous batching of requests over one compute unit and any number of attention units.
//
// One thread owns all state: it takes requests from a bounded queue, asks the scheduler for a
// StepPlan (a pure function), lets the executor run it, samples, and hands events to the sinks. A
// request never fails for lack of pages unless it could never fit: it waits, or is preempted and
// later recomputed. A unit that is lost costs its pages, not its requests: they are rebuilt from
// prompt + generated tokens on the units that live, at last on the fallback unit; no token is lost,
// repeated or changed. The same holds for the compute unit: its fallback loads the weights again,
// and the units that work in the lost one's queue are lost with it. Threads: submit, cancel and
// stats from any thread. Ownership: borrows model, compute and timeline, owns the attention units
// and what the fallbacks make.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/deadline.h"
#include "device/compute_unit.h"
#include "engine/loop/engine_options.h"
#include "engine/loop/engine_status.h"
#include "engine/loop/named_unit.h"
#include "engine/request.h"
#include "engine/weights/weight_loader.h"
#include "model/model.h"
#include "trace/metrics.h"

namespace tandem::engine {

struct NamedCompute {
  std::string id;  // "cpu"
  std::unique_ptr<device::ComputeUnit> unit;
  double bandwidth_bytes_per_s = 0;  // as EngineOptions::compute_bandwidth_bytes_per_s
};

// What is made when something was lost, each at most once; each may be empty: then requests fail,
// or end where the pages do.
struct Fallbacks {
  // When the last unit has been lost, or those that live are too small for an accepted request.
  std::function<NamedUnit()> attention;
  // When the compute unit has failed.
  std::function<NamedCompute()> compute;
};

class Engine {
 public:
  // A ":fallback" is added to the id of a fallback's unit where another has the same. `metrics` may
  // be null. Throws Error when the options and the units do not fit the model.
  Engine(const model::Model& model, device::ComputeUnit& compute, std::vector<NamedUnit> units,
         const EngineOptions& options, Fallbacks fallbacks, trace::Metrics* metrics);
  ~Engine();  // cancels what is left

  // The model's weights as the first compute unit was given them.
  const LoadedWeights& weights() const;

  // The longest prompt + output one request may have: the context, or what all pages hold. Less
  // after a unit is lost.
  int max_request_tokens() const;

  // Throws Error("engine", ...) naming both lengths when prompt + 1 (the prompt, where max_tokens
  // is 0) exceeds max_request_tokens(), and for any other field that is out of range; an output
  // that would pass max_request_tokens() ends with kLength.
  SubmitResult submit(Request request, EventSink sink);

  // Its pages are free before the next step; the sink hears kCancelled. Unknown or finished ids are
  // ignored.
  void cancel(RequestId id);

  // Refuses new requests and returns when all are done (true) or the deadline has passed (false).
  bool drain(Deadline deadline);

  EngineStatus status() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::engine
