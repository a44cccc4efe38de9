// SPDX-License-Identifier: Apache-2.0
//
// TrainingTask: a model with its samples, as the training loop uses them.
//
// A sample is identified by its number, counted over all steps and ranks. A step calls
// begin_step(), then backward() for each of its passes. Dense parameters are in the trainer's
// ParameterSet. A task may also have embedding tables, whose gradients are lists of rows. tables()
// and the files' text do not change during a run. Threads: one. Errors: Error("train", ...); those
// of libtorch.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "training/trainer/computation.h"
#include "training/trainer/run_with_heartbeat.h"
#include "training/trainer/training_log.h"

namespace tandem::training {

// A table with all its rows, on every rank.
struct TrainedTable {
  std::string name;
  std::uint32_t width = 1;
  std::span<float> weights;  // [rows, width]
};

// Rows in any order; rows may repeat.
struct TableGradient {
  std::span<const std::uint32_t> rows;
  std::span<const float> values;  // [rows.size(), width]
};

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  // The number of losses in a sample: the tokens of a window.
  virtual std::uint64_t losses_of_sample() const = 0;
  // Throws Error unless there are enough samples. `samples`: those of a step on all ranks.
  virtual void require(std::uint64_t samples) const = 0;

  virtual void begin_step() {}
  // Runs samples [first, first + the task's batch), as Computation::backward(). If a gradient of a
  // row is not finite, the returned sum is not finite.
  virtual double backward(std::uint64_t first, float scale, GradientListener* listener) = 0;

  virtual std::span<const TrainedTable> tables() const { return {}; }
  // The gradient of this rank's passes since begin_step(); valid until the next pass.
  virtual TableGradient table_gradient(std::size_t /*table*/) const { return {}; }

  // All ranks call it. Rank 0 gets the figures if there is something to evaluate.
  virtual std::optional<EvaluationFigures> evaluate(collectives::Group* group,
                                                    const Patience& patience) = 0;

  // Contributions to checkpoint.json and to the checkpoint's folder.
  virtual void describe(nlohmann::ordered_json& fields) const = 0;
  virtual void write_files(const std::string& /*folder*/) const {}
};

}  // namespace tandem::training
