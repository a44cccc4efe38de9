// SPDX-License-Identifier: Apache-2.0
//
// A model small enough to be computed by hand: the next token by the last one alone.
//
// One parameter, "bigram" [vocabulary, vocabulary]: logits of the next token. A second, "unused"
// [8], never gets a gradient. Deterministic; threads: one.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "training/trainer/computation.h"
#include "training/trainer/parameter_set.h"

namespace tandem::test {

// The description of a decoder whose tokens and context suit these runs.
inline constexpr const char* kSmallDecoder =
    "layers = 1\nwidth = 8\nheads = 1\nffn = 8\ncontext = 64\n";

inline std::vector<training::ParameterSpec> bigram_parameters(int vocab) {
  return {{"bigram", {vocab, vocab}, 0.02f, 0}, {"unused", {8}, 0, 1}};
}

class Bigram final : public training::Computation {
 public:
  Bigram(training::ParameterSet& parameters, int vocab) : parameters_(parameters), vocab_(vocab) {}

  double backward(const training::TokenBatch& batch, float scale,
                  training::GradientListener* listener) override {
    if (passes == leave_at_pass) throw std::runtime_error("this rank is gone");
    double sum = 0;
    for_each(batch, [&](int, std::int32_t token, std::int32_t target) {
      const std::vector<double> odds = probabilities(token);
      float* gradient = parameters_.gradient(0).data() + token * vocab_;
      for (int next = 0; next < vocab_; ++next) {
        gradient[next] += static_cast<float>(odds[static_cast<std::size_t>(next)]) * scale;
      }
      gradient[target] -= scale;
      sum -= std::log(odds[static_cast<std::size_t>(target)]);
    });
    if (poison_ || passes == poison_pass) parameters_.gradient(0)[3] = NAN;
    if (listener != nullptr) {
      listener->ready(1);
      listener->ready(0);
    }
    ++passes;
    return sum;
  }

  void losses(const training::TokenBatch& batch, float* losses) override {
    std::fill_n(losses, batch.rows * batch.columns, 0.0f);
    for_each(batch, [&](int at, std::int32_t token, std::int32_t target) {
      losses[at] =
          static_cast<float>(-std::log(probabilities(token)[static_cast<std::size_t>(target)]));
    });
  }

  void poison(bool on) { poison_ = on; }

  int passes = 0;
  int poison_pass = -1;
  int leave_at_pass = -1;

 private:
  template <typename Visit>
  void for_each(const training::TokenBatch& batch, const Visit& visit) const {
    for (int at = 0; at < batch.rows * batch.columns; ++at) {
      if (batch.targets[at] != training::kNotScored) {
        visit(at, batch.tokens[at], batch.targets[at]);
      }
    }
  }
  std::vector<double> probabilities(std::int32_t token) const {
    const float* row = parameters_.values(0).data() + token * vocab_;
    std::vector<double> odds(row, row + vocab_);
    const double most = *std::max_element(odds.begin(), odds.end());
    double sum = 0;
    for (double& value : odds) sum += value = std::exp(value - most);
    for (double& value : odds) value /= sum;
    return odds;
  }

  training::ParameterSet& parameters_;
  const int vocab_;
  bool poison_ = false;
};

}  // namespace tandem::test
