// SPDX-License-Identifier: Apache-2.0
//
// Linear layers on the CPU: decode against the read bandwidth of the same cores, prefill against
// oneDNN's sgemm on f32 weights of the same shape, each pair in one run.
//
// The weights are a stack of 2048 x 8192 matrices of more than 256 MiB, read in turn. Every sample
// of a decode figure reads memory once with the probe and then multiplies the whole stack; the
// fraction is the median of the ratios. Prefill takes one matrix and 64 or 512 rows.
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "cpu/backend.h"
#include "cpu/read_bandwidth.h"
#include "samples.h"
#include "sgemm_baseline.h"
#include "support/reference/compare.h"
#include "support/reference/transformer.h"

namespace tandem::bench {
namespace {

constexpr std::int64_t kOut = 8192, kIn = 2048;
constexpr std::size_t kStackBytes = std::size_t{288} << 20;

// Random bytes with sane scales: what the values are does not change the time.
std::vector<std::byte> random_weights(DType dtype, std::size_t size_bytes) {
  std::mt19937 random(11);
  std::vector<std::byte> bytes(size_bytes);
  const std::size_t unit = dtype_block_bytes(dtype);
  for (std::size_t at = 0; at < size_bytes; at += unit) {
    if (dtype_block_values(dtype) == 1) {
      const float value = static_cast<float>(random() % 2001) * 1e-3f - 1.0f;
      const std::uint16_t half = dtype == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
      std::memcpy(bytes.data() + at,
                  dtype == DType::kF32 ? static_cast<const void*>(&value) : &half, unit);
      continue;
    }
    const std::uint16_t scale = f32_to_f16(0.01f);
    std::memcpy(bytes.data() + at, &scale, 2);
    for (std::size_t i = 2; i < unit; ++i) bytes[at + i] = static_cast<std::byte>(random());
  }
  return bytes;
}

class LinearRun {
 public:
  LinearRun(device::Device& device, DType dtype, std::int64_t rows)
      : dtype_(dtype), rows_(rows), unit_(device.make_compute_unit()) {
    const std::size_t matrix = kOut * dtype_row_bytes(dtype, kIn);
    bytes_ = random_weights(dtype, (kStackBytes + matrix - 1) / matrix * matrix);
    for (std::size_t at = 0; at < bytes_.size(); at += matrix) {
      weights_.push_back(unit_->load({dtype, kOut, kIn, bytes_.data() + at}));
    }
    x_ = unit_->allocate(rows * kIn * sizeof(float), device::MemoryKind::kHost);
    y_ = unit_->allocate(rows * kOut * sizeof(float), device::MemoryKind::kHost);
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (float& value : device::host_floats({x_.get(), 0}, rows * kIn)) value = normal(random);
  }

  void multiply(std::size_t matrix) {
    const device::LinearTarget target{weights_[matrix].get(), nullptr, {y_.get(), 0}};
    unit_->enqueue(device::LinearOp{rows_, {x_.get(), 0}, {&target, 1}});
  }
  void multiply_stack() {
    for (std::size_t matrix = 0; matrix < weights_.size(); ++matrix) multiply(matrix);
  }

  // The same product by the baseline, on f32 weights.
  void multiply_baseline() {
    if (baseline_.empty()) {
      baseline_.resize(kOut * kIn);
      const std::size_t row_bytes = dtype_row_bytes(dtype_, kIn);
      for (std::int64_t o = 0; o < kOut; ++o) {
        dequantize_row(dtype_, bytes_.data() + o * row_bytes, baseline_.data() + o * kIn, kIn);
      }
    }
    sgemm_baseline(rows_, kOut, kIn, device::host_floats({x_.get(), 0}, rows_ * kIn).data(),
                   baseline_.data(), device::host_floats({y_.get(), 0}, rows_ * kOut).data());
  }

  double stack_bytes() const { return static_cast<double>(bytes_.size()); }
  double matrix_flops() const { return 2.0 * static_cast<double>(kOut * kIn * rows_); }

