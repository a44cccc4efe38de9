// SPDX-License-Identifier: Apache-2.0
//
// A backward pass on the CPU runs in the thread that asks for it.
#include "training/trainer/torch/late_weights.h"

namespace tandem::training::torch_passes {
namespace {

thread_local LateWeights* late_weights = nullptr;

}  // namespace

LateWeights::Scope::Scope(LateWeights* late) : before_(std::exchange(late_weights, late)) {}
LateWeights::Scope::~Scope() { late_weights = before_; }

LateWeights* LateWeights::current() { return late_weights; }

void LateWeights::run() {
  const torch::NoGradGuard no_gradients;
  for (auto& [weight, product] : products_) weight.mutable_grad().add_(product());
  products_.clear();
}

}  // namespace tandem::training::torch_passes
