// SPDX-License-Identifier: Apache-2.0
//
// The passes of libtandem_trainer.so against models written out in f64 here: their losses, and
// their gradients by central differences.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "training/trainer/computation_library.h"
#include "training/trainer/lstm_model.h"
#include "training/trainer/recommender_config.h"

namespace tandem::training {
namespace {

using Values = std::vector<double>;
using Model = std::map<std::string, Values>;

const ComputationLibrary& library() { return ComputationLibrary::open(TANDEM_TRAINER_FOLDER); }

// OpenMP's threads would take the time of the one that they wait for.
TEST(Library, ThreadsOfOpenMPWaitWithoutSpinning) {
  library();
  EXPECT_STREQ(std::getenv("OMP_WAIT_POLICY"), "passive");
}

Model model_of(const ParameterSet& parameters) {
  Model model;
  for (std::size_t at = 0; at < parameters.size(); ++at) {
    const auto values = parameters.values(at);
    model[parameters.spec(at).name] = Values(values.begin(), values.end());
  }
  return model;
}

// w x + b; w: [b.size(), x.size()]
Values affine(const Values& w, const Values& b, const Values& x) {
  Values y = b;
  for (std::size_t row = 0; row < b.size(); ++row) {
    for (std::size_t at = 0; at < x.size(); ++at) y[row] += w[row * x.size() + at] * x[at];
  }
  return y;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double difference(double& value, const std::function<double()>& loss) {
  constexpr double kStep = 1e-5;
  const double kept = value;
  value = kept + kStep;
  const double above = loss();
  value = kept - kStep;
  const double below = loss();
  value = kept;
  return (above - below) / (2 * kStep);
}

void expect_gradients(ParameterSet& parameters, Model& model, double scale,
                      const std::function<double()>& loss) {
  for (std::size_t at = 0; at < parameters.size(); ++at) {
    const std::string& name = parameters.spec(at).name;
    for (std::size_t value = 0; value < model[name].size(); ++value) {
      const double expected = scale * difference(model[name][value], loss);
      ASSERT_NEAR(parameters.gradient(at)[value], expected, 1e-5 + 1e-4 * std::abs(expected))
          << name << " " << value;
    }
  }
}

class ToldOnce final : public GradientListener {
 public:
  explicit ToldOnce(std::size_t count) : times(count) {}
  void ready(std::size_t parameter) override { ++times[parameter]; }
  std::vector<int> times;
};

// Two samples of a small recommender.
struct SmallRecommender {
  SmallRecommender() {
    config.dense = 3;
    config.width = 2;
    config.rows = {1, 1};  // the tables are not the computation's
    config.bottom = {4};
    config.top = {5, 3};
  }
  Values through(Model& model, const std::string& part, std::size_t layers, Values x,
                 bool last_is_linear) const {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const std::string name = part + "." + std::to_string(layer);
      x = affine(model[name + ".weight"], model[name + ".bias"], x);
      if (last_is_linear && layer + 1 == layers) continue;
      for (double& value : x) value = std::max(value, 0.0);
    }
    return x;
  }
  double odds(Model& model, std::size_t row) const {
    const Values x(dense.begin() + 3 * static_cast<long>(row),
                   dense.begin() + 3 * static_cast<long>(row) + 3);
    std::vector<Values> z = {through(model, "bottom", 2, x, false)};
    for (std::size_t table = 0; table < 2; ++table) {
      const auto begin = bags.begin() + static_cast<long>(4 * row + 2 * table);
      z.emplace_back(begin, begin + 2);
    }
    Values top = z[0];
    for (std::size_t a = 1; a < z.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) top.push_back(z[a][0] * z[b][0] + z[a][1] * z[b][1]);
    }
    return through(model, "top", 3, top, true)[0];
  }
  double loss(Model& model) const {
    double sum = 0;
    for (std::size_t row = 0; row < 2; ++row) {
      const double share = sigmoid(odds(model, row));
      sum -= std::log(labels[row] > 0 ? share : 1 - share);
    }
    return sum;
  }

