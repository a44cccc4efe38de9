// SPDX-License-Identifier: Apache-2.0
//
// ToyLayer: a layer computation by hand, f32, for pipelines without libtorch.
//
// Embedding: rows of a table. Block: x times a vector, by value. Output: half the square of the
// product of x and the target's row, times a vector. Gradients of a micro-batch are added to the
// present ones as one sum each. Throws for passes out of order. Threads: one.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "training/pipeline/layer_spec.h"

namespace tandem::test {

constexpr int kToyVocabulary = 7, kToyWidth = 5;

inline std::vector<training::ParameterSpec> toy_parameters(int num_blocks, bool tied) {
  std::vector<training::ParameterSpec> specs = {
      {"token_embd.weight", {kToyVocabulary, kToyWidth}, 0.7f, 0}};
  for (int block = 0; block < num_blocks; ++block) {
    specs.push_back({"blk." + std::to_string(block) + ".scale.weight", {1, kToyWidth}, 0.9f, 0});
  }
  specs.push_back({"output_norm.weight", {kToyWidth}, 0, 1});
  if (!tied) specs.push_back({"output.weight", {kToyVocabulary, kToyWidth}, 0.8f, 0});
  return specs;
}

class ToyLayer : public training::LayerComputation {
 public:
  ToyLayer(training::DecoderPart part, training::ParameterSet& parameters)
      : part_(part), parameters_(parameters) {}

  double forward(const training::LayerPass& pass, const training::TokenBatch& batch, const float* x,
                 float* y) override {
    const int count = batch.rows * batch.columns;
    Kept kept;
    kept.input_gradient = pass.input_gradient;
    kept.tokens.assign(batch.tokens, batch.tokens + count);
    kept.targets.assign(batch.targets, batch.targets + count);
    if (x != nullptr) kept.x.assign(x, x + count * kToyWidth);
    double loss = 0;
    for (int at = 0; at < count; ++at) {
      if (part_ == training::DecoderPart::kOutput) {
        const float odds = product(kept, at);
        loss += 0.5 * odds * odds;
        continue;
      }
      for (int column = 0; column < kToyWidth; ++column) {
        y[at * kToyWidth + column] = part_ == training::DecoderPart::kEmbedding
                                         ? row(0, kept.tokens[place(at)])[column]
                                         : x[at * kToyWidth + column] * row(0, 0)[column];
      }
    }
    if (pass.keep) kept_[pass.slot] = std::move(kept);
    ++forward_passes;
    return loss;
  }

  void backward(int slot, float scale, const float* dy, float* dx, bool put_off) override {
    const auto found = kept_.find(slot);
    if (found == kept_.end()) throw std::runtime_error("no forward pass was kept");
    const Kept kept = found->second;
    kept_.erase(found);
    if (kept.input_gradient != (dx != nullptr) && part_ != training::DecoderPart::kEmbedding) {
      throw std::runtime_error("the gradient of the input was not agreed on");
    }
    ++backward_passes;
    Sums sums = zeros();
    for (int at = 0; at < static_cast<int>(kept.tokens.size()); ++at) {
      one_backward(kept, at, scale, dy, dx, sums);
    }
    if (put_off) {
      late_[slot] = sums;
    } else {
      add(sums);
    }
  }

  void weights(int slot) override {
    if (!late_.contains(slot)) return;
    add(late_.at(slot));
    late_.erase(slot);
  }

  void losses(const training::TokenBatch&, const float*, float*) override {}

  int forward_passes = 0, backward_passes = 0;

 private:
  struct Kept {
    std::vector<std::int32_t> tokens, targets;
    std::vector<float> x;
    bool input_gradient = true;
  };
  using Sums = std::vector<std::vector<float>>;  // by parameter

  static std::size_t place(int at) { return static_cast<std::size_t>(at); }
  float* row(std::size_t parameter, int number) const {
    return parameters_.values(parameter).data() + number * kToyWidth;
  }
  float product(const Kept& kept, int at) const {
    float sum = 0;
    for (int column = 0; column < kToyWidth; ++column) {
      sum += kept.x[place(at * kToyWidth + column)] * row(0, 0)[column] *
             row(1, kept.targets[place(at)])[column];
    }
    return sum;
  }
  Sums zeros() const {
    Sums sums;
    for (std::size_t at = 0; at < parameters_.size(); ++at) {
      sums.emplace_back(parameters_.values(at).size());
    }
    return sums;
  }
  void add(const Sums& sums) {
    for (std::size_t parameter = 0; parameter < sums.size(); ++parameter) {
      const auto gradient = parameters_.gradient(parameter);
      for (std::size_t at = 0; at < gradient.size(); ++at) gradient[at] += sums[parameter][at];
    }
  }
  void one_backward(const Kept& kept, int at, float scale, const float* dy, float* dx,
                    Sums& sums) const {
    const bool is_output = part_ == training::DecoderPart::kOutput;
    const float by = is_output ? scale * product(kept, at) : 0;
    for (int column = 0; column < kToyWidth; ++column) {
      const auto here = place(at * kToyWidth + column);
      if (part_ == training::DecoderPart::kEmbedding) {
        sums[0][place(kept.tokens[place(at)] * kToyWidth + column)] += dy[here];
        continue;
      }
      const float w = row(0, 0)[column];
      if (!is_output) {
        sums[0][place(column)] += dy[here] * kept.x[here];
        if (dx != nullptr) dx[here] = dy[here] * w;
        continue;
      }
      const float o = row(1, kept.targets[place(at)])[column];
      sums[0][place(column)] += by * kept.x[here] * o;
      sums[1][place(kept.targets[place(at)] * kToyWidth + column)] += by * kept.x[here] * w;
      if (dx != nullptr) dx[here] = by * w * o;
    }
  }

  training::DecoderPart part_;
  training::ParameterSet& parameters_;
  std::map<int, Kept> kept_;
  std::map<int, Sums> late_;
};

inline std::unique_ptr<training::LayerComputation> make_toy(const training::LayerSpec& layer,
                                                            training::ParameterSet& parameters) {
  return std::make_unique<ToyLayer>(layer.part, parameters);
}

}  // namespace tandem::test
