// SPDX-License-Identifier: Apache-2.0
//
// The fixture of the compute units' op cases, for every device of the registry that makes one.
//
// Operands are in host buffers or, after a CopyOp, in device buffers. linear_bound() accounts for
// the rounding that a unit may do before a product (device/compute_unit.h).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "drivers/device/device_under_test.h"
#include "tensor/quantize.h"

namespace tandem::device_test {

using device::MemoryKind;
using device::Slice;

// Bound of the NMSE of a product with weights of this type, against one without rounding.
inline double linear_bound(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 1e-11;
    case DType::kF16:
      return 1e-6;
    case DType::kBF16:
    case DType::kF8E4M3:
      return 1e-5;
    default:
      return 3e-4;
  }
}

class ComputeUnitTestBase : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    opened_ = open_compute_device(GetParam());
    if (!opened_.device) {
      if (opened_.required) FAIL() << opened_.why_absent;
      GTEST_SKIP() << opened_.why_absent;
    }
    unit_ = opened_.device->make_compute_unit();
  }
  void TearDown() override {
    buffers_.clear();
    unit_.reset();
  }

  std::vector<float> randoms(std::size_t count, float size = 1.0f) {
    std::normal_distribution<float> normal(0.0f, size);
    std::vector<float> values(count);
    for (float& value : values) value = normal(random_);
    return values;
  }

  Slice room(std::size_t count, MemoryKind kind = MemoryKind::kHost) {
    buffers_.push_back(unit_->allocate(count * sizeof(float), kind));
    return {buffers_.back().get(), 0};
  }
  Slice put(std::span<const float> values) {
    const Slice slice = room(values.size());
    std::memcpy(slice.buffer->host().data(), values.data(), values.size_bytes());
    return slice;
  }
  Slice put_on_device(std::span<const float> values) {
    const Slice slice = room(values.size(), MemoryKind::kDevice);
    unit_->enqueue(device::CopyOp{values.size_bytes(), put(values), slice});
    return slice;
  }
  std::vector<float> get(const Slice& slice, std::size_t count) {
    const Slice host = room(count);
    unit_->enqueue(device::CopyOp{count * sizeof(float), slice, host});
    EXPECT_EQ(unit_->wait(unit_->record(), Deadline::never()), device::WaitResult::kDone);
    const auto values = device::host_floats(host, count);
    return {values.begin(), values.end()};
  }

  // Random weights of a type, and their values in f32.
  struct Matrix {
    std::vector<std::byte> bytes;
    std::vector<float> values;
    std::unique_ptr<device::Weight> weight;
  };
  Matrix matrix(DType dtype, std::int64_t out, std::int64_t in,
                device::WeightRole role = device::WeightRole::kProduct) {
    Matrix m;
    const std::size_t row_bytes = dtype_row_bytes(dtype, static_cast<std::size_t>(in));
    m.bytes.resize(static_cast<std::size_t>(out) * row_bytes);
    m.values.resize(static_cast<std::size_t>(out * in));
    quantize_row(dtype, randoms(m.values.size()).data(), m.bytes.data(), m.values.size());
    for (std::int64_t row = 0; row < out; ++row) {
      dequantize_row(dtype, m.bytes.data() + static_cast<std::size_t>(row) * row_bytes,
                     m.values.data() + row * in, static_cast<std::size_t>(in));
    }
    m.weight = unit_->load({.dtype = dtype,
                            .out_features = out,
                            .in_features = in,
                            .data = m.bytes.data(),
                            .role = role});
    return m;
  }

  // The same in e4m3, with random scales of blocks of [block_rows, block_columns].
  struct ScaledMatrix {
    Matrix matrix;
    std::vector<float> scales;
  };
  ScaledMatrix scaled_matrix(std::int64_t out, std::int64_t in, std::int64_t block_rows,
                             std::int64_t block_columns) {
    ScaledMatrix made;
    Matrix& m = made.matrix;
    for (const float value : randoms(static_cast<std::size_t>(out * in), 20.0f)) {
      m.bytes.push_back(std::byte{f32_to_f8(value)});
    }
    const std::int64_t per_row = (in - 1) / block_columns + 1;
    made.scales = randoms(static_cast<std::size_t>(((out - 1) / block_rows + 1) * per_row), 0.1f);
    for (float& scale : made.scales) scale = std::abs(scale) + 0.01f;
    for (std::int64_t row = 0; row < out; ++row) {
      for (std::int64_t column = 0; column < in; ++column) {
        const auto code =
            std::to_integer<std::uint8_t>(m.bytes[static_cast<std::size_t>(row * in + column)]);
        const std::int64_t block = row / block_rows * per_row + column / block_columns;
        m.values.push_back(f8_to_f32(code) * made.scales[static_cast<std::size_t>(block)]);
      }
    }
    // load() may read the source only during the call; free it at once.
    const std::vector<float> scales = made.scales;
    m.weight = unit_->load({.dtype = DType::kF8E4M3,
                            .out_features = out,
                            .in_features = in,
                            .data = m.bytes.data(),
                            .scales = {scales.data(), block_rows, block_columns}});
    return made;
  }

  OpenedDevice opened_;
  std::unique_ptr<device::ComputeUnit> unit_;
  std::vector<std::unique_ptr<device::Buffer>> buffers_;
  std::mt19937 random_{11};
};

}  // namespace tandem::device_test
