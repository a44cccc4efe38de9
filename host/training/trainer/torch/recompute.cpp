// SPDX-License-Identifier: Apache-2.0
//
// The second run has its own graph, whose backward pass runs inside that of the first.
#include "training/trainer/torch/recompute.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Recomputed : torch::autograd::Function<Recomputed> {
  static Tensor forward(AutogradContext* context, const Tensor& x, std::int64_t part) {
    context->save_for_backward({x});
    context->saved_data["part"] = part;
    return (*reinterpret_cast<const Part*>(part))(x);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto* part = reinterpret_cast<const Part*>(context->saved_data["part"].toInt());
    Tensor x = context->get_saved_variables()[0].detach();
    x.requires_grad_(true);
    Tensor y;
    {
      const torch::AutoGradMode with_gradients(true);
      y = (*part)(x);
    }
    torch::autograd::backward({y}, {gradients[0]});
    return {x.grad(), Tensor()};
  }
};

}  // namespace

Tensor recomputed(const Part& part, const Tensor& x) {
  return Recomputed::apply(x, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&part)));
}

}  // namespace tandem::training::torch_passes
