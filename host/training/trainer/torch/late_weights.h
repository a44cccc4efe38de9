// SPDX-License-Identifier: Apache-2.0
//
// LateWeights: keeps the products that give the gradients of weights, and computes them later.
//
// While a Scope exists, backward passes of its thread add the products of linear() to it; the
// gradients of inputs are computed at once. run() computes them in their order and adds each to the
// weight's gradient, as autograd would have. Threads: one.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <utility>
#include <vector>

namespace tandem::training::torch_passes {

class LateWeights {
 public:
  class Scope {
   public:
    explicit Scope(LateWeights* late);  // null: nothing is delayed
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    LateWeights* before_;
  };

  // The innermost scope of this thread; null: there is none.
  static LateWeights* current();

  void add(const torch::Tensor& weight, std::function<torch::Tensor()> product) {
    products_.emplace_back(weight, std::move(product));
  }
  void run();

 private:
  std::vector<std::pair<torch::Tensor, std::function<torch::Tensor()>>> products_;
};

}  // namespace tandem::training::torch_passes
