// SPDX-License-Identifier: Apache-2.0
//
// RecommenderTask: a recommender with its samples and tables.
//
// This class sums bags from tables in host memory; the computation runs the layers. The gradient of
// a bag is also that of each of its rows, so gradients of tables are lists of rows and never dense.
// Ownership: owns the tables; borrows the rest. Threads: one. Errors: those of the samples.
#pragma once

#include <memory>
#include <vector>

#include "common/raw_vector.h"
#include "training/trainer/recommender_computation.h"
#include "training/trainer/recommender_config.h"
#include "training/trainer/recommender_samples.h"
#include "training/trainer/training_task.h"

namespace tandem::training {

struct RecommenderParts {
  const RecommenderConfig& config;
  RecommenderComputation& computation;
  const RecommenderSamples& samples;
  const RecommenderSamples* evaluated = nullptr;  // null: none
};

class RecommenderTask final : public TrainingTask {
 public:
  static constexpr std::uint64_t kSyntheticScored = 8192;  // evaluated samples if there is no end

  // batch: samples per pass.
  RecommenderTask(const RecommenderParts& parts, int batch);

  // Draws the values of all tables from a seed.
  void draw(std::uint64_t seed);

  std::uint64_t losses_of_sample() const override { return 1; }
  void require(std::uint64_t samples) const override;
  void begin_step() override;
  double backward(std::uint64_t first, float scale, GradientListener* listener) override;
  std::span<const TrainedTable> tables() const override { return tables_; }
  TableGradient table_gradient(std::size_t table) const override;
  std::optional<EvaluationFigures> evaluate(collectives::Group* group,
                                            const Patience& patience) override;
  void describe(nlohmann::ordered_json& fields) const override;

 private:
  struct Rows {  // the rows of one table since begin_step()
    std::vector<std::uint32_t> rows;
    RawVector<float> values;
  };

  RecommenderSample sample(int row);
  void sum_bags(int rows);
  void keep_rows();
  RecommenderBatch batch(int rows) const;
  std::vector<float> score(const RecommenderSamples& samples, std::uint64_t begin,
                           std::uint64_t end);

  RecommenderParts parts_;
  int batch_;
  std::vector<RawVector<float>> weights_;
  std::vector<TrainedTable> tables_;
  std::vector<Rows> gradients_;
  std::vector<std::uint32_t> indices_;  // [batch, tables, bag]
  std::vector<float> dense_, bags_, bag_gradient_, labels_;
};

}  // namespace tandem::training
