// SPDX-License-Identifier: Apache-2.0
//
// Naive double-precision loops for the dense operations of a transformer layer: the oracles of
// ComputeUnit (shapes as in device/compute_unit.h).
//
// Weights are given already dequantised to f32, by the caller with dequantize_row(), whose own
// tests compare it with closed forms.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem::reference {

// y = x W^T.
inline std::vector<double> linear(std::span<const float> x,  // [rows, in]
                                  std::span<const float> w,  // [out, in]
                                  std::size_t in) {
  const std::size_t rows = x.size() / in, out = w.size() / in;
  std::vector<double> y(rows * out, 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t o = 0; o < out; ++o) {
      double sum = 0.0;
      for (std::size_t i = 0; i < in; ++i) {
        sum += static_cast<double>(x[row * in + i]) * static_cast<double>(w[o * in + i]);
      }
      y[row * out + o] = sum;
    }
  }
  return y;
}

inline std::vector<double> rms_norm(std::span<const float> x,       // [rows, width]
                                    std::span<const float> weight,  // [width]
                                    double epsilon) {
  const std::size_t width = weight.size();
  std::vector<double> y(x.size());
  for (std::size_t begin = 0; begin < x.size(); begin += width) {
    double sum = 0.0;
    for (std::size_t i = 0; i < width; ++i) sum += static_cast<double>(x[begin + i]) * x[begin + i];
    const double factor = 1.0 / std::sqrt(sum / static_cast<double>(width) + epsilon);
    for (std::size_t i = 0; i < width; ++i) y[begin + i] = x[begin + i] * factor * weight[i];
  }
  return y;
}

struct RopeShape {
  std::size_t heads = 0, head_dim = 0;
  double magnitude = 1.0;
  bool interleaved = true;
};

inline std::vector<double> rope(const RopeShape& shape,
                                std::span<const float> x,  // [rows, heads, head_dim]
                                std::span<const std::int32_t> positions,
                                std::span<const float> inverse_frequencies) {
  std::vector<double> y(x.begin(), x.end());
  const std::size_t pairs = inverse_frequencies.size();
  for (std::size_t row = 0; row < positions.size(); ++row) {
    for (std::size_t head = 0; head < shape.heads; ++head) {
      double* at = y.data() + (row * shape.heads + head) * shape.head_dim;
      for (std::size_t i = 0; i < pairs; ++i) {
        const std::size_t a = shape.interleaved ? 2 * i : i;
        const std::size_t b = shape.interleaved ? 2 * i + 1 : i + pairs;
        const double angle = static_cast<double>(positions[row]) * inverse_frequencies[i];
        const double c = std::cos(angle) * shape.magnitude, s = std::sin(angle) * shape.magnitude;
        const double first = at[a], second = at[b];
        at[a] = first * c - second * s;
        at[b] = first * s + second * c;
      }
    }
  }
  return y;
}

inline std::vector<double> swiglu(std::span<const float> gate, std::span<const float> up) {
  std::vector<double> y(gate.size());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double g = gate[i];
    y[i] = g / (1.0 + std::exp(-g)) * up[i];
  }
  return y;
}

inline std::vector<double> geglu(std::span<const float> gate, std::span<const float> up) {
  std::vector<double> y(gate.size());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double g = gate[i];
    const double u = std::sqrt(2.0 / 3.14159265358979323846) * (g + 0.044715 * g * g * g);
    y[i] = 0.5 * g * (1.0 + std::tanh(u)) * up[i];
  }
  return y;
}

}  // namespace tandem::reference
