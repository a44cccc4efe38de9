// SPDX-License-Identifier: Apache-2.0
//
// StepReport: reports the reducer's calls to metrics, timeline and log.
//
// Timeline: one span per call, on the track "calls" of the device "reducer, rank r". Log: one line
// every `log_every` steps, with the sums since the previous line. Threads: the reducer's own.
#pragma once

#include <cstdint>
#include <string>

#include "trace/timeline.h"
#include "trace/training_metrics.h"
#include "training/reducer/call_queue.h"
#include "training/reducer/calls.h"

namespace tandem::training {

class StepReport {
 public:
  struct Call {
    const std::string& title;
    std::uint64_t step = 0;
    bool last = false;
    std::uint64_t bytes_sent = 0;
    std::uint64_t num_values = 0;
    bool failed = false;
  };

  StepReport(const ReducerOptions& options, int rank);
  void call(const Call& call, const CallResult& result, const CallTimes& times);
  void end_step(std::uint64_t step);

 private:
  void count(const Call& call, const CallResult& result, const CallTimes& times);
  void log_step(std::uint64_t step);

  trace::TrainingMetrics* const metrics_;
  trace::Timeline* const timeline_;
  trace::TrackId track_;
  const std::uint64_t log_every_;
  const int rank_;
  std::uint64_t steps_ = 0;  // the sums since the last line of the log
  std::uint64_t bytes_sent_ = 0, sparsified_values_ = 0, skipped_ = 0;
  double asked_ = 0, sent_ = 0, seconds_ = 0, hidden_seconds_ = 0;
};

}  // namespace tandem::training
