// SPDX-License-Identifier: Apache-2.0
//
// Which steps cut follows from the number of the step alone.
#include "training/trainer/pruning.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/error.h"
#include "training/squares.h"

namespace tandem::training {
namespace {

constexpr std::uint64_t kCuts = 20;

}  // namespace

void check_pruning(const Pruning& pruning) {
  if (!(pruning.share >= 0 && pruning.share < 1)) {
    throw Error("train", "--prune " + std::to_string(pruning.share) +
                             " is not a share of weights: take one from 0 to below 1");
  }
  if (pruning.begin >= 0 && pruning.begin < pruning.end && pruning.end <= 1) return;
  throw Error("train", "--prune-from " + std::to_string(pruning.begin) + " and --prune-to " +
                           std::to_string(pruning.end) +
                           " are shares of the run: the first is less than the second");
}

bool is_pruned(const ParameterSpec& spec) {
  return spec.shape.size() == 2 && spec.name.starts_with("blk.");
}

void require_pruned(const Pruning& pruning, std::span<const ParameterSpec> parameters) {
  if (!pruning.is_on() || std::ranges::any_of(parameters, is_pruned)) return;
  throw Error("train", "--prune is for decoders: this model has no matrices of blocks");
}

std::optional<double> cut_after(const Pruning& pruning, std::uint64_t step, std::uint64_t steps) {
  if (!pruning.is_on()) return std::nullopt;
  const auto step_at = [&](double share) {
    return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(steps)));
  };
  const std::uint64_t begin = step_at(pruning.begin),
                      end = std::max(begin + 1, step_at(pruning.end));
  if (step <= begin || step > end) return std::nullopt;
  const std::uint64_t every =
      pruning.every > 0 ? pruning.every : std::max<std::uint64_t>(1, (end - begin) / kCuts);
  if (step != end && (step - begin) % every != 0) return std::nullopt;
  const double left = 1 - static_cast<double>(step - begin) / static_cast<double>(end - begin);
  return pruning.share * (1 - left * left * left);
}

void prune_values(std::span<float> values, double share) {
  const auto count = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  if (count == 0) return;
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const float x = std::abs(values[a]), y = std::abs(values[b]);
    return x != y ? x < y : a < b;
  };
  const auto last = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(order.begin(), last - 1, order.end(), before);
  std::for_each(order.begin(), last, [&](std::uint32_t at) { values[at] = 0; });
}

double gradient_squares(const ParameterSpec& spec, std::span<const float> values,
                        std::span<const float> gradient, bool prunes) {
  if (!prunes || !is_pruned(spec)) return sum_of_squares(gradient);
  std::vector<float> kept(gradient.begin(), gradient.end());
  for (std::size_t at = 0; at < kept.size(); ++at) {
    // A gradient that is not a number counts: it would make the optimiser's state one as well.
    if (values[at] == 0 && std::isfinite(kept[at])) kept[at] = 0;
  }
  return sum_of_squares(kept);
}

KeptZeros::KeptZeros(const Pruning& pruning, ParameterSet& parameters)
    : pruning_(pruning), parameters_(parameters), zeros_(parameters.size()) {
  if (!pruning.is_on()) return;
  for (std::size_t parameter = 0; parameter < zeros_.size(); ++parameter) {
    if (!is_pruned(parameters.spec(parameter))) continue;
    const auto values = parameters.values(parameter);
    zeros_[parameter].resize(values.size());
    for (std::size_t at = 0; at < values.size(); ++at) {
      zeros_[parameter][at] = values[at] == 0;
    }
  }
}

void KeptZeros::restore(std::uint64_t step, std::uint64_t steps) {
  const std::optional<double> share = cut_after(pruning_, step, steps);
  for (std::size_t parameter = 0; parameter < zeros_.size(); ++parameter) {
    if (zeros_[parameter].empty()) continue;
    const auto values = parameters_.values(parameter);
    for (std::size_t at = 0; at < values.size(); ++at) {
      if (zeros_[parameter][at]) values[at] = 0;
    }
    if (share) prune_values(values, *share);
  }
}

}  // namespace tandem::training
