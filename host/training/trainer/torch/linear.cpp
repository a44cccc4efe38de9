// SPDX-License-Identifier: Apache-2.0
//
// One autograd function per precision; both keep x and w for the backward pass.
#include "training/trainer/torch/linear.h"

#include "training/trainer/torch/gemm.h"
#include "training/trainer/torch/late_weights.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor as_rows(const Tensor& x) { return x.reshape({-1, x.size(-1)}).contiguous(); }

std::vector<std::int64_t> with_last(const Tensor& x, std::int64_t last) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = last;
  return sizes;
}

// The gradient of w, or nothing where it is put off. product: makes it.
template <typename Product>
Tensor weight_gradient(const Tensor& w, Product product) {
  LateWeights* late = LateWeights::current();
  if (late == nullptr) return product();
  late->add(w, std::move(product));
  return {};
}

struct Linear : torch::autograd::Function<Linear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& w) {
    const Tensor rows = as_rows(x);
    Tensor y = torch::empty({rows.size(0), w.size(0)});
    gemm({rows.size(0), w.size(0), w.size(1)}, {rows.data_ptr<float>(), w.size(1)},
         {w.data_ptr<float>(), w.size(1), true}, y.data_ptr<float>(), w.size(0));
    context->save_for_backward({rows, w});
    context->saved_data["sizes"] = with_last(x, x.size(-1));
    return y.view(with_last(x, w.size(0)));
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor rows = saved[0], w = saved[1];
    const Tensor dy = as_rows(gradients[0]);
    const std::int64_t out = w.size(0), in = w.size(1), count = rows.size(0);
    Tensor dx = torch::empty({count, in});
    gemm({count, in, out}, {dy.data_ptr<float>(), out}, {w.data_ptr<float>(), in},
         dx.data_ptr<float>(), in);
    const auto product = [rows, dy, out, in, count] {
      Tensor dw = torch::empty({out, in});
      gemm({out, in, count}, {dy.data_ptr<float>(), out, true}, {rows.data_ptr<float>(), in},
           dw.data_ptr<float>(), in);
      return dw;
    };
    return {dx.view(context->saved_data["sizes"].toIntVector()), weight_gradient(w, product)};
  }
};

struct NarrowLinear : torch::autograd::Function<NarrowLinear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& w) {
    const Tensor rows = as_rows(x).to(torch::kBFloat16), narrow = w.to(torch::kBFloat16);
    context->save_for_backward({rows, narrow, w});
    context->saved_data["sizes"] = with_last(x, x.size(-1));
    return at::mm(rows, narrow.t()).to(torch::kFloat).view(with_last(x, w.size(0)));
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor dy = as_rows(gradients[0]).to(torch::kBFloat16);
    const Tensor dx = at::mm(dy, saved[1]).to(torch::kFloat);
    const auto product = [rows = saved[0], dy] { return at::mm(dy.t(), rows).to(torch::kFloat); };
    return {dx.view(context->saved_data["sizes"].toIntVector()),
            weight_gradient(saved[2], product)};
  }
};

}  // namespace

Tensor linear(const Tensor& x, const Tensor& w, bool bf16) {
  return bf16 ? NarrowLinear::apply(x, w) : Linear::apply(x, w);
}

}  // namespace tandem::training::torch_passes
