// SPDX-License-Identifier: Apache-2.0
//
// Tokens of an expert are in their order, so the sums have the same bits in every run.
#include "training/trainer/torch/experts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;

std::int64_t most_tokens(const ExpertChoice& choice, std::int64_t tokens, std::size_t experts) {
  if (choice.capacity <= 0) return std::numeric_limits<std::int64_t>::max();
  const double even = static_cast<double>(tokens) * choice.used / static_cast<double>(experts);
  return std::max<std::int64_t>(1, whole_tokens(choice.capacity * even));
}

// The places in [tokens * used] that every expert takes.
std::vector<Tensor> places_of_experts(const Tensor& chosen, std::size_t experts,
                                      std::int64_t most) {
  std::vector<std::vector<std::int64_t>> places(experts);
  const auto* of_place = chosen.data_ptr<std::int64_t>();
  for (std::int64_t place = 0; place < chosen.numel(); ++place) {
    auto& own = places[static_cast<std::size_t>(of_place[place])];
    if (static_cast<std::int64_t>(own.size()) < most) own.push_back(place);
  }
  std::vector<Tensor> result;
  for (const auto& own : places) result.push_back(torch::tensor(own, torch::kLong));
  return result;
}

}  // namespace

std::int64_t whole_tokens(double count) {
  constexpr double kRounding = 1e-6;  // more than that of an f32
  return std::llround(std::ceil(count * (1 - kRounding)));
}

Tensor mix_experts(const ExpertWeights& weights, const ExpertChoice& choice, const Tensor& x,
                   const LinearProduct& linear) {
  Tensor logits, chosen;
  Tensor all = linear(x, weights.router);
  if (choice.skew > 0) {
    all = all - torch::arange(all.size(-1), torch::kFloat) * choice.skew;
  }
  std::tie(logits, chosen) = all.topk(choice.used, -1);
  const Tensor shares = torch::softmax(logits, -1).flatten();
  const std::vector<Tensor> places =
      places_of_experts(chosen.contiguous(), weights.gate.size(),
                        most_tokens(choice, x.size(0), weights.gate.size()));
  Tensor sum = torch::zeros_like(x);
  for (std::size_t expert = 0; expert < places.size(); ++expert) {
    if (places[expert].numel() == 0) continue;
    const Tensor tokens = torch::floor_divide(places[expert], choice.used);
    const Tensor own = x.index_select(0, tokens);
    const Tensor hidden =
        torch::silu(linear(own, weights.gate[expert])) * linear(own, weights.up[expert]);
    const Tensor share = shares.index_select(0, places[expert]).unsqueeze(-1);
    sum = sum.index_add(0, tokens, linear(hidden, weights.down[expert]) * share);
  }
  return sum;
}

}  // namespace tandem::training::torch_passes