  RecommenderConfig config;
  Values dense = {0.5, -1.25, 2, 1, 0.75, -0.5};
  Values bags = {0.5, -0.25, 1, 0.75, -1, 0.5, 0.25, -0.5};
  std::vector<float> labels = {1, 0};
};

TEST(Passes, ARecommenderHasTheGradientsOfItsLoss) {
  SmallRecommender small;
  ParameterSet parameters(recommender_parameters(small.config));
  parameters.draw(3);
  for (float& bias : parameters.values(parameters.find("bottom.0.bias"))) bias = 0.1f;
  Model model = model_of(parameters);
  const auto computation = library().make_recommender({3, 2, 2, 2, 3}, {.threads = 1}, parameters);
  const std::vector<float> dense(small.dense.begin(), small.dense.end()),
      bags(small.bags.begin(), small.bags.end());
  const RecommenderBatch batch = {2, dense.data(), bags.data(), small.labels.data()};
  std::vector<float> bag_gradient(8, 7.0f), scores(2);
  ToldOnce told(parameters.size());
  const auto loss = [&] { return small.loss(model); };
  EXPECT_NEAR(computation->backward(batch, 0.5f, bag_gradient.data(), &told), loss(), 1e-5);
  EXPECT_EQ(told.times, std::vector<int>(parameters.size(), 1));
  expect_gradients(parameters, model, 0.5, loss);
  for (std::size_t at = 0; at < 8; ++at) {
    EXPECT_NEAR(bag_gradient[at], 0.5 * difference(small.bags[at], loss), 1e-5) << at;
  }
  computation->scores(batch, scores.data());
  for (std::size_t row = 0; row < 2; ++row) EXPECT_NEAR(scores[row], small.odds(model, row), 1e-5);
}

// Two layers of width 3 over 5 tokens.
double lstm_loss(Model& model, const LstmSizes& sizes, const std::vector<std::int32_t>& tokens,
                 const std::vector<std::int32_t>& targets) {
  const auto width = static_cast<std::size_t>(sizes.width);
  std::vector<Values> h(2, Values(width)), c = h;
  const Values& output =
      model.contains("output.weight") ? model["output.weight"] : model["token_embd.weight"];
  double sum = 0;
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    const auto row = model["token_embd.weight"].begin() + tokens[token] * sizes.width;
    Values x(row, row + sizes.width);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const std::string name = "lstm." + std::to_string(layer);
      Values gates = affine(model[name + ".input.weight"], model[name + ".bias"], x);
      gates = affine(model[name + ".recurrent.weight"], gates, h[layer]);
      for (std::size_t at = 0; at < width; ++at) {
        const double forget = gates[width + at] + model[name + ".forget.bias"][at];
        c[layer][at] =
            sigmoid(forget) * c[layer][at] + sigmoid(gates[at]) * std::tanh(gates[2 * width + at]);
        h[layer][at] = sigmoid(gates[3 * width + at]) * std::tanh(c[layer][at]);
      }
      x = h[layer];
    }
    if (targets[token] == kNotScored) continue;
    const Values logits = affine(output, model["output.bias"], x);
    double all = 0;
    for (const double logit : logits) all += std::exp(logit);
    sum += std::log(all) - logits[static_cast<std::size_t>(targets[token])];
  }
  return sum;
}

void expect_lstm(bool tied, bool recompute) {
  LstmModel lstm;
  lstm.tied = tied;
  lstm.sizes = {2, 3, 5};
  ParameterSet parameters(lstm_parameters(lstm));
  parameters.draw(9);
  Model model = model_of(parameters);
  const auto computation =
      library().make_lstm(lstm.sizes, {.threads = 1, .recompute = recompute}, parameters);
  const std::vector<std::int32_t> tokens = {0, 3, 1, 4, 3}, targets = {3, kNotScored, 4, 3, 2};
  const TokenBatch batch = {tokens.data(), targets.data(), 1, 5};
  const auto loss = [&] { return lstm_loss(model, lstm.sizes, tokens, targets); };
  EXPECT_NEAR(computation->backward(batch, 0.25f, nullptr), loss(), 1e-5);
  expect_gradients(parameters, model, 0.25, loss);
  std::vector<float> losses(5);
  computation->losses(batch, losses.data());
  double sum = 0;
  for (const float one : losses) sum += one;
  EXPECT_NEAR(sum, loss(), 1e-5);
  EXPECT_EQ(losses[1], 0);
}

TEST(Passes, AnLstmHasTheGradientsOfItsLoss) { expect_lstm(true, false); }
TEST(Passes, AnLstmWithAnOutputOfItsOwnToo) { expect_lstm(false, false); }
TEST(Passes, RecomputedLstmLayersGiveTheSameGradients) { expect_lstm(true, true); }

}  // namespace
}  // namespace tandem::training
