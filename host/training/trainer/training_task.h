// SPDX-License-Identifier: Apache-2.0
//
// TrainingTask: a model with its samples, as the loop of a run sees them.
//
// A sample is known by its number, counted over all steps and ranks. A step calls begin_step(),
// then backward() for each of its passes. Dense parameters are in the trainer's ParameterSet; a
// task may also have embedding tables, whose gradients are rows. tables() and the text of files do
// not change during a run. Threads: one. Errors: Error("train", ...); those of libtorch.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "training/trainer/computation.h"
#include "training/trainer/together.h"
#include "training/trainer/training_log.h"

namespace tandem::training {

// All rows, on every rank.
struct TrainedTable {
  std::string name;
  std::uint32_t width = 1;
  std::span<float> weights;  // [rows, width]
};

// Rows in any order, also repeated.
struct TableGradient {
  std::span<const std::uint32_t> rows;
  std::span<const float> values;  // [rows.size(), width]
};

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  // Losses that a sample adds up: the tokens of a window.
  virtual std::uint64_t losses_of_sample() const = 0;
  // Error unless there are as many samples; `samples`: of a step of all ranks.
  virtual void require(std::uint64_t samples) const = 0;

  virtual void begin_step() {}
  // Samples [first, first + the task's batch). As Computation::backward(). A gradient of a row that
  // is not a number makes the sum one that is not.
  virtual double backward(std::uint64_t first, float scale, GradientListener* listener) = 0;

  virtual std::span<const TrainedTable> tables() const { return {}; }
  // Of this rank's passes since begin_step(); valid until the next pass.
  virtual TableGradient table_gradient(std::size_t /*table*/) const { return {}; }

  // All ranks call it. Rank 0 gets the figures, where there is something to score.
  virtual std::optional<EvaluationFigures> evaluate(collectives::Group* group,
                                                    const Patience& patience) = 0;

  // For checkpoint.json and the checkpoint's folder.
  virtual void describe(nlohmann::ordered_json& fields) const = 0;
  virtual void write_files(const std::string& /*folder*/) const {}
};

}  // namespace tandem::training
