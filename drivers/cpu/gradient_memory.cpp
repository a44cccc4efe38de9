// SPDX-License-Identifier: Apache-2.0
//
// Loops over single values; 16-bit values are converted to f32 one by one.
#include "cpu/gradient_memory.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tandem::device::cpu {

float value_at(const GradientView& gradient, std::size_t at) {
  if (gradient.type == DType::kF32) {
    float value;
    std::memcpy(&value, gradient.values.data() + at * sizeof(float), sizeof(float));
    return value;
  }
  std::uint16_t half;
  std::memcpy(&half, gradient.values.data() + at * sizeof(half), sizeof(half));
  return gradient.type == DType::kF16 ? f16_to_f32(half) : bf16_to_f32(half);
}

void take(GradientMoments& moments, float value, std::uint64_t place, bool logarithms) {
  if (!std::isfinite(value)) {
    if (!moments.first_non_finite) moments.first_non_finite = place;
    return;
  }
  const double magnitude = std::fabs(value);
  moments.sum += magnitude;
  moments.signed_sum += static_cast<double>(value);
  moments.squares += magnitude * magnitude;
  moments.largest = std::max(moments.largest, std::fabs(value));
  moments.smallest = std::min(moments.smallest, std::fabs(value));
  ++moments.count;
  if (!logarithms || std::fabs(value) < std::numeric_limits<float>::min()) return;
  moments.log_sum += std::log(magnitude);
  ++moments.positive;
}

namespace {

void store_value(const GradientTarget& to, std::size_t at, float value) {
  std::byte* place = to.values.data() + at * dtype_block_bytes(to.type);
  if (to.type == DType::kF32) {
    std::memcpy(place, &value, sizeof(value));
    return;
  }
  const std::uint16_t half = to.type == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
  std::memcpy(place, &half, sizeof(half));
}

class CpuGradientMemory final : public GradientMemory {
 public:
  std::string name() const override { return "cpu"; }

  GradientMoments measure(const GradientView& gradient, Deadline) override {
    check_gradient(*this, gradient);
    const std::size_t count = gradient.values.size() / dtype_block_bytes(gradient.type);
    GradientMoments moments;
    for (std::size_t i = 0; i < count; ++i) take(moments, value_at(gradient, i), i, false);
    return moments;
  }

  void put(const GradientTarget& to, std::span<const std::uint32_t> indices,
           std::span<const float> values, Deadline) override {
    check_target(*this, to, indices, values);
    std::ranges::fill(to.values, std::byte{0});
    for (std::size_t i = 0; i < indices.size(); ++i) store_value(to, indices[i], values[i]);
  }

  void read(std::span<const std::byte> from, const Placement& placement, std::span<std::byte> to,
            Deadline) override {
    check_copy(*this, placement, from.size(), to.size());
    std::ranges::copy(from, to.begin());
  }

  void write(std::span<const std::byte> from, std::span<std::byte> to, const Placement& placement,
             Deadline) override {
    check_copy(*this, placement, from.size(), to.size());
    std::ranges::copy(from, to.begin());
  }
};

}  // namespace

std::unique_ptr<GradientMemory> make_gradient_memory() {
  return std::make_unique<CpuGradientMemory>();
}

}  // namespace tandem::device::cpu
