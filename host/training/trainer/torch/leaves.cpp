// SPDX-License-Identifier: Apache-2.0
//
// The accumulators are held, so that hooks stay with them.
#include "training/trainer/torch/leaves.h"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>

#include <stdexcept>
#include <utility>

namespace tandem::training::torch_passes {

using torch::Tensor;

Leaves::Leaves(const ParameterMemory* parameters, std::size_t num_parameters)
    : told_(num_parameters) {
  for (std::size_t at = 0; at < num_parameters; ++at) {
    const ParameterMemory& memory = parameters[at];
    const at::IntArrayRef shape(memory.shape, static_cast<std::size_t>(memory.num_dims));
    Tensor values = torch::from_blob(memory.values, shape);
    values.mutable_grad() = torch::from_blob(memory.gradient, shape);
    values.requires_grad_(true);
    places_.emplace(memory.name, at);
    accumulators_.push_back(torch::autograd::impl::grad_accumulator(values));
    accumulators_.back()->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, at](const torch::autograd::variable_list& outputs,
                   const torch::autograd::variable_list&) {
          tell(at);
          return outputs;
        }));
    tensors_.push_back(std::move(values));
  }
}

Tensor Leaves::get(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) throw std::runtime_error("there is no parameter " + name);
  return tensors_[found->second];
}

std::vector<Tensor> Leaves::slices(const std::string& name) const {
  const Tensor whole = get(name);
  std::vector<Tensor> slices;
  for (std::int64_t at = 0; at < whole.size(0); ++at) {
    const std::int64_t begin = at * whole.stride(0);
    const auto shape = whole.sizes().slice(1);
    Tensor slice = torch::from_blob(whole.data_ptr<float>() + begin, shape);
    slice.mutable_grad() = torch::from_blob(whole.grad().data_ptr<float>() + begin, shape);
    slices.push_back(slice.requires_grad_(true));
  }
  return slices;
}

void Leaves::tell(std::size_t parameter) {
  if (listener_ == nullptr || told_[parameter]) return;
  told_[parameter] = true;
  listener_->ready(parameter);
}

void Leaves::backward(const Tensor& loss, GradientListener* listener) {
  listener_ = listener;
  told_.assign(told_.size(), false);
  torch::autograd::backward({loss}, {});
  for (std::size_t parameter = 0; parameter < told_.size(); ++parameter) tell(parameter);
  listener_ = nullptr;
}

}  // namespace tandem::training::torch_passes
