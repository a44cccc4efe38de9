// SPDX-License-Identifier: Apache-2.0
//
// Blocks that leave something out, by libtandem_trainer.so: their results and their gradients are
// those of a block in f64, whose gradients are central differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "host/training/pipeline/dynamic_block_reference.h"
#include "training/pipeline/layer_spec.h"
#include "training/trainer/computation_library.h"
#include "training/trainer/mixing.h"

namespace tandem::training {
namespace {

using test::Doubles;
using test::ReferenceBlock;
using test::States;

constexpr int kStateWidth = 8, kFfnWidth = 12;

struct DynamicCase {
  const char* name;
  DynamicBlocks dynamics;
  int experts = 0, tokens = 12;
  bool has_router = false;
  double depth = 1;
  int some_left = 0;  // tokens that have left before the block
  bool put_off = false, recompute = false;
  double skew = 0;  // of the last of three blocks; this one is the second
};

DecoderSizes sizes_of(const DynamicCase& one) {
  static const float frequencies[] = {1.0f, 0.1f};
  DecoderSizes sizes;
  sizes.num_layers = 3;
  sizes.width = kStateWidth;
  sizes.q_heads = 2;
  sizes.kv_heads = 1;
  sizes.head_dim = 4;
  sizes.ffn_width = kFfnWidth;
  sizes.vocab_size = 3;
  sizes.context = one.tokens;
  sizes.attention_scale = 2.5f;  // sharp enough that blocks of keys differ
  sizes.inverse_frequencies = frequencies;
  sizes.num_frequencies = 2;
  sizes.experts = one.experts;
  sizes.experts_used = one.experts > 0 ? 2 : 0;
  return sizes;
}

std::vector<ParameterSpec> block_specs(const DynamicCase& one) {
  std::vector<ParameterSpec> specs;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape, float deviation) {
    specs.push_back({"blk.1." + name + ".weight", std::move(shape), deviation, 1});
  };
  add("attn_norm", {kStateWidth}, 0);
  add("attn_q", {8, kStateWidth}, 0.4f);
  add("attn_k", {4, kStateWidth}, 0.4f);
  add("attn_v", {4, kStateWidth}, 0.4f);
  add("attn_output", {kStateWidth, 8}, 0.4f);
  add("ffn_norm", {kStateWidth}, 0);
  const std::string suffix = one.experts > 0 ? "_exps" : "";
  for (const char* name : {"ffn_gate", "ffn_up", "ffn_down"}) {
    const bool is_down = std::string(name) == "ffn_down";
    std::vector<std::int64_t> shape = {is_down ? kStateWidth : kFfnWidth,
                                       is_down ? kFfnWidth : kStateWidth};
    if (one.experts > 0) shape.insert(shape.begin(), one.experts);
    add(name + suffix, shape, 0.4f);
  }
  if (one.experts > 0) add("ffn_gate_inp", {one.experts, kStateWidth}, 0.5f);
  if (one.has_router) add("depth_router", {1, kStateWidth}, 0.5f);
  return specs;
}

class DynamicBlock : public testing::TestWithParam<DynamicCase> {
 protected:
  DynamicBlock() : parameters_(block_specs(GetParam())), reference_(sizes(), GetParam().dynamics) {
    parameters_.draw(5);
    reference_.skew = GetParam().skew / 2;
    for (std::size_t at = 0; at < parameters_.size(); ++at) {
      const std::string& name = parameters_.spec(at).name;
      const auto values = parameters_.values(at);
      reference_.weights[name.substr(6, name.size() - 13)] = Doubles(values.begin(), values.end());
    }
    ComputationOptions options{1, false, GetParam().recompute, 1, GetParam().dynamics};
    block_ = ComputationLibrary::open(TANDEM_TRAINER_FOLDER)
                 .make_layer(sizes(), options, DecoderPart::kBlock, 1, parameters_);
    x_.resize(static_cast<std::size_t>(GetParam().tokens));
    for (std::size_t token = 0; token < x_.size(); ++token) {
      x_[token] = drawn(token, 3);
      if (has_exits()) x_[token].push_back(token % 3 == 1 ? GetParam().some_left : 0);
    }
    for (std::size_t token = 0; token < x_.size(); ++token)
      weights_of_loss_.push_back(drawn(token, 17));
  }

  static DecoderSizes sizes() { return sizes_of(GetParam()); }
  static bool has_exits() { return GetParam().dynamics.exit_likeness > 0; }
  static Doubles drawn(std::size_t token, std::uint64_t seed) {
    Doubles values;
    for (std::uint64_t at = 0; at < kStateWidth; ++at) {
      const auto draw = mixed(seed, token * 100 + at) % 2001;
      values.push_back(static_cast<double>(static_cast<float>(draw) / 1000.0f - 1.0f));
    }
    return values;
  }
  static std::vector<float> flat(const States& states) {
    std::vector<float> values;
    for (const Doubles& state : states) values.insert(values.end(), state.begin(), state.end());
    return values;
  }
  TokenBatch batch() const { return {nullptr, nullptr, 1, GetParam().tokens}; }

