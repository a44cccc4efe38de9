// SPDX-License-Identifier: Apache-2.0
//
// Parts of kTurnedPartValues are turned by the pool's workers.
#include "training/trainer/local_directions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "common/error.h"
#include "training/optimizer/kernels.h"
#include "training/squares.h"
#include "training/trainer/pruning.h"

namespace tandem::training {
namespace {

constexpr std::size_t kTurnedPartValues = 1 << 15;

}  // namespace

bool has_directions(const UpdateRule& rule) {
  if (const auto* sgd = std::get_if<Sgd>(&rule)) return sgd->momentum > 0;
  return std::holds_alternative<Adam>(rule);
}

UpdateRule rule_of_directions(const UpdateRule& rule, double rate) {
  return Sgd{.weight_decay = std::visit([](const auto& one) { return one.weight_decay; }, rule),
             .step_rate = rate};
}

LocalDirections::LocalDirections(ParameterSet& parameters, DirectionOptions options,
                                 GradientListener& next)
    : parameters_(parameters),
      options_(std::move(options)),
      next_(next),
      pool_(options_.threads),
      moments_(parameters.size()) {
  const std::size_t slots = state_slots(options_.rule).size();
  for (std::size_t parameter = 0; parameter < moments_.size(); ++parameter) {
    if (!options_.chosen[parameter]) continue;
    const std::size_t count = parameters.values(parameter).size();
    moments_[parameter].first.assign(count, 0.0f);
    if (slots > 1) moments_[parameter].second.assign(count, 0.0f);
  }
}

void LocalDirections::begin(std::uint64_t iteration, double share) {
  iteration_ = iteration;
  share_ = static_cast<float>(share);
  squares_ = 0;
  waiting_.clear();
}

void LocalDirections::ready(std::size_t parameter) {
  const double squares = sum_of_squares(parameters_.gradient(parameter));
  const bool leaves_out = options_.prunes && std::isfinite(squares);
  squares_ += leaves_out
                  ? gradient_squares(parameters_.spec(parameter), parameters_.values(parameter),
                                     parameters_.gradient(parameter), true)
                  : squares;
  if (options_.clip > 0) return waiting_.push_back(parameter);
  if (std::isfinite(squares)) turn(parameter, 1);
  next_.ready(parameter);
}

void LocalDirections::finish() {
  const double norm = std::sqrt(squares_ / options_.ranks);
  const double scale = norm > options_.clip ? options_.clip / norm : 1;
  for (const std::size_t parameter : waiting_) {
    if (std::isfinite(squares_)) turn(parameter, scale);
    next_.ready(parameter);
  }
  waiting_.clear();
}

// Parameters that are not chosen are clipped by the same factor.
void LocalDirections::turn(std::size_t parameter, double scale) {
  const std::span<float> gradient = parameters_.gradient(parameter);
  if (!options_.chosen[parameter]) {
    if (scale == 1) return;
    for (float& value : gradient) value *= static_cast<float>(scale);
    return;
  }
  const StepFactors step{.iteration = iteration_, .gradient_scale = scale};
  const auto* adam = std::get_if<Adam>(&options_.rule);
  DirectionFactors adam_factors;
  SgdFactors sgd_factors;
  if (adam != nullptr) {
    adam_factors = direction_factors(*adam, step, options_.ranks);
  } else {
    sgd_factors = factors_of(std::get<Sgd>(options_.rule), step);
  }
  Moments& moments = moments_[parameter];
  const auto parts = (gradient.size() + kTurnedPartValues - 1) / kTurnedPartValues;
  pool_.run(parts, [&](std::size_t part) {
    const std::size_t begin = part * kTurnedPartValues;
    const std::size_t count = std::min(kTurnedPartValues, gradient.size() - begin);
    KernelValues values;
    values.weights = gradient.data() + begin;
    values.gradient = values.weights;
    values.first = moments.first.data() + begin;
    if (adam != nullptr) {
      values.second = moments.second.data() + begin;
      apply_adam_direction(adam_factors, values, count);
    } else {
      apply_sgd_direction(sgd_factors, values, count);
    }
    if (share_ == 1) return;
    for (float& value : gradient.subspan(begin, count)) value *= share_;
  });
}

std::vector<StateView> LocalDirections::state() {
  std::vector<StateView> views;
  const std::vector<StateSlot> slots = state_slots(options_.rule);
  for (std::size_t parameter = 0; parameter < moments_.size(); ++parameter) {
    if (!options_.chosen[parameter]) continue;
    const std::string name = parameters_.spec(parameter).name + "/";
    views.push_back({name + slots[0].name, 0, moments_[parameter].first});
    if (slots.size() > 1) views.push_back({name + slots[1].name, 0, moments_[parameter].second});
  }
  return views;
}

std::vector<std::byte> LocalDirections::bytes() {
  std::vector<std::byte> bytes;
  for (const StateView& view : state()) {
    const auto part = std::as_bytes(view.values);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

void LocalDirections::restore(const std::vector<std::byte>& bytes) {
  std::size_t size = 0;
  for (const StateView& view : state()) size += view.values.size_bytes();
  if (bytes.size() != size) {
    throw Error("train", "the moments of a rank's own directions have " +
                             std::to_string(bytes.size()) + " bytes, this model's have " +
                             std::to_string(size) + "; resume with the same model and --reduce");
  }
  const std::byte* from = bytes.data();
  for (const StateView& view : state()) {
    std::memcpy(view.values.data(), from, view.values.size_bytes());
    from += view.values.size_bytes();
  }
}

}  // namespace tandem::training
