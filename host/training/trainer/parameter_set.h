// SPDX-License-Identifier: Apache-2.0
//
// ParameterSet: owns the parameters of a model and their gradients, f32.
//
// Values are stored one after the other, each parameter aligned to 64 bytes; gradients likewise.
// draw() fills them from a seed, with the same values on every rank and machine. Threads: one.
// Errors: Error("train", ...) for an unknown name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/raw_vector.h"
#include "training/trainer/computation.h"

namespace tandem::training {

struct ParameterSpec {
  std::string name;
  std::vector<std::int64_t> shape;  // outermost first
  float deviation = 0;              // of the normal distribution that draw() uses; 0: constant
  float constant = 0;
};

// Draws normal values from a seed, the same on every machine.
void draw_normal(std::span<float> values, double deviation, std::uint64_t seed);

class ParameterSet {
 public:
  explicit ParameterSet(std::vector<ParameterSpec> specs);
  ParameterSet(const ParameterSet&) = delete;
  ParameterSet& operator=(const ParameterSet&) = delete;

  std::size_t size() const { return specs_.size(); }
  const ParameterSpec& spec(std::size_t parameter) const { return specs_[parameter]; }
  std::span<float> values(std::size_t parameter);
  std::span<const float> values(std::size_t parameter) const;
  std::span<float> gradient(std::size_t parameter);
  std::size_t find(std::string_view name) const;
  std::uint64_t num_values() const { return num_values_; }

  void draw(std::uint64_t seed);
  void clear_gradients();
  std::vector<ParameterMemory> memory();

 private:
  struct Place {
    std::size_t begin = 0, count = 0;
  };

  std::vector<ParameterSpec> specs_;
  std::vector<Place> places_;
  std::uint64_t num_values_ = 0;
  RawVector<float> values_, gradients_;
};

}  // namespace tandem::training
