// SPDX-License-Identifier: Apache-2.0
//
// The reports of a training run: JSON lines, a table, TensorBoard's events, a curve, progress.
//
// A TrainingLog is one destination. Only rank 0 has them. A line covers the steps since the
// previous line; loss, gradient norm and rate are those of the last step. Threads: one. Errors:
// Error("train", ...) naming the file that cannot be written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/traffic.h"

namespace tandem::training {

struct StepFigures {
  std::uint64_t step = 0;  // from 1
  double loss = 0;         // mean over the step's tokens of all ranks, in nats
  double gradient_norm = 0;
  double rate = 0;
  std::uint64_t tokens = 0;  // of all ranks, since the previous line; likewise below
  std::uint64_t steps = 1;
  double seconds = 0;
  double density_sent = 1;
  double build_up = 1;
  std::uint64_t bytes_sent = 0;  // by rank 0
  // Parts of `seconds` on rank 0: its own gradients, the wait for the ranks' mean, the update.
  double backward_seconds = 0, reduce_seconds = 0, update_seconds = 0;
  std::vector<transport::PeerTraffic> peers;  // [ranks] of rank 0, since its group was made

  double tokens_per_second() const {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  }
};

struct EvaluationFigures {
  std::uint64_t step = 0;
  double mean_nll = 0;
  std::uint64_t tokens = 0;
  std::optional<double> auc;  // only for a recommender, whose tokens are samples
};

class TrainingLog {
 public:
  virtual ~TrainingLog() = default;
  virtual void step(const StepFigures& figures) = 0;
  virtual void evaluation(const EvaluationFigures&) {}
  virtual void end() {}
};

// One line of JSON, as `tandem train --json` prints it.
std::string json_line(const StepFigures& figures);
std::string json_line(const EvaluationFigures& figures);

// "step 120 of 1000, loss 2.3145, 5321 tokens/s, 3 min left"
std::string progress_line(const StepFigures& figures, std::uint64_t steps);

std::unique_ptr<TrainingLog> make_json_log();  // to standard output
// to the log, from time to time
std::unique_ptr<TrainingLog> make_progress_log(std::uint64_t steps);
// Logs to files. Lines that a resumed run has written after `step` are removed first.
std::unique_ptr<TrainingLog> make_csv_log(const std::string& path, std::uint64_t step);
std::unique_ptr<TrainingLog> make_event_log(const std::string& folder);
std::unique_ptr<TrainingLog> make_curve_log(const std::string& csv, const std::string& svg);
// An error of a log or of `open` (a full disk) is reported once. It ends the log, but not the run.
using OpenLog = std::function<std::unique_ptr<TrainingLog>()>;
std::unique_ptr<TrainingLog> make_expendable(const OpenLog& open);

}  // namespace tandem::training
