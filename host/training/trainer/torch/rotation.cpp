// SPDX-License-Identifier: Apache-2.0
//
// Forward and backward are one loop with another sign of the sine.
#include "training/trainer/torch/rotation.h"

#include <ATen/Parallel.h>

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor rotated(const Tensor& x, const Tensor& cosines, const Tensor& sines, float sign) {
  Tensor result = x.clone();
  const std::int64_t tokens = x.size(1), heads = x.size(2), width = x.size(3);
  const std::int64_t pairs = cosines.size(1);
  auto* values = result.data_ptr<float>();
  const auto *cosine = cosines.data_ptr<float>(), *sine = sines.data_ptr<float>();
  at::parallel_for(0, x.size(0) * tokens, 16, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t at = first; at < last; ++at) {
      const std::int64_t angle = at % tokens * pairs;
      for (std::int64_t head = 0; head < heads; ++head) {
        float* of_head = values + (at * heads + head) * width;
        for (std::int64_t pair = 0; pair < pairs; ++pair) {
          const float c = cosine[angle + pair], s = sign * sine[angle + pair];
          const float even = of_head[2 * pair], odd = of_head[2 * pair + 1];
          of_head[2 * pair] = even * c - odd * s;
          of_head[2 * pair + 1] = even * s + odd * c;
        }
      }
    }
  });
  return result;
}

struct Rotation : torch::autograd::Function<Rotation> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& cosines,
                        const Tensor& sines) {
    context->save_for_backward({cosines, sines});
    return rotated(x, cosines, sines, 1);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    return {rotated(gradients[0].contiguous(), saved[0], saved[1], -1), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor rotate(const Tensor& x, const Angles& angles) {
  return Rotation::apply(x.contiguous(), angles.cosines, angles.sines);
}

}  // namespace tandem::training::torch_passes
