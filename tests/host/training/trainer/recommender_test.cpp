// SPDX-License-Identifier: Apache-2.0
//
// A recommender whose layers are computed by hand: its samples, the rows of its tables, runs over
// ranks, checkpoints.
#include "training/trainer/recommender_task.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "common/error.h"
#include "support/ranks.h"
#include "support/scratch_path.h"
#include "training/trainer/trainer.h"

namespace tandem::training {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

// The log odds are the sum of all values of all bags, and of the numbers times "slope" [dense].
class SumOfBags final : public RecommenderComputation {
 public:
  SumOfBags(const RecommenderConfig& config, ParameterSet& parameters)
      : config_(config), parameters_(parameters) {}

  double backward(const RecommenderBatch& batch, float scale, float* bag_gradient,
                  GradientListener* listener) override {
    std::vector<float> odds(static_cast<std::size_t>(batch.rows));
    scores(batch, odds.data());
    double loss = 0;
    const auto values = static_cast<std::size_t>(config_.tables() * config_.width);
    for (std::size_t row = 0; row < odds.size(); ++row) {
      const double share = 1 / (1 + std::exp(-static_cast<double>(odds[row])));
      loss += -std::log(batch.labels[row] > 0 ? share : 1 - share);
      const float gradient = static_cast<float>(share - batch.labels[row]) * scale;
      std::fill_n(bag_gradient + row * values, values, gradient);
      for (std::size_t at = 0; at < slope().size(); ++at) {
        parameters_.gradient(0)[at] += gradient * batch.dense[row * slope().size() + at];
      }
    }
    if (poisoned) bag_gradient[3] = NAN;
    if (listener != nullptr) listener->ready(0);
    return loss;
  }
  void scores(const RecommenderBatch& batch, float* scores) override {
    const auto values = static_cast<std::size_t>(config_.tables() * config_.width);
    const std::size_t numbers = slope().size();
    for (std::size_t row = 0; row < static_cast<std::size_t>(batch.rows); ++row) {
      const float* bags = batch.bags + row * values;
      scores[row] = std::accumulate(bags, bags + values, 0.0f);
      for (std::size_t at = 0; at < numbers; ++at) {
        scores[row] += slope()[at] * batch.dense[row * numbers + at];
      }
    }
  }

  bool poisoned = false;

 private:
  std::span<float> slope() { return parameters_.values(0); }

  RecommenderConfig config_;
  ParameterSet& parameters_;
};

RecommenderConfig small_config() {
  RecommenderConfig config;
  config.dense = 3;
  config.width = 2;
  config.bag = 2;
  config.rows = {50, 7};
  return config;
}

std::vector<ParameterSpec> slope_of(const RecommenderConfig& config) {
  return {{"slope", {1, config.dense}, 0, 0}};
}

struct Ended {
  std::vector<float> weights;
  std::map<std::uint64_t, double> losses, norms;
  EvaluationFigures evaluated;
};

class EndedLog final : public TrainingLog {
 public:
  explicit EndedLog(Ended& ended) : ended_(ended) {}
  void step(const StepFigures& figures) override {
    ended_.losses[figures.step] = figures.loss;
    ended_.norms[figures.step] = figures.gradient_norm;
  }
  void evaluation(const EvaluationFigures& figures) override { ended_.evaluated = figures; }

 private:
  Ended& ended_;
};

class RecommenderRun : public testing::Test {
 protected:
  RecommenderRun() {
    options_.steps = 12;
    options_.batch = 8;
    options_.clip = 0;
    options_.schedule = {0.05, 0, 12, RateDecay::kConstant, 1};
    options_.rule = Sgd{};
    options_.table_rate = 0.1;
    options_.save_every = 6;
    options_.keep = 0;
  }

  std::string path(const std::string& name) const { return folder_.string() + "/" + name; }

  Ended run_rank(const TrainerOptions& options, collectives::Group* group,
                 const std::string& from) {
    ParameterSet parameters(slope_of(config_));
    SumOfBags computation(config_, parameters);
    const auto samples = open_samples("synthetic", config_, 3);
    RecommenderTask task({config_, computation, *samples, samples.get()}, options.batch);
    task.draw(4);
    Ended ended;
    EndedLog log(ended);
    Trainer trainer(options, {task, parameters,
                              [&](std::uint64_t) { return std::vector<TrainingLog*>{&log}; }});
    if (!from.empty()) trainer.resume(find_checkpoint(from));
    trainer.run(group);
    ended.weights.assign(parameters.values(0).begin(), parameters.values(0).end());
    for (const TrainedTable& table : task.tables()) {
      ended.weights.insert(ended.weights.end(), table.weights.begin(), table.weights.end());
    }
    return ended;
  }

  Ended run(int world, const TrainerOptions& options, const std::string& from = {}) {
    if (world == 1) return run_rank(options, nullptr, from);
    std::vector<Ended> ended(static_cast<std::size_t>(world));
    test::run_ranks(world, [&](std::unique_ptr<transport::Transport> transport) {
      collectives::Group group(std::move(transport));
      ended[static_cast<std::size_t>(group.rank())] = run_rank(options, &group, from);
    });
    for (const Ended& one : ended) EXPECT_EQ(one.weights, ended[0].weights);
    return ended[0];
  }

