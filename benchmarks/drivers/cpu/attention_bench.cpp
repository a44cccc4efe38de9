// SPDX-License-Identifier: Apache-2.0
//
// Attention on the CPU: decode against the read bandwidth of the same cores in the same run
// (attention_run.h), prefill against their arithmetic peak.
//
// Decode: batches of sequences of 4096 tokens, 32 query and 8 KV heads, every KV type; one long
// sequence; many short ones; other group sizes. Prefill: one causal chunk. Exit code 1 when a
// result is wrong.
#include "cpu/backend.h"
#include "drivers/attention_run.h"

namespace tandem::bench {
namespace {

// One chunk of `rows` tokens, causally. FLOPs: 4 per query head, dimension and visible pair.
class PrefillRun {
 public:
  PrefillRun(device::Device& device, const AttentionShape& shape)
      : shape_(shape), unit_(device.make_compute_unit()) {
    const auto rows = static_cast<std::size_t>(shape.context);
    chunk_ = {0, shape.context};
    op_.chunks = {&chunk_, 1};
    op_.q_heads = shape.q_heads;
    op_.kv_heads = shape.kv_heads;
    op_.head_dim = shape.head_dim;
    op_.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
    op_.kv_dtype = shape.kv_dtype;
    op_.q = randoms(rows * shape.q_heads * shape.head_dim);
    op_.k = randoms(rows * shape.kv_heads * shape.head_dim);
    op_.v = randoms(rows * shape.kv_heads * shape.head_dim);
    op_.o = randoms(rows * shape.q_heads * shape.head_dim);
    op_.lse = randoms(rows * shape.q_heads);
  }

  void attend() {
    unit_->enqueue(op_);
    unit_->wait(unit_->record(), Deadline::never());
  }

  double flops() const {
    const double pairs = 0.5 * shape_.context * (shape_.context + 1);
    return 4.0 * shape_.q_heads * shape_.head_dim * pairs;
  }

  // Of the last row.
  double error() {
    attend();
    const std::size_t rows = shape_.context, width = shape_.q_heads * shape_.head_dim;
    const std::size_t kv = rows * shape_.kv_heads * shape_.head_dim;
    const auto all = [](const device::Slice& slice, std::size_t count) {
      const auto values = device::host_floats(slice, count);
      return std::vector<float>(values.begin(), values.end());
    };
    std::vector<float> k = all(op_.k, kv), v = all(op_.v, kv);
    reference::round_kv(shape_.kv_dtype, shape_.head_dim, k);
    reference::round_kv(shape_.kv_dtype, shape_.head_dim, v);
    const std::vector<float> q = all(op_.q, rows * width), o = all(op_.o, rows * width);
    device::AttentionGeometry geometry;
    geometry.q_heads = shape_.q_heads;
    geometry.kv_heads = shape_.kv_heads;
    geometry.head_dim = shape_.head_dim;
    const auto want =
        reference::reference_attention(geometry, op_.scale, std::span(q).last(width), k, v, rows);
    return reference::nmse<double>(std::span(o).last(width), want.o);
  }

 private:
  device::Slice randoms(std::size_t count) {
    buffers_.push_back(unit_->allocate(count * sizeof(float), device::MemoryKind::kHost));
    const device::Slice slice{buffers_.back().get(), 0};
    std::normal_distribution<float> normal;
    for (float& value : device::host_floats(slice, count)) value = normal(random_);
    return slice;
  }

  AttentionShape shape_;
  std::mt19937 random_{3};
  std::unique_ptr<device::ComputeUnit> unit_;
  std::vector<std::unique_ptr<device::Buffer>> buffers_;
  device::CausalChunk chunk_;
  device::CausalAttentionOp op_;
};

bool measure_prefill(device::Device& cpu, const AttentionShape& shape, const std::string& command) {
  PrefillRun run(cpu, shape);
  const double error = run.error();
  if (!(error < 1e-8)) {
    std::cerr << shape.name << ": wrong result, NMSE " << error << "\n";
    return false;
  }
  const RoofSamples samples = sample_against(
      run.flops(), [&] { return cpu.speed_now().peak_ops_per_s.f32; }, [&](int) { run.attend(); });
  print_figure("cpu_attention/" + shape.name, samples.rates, "GFLOP/s",
               {{"flops", run.flops()},
                {"roofline_fraction", quantile(samples.fractions, 0.5)},
                {"peak_gflop_per_s", quantile(samples.roofs, 0.5)},
                {"device", cpu.info().name},
                {"command", command}});
  return true;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  using tandem::DType;
  using tandem::bench::AttentionShape;
  const AttentionShape decode[] = {
      {"gqa32_8_d64_ctx4096_batch32_f16", 32, 8, 64, 4096, 32, DType::kF16},
      {"gqa32_8_d64_ctx4096_batch32_bf16", 32, 8, 64, 4096, 32, DType::kBF16},
      {"gqa32_8_d64_ctx4096_batch32_i8", 32, 8, 64, 4096, 32, DType::kI8},
      {"gqa32_8_d64_ctx4096_batch32_f8", 32, 8, 64, 4096, 32, DType::kF8E4M3},
      {"gqa32_8_d64_ctx4096_batch8_f16", 32, 8, 64, 4096, 8, DType::kF16},
      {"gqa32_8_d64_ctx32768_batch1_f16", 32, 8, 64, 32768, 1, DType::kF16},
      {"gqa32_8_d64_ctx256_batch64_f16", 32, 8, 64, 256, 64, DType::kF16},
      {"gqa32_8_d128_ctx4096_batch8_f16", 32, 8, 128, 4096, 8, DType::kF16},
      {"gqa32_8_d128_ctx4096_batch8_i8", 32, 8, 128, 4096, 8, DType::kI8},
      {"gqa64_8_d128_ctx4096_batch8_f16", 64, 8, 128, 4096, 8, DType::kF16},
      {"mha32_d128_ctx1024_batch8_f16", 32, 32, 128, 1024, 8, DType::kF16},
  };
  const AttentionShape prefill[] = {
      {"prefill_gqa32_8_d64_rows512_f16", 32, 8, 64, 512, 1, DType::kF16},
      {"prefill_gqa32_8_d128_rows512_f16", 32, 8, 128, 512, 1, DType::kF16},
  };
  const auto cpu = tandem::device::cpu_backend().open(0, {});
  using tandem::bench::measure_shapes;
  bool right = measure_shapes(decode, argc, argv, [&](const AttentionShape& shape) {
    return tandem::bench::measure_attention(*cpu, shape, 1e-8, "cpu_attention/", argv[0]);
  });
  right &= measure_shapes(prefill, argc, argv, [&](const AttentionShape& shape) {
    return tandem::bench::measure_prefill(*cpu, shape, argv[0]);
  });
  return right ? 0 : 1;
}
