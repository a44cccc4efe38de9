// SPDX-License-Identifier: Apache-2.0
//
// Reducer: sparsifies gradients and averages them over ranks while the backward pass continues.
//
//   Reducer reducer(group, options);
//   const auto weight = reducer.add_parameter("layer.weight", {1024, 1024});
//   const Ticket ticket = reducer.submit({.parameters = {&weight, 1}, .values = gradient,
//                                         .last = true});
//   reducer.wait(ticket, Deadline::never());        // `gradient` is the mean of what was sent
//
// All ranks add the same parameters and submit the same buckets in the same order. submit() returns
// at once; a thread of the reducer runs the calls in their order. A step ends with a bucket that is
// marked `last`, or with end_step(). Residuals belong to parameters, so buckets may be composed
// differently in every step. Values on a device (placement) are selected there; dense parts go
// through host memory.
// Errors: each call first compares the ranks. A mismatch, or a mistake on one rank, is the same
// Error on every rank, and the reducer stays usable. After a TransportError or a DeviceError every
// later call fails at once with that error. Numerics: the same bits on every rank; with a named
// scheme also in every run. Ownership: borrows the group, which nobody else may use meanwhile, and
// gradients until their ticket is done. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/collective.h"
#include "tensor/view.h"
#include "training/reducer/call_queue.h"
#include "training/reducer/options.h"
#include "training/reducer/statistics.h"

namespace tandem::training {

// Gradients of parameters, one after another without gaps; the mean replaces them.
struct Bucket {
  std::span<const std::uint32_t> parameters;
  void* values = nullptr;
  DType type = DType::kF32;  // f32, f16, bf16 or f64; f64 is summed densely
  bool exact = false;        // sum densely this time; residuals stay
  bool flush = false;        // with `exact`: residuals are added to the sum and become 0
  bool last = false;         // of the step
  Placement placement = {};  // where the values are; the name of its device is copied
};

// The gradient of some rows of a parameter; rows may repeat, in any order; there may be none.
struct RowGradient {
  std::uint32_t parameter = 0;
  std::span<const std::int64_t> rows;
  const void* values = nullptr;  // [rows.size(), width]
  DType type = DType::kF32;
  bool last = false;
};

class Reducer {
 public:
  Reducer(collectives::Group& group, const ReducerOptions& options);
  // Runs the queued calls; each ends by its timeout.
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // Errors: Error for a name that exists already, or a shape without values.
  std::uint32_t add_parameter(const std::string& name, const std::vector<std::int64_t>& shape);

  Ticket submit(const Bucket& bucket);
  Ticket submit_rows(const RowGradient& gradient);
  // Ends the step, for callers that know its last bucket only later. Sends nothing.
  void end_step();
  // Copies `values` from rank `root` to all ranks.
  Ticket broadcast(std::span<std::uint32_t> values, int root);

  // Returns false if the deadline passes first. Rethrows the error of the call.
  bool wait(Ticket ticket, Deadline deadline);
  // Returns the mean of a submit_rows() after its wait(): rows sorted and unique. Call it once per
  // ticket; the mean is kept until then.
  collectives::SparseTensor take_rows(Ticket ticket);

  // This rank's residuals, momentum, thresholds and step, as bytes. Call it between steps.
  std::vector<std::byte> state();
  // Throws Error without a change for bytes that are damaged, or of another model, rank or world.
  void restore(std::span<const std::byte> bytes);

  ReducerStatistics statistics();
  // The same without steps, trial and residual norms. Because norms read all residuals, use this
  // one in every step. Does not wait for the queue.
  ReducerStatistics counts() const;
  std::uint64_t step() const;  // the step of the next submit()

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::training
