// SPDX-License-Identifier: Apache-2.0
//
// Leaves: the trainer's parameters as leaves of autograd, with a notification when a gradient is
// complete.
//
// Tensors and their gradients are views of the trainer's memory: autograd adds to them in place. A
// hook calls the listener after the last accumulation of a gradient in a pass. For parameters that
// a pass does not use, the listener is called at the end of the pass. Threads: one.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "training/trainer/computation.h"

namespace tandem::training::torch_passes {

class Leaves {
 public:
  Leaves(const ParameterMemory* parameters, std::size_t num_parameters);
  Leaves(const Leaves&) = delete;
  Leaves& operator=(const Leaves&) = delete;

  torch::Tensor get(const std::string& name) const;  // std::runtime_error if there is none
  // The slices of a parameter's first dimension as leaves of their own.
  std::vector<torch::Tensor> slices(const std::string& name) const;
  bool has(const std::string& name) const { return places_.contains(name); }

  // Runs the backward pass of a scalar. listener: may be null.
  void backward(const torch::Tensor& loss, GradientListener* listener);

 private:
  void tell(std::size_t parameter);

  std::vector<torch::Tensor> tensors_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<bool> told_;
  GradientListener* listener_ = nullptr;
};

}  // namespace tandem::training::torch_passes
