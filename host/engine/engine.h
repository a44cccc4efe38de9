// SPDX-License-Identifier: Apache-2.0
//
// Engine: serves requests by continuous batching over one compute unit and any number of attention
// units.
//
// One thread owns all state. It takes requests from a bounded queue, asks the scheduler for a
// StepPlan, lets the executor run it, samples, and hands events to the sinks. A request that lacks
// pages waits, or is preempted and computed again later; it fails only if it can never fit. When a
// unit is lost, no token is lost, repeated or changed. Threads: submit, cancel and status from any
// thread. Ownership: borrows model, compute and timeline; owns the attention units and the
// fallbacks.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/deadline.h"
#include "device/compute_unit.h"
#include "engine/loop/engine_options.h"
#include "engine/loop/engine_status.h"
#include "engine/loop/named_unit.h"
#include "engine/loop/sequence_status.h"
#include "engine/request.h"
#include "engine/weights/weight_loader.h"
#include "model/model.h"
#include "trace/metrics.h"

namespace tandem::engine {

struct NamedCompute {
  std::string id;  // "cpu"
  std::unique_ptr<device::ComputeUnit> unit;
  double bandwidth_bytes_per_s = 0;  // see EngineOptions::compute_bandwidth_bytes_per_s
};

// Replacements for lost units, each made at most once. After the loss of an attention unit,
// requests with pages there are rebuilt from prompt + generated tokens on the other units, and
// finally on the fallback unit. After the loss of the compute unit, its fallback loads the weights
// again; attention units that work in the lost queue are lost too. Without a fallback, requests
// fail, or end where the pages of the other units end.
struct Fallbacks {
  // Called when the last unit is lost, or when the others are too small for an accepted request.
  std::function<NamedUnit()> attention;
  // Called when the compute unit has failed.
  std::function<NamedCompute()> compute;
  // Makes a lost attention unit again and loads its device again; throws while that is not
  // possible. Called on a thread of its own, every revive_interval until it succeeds. Empty: units
  // stay lost.
  std::function<NamedUnit(const std::string& id)> revive;
};

class Engine {
 public:
  // `metrics` may be null. The id of a fallback unit ends in ":fallback" where another unit has
  // that id. Throws Error when the options or the units do not fit the model.
  Engine(const model::Model& model, device::ComputeUnit& compute, std::vector<NamedUnit> units,
         const EngineOptions& options, Fallbacks fallbacks, trace::Metrics* metrics);
  ~Engine();  // cancels all requests

  // The weights that the first compute unit has loaded.
  const LoadedWeights& weights() const;

  // The longest prompt + output of one request: the context, or less if all pages together hold
  // less. Becomes smaller when a unit is lost.
  int max_request_tokens() const;

  // Throws Error("engine", ...) when a field is out of range, or when the prompt and one token (the
  // prompt alone if max_tokens is 0) exceed max_request_tokens(); the error names both lengths. An
  // output that reaches max_request_tokens() ends with kLength.
  SubmitResult submit(Request request, EventSink sink);

  // Accepts all of them, or none; no other request is queued in between. They have one caller, and
  // there is at least one. Throws as submit() does.
  SubmitAllResult submit_all(std::vector<Submission> submissions);

  // The status that submit() would return now for a request of this caller.
  SubmitStatus admission(const std::string& caller) const;

  // Frees the pages before the next step and sends kCancelled to the sink. Ignores unknown and
  // finished ids.
  void cancel(RequestId id);

  // Refuses new requests. True when all are done, false when the deadline has passed.
  bool drain(Deadline deadline);

  EngineStatus status() const;

  // The requests, running ones first, at most 100 ms old. They are listed for 10 s after a call, so
  // the first call may find none. Without calls the list costs nothing.
  std::vector<SequenceStatus> sequences() const;

  // The time since the engine's thread began its last iteration: at most options.idle_check without
  // work, else the time of the current step so far.
  std::chrono::steady_clock::duration heartbeat_age() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::engine
