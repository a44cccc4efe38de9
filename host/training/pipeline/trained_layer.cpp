// SPDX-License-Identifier: Apache-2.0
//
// The state of a layer is a row of f32 values: parameters in their order, then the optimiser's
// vectors in theirs.
#include "training/pipeline/trained_layer.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "training/trainer/dense_update.h"
#include "training/trainer/pruning.h"

namespace tandem::training {

using transport::ByteBuffer;

namespace {

std::uint32_t row_width(const ParameterSpec& spec, std::size_t count) {
  return static_cast<std::uint32_t>(
      spec.shape.size() > 1 ? static_cast<std::size_t>(spec.shape.back()) : count);
}

}  // namespace

TrainedLayer::TrainedLayer(const LayerSpec& spec, const LayerTools& tools)
    : spec_(spec),
      parameters_(spec.parameters),
      passes_(tools.make(spec, parameters_)),
      optimizer_(tools.pool) {
  for (std::size_t parameter = 0; parameter < spec_.numbers.size(); ++parameter) {
    const ParameterSpec& own = parameters_.spec(parameter);
    const std::size_t count = parameters_.values(parameter).size();
    numbers_.push_back(optimizer_.add({.name = own.name,
                                       .count = count,
                                       .width = row_width(own, count),
                                       .rule = rule_of(own, tools.rule)}));
  }
  if (tools.replicas == nullptr) return;
  replicas_ = std::make_unique<ReplicaMean>(parameters_, numbers_.size(), *tools.replicas);
}

std::vector<double> TrainedLayer::squares(bool prunes) {
  std::vector<double> squares;
  for (std::size_t parameter = 0; parameter < numbers_.size(); ++parameter) {
    squares.push_back(gradient_squares(parameters_.spec(parameter), parameters_.values(parameter),
                                       parameters_.gradient(parameter), prunes));
  }
  return squares;
}

void TrainedLayer::update(const StepFactors& step) {
  for (std::size_t parameter = 0; parameter < numbers_.size(); ++parameter) {
    optimizer_.update(step, {.parameter = numbers_[parameter],
                             .weights = parameters_.values(parameter),
                             .gradient = parameters_.gradient(parameter),
                             .copy = {}});
  }
}

std::vector<std::span<float>> TrainedLayer::kept() {
  std::vector<std::span<float>> kept;
  for (std::size_t parameter = 0; parameter < parameters_.size(); ++parameter) {
    kept.push_back(parameters_.values(parameter));
  }
  for (const StateView& view : optimizer_.state()) kept.push_back(view.values);
  return kept;
}

std::uint64_t TrainedLayer::num_bytes() {
  std::uint64_t bytes = 0;
  for (const auto& values : kept()) bytes += values.size_bytes();
  return bytes;
}

ByteBuffer TrainedLayer::bytes() {
  ByteBuffer bytes;
  bytes.resize(num_bytes());
  std::byte* to = bytes.data();
  for (const auto& values : kept()) {
    std::memcpy(to, values.data(), values.size_bytes());
    to += values.size_bytes();
  }
  return bytes;
}

void TrainedLayer::restore(std::span<const std::byte> bytes) {
  if (bytes.size() != num_bytes()) {
    throw Error("train", "a layer of " + std::to_string(num_bytes()) + " bytes came with " +
                             std::to_string(bytes.size()));
  }
  const std::byte* from = bytes.data();
  for (const auto& values : kept()) {
    std::memcpy(values.data(), from, values.size_bytes());
    from += values.size_bytes();
  }
}

ByteBuffer TrainedLayer::late_bytes() {
  ByteBuffer bytes;
  for (std::size_t parameter = 0; parameter < numbers_.size(); ++parameter) {
    const auto gradient = std::as_bytes(parameters_.gradient(parameter));
    bytes.insert(bytes.end(), gradient.begin(), gradient.end());
  }
  if (replicas_) replicas_->append_to(bytes);
  return bytes;
}

ByteBuffer TrainedLayer::residuals() const {
  ByteBuffer bytes;
  if (replicas_) replicas_->append_to(bytes);
  return bytes;
}

void TrainedLayer::restore_residuals(std::span<const std::byte> bytes) {
  if (replicas_) replicas_->restore(bytes);
  if (!bytes.empty()) throw Error("train", "a layer has other residuals than its checkpoint");
}

void TrainedLayer::restore_late(std::span<const std::byte> bytes) {
  for (std::size_t parameter = 0; parameter < numbers_.size(); ++parameter) {
    const auto gradient = std::as_writable_bytes(parameters_.gradient(parameter));
    if (bytes.size() < gradient.size()) throw Error("train", "a layer came without its gradients");
    std::ranges::copy(bytes.first(gradient.size()), gradient.begin());
    bytes = bytes.subspan(gradient.size());
  }
  if (replicas_) replicas_->restore(bytes);
  if (!bytes.empty()) throw Error("train", "a layer came with more than its gradients");
}

}  // namespace tandem::training
