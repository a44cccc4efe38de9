// SPDX-License-Identifier: Apache-2.0
//
// What all algorithms share. Sums are taken per block of 4,096 values and added in order.
#include "collectives/sparsifier/algorithm.h"

#include <algorithm>

#include "collectives/sparsifier/exchange.h"

namespace tandem::collectives {
namespace {

constexpr std::uint64_t kMeasuredBlock = 4096;

}  // namespace

void SparsifierAlgorithm::accumulate(std::span<const float> gradient, std::uint64_t, int) {
  for_each_part(0, num_values_, options_.threads,
                [&](std::uint64_t begin, std::uint64_t end, std::size_t) {
                  add_gradient(residual_.data() + begin, gradient.data() + begin, end - begin);
                });
}

Moments SparsifierAlgorithm::accumulate_and_measure(std::span<const float> gradient,
                                                    Logarithms logarithms) {
  std::vector<Moments> parts(num_parts_of(num_values_));
  for_each_part(0, num_values_, options_.threads,
                [&](std::uint64_t begin, std::uint64_t end, std::size_t part) {
                  for (std::uint64_t first = begin; first < end; first += kMeasuredBlock) {
                    const std::uint64_t count = std::min(kMeasuredBlock, end - first);
                    float* block = residual_.data() + first;
                    add_gradient(block, gradient.data() + first, count);
                    parts[part].add(measure_moments(block, count, logarithms));
                  }
                });
  Moments total;
  for (const Moments& part : parts) total.add(part);
  return total;
}

void SparsifierAlgorithm::send_own(StepContext& context, const Indices& own) {
  reduce_own(context, residual_, own, options_.reduce);
  clear(own, context.remainder);
}

void SparsifierAlgorithm::clear(const Indices& exchanged, const RawVector<float>& remainder) {
  for (std::size_t i = 0; i < exchanged.size(); ++i) {
    residual_[exchanged[i]] = remainder.empty() ? 0 : remainder[i];
  }
}

void SparsifierAlgorithm::clear_all(const RawVector<float>& remainder) {
  std::ranges::fill(residual_, 0.0f);
  std::ranges::copy(remainder, residual_.begin());
}

void SparsifierAlgorithm::save(SparsifierState& state) const {
  state.tensors["residual"] = residual_;
}

void SparsifierAlgorithm::load(const SparsifierState& state) {
  residual_ = tensor_of(state, "residual");
}

const std::vector<double>& numbers_of(const SparsifierState& state, const std::string& field,
                                      std::size_t count) {
  const auto found = state.numbers.find(field);
  if (found == state.numbers.end() || found->second.size() != count) {
    throw Error("sparsifier", "the state of " + state.name + " must have " + std::to_string(count) +
                                  " numbers '" + field + "'");
  }
  return found->second;
}

const RawVector<float>& tensor_of(const SparsifierState& state, const std::string& field) {
  const auto found = state.tensors.find(field);
  if (found == state.tensors.end() || found->second.size() != state.num_values) {
    throw Error("sparsifier", "the state of " + state.name + " must have a tensor '" + field +
                                  "' of " + std::to_string(state.num_values) + " values");
  }
  return found->second;
}

}  // namespace tandem::collectives