  // Of the first outputs of the last row.
  double error() {
    constexpr std::size_t kOutputs = 64;
    multiply(0);
    std::vector<float> w(kOutputs * kIn);
    const std::size_t row_bytes = dtype_row_bytes(dtype_, kIn);
    for (std::size_t o = 0; o < kOutputs; ++o) {
      dequantize_row(dtype_, bytes_.data() + o * row_bytes, w.data() + o * kIn, kIn);
    }
    const auto x = device::host_floats({x_.get(), 0}, rows_ * kIn).last(kIn);
    const auto y = device::host_floats({y_.get(), 0}, rows_ * kOut).last(kOut).first(kOutputs);
    const auto want = reference::linear(x, w, kIn);
    return reference::nmse<double>(y, want);
  }

 private:
  DType dtype_;
  std::int64_t rows_;
  std::unique_ptr<device::ComputeUnit> unit_;
  std::vector<std::byte> bytes_;
  std::vector<float> baseline_;
  std::vector<std::unique_ptr<device::Weight>> weights_;
  std::unique_ptr<device::Buffer> x_, y_;
};

bool right(LinearRun& run, const std::string& name) {
  const double error = run.error();
  if (error < 1e-9) return true;
  std::cerr << name << ": wrong result, NMSE " << error << "\n";
  return false;
}

bool measure_decode(device::Device& cpu, DType dtype, std::int64_t rows,
                    const std::string& command) {
  const std::string name =
      "cpu_linear/decode_" + std::string(dtype_name(dtype)) + "_rows" + std::to_string(rows);
  device::cpu::Team team(0);
  device::cpu::ReadProbe probe(team, std::size_t{256} << 20);
  LinearRun run(cpu, dtype, rows);
  if (!right(run, name)) return false;
  std::vector<double> rates, reads, fractions;
  for (int sample = -3; sample < kSamples; ++sample) {
    const double read = probe.measure();
    const double rate = run.stack_bytes() / seconds([&] { run.multiply_stack(); });
    if (sample < 0) continue;
    rates.push_back(rate * 1e-9);
    reads.push_back(read * 1e-9);
    fractions.push_back(rate / read);
  }
  print_figure(name, rates, "GB/s",
               {{"weight_bytes", run.stack_bytes()},
                {"roofline_fraction", quantile(fractions, 0.5)},
                {"read_gb_per_s", quantile(reads, 0.5)},
                {"threads", team.size()},
                {"device", cpu.info().name},
                {"command", command}});
  return true;
}

bool measure_prefill(device::Device& cpu, DType dtype, std::int64_t rows,
                     const std::string& command) {
  const std::string name =
      "cpu_linear/prefill_" + std::string(dtype_name(dtype)) + "_rows" + std::to_string(rows);
  LinearRun run(cpu, dtype, rows);
  if (!right(run, name)) return false;
  std::vector<double> rates, ratios;
  for (int sample = -3; sample < kSamples; ++sample) {
    const double time = seconds([&] { run.multiply(sample & 1); });
    const double library = has_sgemm_baseline() ? seconds([&] { run.multiply_baseline(); }) : 0.0;
    if (sample < 0) continue;
    rates.push_back(run.matrix_flops() / time * 1e-9);
    ratios.push_back(library / time);
  }
  nlohmann::ordered_json extra = {
      {"flops", run.matrix_flops()}, {"device", cpu.info().name}, {"command", command}};
  if (has_sgemm_baseline()) extra["speed_over_onednn_sgemm"] = quantile(ratios, 0.5);
  print_figure(name, rates, "GFLOP/s", extra);
  return true;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  using namespace tandem::bench;
  using tandem::DType;
  const auto cpu = tandem::device::cpu_backend().open(0, {});
  const std::string only = argc > 1 ? argv[1] : "";
  bool all_right = true;
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_0, DType::kF16, DType::kBF16, DType::kF32}) {
    if (!only.empty() && only != tandem::dtype_name(dtype)) continue;
    for (const int rows : {1, 4, 16}) all_right &= measure_decode(*cpu, dtype, rows, argv[0]);
    for (const int rows : {64, 512}) all_right &= measure_prefill(*cpu, dtype, rows, argv[0]);
  }
  return all_right ? 0 : 1;
}
