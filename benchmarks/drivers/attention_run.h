// SPDX-License-Identifier: Apache-2.0
//
// Decode attention of one shape on a device, against the read bandwidth that the device has at the
// same time.
//
// The result is verified against the double-precision reference first. Every sample measures the
// device's speed once and then attends once; the fraction is the median of the ratios. Two layers
// alternate, so that no cache holds what is read next. Threads: one.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "drivers/cpu/samples.h"
#include "support/reference/attention.h"
#include "support/reference/compare.h"

namespace tandem::bench {

struct AttentionShape {
  std::string name;
  int q_heads, kv_heads, head_dim, context, batch;
  DType kv_dtype;
};

class AttentionRun {
 public:
  AttentionRun(device::Device& device, const AttentionShape& shape) : shape_(shape) {
    const int pages = (shape.context + kPageTokens - 1) / kPageTokens;
    device::AttentionUnitOptions options;
    options.geometry = {2,           shape.q_heads, shape.kv_heads, shape.head_dim,
                        kPageTokens, shape.kv_dtype};
    options.max_pages = pages * shape.batch;
    options.max_batch_rows = shape.context;
    unit_ = device.make_attention_unit(options);
    q_ = randoms(static_cast<std::size_t>(shape.batch) * shape.q_heads * shape.head_dim);
    o_.resize(q_.size());
    lse_.resize(q_.size() / shape.head_dim);
    for (int s = 0; s < shape.batch; ++s) {
      sequences_.push_back({.q_begin = s,
                            .num_q = 1,
                            .num_attend = shape.context,
                            .page_begin = s * pages,
                            .num_pages = pages});
      // Pages of the sequences interleave, as when all sequences grow together.
      for (int i = 0; i < pages; ++i) pages_.push_back(i * shape.batch + s);
    }
    fill();
  }

  void attend(int layer) {
    const device::AttentionBatch batch = {
        .layer = layer, .scale = scale(), .q = q_, .sequences = sequences_, .pages = pages_};
    unit_->wait(unit_->submit(batch, {o_, lse_}), Deadline::never());
  }

  double bytes() const {
    const double rows = 2.0 * shape_.kv_heads * shape_.context * shape_.batch;
    const double scales = device::kv_has_scales(shape_.kv_dtype) ? sizeof(float) : 0;
    return rows * (shape_.head_dim * dtype_block_bytes(shape_.kv_dtype) + scales);
  }

  // Of the last sequence; all sequences have the same K and V.
  double error() {
    attend(1);
    const std::size_t width = static_cast<std::size_t>(shape_.q_heads) * shape_.head_dim;
    const auto want = reference::reference_attention(
        unit_->geometry(), scale(), std::span(q_).last(width), k_, v_, shape_.context);
    return reference::nmse<double>(std::span<const float>(o_).last(width), want.o);
  }

 private:
  static constexpr int kPageTokens = 16;

  float scale() const { return 1.0f / std::sqrt(static_cast<float>(shape_.head_dim)); }

  std::vector<float> randoms(std::size_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(random_);
    return values;
  }

  void fill() {
    k_ = randoms(static_cast<std::size_t>(shape_.context) * shape_.kv_heads * shape_.head_dim);
    v_ = randoms(k_.size());
    for (const int layer : {0, 1}) {
      for (AttentionSequence s : sequences_) {
        s.q_begin = s.num_q = s.num_attend = 0;
        s.num_new = shape_.context;
        const device::AttentionBatch batch = {
            .layer = layer, .k = k_, .v = v_, .sequences = {&s, 1}, .pages = pages_};
        unit_->wait(unit_->submit(batch, {}), Deadline::never());
      }
    }
    reference::round_kv(shape_.kv_dtype, shape_.head_dim, k_);
    reference::round_kv(shape_.kv_dtype, shape_.head_dim, v_);
  }

  using AttentionSequence = device::AttentionSequence;

  AttentionShape shape_;
  std::mt19937 random_{3};
  std::unique_ptr<device::AttentionUnit> unit_;
  std::vector<float> q_, k_, v_, o_, lse_;
  std::vector<AttentionSequence> sequences_;
  std::vector<device::PageId> pages_;
};

// bound: of the NMSE. prefix: of the figure's name. False when the result is wrong.
inline bool measure_attention(device::Device& device, const AttentionShape& shape, double bound,
                              const std::string& prefix, const std::string& command) {
  AttentionRun run(device, shape);
  const double error = run.error();
  if (!(error < bound)) {
    std::cerr << shape.name << ": wrong result, NMSE " << error << "\n";
    return false;
  }
  const RoofSamples samples = sample_against(
      run.bytes(), [&] { return device.speed_now().memory_bandwidth_bytes_per_s; },
      [&](int sample) { run.attend(sample & 1); });
  print_figure(prefix + shape.name, samples.rates, "GB/s",
               {{"kv_bytes", run.bytes()},
                {"roofline_fraction", quantile(samples.fractions, 0.5)},
                {"read_gb_per_s", quantile(samples.roofs, 0.5)},
                {"device", device.info().name},
                {"command", command}});
  return true;
}

// The shapes whose names contain argv[1], or all. True where every result is right.
template <typename Measure>
bool measure_shapes(std::span<const AttentionShape> shapes, int argc, char** argv,
                    const Measure& measure) {
  bool right = true;
  for (const AttentionShape& shape : shapes) {
    if (argc > 1 && shape.name.find(argv[1]) == std::string::npos) continue;
    right &= measure(shape);
  }
  return right;
}

}  // namespace tandem::bench
