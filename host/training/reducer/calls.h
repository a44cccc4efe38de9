// SPDX-License-Identifier: Apache-2.0
//
// The calls that the reducer's thread runs: a bucket, and rows of one parameter.
//
// Each call first compares the ranks. Afterwards it checks nothing more: a later failure is a
// TransportError. A bucket is reduced in place, part by part. 16-bit values are widened to f32 and
// rounded back at the end; f64 is summed densely. Threads: the reducer's own. Errors: Error and
// NonFiniteError on every rank; the bucket then does not change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collectives/collective.h"
#include "training/reducer/call_agreement.h"
#include "training/reducer/error_feedback.h"
#include "training/reducer/gradient_devices.h"
#include "training/reducer/options.h"
#include "training/reducer/parameters.h"
#include "training/reducer/sparsity_trial.h"

namespace tandem::training {

struct CallContext {
  collectives::Group& group;
  const ReducerOptions& options;
  ErrorFeedback& feedback;
  SparsityTrial& trial;
  GradientDevices& devices;
};

// The common part of both kinds of calls.
struct CallHead {
  std::uint64_t step = 0;
  bool last = false;  // the step ends with this call
  DType type = DType::kF32;
  std::shared_ptr<const ModelText> model;
  std::string error;  // the error in the arguments; empty: none
};

struct BucketCall {
  CallHead head;
  std::shared_ptr<const BucketPlan> plan;  // null if there is an error
  void* values = nullptr;
  bool exact = false;     // as in Bucket
  bool flush = false;     // as in Bucket
  std::string device;     // the device that holds the values; empty: host memory
  void* queue = nullptr;  // of the device

  Placement placement() const {
    return device.empty() ? Placement{} : Placement{Memory::kDevice, device, queue};
  }
};

struct RowsCall {
  CallHead head;
  Parameter parameter;
  const std::int64_t* rows = nullptr;
  std::size_t num_rows = 0;
  const void* values = nullptr;
};

struct CallResult {
  std::uint64_t sparsified_values = 0;
  double asked = 0;    // number of sparsified values that the densities request
  double sent = 0;     // number of values that this rank sent
  double meant = 0;    // number of entries that the ranks selected for the mean
  double entries = 0;  // entries of the mean
  double select_seconds = 0;
  bool dense = false;  // all values were summed densely: by `exact`, a warm-up, a trial or f64
  bool skipped = false;
  bool clipped = false;
  bool passed = false;  // the mean is NaN
};

// The text of an error for other ranks, which prepend the module's name.
std::string text_without_module(const Error& error);

CallResult run_bucket(CallContext& context, const BucketCall& call);

// `mean`: rows are sorted and unique, with the type of the call.
CallResult run_rows(CallContext& context, const RowsCall& call, collectives::SparseTensor& mean);

// A gradient contains a NaN or an infinity; the same error on every rank.
class NonFiniteError : public Error {
 public:
  NonFiniteError(std::uint64_t step, int rank, const std::string& parameter);

  std::uint64_t step() const { return step_; }
  int rank() const { return rank_; }
  const std::string& parameter() const { return parameter_; }

 private:
  std::uint64_t step_;
  int rank_;
  std::string parameter_;
};

}  // namespace tandem::training
