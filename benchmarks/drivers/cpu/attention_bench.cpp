// SPDX-License-Identifier: Apache-2.0
//
// Decode attention on the CPU against the read bandwidth of the same cores in the same run.
//
// One batch of 8 sequences with 4096 tokens each, 32 query and 8 KV heads of 128, then other
// shapes. Every sample reads memory once with the probe and then attends once; the fraction is the
// median of the ratios. Two layers take turns, so that no cache holds what is read next.
#include <cmath>
#include <memory>
#include <random>
#include <string>

#include "cpu/backend.h"
#include "cpu/read_bandwidth.h"
#include "samples.h"
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
    geometry_ = {2, shape.q_heads, shape.kv_heads, shape.head_dim, 16, shape.kv_dtype};
    const int pages = (shape.context + 15) / 16;
    device::AttentionUnitOptions options;
    options.geometry = geometry_;
    options.max_pages = pages * shape.batch;
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
    AttentionBatch batch;
    batch.layer = layer;
    batch.scale = scale();
    batch.q = q_;
    batch.sequences = sequences_;
    batch.pages = pages_;
    unit_->wait(unit_->submit(batch, {o_, lse_}), Deadline::never());
  }

  double bytes() const {
    const double values = 2.0 * shape_.kv_heads * shape_.context * shape_.batch;
    const double scales = shape_.kv_dtype == DType::kI8 ? sizeof(float) : 0;
    return values * (shape_.head_dim * dtype_block_bytes(shape_.kv_dtype) + scales);
  }

  // Of the first sequence; every one has the same K and V.
  double error() {
    attend(1);
    const std::size_t width = static_cast<std::size_t>(shape_.q_heads) * shape_.head_dim;
    const auto want = reference::reference_attention(geometry_, scale(), std::span(q_).first(width),
                                                     k_, v_, shape_.context);
    return reference::nmse<double>(std::span<const float>(o_).first(width), want.o);
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
        AttentionBatch batch;
        batch.layer = layer;
        batch.k = k_;
        batch.v = v_;
        batch.sequences = {&s, 1};
        batch.pages = pages_;
        unit_->submit(batch, {});
      }
    }
    reference::round_kv(shape_.kv_dtype, shape_.head_dim, k_);
    reference::round_kv(shape_.kv_dtype, shape_.head_dim, v_);
  }

  Shape shape_;
  device::AttentionGeometry geometry_;
  std::mt19937 random_{3};
  std::unique_ptr<device::AttentionUnit> unit_;
  std::vector<float> q_, k_, v_, o_, lse_;
  std::vector<AttentionSequence> sequences_;
  std::vector<device::PageId> pages_;
};

bool measure(const Shape& shape, const std::string& command) {
  const auto cpu = device::cpu_backend().open(0, {});
  device::cpu::Team team(0);
  device::cpu::ReadProbe probe(team, std::size_t{256} << 20);
  AttentionRun run(*cpu, shape);
  const double error = run.error();
  if (!(error < 1e-8)) {
    std::cerr << shape.name << ": wrong result, NMSE " << error << "\n";
    return false;
  }
  std::vector<double> rates, reads, fractions;
  for (int sample = -3; sample < kSamples; ++sample) {
    const double read = probe.measure();
    const double rate = run.bytes() / seconds([&] { run.attend(sample & 1); });
    if (sample < 0) continue;
    rates.push_back(rate * 1e-9);
    reads.push_back(read * 1e-9);
    fractions.push_back(rate / read);
  }
  print_figure("cpu_attention/" + shape.name, rates, "GB/s",
               {{"kv_bytes", run.bytes()},
                {"roofline_fraction", quantile(fractions, 0.5)},
                {"read_gb_per_s", quantile(reads, 0.5)},
                {"threads", team.size()},
                {"device", cpu->info().name},
                {"command", command}});
  return true;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  using tandem::DType;
  const tandem::bench::Shape shapes[] = {
      {"gqa32_8_d128_ctx4096_batch8_f16", 32, 8, 128, 4096, 8, DType::kF16},
      {"gqa32_8_d128_ctx4096_batch8_i8", 32, 8, 128, 4096, 8, DType::kI8},
      {"gqa32_8_d64_ctx4096_batch8_f16", 32, 8, 64, 4096, 8, DType::kF16},
      {"gqa32_8_d128_ctx32768_batch1_f16", 32, 8, 128, 32768, 1, DType::kF16},
      {"gqa64_8_d128_ctx4096_batch8_f16", 64, 8, 128, 4096, 8, DType::kF16},
      {"mha32_d128_ctx1024_batch8_f16", 32, 32, 128, 1024, 8, DType::kF16},
  };
  bool right = true;
  for (const auto& shape : shapes) {
    if (argc > 1 && shape.name.find(argv[1]) == std::string::npos) continue;
    right &= tandem::bench::measure(shape, argv[0]);
  }
  return right ? 0 : 1;
}
