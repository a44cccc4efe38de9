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
#include "training/trainer/score.h"
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

class KeptLog final : public TrainingLog {
 public:
  explicit KeptLog(Ended& ended) : ended_(ended) {}
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
    KeptLog log(ended);
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

class CriteoTest : public testing::Test {
 protected:
  CriteoTest() {
    config_.rows.assign(26, 1000);
    fs::create_directories(folder_.path());
  }
  std::string write(const std::string& text) const {
    std::ofstream(folder_.string() + "/clicks.tsv") << text;
    return folder_.string() + "/clicks.tsv";
  }
  static std::string line(const std::string& label, const std::string& number) {
    std::string text = label;
    for (int at = 0; at < 13; ++at) text += "\t" + (at == 2 ? number : std::to_string(at));
    for (int at = 0; at < 26; ++at) text += at == 5 ? "\t" : "\t68fd1e64";
    return text + "\n";
  }
  std::string refusal(const std::string& text) {
    try {
      const auto samples = open_samples(write(text), config_, 1);
      for (std::uint64_t at = 0; at < samples->size(); ++at) samples->read_in_order(at, sample_);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  test::ScratchPath folder_{"criteo"};
  RecommenderConfig config_;
  std::vector<float> dense_ = std::vector<float>(13);
  std::vector<std::uint32_t> rows_ = std::vector<std::uint32_t>(26);
  RecommenderSample sample_{dense_, rows_, 0};
};

TEST_F(CriteoTest, ReadsLabelsNumbersAndWords) {
  const auto samples =
      open_samples(write(line("0", "-2") + line("1", "99") + line("0", "")), config_, 1);
  EXPECT_EQ(samples->size(), 3u);
  samples->read_in_order(1, sample_);
  EXPECT_EQ(sample_.label, 1);
  EXPECT_FLOAT_EQ(dense_[2], std::log(100.0f));
  EXPECT_FLOAT_EQ(dense_[12], std::log(13.0f));
  EXPECT_NE(rows_[0], rows_[1]);  // one word in two tables
  const std::uint32_t word = rows_[0];
  samples->read_in_order(0, sample_);
  EXPECT_EQ(sample_.label, 0);
  EXPECT_EQ(dense_[2], 0);
  EXPECT_EQ(rows_[0], word);
  EXPECT_TRUE(std::ranges::all_of(rows_, [](std::uint32_t row) { return row < 1000; }));
}

TEST_F(CriteoTest, EveryEpochTakesOtherOrders) {
  std::string text;
  for (int at = 0; at < 40; ++at) text += line("0", std::to_string(at));
  const auto samples = open_samples(write(text), config_, 1);
  const auto order = [&](std::uint64_t from) {
    std::vector<float> order;
    for (std::uint64_t at = 0; at < 39; ++at) {
      samples->read(from + at, sample_);
      order.push_back(dense_[2]);
    }
    return order;
  };
  std::vector<float> first = order(0), second = order(39);
  EXPECT_NE(first, second);
  std::ranges::sort(first);
  EXPECT_EQ(std::ranges::adjacent_find(first), first.end());  // nothing twice
}

TEST_F(CriteoTest, NamesAFileThatIsNotThereBeforeItsModel) {
  config_.dense = 5;
  try {
    open_samples("/nowhere/clicks", config_, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cannot read '/nowhere/clicks': No such file"));
  }
}

TEST_F(CriteoTest, NamesWhatIsWrongWithItsLine) {
  EXPECT_THAT(refusal(""), HasSubstr("has no samples"));
  EXPECT_THAT(refusal(line("0", "1") + line("2", "1")), HasSubstr("line 2: the label is neither"));
  EXPECT_THAT(refusal(line("0", "x")), HasSubstr("line 1: 'x' is not a whole number"));
  EXPECT_THAT(refusal("0\t1\t2\n"), HasSubstr("line 1: has 3 fields"));
  config_.rows.pop_back();
  EXPECT_THAT(refusal(line("0", "1")), HasSubstr("has 25 tables"));
}

TEST_F(CriteoTest, ConfigurationsAreRead) {
  const auto read = [&](const std::string& text) {
    std::ofstream(folder_.string() + "/model.toml") << text;
    return read_recommender_config(folder_.string() + "/model.toml");
  };
  const auto why = [&](const std::string& text) -> std::string {
    try {
      read(text);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const RecommenderConfig one =
      read("kind = \"recommender\"\ntables = 3\nrows = 10\ntop = [4, 2]\n");
  EXPECT_EQ(one.rows, (std::vector<int>{10, 10, 10}));
  EXPECT_EQ(one.num_dots(), 6);
  EXPECT_EQ(recommender_of_json(to_json(one)).top, (std::vector<int>{4, 2}));
  EXPECT_EQ(recommender_parameters(one).back().name, "top.2.bias");
  EXPECT_EQ(read("[model]\nrows = [5, 6]\n").rows, (std::vector<int>{5, 6}));
  EXPECT_THAT(why("tables = 3\n"), HasSubstr("field 'rows': is missing"));
  EXPECT_THAT(why("tables = 3\nrows = [1, 2]\n"), HasSubstr("field 'tables': is 3, but rows"));
  EXPECT_THAT(why("rows = [1, 0]\n"), HasSubstr("whole numbers from 1"));
  EXPECT_THAT(why("rows = 4\nwidht = 2\n"), HasSubstr("did you mean"));
}

TEST(Score, TheAreaCountsPairsInOrder) {
  const std::vector<float> odds = {-1, 0, 0, 2}, labels = {0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(area_under_curve(odds, labels), 3.5 / 4);
  EXPECT_DOUBLE_EQ(area_under_curve(odds, std::vector<float>(4, 1)), 0.5);
  EXPECT_NEAR(mean_log_loss(std::vector<float>{0, 50}, std::vector<float>{1, 0}),
              (std::log(2.0) + 50) / 2, 1e-9);
}

}  // namespace
}  // namespace tandem::training
