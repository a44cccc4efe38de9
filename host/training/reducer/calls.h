// SPDX-License-Identifier: Apache-2.0
//
// The calls that the reducer's thread runs: a bucket, and rows of one parameter.
//
// Each call first compares the ranks. After that it checks nothing more: a later failure is a
// TransportError. A bucket is reduced part by part in place; 16-bit values are widened to f32 and
// rounded back at the end, f64 is summed densely. Threads: the reducer's own. Errors: Error and
// NonFiniteError on every rank; the bucket is unchanged then.
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
#include "training/reducer/pays_trial.h"

namespace tandem::training {

struct CallContext {
  collectives::Group& group;
  const ReducerOptions& options;
  ErrorFeedback& feedback;
  PaysTrial& trial;
  GradientDevices& devices;
};

// What both kinds of calls have.
struct CallHead {
  std::uint64_t step = 0;
  bool last = false;
  DType type = DType::kF32;
  std::shared_ptr<const ModelText> model;
  std::string error;  // what is wrong with the arguments
};

struct BucketCall {
  CallHead head;
  std::shared_ptr<const BucketPlan> plan;  // null with an error
  void* values = nullptr;
  bool exact = false;
  bool flush = false;
  std::string device;     // in whose memory the values lie; empty: the host's
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
  double asked = 0;    // of the sparsified values, how many the densities mean
  double sent = 0;     // how many this rank sent
  double meant = 0;    // how many of the mean's entries selections account for
  double entries = 0;  // entries of the mean
  double select_seconds = 0;
  bool dense = false;  // everything was summed densely, by `exact`, a warm-up, a trial or f64
  bool skipped = false;
  bool clipped = false;
  bool passed = false;  // the mean is NaN
};

// An error's text for other ranks, which put the module's name in front.
std::string text_without_module(const Error& error);

CallResult run_bucket(CallContext& context, const BucketCall& call);

// `mean`: rows sorted and unique, of the call's type.
CallResult run_rows(CallContext& context, const RowsCall& call, collectives::SparseTensor& mean);

// A NaN or an infinity in a gradient: the same on every rank.
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
