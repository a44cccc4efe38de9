// SPDX-License-Identifier: Apache-2.0
//
// A part's input is a leaf of autograd, so its backward pass ends there. The sums at a leaf are
// those that the whole model's graph makes at the same place.
#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "training/trainer/layer_computation.h"
#include "training/trainer/torch/decoder_block.h"
#include "training/trainer/torch/late_weights.h"
#include "training/trainer/torch/leaves.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;

class DecoderLayer final : public LayerComputation {
 public:
  DecoderLayer(const DecoderSizes& sizes, const ComputationOptions& options, DecoderPart part,
               int block, const ParameterMemory* parameters, std::size_t num_parameters)
      : leaves_(parameters, num_parameters),
        part_(part),
        recompute_(options.recompute),
        blocks_(sizes, options),
        width_(blocks_.columns()) {
    if (part == DecoderPart::kBlock) block_ = block_weights(leaves_, block);
    if (part == DecoderPart::kEmbedding) weight_ = leaves_.get("token_embd.weight");
    if (part != DecoderPart::kOutput) return;
    norm_ = leaves_.get("output_norm.weight");
    weight_ = leaves_.get(leaves_.has("output.weight") ? "output.weight" : "token_embd.weight");
  }

  double forward(const LayerPass& pass, const TokenBatch& batch, const float* x,
                 float* y) override {
    if (batch.columns > blocks_.context()) throw std::runtime_error("a row exceeds the context");
    Kept kept{
        batch, input(batch, x, pass.keep && pass.input_gradient), {}, {pass.depth, pass.skew}};
    const bool again = recompute_ && part_ == DecoderPart::kBlock;
    {
      const torch::AutoGradMode gradients(pass.keep && !again);
      kept.y = result(kept);
    }
    double loss = 0;
    if (part_ == DecoderPart::kOutput) {
      loss = kept.y.item<double>();
    } else {
      const Tensor values = kept.y.contiguous();
      std::copy_n(values.data_ptr<float>(), values.numel(), y);
    }
    if (again) kept.y = Tensor();
    if (pass.keep) kept_.insert_or_assign(pass.slot, std::move(kept));
    return loss;
  }

  void backward(int slot, float scale, const float* dy, float* dx, bool put_off) override {
    const auto found = kept_.find(slot);
    if (found == kept_.end())
      throw std::runtime_error("slot " + std::to_string(slot) +
                               " has no forward pass; call forward() first");
    Kept kept = std::move(found->second);
    kept_.erase(found);
    if (!kept.y.defined()) kept.y = result(kept);
    LateWeights late;
    {
      const LateWeights::Scope scope(put_off ? &late : nullptr);
      if (part_ == DecoderPart::kOutput) {
        torch::autograd::backward({kept.y * scale}, {});
      } else {
        torch::autograd::backward({kept.y}, {of_memory(dy, kept.batch)});
      }
    }
    if (put_off) late_.insert_or_assign(slot, std::move(late));
    if (dx == nullptr) return;
    const Tensor gradient = kept.x.grad().contiguous();
    std::copy_n(gradient.data_ptr<float>(), gradient.numel(), dx);
  }

  void weights(int slot) override {
    const auto found = late_.find(slot);
    if (found == late_.end()) return;
    found->second.run();
    late_.erase(found);
  }

  void losses(const TokenBatch& batch, const float* x, float* losses) override {
    const torch::NoGradGuard no_gradients;
    const Tensor found = loss_of({batch, input(batch, x, false), {}}, torch::kNone);
    std::copy_n(found.data_ptr<float>(), found.numel(), losses);
  }

 private:
  struct Kept {
    TokenBatch batch;  // its pointers hold until the forward pass ends
    Tensor x, y;
    DecoderBlocks::Step step;
  };

  Tensor of_memory(const float* values, const TokenBatch& batch) const {
    return torch::from_blob(const_cast<float*>(values), {batch.rows, batch.columns, width_})
        .clone();
  }

  Tensor input(const TokenBatch& batch, const float* x, bool with_gradient) const {
    if (part_ == DecoderPart::kEmbedding) return {};
    Tensor copy = of_memory(x, batch);
    copy.requires_grad_(with_gradient);
    return copy;
  }

  static Tensor ids(const std::int32_t* values, const TokenBatch& batch) {
    return torch::from_blob(const_cast<std::int32_t*>(values), {batch.rows, batch.columns},
                            torch::kInt)
        .to(torch::kLong);
  }

  template <typename Reduction>
  Tensor loss_of(const Kept& kept, Reduction reduction) const {
    const Tensor logits = blocks_.output(kept.x, norm_, weight_);
    return torch::nn::functional::cross_entropy(logits.flatten(0, 1),
                                                ids(kept.batch.targets, kept.batch).view(-1),
                                                torch::nn::functional::CrossEntropyFuncOptions()
                                                    .ignore_index(kNotScored)
                                                    .reduction(reduction));
  }

  Tensor result(const Kept& kept) const {
    if (part_ == DecoderPart::kBlock) return blocks_.block(block_, kept.x, kept.step);
    if (part_ == DecoderPart::kOutput) return loss_of(kept, torch::kSum);
    return blocks_.entered(torch::embedding(weight_, ids(kept.batch.tokens, kept.batch)));
  }

  Leaves leaves_;
  DecoderPart part_;
  bool recompute_;
  DecoderBlocks blocks_;
  std::int64_t width_;
  BlockWeights block_;
  Tensor norm_, weight_;
  std::map<int, Kept> kept_;         // by slot
  std::map<int, LateWeights> late_;  // by slot
};

}  // namespace
}  // namespace tandem::training::torch_passes

extern "C" {

__attribute__((visibility("default"))) tandem::training::LayerComputation*
tandem_trainer_make_layer(const tandem::training::DecoderSizes* sizes,
                          const tandem::training::ComputationOptions* options,
                          tandem::training::DecoderPart part, int block,
                          const tandem::training::ParameterMemory* parameters,
                          std::size_t num_parameters) {
  if (options->threads > 0) torch::set_num_threads(options->threads);
  return new tandem::training::torch_passes::DecoderLayer(*sizes, *options, part, block, parameters,
                                                          num_parameters);
}
}
