// SPDX-License-Identifier: Apache-2.0
//
// The normal draw is Box-Muller over a counter: no state of a standard library's distribution.
#include "training/trainer/parameter_set.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/error.h"
#include "training/trainer/mixing.h"

namespace tandem::training {
namespace {

constexpr std::size_t kAlignedValues = 16;  // 64 bytes

std::size_t aligned(std::size_t count) {
  return (count + kAlignedValues - 1) / kAlignedValues * kAlignedValues;
}

float* aligned(float* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return reinterpret_cast<float*>((address + 63) / 64 * 64);
}

}  // namespace

void draw_normal(std::span<float> values, double deviation, std::uint64_t seed) {
  for (std::size_t at = 0; at < values.size(); at += 2) {
    const double radius = deviation * std::sqrt(-2.0 * std::log(unit(mixed(seed, at))));
    const double angle = 2.0 * std::numbers::pi * unit(mixed(seed, at + 1));
    values[at] = static_cast<float>(radius * std::cos(angle));
    if (at + 1 < values.size()) values[at + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

ParameterSet::ParameterSet(std::vector<ParameterSpec> specs) : specs_(std::move(specs)) {
  std::size_t end = 0;
  for (const ParameterSpec& spec : specs_) {
    std::size_t count = 1;
    for (const std::int64_t size : spec.shape) count *= static_cast<std::size_t>(size);
    places_.push_back({end, count});
    end += aligned(count);
    num_values_ += count;
  }
  values_.resize(end + kAlignedValues);
  gradients_.resize(end + kAlignedValues);
  std::ranges::fill(values_, 0.0f);
  std::ranges::fill(gradients_, 0.0f);
}

std::span<float> ParameterSet::values(std::size_t parameter) {
  const Place& place = places_[parameter];
  return {aligned(values_.data()) + place.begin, place.count};
}

std::span<const float> ParameterSet::values(std::size_t parameter) const {
  return const_cast<ParameterSet*>(this)->values(parameter);
}

std::span<float> ParameterSet::gradient(std::size_t parameter) {
  const Place& place = places_[parameter];
  return {aligned(gradients_.data()) + place.begin, place.count};
}

std::size_t ParameterSet::find(std::string_view name) const {
  const auto found = std::ranges::find(specs_, name, &ParameterSpec::name);
  if (found == specs_.end()) {
    throw Error("train", "the model has no parameter '" + std::string(name) + "'; its first is '" +
                             (specs_.empty() ? "" : specs_.front().name) + "'");
  }
  return static_cast<std::size_t>(found - specs_.begin());
}

void ParameterSet::draw(std::uint64_t seed) {
  for (std::size_t parameter = 0; parameter < size(); ++parameter) {
    const ParameterSpec& spec = specs_[parameter];
    if (spec.deviation > 0) {
      draw_normal(values(parameter), spec.deviation, mixed(seed, parameter));
    } else {
      std::ranges::fill(values(parameter), spec.constant);
    }
  }
}

void ParameterSet::clear_gradients() { std::ranges::fill(gradients_, 0.0f); }

std::vector<ParameterMemory> ParameterSet::memory() {
  std::vector<ParameterMemory> memory;
  for (std::size_t parameter = 0; parameter < size(); ++parameter) {
    const ParameterSpec& spec = specs_[parameter];
    memory.push_back({spec.name.c_str(), spec.shape.data(), static_cast<int>(spec.shape.size()),
                      values(parameter).data(), gradient(parameter).data()});
  }
  return memory;
}

}  // namespace tandem::training
