// SPDX-License-Identifier: Apache-2.0
//
// The same operations on one CPU unit and on a composite of several.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "device/compute_unit.h"
#include "drivers/parallel/cpu_parts.h"
#include "parallel/device.h"
#include "tensor/quantize.h"

namespace tandem::device::parallel {

// One unit with operands of its own, made by the same calls in the same order on every unit.
class Bench {
 public:
  explicit Bench(ComputeUnit& unit) : unit_(unit), random_(11) {}

  ComputeUnit& unit() { return unit_; }
  std::vector<float> randoms(std::size_t count) {
    std::uniform_real_distribution<float> value(-1.0f, 1.0f);
    std::vector<float> values(count);
    for (float& one : values) one = value(random_);
    return values;
  }

  // A buffer with random values, written by an operation if the host has no access.
  Slice put(std::size_t count, MemoryKind kind) {
    const auto values = randoms(count);
    const Slice host = room(count, MemoryKind::kHost);
    std::memcpy(host.buffer->host().data(), values.data(), count * sizeof(float));
    if (kind == MemoryKind::kHost) return host;
    const Slice slice = room(count, kind);
    unit_.enqueue(CopyOp{count * sizeof(float), host, slice});
    return slice;
  }
  Slice room(std::size_t count, MemoryKind kind) {
    buffers_.push_back(unit_.allocate(count * sizeof(float), kind));
    return {buffers_.back().get(), 0};
  }
  std::vector<float> get(const Slice& slice, std::size_t count) {
    Slice host = slice;
    if (slice.buffer->host().empty()) {
      host = room(count, MemoryKind::kHost);
      unit_.enqueue(CopyOp{count * sizeof(float), slice, host});
    }
    EXPECT_EQ(unit_.wait(unit_.record(), Deadline::never()), WaitResult::kDone);
    const auto values = host_floats(host, count);
    return {values.begin(), values.end()};
  }

  // Of scales of kF8E4M3: shares of outputs cut them, shares of 192 inputs for up to 3 do not.
  static constexpr std::int64_t kBlockRows = 40, kBlockColumns = 32;
  struct Place {
    int layer = -1;
    WeightSplit split = WeightSplit::kNone;
    WeightRole role = WeightRole::kProduct;
  };
  const Weight* weight(DType dtype, std::int64_t out, std::int64_t in, const Place& place) {
    const auto values = randoms(static_cast<std::size_t>(out * in));
    const std::size_t row_bytes = dtype_row_bytes(dtype, static_cast<std::size_t>(in));
    bytes_.emplace_back(static_cast<std::size_t>(out) * row_bytes);
    if (dtype == DType::kF8E4M3) {
      std::ranges::transform(values, bytes_.back().begin(),
                             [](float value) { return std::byte{f32_to_f8(value)}; });
    } else {
      quantize_row(dtype, values.data(), bytes_.back().data(), values.size());
    }
    std::vector<float> scales;  // only load() may read them
    if (dtype == DType::kF8E4M3) scales = randoms(static_cast<std::size_t>(out * in));
    weights_.push_back(
        unit_.load({dtype,
                    out,
                    in,
                    bytes_.back().data(),
                    place.role,
                    false,
                    place.layer,
                    place.split,
                    {scales.empty() ? nullptr : scales.data(), kBlockRows, kBlockColumns}}));
    return weights_.back().get();
  }

 private:
  ComputeUnit& unit_;
  std::mt19937 random_;
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<std::unique_ptr<Weight>> weights_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

// Runs operations on a unit and returns the results.
using OnBench = std::function<std::vector<float>(Bench&)>;

inline std::vector<float> on_one_unit(const OnBench& body) {
  const auto devices = cpu_devices(1);
  const auto unit = devices.front()->make_compute_unit();
  Bench bench(*unit);
  return body(bench);
}

inline std::vector<float> on_parts(int parts, const ParallelOptions& options, const OnBench& body) {
  ParallelDevice device(cpu_devices(parts), options);
  const auto unit = device.make_compute_unit();
  Bench bench(*unit);
  return body(bench);
}

}  // namespace tandem::device::parallel