  double loss() {
    double sum = 0;
    const States y = reference_.forward(x_, GetParam().depth);
    for (std::size_t token = 0; token < y.size(); ++token) {
      for (std::size_t at = 0; at < kStateWidth; ++at)
        sum += y[token][at] * weights_of_loss_[token][at];
    }
    return sum;
  }
  double difference(double& value) {
    constexpr double kStep = 1e-5;
    const double kept = value;
    value = kept + kStep;
    const double above = loss();
    value = kept - kStep;
    const double below = loss();
    value = kept;
    return (above - below) / (2 * kStep);
  }
  static void expect_close(double found, double expected, const std::string& what) {
    EXPECT_NEAR(found, expected, 1e-4 + 1e-3 * std::abs(expected)) << what;
  }

  ParameterSet parameters_;
  ReferenceBlock reference_;
  std::unique_ptr<LayerComputation> block_;
  States x_, weights_of_loss_;
};

TEST_P(DynamicBlock, HasTheResultsAndGradientsOfItsDefinition) {
  const States expected = reference_.forward(x_, GetParam().depth);
  ASSERT_GT(reference_.left_out, 0) << "the case leaves nothing out";
  const std::vector<float> x = flat(x_), wanted = flat(expected);
  std::vector<float> y(x.size()), dx(x.size()), dy;
  block_->forward(
      {0, true, true, static_cast<float>(GetParam().depth), static_cast<float>(GetParam().skew)},
      batch(), x.data(), y.data());
  for (std::size_t at = 0; at < y.size(); ++at) {
    ASSERT_NEAR(y[at], wanted[at], 2e-5 + 2e-5 * std::abs(wanted[at])) << at;
  }
  for (const Doubles& token : weights_of_loss_) {
    dy.insert(dy.end(), token.begin(), token.end());
    if (has_exits()) dy.push_back(0);
  }
  block_->backward(0, 1, dy.data(), dx.data(), GetParam().put_off);
  block_->weights(0);
  const std::size_t every = GetParam().tokens > 64 ? 29 : 1;  // the long case is slow in f64
  for (std::size_t parameter = 0; parameter < parameters_.size(); ++parameter) {
    const std::string& name = parameters_.spec(parameter).name;
    Doubles& values = reference_.weights.at(name.substr(6, name.size() - 13));
    for (std::size_t at = 0; at < values.size(); at += every) {
      expect_close(parameters_.gradient(parameter)[at], difference(values[at]),
                   name + " " + std::to_string(at));
    }
  }
  const std::size_t columns = x_[0].size();
  for (std::size_t at = 0; at < x_.size() * kStateWidth; at += every) {
    const std::size_t token = at / kStateWidth, column = at % kStateWidth;
    expect_close(dx[token * columns + column], difference(x_[token][column]),
                 "x " + std::to_string(at));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, DynamicBlock,
    testing::Values(
        DynamicCase{.name = "Experts", .dynamics = {.expert_capacity = 0.75f}, .experts = 4},
        DynamicCase{.name = "ExpertsOfAWholeNumber",  // an f32 of 0.6 is more than 0.6
                    .dynamics = {.expert_capacity = 0.6f},
                    .experts = 4,
                    .tokens = 20},
        DynamicCase{
            .name = "SkewedExperts", .dynamics = {.expert_capacity = 1}, .experts = 4, .skew = 1.5},
        DynamicCase{.name = "ExpertsPutOff",
                    .dynamics = {.expert_capacity = 0.5f},
                    .experts = 3,
                    .put_off = true},
        DynamicCase{.name = "SparseAttention", .dynamics = {.attention_mass = 0.5f}, .tokens = 200},
        DynamicCase{.name = "SparseAttentionOfAShortBlock",  // of two queries
                    .dynamics = {.attention_mass = 0.3f},
                    .tokens = 194},
        DynamicCase{.name = "SparseAttentionByDepth",
                    .dynamics = {.attention_mass = 0.9f, .attention_mass_last = 0.1f},
                    .tokens = 200},
        DynamicCase{.name = "EarlyExit", .dynamics = {.exit_likeness = 0.3f}},
        DynamicCase{.name = "EarlyExitOfSome", .dynamics = {.exit_likeness = 0.3f}, .some_left = 1},
        DynamicCase{.name = "EarlyExitPutOff",
                    .dynamics = {.exit_likeness = 0.3f},
                    .some_left = 1,
                    .put_off = true,
                    .recompute = true},
        DynamicCase{.name = "Depth", .dynamics = {}, .has_router = true, .depth = 0.4},
        DynamicCase{.name = "DepthOfAWholeNumber",  // an f32 of 0.1 is more than 0.1
                    .dynamics = {},
                    .tokens = 20,
                    .has_router = true,
                    .depth = 0.1},
        DynamicCase{.name = "DepthRecomputed",
                    .dynamics = {},
                    .has_router = true,
                    .depth = 0.25,
                    .recompute = true}),
    [](const auto& info) { return std::string(info.param.name); });

// A row whose tokens have all left is as it was, and so is its gradient.
TEST(ExitedRow, PassesThroughABlockUnchanged) {
  const DynamicCase one{.name = "", .dynamics = {.exit_likeness = 0.5f}};
  ParameterSet parameters(block_specs(one));
  parameters.draw(5);
  const auto block = ComputationLibrary::open(TANDEM_TRAINER_FOLDER)
                         .make_layer(sizes_of(one), {1, false, false, 1, one.dynamics},
                                     DecoderPart::kBlock, 1, parameters);
  std::vector<float> x(static_cast<std::size_t>(one.tokens) * (kStateWidth + 1), 1.0f), y(x.size()),
      dx = y;
  for (std::size_t at = 0; at < x.size(); ++at) {
    if (at % (kStateWidth + 1) < kStateWidth) x[at] = static_cast<float>(at % 11);
  }
  block->forward({0}, {nullptr, nullptr, 1, one.tokens}, x.data(), y.data());
  EXPECT_EQ(x, y);
  block->backward(0, 1, x.data(), dx.data(), false);
  EXPECT_EQ(x, dx);
  EXPECT_EQ(std::ranges::count(parameters.gradient(1), 0.0f), 8 * kStateWidth);
}

// Products with a pruned matrix, sparse and dense. tokens: no multiple of a chunk.
struct PrunedRun {
  explicit PrunedRun(float sparse_from, bool put_off, int threads)
      : one{.name = "", .dynamics = {.sparse_from = sparse_from}, .tokens = 77},
        parameters(block_specs(one)) {
    parameters.draw(5);
    for (std::size_t at = 0; at < parameters.size(); ++at) {
      if (parameters.spec(at).shape.size() < 2) continue;
      for (std::size_t value = 0; value < parameters.values(at).size(); ++value) {
        if (mixed(at, value) % 10 < 7) parameters.values(at)[value] = 0;
      }
    }
    const auto block = ComputationLibrary::open(TANDEM_TRAINER_FOLDER)
                           .make_layer(sizes_of(one), {threads, false, false, 1, one.dynamics},
                                       DecoderPart::kBlock, 1, parameters);
    std::vector<float> x;
    for (std::uint64_t at = 0; at < 77 * kStateWidth; ++at) {
      x.push_back(static_cast<float>(mixed(9, at) % 2001) / 1000.0f - 1.0f);
    }
    y.resize(x.size());
    dx.resize(x.size());
    block->forward({0}, {nullptr, nullptr, 1, 77}, x.data(), y.data());
    block->backward(0, 1, x.data(), dx.data(), put_off);
    block->weights(0);
  }
  DynamicCase one;
  ParameterSet parameters;
  std::vector<float> y, dx;
};

TEST(SparseProducts, HaveTheResultsOfDenseOnesAndNoGradientsOfZeros) {
  PrunedRun dense(0, false, 1), sparse(0.5f, false, 1);
  for (std::size_t at = 0; at < dense.y.size(); ++at) {
    ASSERT_NEAR(sparse.y[at], dense.y[at], 1e-4) << at;
    ASSERT_NEAR(sparse.dx[at], dense.dx[at], 1e-3) << at;
  }
  for (std::size_t parameter = 0; parameter < dense.parameters.size(); ++parameter) {
    const auto values = dense.parameters.values(parameter);
    for (std::size_t at = 0; at < values.size(); ++at) {
      const float found = sparse.parameters.gradient(parameter)[at];
      const float expected = values[at] == 0 ? 0 : dense.parameters.gradient(parameter)[at];
      ASSERT_NEAR(found, expected, 1e-3 + 1e-4 * std::abs(expected)) << parameter << " " << at;
    }
  }
}

// Dense products give gradients to zeros too.
std::size_t zeros_with_gradients(PrunedRun run) {
  std::size_t count = 0;
  for (std::size_t parameter = 0; parameter < run.parameters.size(); ++parameter) {
    const auto values = run.parameters.values(parameter);
    for (std::size_t at = 0; at < values.size(); ++at) {
      if (values[at] == 0 && run.parameters.gradient(parameter)[at] != 0) ++count;
    }
  }
  return count;
}

TEST(SparseProducts, AreDenseBelowTheirShareOfZeros) {
  EXPECT_GT(zeros_with_gradients(PrunedRun(0, false, 1)), 100u);
  EXPECT_GT(zeros_with_gradients(PrunedRun(0.9f, false, 1)), 100u);  // 0.7 are zeros
  EXPECT_EQ(zeros_with_gradients(PrunedRun(0.5f, false, 1)), 0u);
}

TEST(SparseProducts, HaveTheSameBitsWithOtherThreadsAndPutOff) {
  PrunedRun one(0.5f, false, 1), other(0.5f, true, 2);
  EXPECT_EQ(one.y, other.y);
  EXPECT_EQ(one.dx, other.dx);
  for (std::size_t parameter = 0; parameter < one.parameters.size(); ++parameter) {
    const auto a = one.parameters.gradient(parameter), b = other.parameters.gradient(parameter);
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0) << parameter;
  }
}

}  // namespace
}  // namespace tandem::training
