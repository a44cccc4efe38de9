// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on the CPU, every weight type. Few rows: against the read bandwidth of the same
// cores. Many rows: against the peak of the arithmetic that the type uses (int8 for quantised
// weights, bf16, f32) and against oneDNN. For bf16 weights that is its matmul with its own order of
// weights, for other types its sgemm on f32 weights of the same shape. All in one run, in turns.
//
// The weights are a stack of 2048 x 8192 matrices of more than 256 MiB. A sample of few rows reads
// memory once with the probe and then multiplies the whole stack; one of many rows takes one matrix
// of two. Fractions are medians of the ratios. "load" is the time to load the stack (packing).
// oneDNN's rows are bf16 from the start; the time of ours includes the rounding.
// Arguments: names of types; none: all.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "bf16_baseline.h"
#include "cpu/arithmetic_peak.h"
#include "cpu/backend.h"
#include "cpu/read_bandwidth.h"
#include "samples.h"
#include "sgemm_baseline.h"
#include "support/reference/compare.h"
#include "support/reference/transformer.h"
#include "tensor/quantize.h"

namespace tandem::bench {
namespace {

constexpr std::int64_t kOut = 8192, kIn = 2048;
constexpr std::size_t kStackBytes = std::size_t{288} << 20;

// One matrix of normally distributed values, repeated: the values do not change the time.
std::vector<std::byte> random_weights(DType dtype, std::size_t size_bytes) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  constexpr std::int64_t kRows = 256;
  std::vector<float> values(kRows * kIn);
  for (float& value : values) value = normal(random);
  const std::size_t some = kRows * dtype_row_bytes(dtype, kIn);
  std::vector<std::byte> bytes(size_bytes);
  if (dtype == DType::kF8E4M3) {
    std::ranges::transform(values, bytes.begin(),
                           [](float value) { return std::byte{f32_to_f8(value * 100.0f)}; });
  } else {
    quantize_row(dtype, values.data(), bytes.data(), values.size());
  }
  for (std::size_t at = some; at < size_bytes; at += some) {
    std::memcpy(bytes.data() + at, bytes.data(), std::min(some, size_bytes - at));
  }
  return bytes;
}

class LinearRun {
 public:
  LinearRun(device::Device& device, DType dtype, std::int64_t rows)
      : dtype_(dtype), rows_(rows), unit_(device.make_compute_unit()) {
    const std::size_t matrix = kOut * dtype_row_bytes(dtype, kIn);
    bytes_ = random_weights(dtype, (kStackBytes + matrix - 1) / matrix * matrix);
    load_seconds_ = seconds([&] {
      for (std::size_t at = 0; at < bytes_.size(); at += matrix) {
        weights_.push_back(unit_->load({dtype, kOut, kIn, bytes_.data() + at}));
      }
    });
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

  // The same product by oneDNN: on bf16 weights, or on f32 weights.
  void multiply_baseline() {
    if (dtype_ == DType::kBF16) return multiply_bf16_baseline();
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

  double load_seconds() const { return load_seconds_; }
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
  void multiply_bf16_baseline() {
    if (bf16_ == nullptr) {
      narrow_x_.resize(rows_ * kIn);
      std::ranges::transform(device::host_floats({x_.get(), 0}, rows_ * kIn), narrow_x_.begin(),
                             f32_to_bf16);
      bf16_ = bf16_baseline(rows_, kOut, kIn, bytes_.data(), narrow_x_.data(),
                            device::host_floats({y_.get(), 0}, rows_ * kOut).data());
    }
    bf16_->multiply();
  }

  DType dtype_;
  std::int64_t rows_;
  std::unique_ptr<device::ComputeUnit> unit_;
  std::vector<std::byte> bytes_;
  std::vector<float> baseline_;
  std::vector<std::uint16_t> narrow_x_;
  std::unique_ptr<Bf16Baseline> bf16_;
  double load_seconds_ = 0;
  std::vector<std::unique_ptr<device::Weight>> weights_;
  std::unique_ptr<device::Buffer> x_, y_;
};

bool right(LinearRun& run, const std::string& name) {
  const double error = run.error();
  if (error < 1e-4) return true;  // int8 activations
  std::cerr << name << ": wrong result, NMSE " << error << "\n";
  return false;
}

std::string figure_name(DType dtype, std::int64_t rows) {
  return "cpu_linear/" + std::string(dtype_name(dtype)) + "_rows" + std::to_string(rows);
}

bool measure_few(device::Device& cpu, DType dtype, std::int64_t rows, const std::string& command) {
  const std::string name = figure_name(dtype, rows);
  device::cpu::Team team(0);
  device::cpu::ReadProbe probe(team, std::size_t{256} << 20);
  LinearRun run(cpu, dtype, rows);
  if (!right(run, name)) return false;
  const RoofSamples samples = sample_against(
      run.stack_bytes(), [&] { return probe.measure(); }, [&](int) { run.multiply_stack(); });
  print_figure(name, samples.rates, "GB/s",
               {{"weight_bytes", run.stack_bytes()},
                {"fraction_of_read", quantile(samples.fractions, 0.5)},
                {"read_gb_per_s", quantile(samples.roofs, 0.5)},
                {"load_gb_per_s", run.stack_bytes() / run.load_seconds() * 1e-9},
                {"threads", team.size()},
                {"device", cpu.info().name},
                {"command", command}});
  return true;
}

double peak_for(DType dtype, const device::PeakOps& peak) {
  if (dtype_block_values(dtype) > 1) return peak.int8;
  const bool is_bf16 = dtype == DType::kBF16 || dtype == DType::kF8E4M3;  // with rows of bf16
  return is_bf16 ? peak.bf16 : peak.f32;
}

bool measure_many(device::Device& cpu, DType dtype, std::int64_t rows, const std::string& command) {
  const std::string name = figure_name(dtype, rows);
  device::cpu::Team team(0);
  LinearRun run(cpu, dtype, rows);
  if (!right(run, name)) return false;
  std::vector<double> rates, peaks, fractions, ratios;
  for (int sample = -3; sample < kSamples; ++sample) {
    const double peak = peak_for(dtype, device::cpu::measure_peak_ops(team));
    const double time = seconds([&] { run.multiply(sample & 1); });
    const double library = has_sgemm_baseline() ? seconds([&] { run.multiply_baseline(); }) : 0.0;
    if (sample < 0) continue;
    rates.push_back(run.matrix_flops() / time * 1e-9);
    peaks.push_back(peak * 1e-9);
    fractions.push_back(run.matrix_flops() / time / peak);
    ratios.push_back(library / time);
  }
  nlohmann::ordered_json extra = {{"operations", run.matrix_flops()},
                                  {"fraction_of_peak", quantile(fractions, 0.5)},
                                  {"peak_gop_per_s", quantile(peaks, 0.5)},
                                  {"threads", team.size()},
                                  {"device", cpu.info().name},
                                  {"command", command}};
  if (has_sgemm_baseline()) {
    extra[dtype == DType::kBF16 ? "speed_over_onednn_bf16" : "speed_over_onednn_sgemm"] =
        quantile(ratios, 0.5);
  }
  print_figure(name, rates, "GOP/s", extra);
  return true;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  using namespace tandem::bench;
  using tandem::DType;
  const auto cpu = tandem::device::cpu_backend().open(0, {});
  const std::vector<std::string> only(argv + 1, argv + argc);
  bool all_right = true;
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                            DType::kIQ4_NL, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K,
                            DType::kF8E4M3, DType::kF16, DType::kBF16, DType::kF32}) {
    if (!only.empty() && std::ranges::count(only, tandem::dtype_name(dtype)) == 0) continue;
    for (const int rows : {1, 4, 8}) all_right &= measure_few(*cpu, dtype, rows, argv[0]);
    for (const int rows : {32, 512}) all_right &= measure_many(*cpu, dtype, rows, argv[0]);
  }
  return all_right ? 0 : 1;
}
