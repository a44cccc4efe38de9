// SPDX-License-Identifier: Apache-2.0
//
// Decode attention on an OpenCL device: KV bytes read per second, as a fraction of the device's
// read bandwidth measured in the same process (opencl/bandwidth.h).
//
// One batch of 8 sequences with 4096 tokens each, 32 query and 8 KV heads of 128, F16 and I8, and
// one long sequence. Two layers take turns, so that no cache holds what is read next. The result is
// verified against the double-precision reference first. Exit code 1 where it is wrong.
#include <cmath>
#include <memory>
#include <random>
#include <string>

#include "drivers/cpu/samples.h"
#include "opencl/backend.h"
#include "support/reference/attention.h"
#include "support/reference/compare.h"

namespace tandem::bench {
namespace {

using device::AttentionBatch;
using device::AttentionSequence;

struct Shape {
  std::string name;
  int q_heads, kv_heads, head_dim, context, batch;
  DType kv_dtype;
};

class AttentionRun {
 public:
  AttentionRun(device::Device& device, const Shape& shape) : shape_(shape) {
    const int pages = (shape.context + 15) / 16;
    device::AttentionUnitOptions options;
    options.geometry = {2, shape.q_heads, shape.kv_heads, shape.head_dim, 16, shape.kv_dtype};
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
      // Pages of the sequences interleave, as they do when all grow together.
      for (int i = 0; i < pages; ++i) pages_.push_back(i * shape.batch + s);
    }
    fill();
  }

  void attend(int layer) {
    const AttentionBatch batch = {
        .layer = layer, .scale = scale(), .q = q_, .sequences = sequences_, .pages = pages_};
    unit_->wait(unit_->submit(batch, {o_, lse_}), Deadline::never());
  }

  double bytes() const {
    const double rows = 2.0 * shape_.kv_heads * shape_.context * shape_.batch;
    const double scales = shape_.kv_dtype == DType::kI8 ? sizeof(float) : 0;
    return rows * (shape_.head_dim * dtype_block_bytes(shape_.kv_dtype) + scales);
  }

  // Of the last sequence; every one has the same K and V.
  double error() {
    attend(1);
    const std::size_t width = static_cast<std::size_t>(shape_.q_heads) * shape_.head_dim;
    const auto want = reference::reference_attention(
        unit_->geometry(), scale(), std::span(q_).last(width), k_, v_, shape_.context);
    return reference::nmse<double>(std::span<const float>(o_).last(width), want.o);
  }

 private:
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
        const AttentionBatch batch = {
            .layer = layer, .k = k_, .v = v_, .sequences = {&s, 1}, .pages = pages_};
        unit_->wait(unit_->submit(batch, {}), Deadline::never());
      }
    }
    reference::round_kv(shape_.kv_dtype, shape_.head_dim, k_);
    reference::round_kv(shape_.kv_dtype, shape_.head_dim, v_);
  }

  Shape shape_;
  std::mt19937 random_{3};
  std::unique_ptr<device::AttentionUnit> unit_;
  std::vector<float> q_, k_, v_, o_, lse_;
  std::vector<AttentionSequence> sequences_;
  std::vector<device::PageId> pages_;
};

bool measure(device::Device& device, const Shape& shape, const std::string& command) {
  AttentionRun run(device, shape);
  const double error = run.error();
  if (!(error < 1e-6)) {
    std::cerr << shape.name << ": wrong result, NMSE " << error << "\n";
    return false;
  }
  std::vector<double> rates;
  for (int sample = -3; sample < kSamples; ++sample) {
    const double rate = run.bytes() / seconds([&] { run.attend(sample & 1); });
    if (sample >= 0) rates.push_back(rate * 1e-9);
  }
  const double read = device.info().memory_bandwidth_bytes_per_s * 1e-9;
  print_figure("opencl_attention/" + shape.name, rates, "GB/s",
               {{"kv_bytes", run.bytes()},
                {"roofline_fraction", quantile(rates, 0.5) / read},
                {"read_gb_per_s", read},
                {"device", device.info().name},
                {"command", command}});
  return true;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  using tandem::DType;
  const tandem::device::Backend& backend = tandem::device::opencl_backend();
  if (backend.enumerate({}).empty()) {
    std::cerr << "no OpenCL device here\n";
    return 1;
  }
  const auto device = backend.open(0, {});
  const tandem::bench::Shape shapes[] = {
      {"gqa32_8_d128_ctx4096_batch8_f16", 32, 8, 128, 4096, 8, DType::kF16},
      {"gqa32_8_d128_ctx4096_batch8_i8", 32, 8, 128, 4096, 8, DType::kI8},
      {"gqa32_8_d128_ctx32768_batch1_f16", 32, 8, 128, 32768, 1, DType::kF16},
      {"mha32_d128_ctx1024_batch8_f16", 32, 32, 128, 1024, 8, DType::kF16},
  };
  bool right = true;
  for (const auto& shape : shapes) {
    if (argc > 1 && shape.name.find(argv[1]) == std::string::npos) continue;
    right &= tandem::bench::measure(*device, shape, argv[0]);
  }
  return right ? 0 : 1;
}
