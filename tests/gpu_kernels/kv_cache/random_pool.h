// SPDX-License-Identifier: Apache-2.0
//
// A KV pool full of random stored values, on the host and on the device, and what they mean.
//
// Padding holds zeros, everything else some value, scales too, so that a page or a token that
// nobody should read changes results.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "gpu_kernels/device_array.h"
#include "kv_cache/kv_pool.h"
#include "tensor/dtype.h"

namespace tandem::gpu_kernels {

constexpr DType dtype_of(KvType type) {
  constexpr DType kTypes[] = {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kI8};
  return kTypes[static_cast<int>(type)];
}

class RandomPool {
 public:
  RandomPool(const KvPool& shape, unsigned seed) : pool_(shape) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    width_ = kv_row_values(shape.head_dim);
    values_.resize(kv_values_bytes(shape), 0);
    scales_.resize(kv_scales_bytes(shape) / 4);
    const std::size_t rows =
        static_cast<std::size_t>(shape.num_layers) * shape.num_pages * kv_page_rows(shape);
    for (std::size_t row = 0; row < rows; ++row) {
      for (int d = 0; d < shape.head_dim; ++d) {
        switch (shape.type) {
          case KvType::kF16:
            set_bits(row, d, f32_to_f16(normal(random)));
            break;
          case KvType::kBF16:
            set_bits(row, d, f32_to_bf16(normal(random)));
            break;
          case KvType::kE4M3:
            set_bits(row, d, f32_to_f8(100 * normal(random)));
            break;
          default:
            set_bits(row, d, static_cast<unsigned>(static_cast<int>(random() % 255) - 127) & 255u);
        }
      }
    }
    for (float& scale : scales_) {
      scale = shape.type == KvType::kI8 ? 0.01f * (1 + static_cast<float>(random() % 100) / 50)
                                        : std::ldexp(1.0f, -7 + static_cast<int>(random() % 3));
    }
  }

  std::size_t row(int layer, std::uint32_t page, bool is_v, int head, int token) const {
    return kv_row(pool_, layer, page, is_v, head, token);
  }
  void set_bits(std::size_t row, int d, unsigned bits) {
    const std::size_t bytes = static_cast<std::size_t>(value_bytes_of(pool_.type));
    const std::size_t at = (row * static_cast<unsigned>(width_) + static_cast<unsigned>(d)) * bytes;
    values_[at] = static_cast<unsigned char>(bits);
    if (bytes == 2) values_[at + 1] = static_cast<unsigned char>(bits >> 8);
  }
  void set_scale(std::size_t row, float scale) { scales_[row] = scale; }

  double value(std::size_t row, int d) const {
    const std::size_t index = row * static_cast<unsigned>(width_) + static_cast<unsigned>(d);
    const auto wide = [&] {
      return static_cast<std::uint16_t>(values_[2 * index] | values_[2 * index + 1] << 8);
    };
    switch (pool_.type) {
      case KvType::kF16:
        return f16_to_f32(wide());
      case KvType::kBF16:
        return bf16_to_f32(wide());
      case KvType::kE4M3:
        return static_cast<double>(f8_to_f32(values_[index])) * scales_[row];
      default:
        return static_cast<double>(static_cast<signed char>(values_[index])) * scales_[row];
    }
  }

  // The pool on the device, with the values as they are now.
  KvPool upload() {
    device_values_ = std::make_unique<DeviceArray<unsigned char>>(values_);
    device_scales_ = std::make_unique<DeviceArray<float>>(scales_);
    KvPool pool = pool_;
    pool.values = device_values_->data();
    pool.scales = device_scales_->data();
    return pool;
  }
  void download() {
    values_ = device_values_->download();
    scales_ = device_scales_->download();
  }

  const KvPool& shape() const { return pool_; }
  const std::vector<unsigned char>& values() const { return values_; }
  const std::vector<float>& scales() const { return scales_; }
  int width() const { return width_; }

 private:
  KvPool pool_;
  int width_;
  std::vector<unsigned char> values_;
  std::vector<float> scales_;
  std::unique_ptr<DeviceArray<unsigned char>> device_values_;
  std::unique_ptr<DeviceArray<float>> device_scales_;
};

}  // namespace tandem::gpu_kernels
