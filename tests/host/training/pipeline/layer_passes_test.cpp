// SPDX-License-Identifier: Apache-2.0
//
// The layers of libtandem_trainer.so one by one against its whole decoder: the same bits of losses
// and gradients, over several micro-batches, with activations that are computed again and products
// that are put off.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "training/pipeline/layer_spec.h"
#include "training/trainer/computation_library.h"
#include "training/trainer/mixing.h"

namespace tandem::training {
namespace {

constexpr int kWidth = 16, kVocab = 11, kRows = 2, kColumns = 8, kMicroBatches = 3, kLayers = 2;
constexpr float kScale = 0.125f;

DecoderSizes sizes(bool experts) {
  static const float frequencies[] = {1.0f, 0.1f};
  DecoderSizes sizes;
  sizes.num_layers = kLayers;
  sizes.width = kWidth;
  sizes.q_heads = 4;
  sizes.kv_heads = 2;
  sizes.head_dim = 4;
  sizes.ffn_width = 24;
  sizes.vocab_size = kVocab;
  sizes.context = kColumns;
  sizes.attention_scale = 0.5f;
  sizes.inverse_frequencies = frequencies;
  sizes.num_frequencies = 2;
  sizes.experts = experts ? 3 : 0;
  sizes.experts_used = experts ? 2 : 0;
  return sizes;
}

std::vector<ParameterSpec> specs_of(bool tied, bool experts) {
  std::vector<ParameterSpec> specs = {{"token_embd.weight", {kVocab, kWidth}, 0.5f, 0}};
  for (int layer = 0; layer < kLayers; ++layer) {
    const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
      const float deviation = shape.size() > 1 ? 0.3f : 0.0f;
      specs.push_back({"blk." + std::to_string(layer) + "." + name + ".weight", std::move(shape),
                       deviation, 1});
    };
    add("attn_norm", {kWidth});
    add("attn_q", {16, kWidth});
    add("attn_k", {8, kWidth});
    add("attn_v", {8, kWidth});
    add("attn_output", {kWidth, 16});
    add("ffn_norm", {kWidth});
    if (experts) {
      add("ffn_gate_inp", {3, kWidth});
      add("ffn_gate_exps", {3, 24, kWidth});
      add("ffn_up_exps", {3, 24, kWidth});
      add("ffn_down_exps", {3, kWidth, 24});
      continue;
    }
    add("ffn_gate", {24, kWidth});
    add("ffn_up", {24, kWidth});
    add("ffn_down", {kWidth, 24});
  }
  specs.push_back({"output_norm.weight", {kWidth}, 0, 1});
  if (!tied) specs.push_back({"output.weight", {kVocab, kWidth}, 0.4f, 0});
  return specs;
}

struct Batch {
  explicit Batch(int number) {
    for (int at = 0; at < kRows * kColumns; ++at) {
      const auto draw = mixed(7, static_cast<std::uint64_t>(number * 100 + at));
      tokens.push_back(static_cast<std::int32_t>(draw % kVocab));
      targets.push_back(at % 5 == 4 ? kNotScored : static_cast<std::int32_t>(draw / 64 % kVocab));
    }
  }
  TokenBatch view() const { return {tokens.data(), targets.data(), kRows, kColumns}; }
  std::vector<std::int32_t> tokens, targets;
};

struct Case {
  bool tied = false, bf16 = false, recompute = false, put_off = false, experts = false;
  DynamicBlocks dynamics = {};
  ComputationOptions options() const { return {1, bf16, recompute, 1, dynamics}; }
};

class LayerPassesTest : public testing::TestWithParam<Case> {
 protected:
  using Values = std::vector<float>;

  static const ComputationLibrary& library() {
    return ComputationLibrary::open(TANDEM_TRAINER_FOLDER);
  }

  LayerPassesTest() : whole_(specs_of(GetParam().tied, GetParam().experts)) {
    whole_.draw(5);
    for (const LayerSpec& spec :
         layers_of(specs_of(GetParam().tied, GetParam().experts), kLayers)) {
      parts_.push_back(std::make_unique<ParameterSet>(spec.parameters));
      for (std::size_t at = 0; at < spec.parameters.size(); ++at) {
        const auto from = whole_.values(whole_.find(spec.parameters[at].name));
        std::ranges::copy(from, parts_.back()->values(at).begin());
      }
      layers_.push_back(library().make_layer(sizes(GetParam().experts), GetParam().options(),
                                             spec.part, spec.block, *parts_.back()));
    }
  }

  Values forward(int slot, const Batch& batch, std::size_t until, double& loss) {
    Values x(kRows * kColumns * kWidth), y = x;
    for (std::size_t layer = 0; layer < until; ++layer) {
      loss = layers_[layer]->forward({slot}, batch.view(), x.data(), y.data());
      std::swap(x, y);
    }
    return x;
  }