  test::ScratchPath folder_{"recommender"};
  RecommenderConfig config_ = small_config();
  TrainerOptions options_;
};

TEST_F(RecommenderRun, LearnsThePlantedModel) {
  options_.steps = 300;
  options_.batch = 32;
  options_.schedule.steps = 300;
  const Ended ended = run(1, options_);
  EXPECT_EQ(ended.evaluated.tokens, RecommenderTask::kSyntheticScored);
  EXPECT_LT(ended.evaluated.mean_nll, 0.62);
  EXPECT_GT(*ended.evaluated.auc, 0.7);
}

TEST_F(RecommenderRun, ResumesBitForBitForEveryRuleOfRows) {
  for (const UpdateRule& rule :
       {UpdateRule(RowwiseAdagrad{}), UpdateRule(RowAdam{}), UpdateRule(Sgd{})}) {
    for (const int world : {1, 3}) {
      options_.table_rule = rule;
      options_.out = path(rule_name(rule) + std::to_string(world));
      const Ended whole = run(world, options_);
      const Ended resumed = run(world, options_, options_.out + "/step-00000006");
      EXPECT_EQ(resumed.weights, whole.weights) << rule_name(rule) << " on " << world;
      EXPECT_EQ(resumed.losses.begin()->first, 7u);
      for (const auto& [step, loss] : resumed.losses) EXPECT_EQ(loss, whole.losses.at(step));
    }
  }
}

TEST_F(RecommenderRun, RanksTakeTheStepsOfOneRankWithTheirWholeBatch) {
  const Ended four = run(4, options_);
  options_.batch = 32;
  const Ended one = run(1, options_);
  for (std::size_t at = 0; at < one.weights.size(); ++at) {
    ASSERT_NEAR(four.weights[at], one.weights[at], 1e-5);
  }
  EXPECT_NEAR(four.evaluated.mean_nll, one.evaluated.mean_nll, 1e-5);
  EXPECT_EQ(four.evaluated.tokens, one.evaluated.tokens);
}

// Without its state a row's first step would be as long as its rate.
TEST_F(RecommenderRun, AStateOfOtherRanksIsTakenOver) {
  options_.out = path("three");
  options_.table_rule = RowAdam{};
  const Ended whole = run(3, options_);
  options_.batch = 24;
  options_.out = path("one");
  const Ended resumed = run(1, options_, path("three/step-00000006"));
  for (std::size_t at = 0; at < whole.weights.size(); ++at) {
    ASSERT_NEAR(resumed.weights[at], whole.weights[at], 1e-3);
  }
}

TEST_F(RecommenderRun, AccumulatedPassesAreOneStep) {
  const Ended parts = [&] {
    TrainerOptions options = options_;
    options.accumulate = 4;
    return run(1, options);
  }();
  options_.batch = 32;
  const Ended one = run(1, options_);
  for (std::size_t at = 0; at < one.weights.size(); ++at) {
    ASSERT_NEAR(parts.weights[at], one.weights[at], 1e-5);
  }
}

TEST_F(RecommenderRun, OnlyRowsOfTheStepChange) {
  options_.steps = 0;
  const Ended before = run(1, options_);
  options_.steps = 1;
  const Ended after = run(1, options_);
  const auto samples = open_samples("synthetic", config_, 3);
  std::vector<bool> touched(57);
  for (std::uint64_t number = 0; number < 8; ++number) {
    std::vector<float> dense(3);
    std::vector<std::uint32_t> rows(4);
    RecommenderSample sample{dense, rows, 0};
    samples->read(number, sample);
    for (std::size_t at = 0; at < 4; ++at) touched[rows[at] + (at < 2 ? 0 : 50)] = true;
  }
  for (std::size_t row = 0; row < touched.size(); ++row) {
    EXPECT_EQ(before.weights[3 + 2 * row] != after.weights[3 + 2 * row], touched[row]) << row;
  }
  EXPECT_TRUE(std::ranges::count(touched, false) > 10);
}

// The first values are of the layers, the others of tables; each has its rate.
TEST_F(RecommenderRun, ClipsTheNormOfLayersAndTables) {
  options_.table_rule = Sgd{};
  options_.steps = 0;
  const Ended before = run(1, options_);
  options_.steps = 1;
  for (const int world : {1, 4}) {
    options_.clip = 0;
    const Ended free = run(world, options_);
    std::vector<double> gradient;
    double squares = 0, of_tables = 0;
    for (std::size_t at = 0; at < free.weights.size(); ++at) {
      const double rate = at < 3 ? 0.05 : options_.table_rate;
      gradient.push_back((before.weights[at] - free.weights[at]) / rate);
      squares += gradient[at] * gradient[at];
      if (at >= 3) of_tables += gradient[at] * gradient[at];
    }
    EXPECT_GT(of_tables, 0.1 * squares);
    EXPECT_NEAR(free.norms.at(1), std::sqrt(squares), 1e-4 * std::sqrt(squares));
    options_.clip = 0.5 * free.norms.at(1);
    const Ended clipped = run(world, options_);
    EXPECT_EQ(clipped.norms, free.norms);
    for (std::size_t at = 0; at < free.weights.size(); ++at) {
      ASSERT_NEAR(clipped.weights[at] - before.weights[at],
                  0.5 * (free.weights[at] - before.weights[at]), 1e-6);
    }
  }
}

TEST_F(RecommenderRun, AGradientOfARowThatIsNotANumberStopsTheRun) {
  ParameterSet parameters(slope_of(config_));
  SumOfBags computation(config_, parameters);
  computation.poisoned = true;
  const auto samples = open_samples("synthetic", config_, 3);
  RecommenderTask task({config_, computation, *samples, nullptr}, options_.batch);
  Trainer trainer(options_, {task, parameters, {}});
  EXPECT_THROW(trainer.run(nullptr), Error);
  EXPECT_EQ(trainer.steps_done(), 0u);
}

TEST_F(RecommenderRun, ACheckpointOfAnotherTableRuleIsRefused) {
  options_.out = path("out");
  run(1, options_);
  options_.table_rule = RowAdam{};
  try {
    run(1, options_, path("out"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("tables' optimizer rowwise_adagrad"));
  }
}

}  // namespace
}  // namespace tandem::training
