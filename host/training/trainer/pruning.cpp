// SPDX-License-Identifier: Apache-2.0
//
// Which steps cut follows from the number of the step alone.
#include "training/trainer/pruning.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "common/error.h"
#include "training/squares.h"

namespace tandem::training {
namespace {

constexpr std::uint64_t kCuts = 20;

// The bits of a magnitude have the order of magnitudes: a search goes through them digit by digit.
struct Digit {
  int shift, bits;
};
constexpr Digit kDigits[] = {{20, 11}, {10, 10}, {0, 10}};

std::uint32_t magnitude_bits(float value) { return std::bit_cast<std::uint32_t>(std::abs(value)); }

// [2^bits] of the values whose leading digits are those of `prefix`, by their next one.
std::vector<std::uint64_t> counts_of(std::span<const std::span<const float>> own,
                                     std::uint32_t prefix, const Digit& digit) {
  std::vector<std::uint64_t> counts(std::size_t{1} << digit.bits);
  const int above = digit.shift + digit.bits;
  for (const std::span<const float> values : own) {
    for (const float value : values) {
      const std::uint32_t bits = magnitude_bits(value);
      if (bits >> above != prefix >> above) continue;
      ++counts[(bits >> digit.shift) & ((1U << digit.bits) - 1)];
    }
  }
  return counts;
}

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

float magnitude_of_share(double share, std::span<const std::span<const float>> own,
                         const SumCounts& sum) {
  std::uint64_t left = 0;  // values up to the wanted one that are not passed yet
  std::uint32_t prefix = 0;
  for (const Digit& digit : kDigits) {
    std::vector<std::uint64_t> counts = counts_of(own, prefix, digit);
    sum(counts);
    if (&digit == kDigits) {
      const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
      left = static_cast<std::uint64_t>(share * static_cast<double>(all));
      if (left == 0) return 0;
    }
    std::uint32_t next = 0;
    for (; counts[next] < left; ++next) left -= counts[next];
    prefix |= next << digit.shift;
  }
  return std::bit_cast<float>(prefix);
}

void cut_together(const Pruning& pruning, CutStep at, std::span<ParameterSet* const> sets,
                  std::span<ParameterSet* const> counted, const SumCounts& sum) {
  const std::optional<double> share = cut_after(pruning, at.step, at.steps);
  if (!share || !pruning.together) return;
  std::vector<std::span<const float>> own;
  const auto for_each_matrix = [](std::span<ParameterSet* const> of, const auto& visit) {
    for (ParameterSet* set : of) {
      for (std::size_t parameter = 0; parameter < set->size(); ++parameter) {
        if (is_pruned(set->spec(parameter))) visit(set->values(parameter));
      }
    }
  };
  for_each_matrix(counted, [&](std::span<float> values) { own.emplace_back(values); });
  const float most = magnitude_of_share(*share, own, sum);
  for_each_matrix(sets, [&](std::span<float> values) {
    for (float& value : values) {
      if (std::abs(value) <= most) value = 0;
    }
  });
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
    if (share && !pruning_.together) prune_values(values, *share);
  }
}

}  // namespace tandem::training