  void backward(int slot) {
    const std::size_t last = layers_.size() - 1;
    Values dy(kRows * kColumns * kWidth), dx = dy;
    for (std::size_t layer = last + 1; layer-- > 0;) {
      const bool put_off = GetParam().put_off && layer < last;
      float* into = layer == 0 ? nullptr : dx.data();
      layers_[layer]->backward(slot, kScale, dy.data(), into, put_off);
      std::swap(dy, dx);
      if (layer == last) take_tied();
      if (layer == 0) add_tied();
    }
  }

  // Of the output's copy, as a pipeline adds it: with the embedding's own, per micro-batch.
  void take_tied() {
    if (!GetParam().tied) return;
    const auto gradient = parts_.back()->gradient(1);
    tied_.assign(gradient.begin(), gradient.end());
    std::ranges::fill(gradient, 0.0f);
  }
  void add_tied() {
    if (!GetParam().tied) return;
    const auto gradient = parts_.front()->gradient(0);
    if (sum_.empty()) sum_.resize(gradient.size());
    for (std::size_t at = 0; at < sum_.size(); ++at) sum_[at] += tied_[at] + gradient[at];
    std::ranges::fill(gradient, 0.0f);
  }

  void expect_bits(std::span<const float> expected, std::span<const float> found,
                   const std::string& what) {
    ASSERT_EQ(expected.size(), found.size());
    EXPECT_EQ(std::memcmp(expected.data(), found.data(), expected.size_bytes()), 0) << what;
  }

  ParameterSet whole_;
  std::vector<std::unique_ptr<ParameterSet>> parts_;
  std::vector<std::unique_ptr<LayerComputation>> layers_;
  Values tied_, sum_;
};

TEST_P(LayerPassesTest, HaveTheBitsOfTheWholeDecoder) {
  const auto decoder =
      library().make_decoder(sizes(GetParam().experts), GetParam().options(), whole_);
  double losses[kMicroBatches] = {};
  // All forward passes first: the slots keep their activations apart.
  for (int micro = 0; micro < kMicroBatches; ++micro) {
    forward(micro, Batch(micro), layers_.size(), losses[micro]);
  }
  for (int micro = 0; micro < kMicroBatches; ++micro) {
    EXPECT_EQ(losses[micro], decoder->backward(Batch(micro).view(), kScale, nullptr));
    backward(micro);
  }
  for (int micro = 0; micro < kMicroBatches; ++micro) {
    for (const auto& layer : layers_) layer->weights(micro);
  }
  for (std::size_t layer = 0; layer < parts_.size(); ++layer) {
    ParameterSet& part = *parts_[layer];
    for (std::size_t at = 0; at < part.size(); ++at) {
      const std::string& name = part.spec(at).name;
      const bool shared = GetParam().tied && name == "token_embd.weight";
      if (shared && layer > 0) continue;
      const std::span<const float> found =
          shared ? std::span<const float>(sum_) : part.gradient(at);
      expect_bits(whole_.gradient(whole_.find(name)), found, name);
    }
  }
}

TEST_P(LayerPassesTest, ScoreAsTheWholeDecoderDoes) {
  const auto decoder =
      library().make_decoder(sizes(GetParam().experts), GetParam().options(), whole_);
  const Batch batch(1);
  Values expected(kRows * kColumns), found(kRows * kColumns);
  decoder->losses(batch.view(), expected.data());
  double loss = 0;
  const Values x = forward(0, batch, layers_.size() - 1, loss);
  layers_.back()->losses(batch.view(), x.data(), found.data());
  expect_bits(expected, found, "losses");
}

TEST_P(LayerPassesTest, AForwardPassThatIsNotKeptHasNoBackwardPass) {
  const Batch batch(0);
  Values x(kRows * kColumns * kWidth), y = x;
  layers_[1]->forward({0, false, false}, batch.view(), x.data(), y.data());
  EXPECT_THROW(layers_[1]->backward(0, kScale, y.data(), x.data(), false), std::exception);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, LayerPassesTest,
    testing::Values(Case{}, Case{.tied = true}, Case{.bf16 = true},
                    Case{.tied = true, .recompute = true}, Case{.put_off = true},
                    Case{.bf16 = true, .recompute = true, .put_off = true},
                    Case{.put_off = true, .experts = true, .dynamics = {.expert_capacity = 0.75f}},
                    Case{
                        .recompute = true, .experts = true, .dynamics = {.attention_mass = 0.5f}}));

}  // namespace
}  // namespace tandem::training
