// SPDX-License-Identifier: Apache-2.0
//
// Dot products are below the diagonal of z z^T, row by row; z: [rows, tables + 1, width].
#include "training/trainer/recommender_computation.h"

#include <torch/torch.h>

#include "training/trainer/torch/leaves.h"
#include "training/trainer/torch/linear.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;

struct LinearLayer {
  Tensor weight, bias;
};

class Recommender final : public RecommenderComputation {
 public:
  Recommender(const RecommenderSizes& sizes, const ComputationOptions& options,
              const ParameterMemory* parameters, std::size_t num_parameters)
      : sizes_(sizes), bf16_(options.bf16), leaves_(parameters, num_parameters) {
    for (int layer = 0; layer < sizes.bottom_layers; ++layer)
      bottom_.push_back(find("bottom", layer));
    for (int layer = 0; layer < sizes.top_layers; ++layer) top_.push_back(find("top", layer));
    const std::int64_t vectors = sizes.tables + 1;
    std::vector<std::int64_t> places;
    for (std::int64_t row = 1; row < vectors; ++row) {
      for (std::int64_t column = 0; column < row; ++column)
        places.push_back(row * vectors + column);
    }
    pairs_ = torch::tensor(places, torch::kLong);
  }

  double backward(const RecommenderBatch& batch, float scale, float* bag_gradient,
                  GradientListener* listener) override {
    const Tensor bags = bags_of(batch);
    bags.mutable_grad() = torch::from_blob(bag_gradient, bags.sizes()).zero_();
    bags.requires_grad_(true);
    const Tensor labels = torch::from_blob(const_cast<float*>(batch.labels), {batch.rows});
    const Tensor loss = torch::binary_cross_entropy_with_logits(logits(batch, bags), labels, {}, {},
                                                                torch::Reduction::Sum);
    leaves_.backward(loss * scale, listener);
    return loss.item<double>();
  }

  void scores(const RecommenderBatch& batch, float* scores) override {
    const torch::NoGradGuard no_gradients;
    const Tensor found = logits(batch, bags_of(batch)).contiguous();
    std::copy_n(found.data_ptr<float>(), batch.rows, scores);
  }

 private:
  LinearLayer find(const std::string& part, int layer) const {
    const std::string name = part + "." + std::to_string(layer);
    return {leaves_.get(name + ".weight"), leaves_.get(name + ".bias")};
  }

  Tensor bags_of(const RecommenderBatch& batch) const {
    return torch::from_blob(const_cast<float*>(batch.bags),
                            {batch.rows, sizes_.tables, sizes_.width});
  }

  Tensor through(const std::vector<LinearLayer>& layers, Tensor x, bool last_is_linear) const {
    for (std::size_t at = 0; at < layers.size(); ++at) {
      x = linear(x, layers[at].weight, bf16_) + layers[at].bias;
      if (!last_is_linear || at + 1 < layers.size()) x = torch::relu(x);
    }
    return x;
  }

  Tensor logits(const RecommenderBatch& batch, const Tensor& bags) const {
    const Tensor dense =
        torch::from_blob(const_cast<float*>(batch.dense), {batch.rows, sizes_.dense});
    const Tensor bottom = through(bottom_, dense, false);
    const Tensor z = torch::cat({bottom.unsqueeze(1), bags}, 1);
    const Tensor dots = torch::bmm(z, z.transpose(1, 2)).flatten(1).index_select(1, pairs_);
    return through(top_, torch::cat({bottom, dots}, 1), true).view({-1});
  }

  RecommenderSizes sizes_;
  bool bf16_;
  Leaves leaves_;
  std::vector<LinearLayer> bottom_, top_;
  Tensor pairs_;
};

}  // namespace
}  // namespace tandem::training::torch_passes

extern "C" {

__attribute__((visibility("default"))) tandem::training::RecommenderComputation*
tandem_trainer_make_recommender(const tandem::training::RecommenderSizes* sizes,
                                const tandem::training::ComputationOptions* options,
                                const tandem::training::ParameterMemory* parameters,
                                std::size_t num_parameters) {
  if (options->threads > 0) torch::set_num_threads(options->threads);
  return new tandem::training::torch_passes::Recommender(*sizes, *options, parameters,
                                                         num_parameters);
}
}
