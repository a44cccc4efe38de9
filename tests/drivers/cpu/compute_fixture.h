// SPDX-License-Identifier: Apache-2.0
//
// Operands of compute unit tests: buffers with values, and random weights of every type with their
// values in f32.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "device/compute_unit.h"
#include "target_fixture.h"
#include "tensor/quantize.h"

namespace tandem::device {

class ComputeFixture : public OnEveryTarget {
 protected:
  // A host buffer holding values, with a slice of it.
  Slice put(std::span<const float> values) {
    Slice slice = room(values.size());
    std::memcpy(slice.buffer->host().data(), values.data(), values.size_bytes());
    return slice;
  }
  Slice room(std::size_t count) {
    buffers_.push_back(unit_->allocate(count * sizeof(float), MemoryKind::kHost));
    return {buffers_.back().get(), 0};
  }
  std::vector<float> get(const Slice& slice, std::size_t count) {
    EXPECT_EQ(unit_->wait(unit_->record(), Deadline::never()), WaitResult::kDone);
    const auto values = host_floats(slice, count);
    return {values.begin(), values.end()};
  }

  // Random weights of a type, and their values in f32.
  struct Matrix {
    std::vector<std::byte> bytes;
    std::vector<float> values;
    std::unique_ptr<Weight> weight;
  };
  Matrix matrix(DType dtype, std::int64_t out, std::int64_t in) {
    Matrix m;
    const std::size_t row_bytes = dtype_row_bytes(dtype, in);
    m.bytes.resize(out * row_bytes);
    quantize_row(dtype, randoms(out * in).data(), m.bytes.data(), out * in);
    m.values.resize(out * in);
    for (std::int64_t row = 0; row < out; ++row) {
      dequantize_row(dtype, m.bytes.data() + row * row_bytes, m.values.data() + row * in, in);
    }
    m.weight = unit_->load({dtype, out, in, m.bytes.data()});
    return m;
  }

  std::unique_ptr<ComputeUnit> unit_ = device_->make_compute_unit();
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

}  // namespace tandem::device
