// SPDX-License-Identifier: Apache-2.0
//
// Products with pruned weights on the CPU without their zeros, over those with the whole matrix, in
// turns: f32 and bf16; values at random and blocks of 8 x 8; 1, 4, 8, 16 and 32 rows. "crossover"
// is the part of zeros from which the form without zeros is faster, between measured parts on a
// line.
//
// The weights are a stack of 2048 x 8192 matrices of 512 MiB in the whole form, so that no cache
// holds either form. One row takes the stack, more rows one matrix of it. First results are
// compared with those of the whole matrix. Arguments: names of types; none: all.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "cpu/compute_unit.h"
#include "samples.h"
#include "support/reference/compare.h"
#include "tensor/quantize.h"

namespace tandem::bench {
namespace {

constexpr std::int64_t kOut = 8192, kIn = 2048;
constexpr std::size_t kStackBytes = std::size_t{512} << 20;

// [kOut, kIn] of normally distributed values, of which `zeros` are zero: alone or in 8 x 8 blocks.
std::vector<std::byte> pruned_matrix(DType dtype, double zeros, bool in_blocks) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<float> values(kOut * kIn);
  std::vector<bool> kept(kOut * kIn / (in_blocks ? 64 : 1));
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = uniform(random) >= zeros;
  for (std::int64_t row = 0; row < kOut; ++row) {
    for (std::int64_t i = 0; i < kIn; ++i) {
      const std::int64_t unit = in_blocks ? row / 8 * (kIn / 8) + i / 8 : row * kIn + i;
      values[row * kIn + i] = kept[unit] ? normal(random) : 0.0f;
    }
  }
  std::vector<std::byte> bytes(kOut * dtype_row_bytes(dtype, kIn));
  quantize_row(dtype, values.data(), bytes.data(), values.size());
  return bytes;
}

// One form of the weights.
class Form {
 public:
  // Both forms share a team: threads of two would wait for work against each other.
  Form(device::cpu::Team& team, device::cpu::SparseMode mode, const device::WeightSource& source,
       std::size_t copies)
      : unit_(std::make_unique<device::cpu::CpuComputeUnit>(team, mode)) {
    for (std::size_t i = 0; i < copies; ++i) weights_.push_back(unit_->load(source));
  }

  void set_rows(std::int64_t rows) {
    rows_ = rows;
    x_ = unit_->allocate(rows * kIn * sizeof(float), device::MemoryKind::kHost);
    y_ = unit_->allocate(rows * kOut * sizeof(float), device::MemoryKind::kHost);
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (float& value : device::host_floats({x_.get(), 0}, rows * kIn)) value = normal(random);
  }

  void multiply(std::size_t matrix) {
    const device::LinearTarget target{
        weights_[matrix % weights_.size()].get(), nullptr, {y_.get(), 0}};
    unit_->enqueue(device::LinearOp{rows_, {x_.get(), 0}, {&target, 1}});
  }
  void sample(std::size_t index) {
    if (rows_ > 1) return multiply(index);
    for (std::size_t matrix = 0; matrix < weights_.size(); ++matrix) multiply(matrix);
  }
  std::span<const float> y() { return device::host_floats({y_.get(), 0}, rows_ * kOut); }
  std::size_t weight_bytes() const { return weights_.front()->size_bytes(); }

 private:
  using WeightPtr = std::unique_ptr<device::Weight>;
  std::unique_ptr<device::ComputeUnit> unit_;
  std::vector<WeightPtr> weights_;
  std::int64_t rows_ = 1;
  std::unique_ptr<device::Buffer> x_, y_;
};

// Times the speed without zeros; nan after a wrong result.
double measure(Form& whole, Form& sparse, const std::string& name, const std::string& command) {
  whole.multiply(0);
  sparse.multiply(0);
  const std::vector<double> want(whole.y().begin(), whole.y().end());
  if (!(reference::nmse<double>(sparse.y(), want) < 1e-4)) {
    std::cerr << name << ": wrong result\n";
    return std::nan("");
  }
  std::vector<double> ratios;
  for (int sample = -3; sample < kSamples; ++sample) {
    const auto index = static_cast<std::size_t>(sample + 3);
    const double before = seconds([&] { whole.sample(index); });
    const double after = seconds([&] { sparse.sample(index); });
    if (sample >= 0) ratios.push_back(before / after);
  }
  print_figure(name, ratios, "times the whole matrix",
               {{"bytes_over_whole", static_cast<double>(sparse.weight_bytes()) /
                                         static_cast<double>(whole.weight_bytes())},
                {"command", command}});
  return quantile(ratios, 0.5);
}

struct Point {
  double zeros, ratio;
};

void print_crossover(const std::string& name, const std::vector<Point>& points) {
  std::string text = "above " + std::to_string(points.back().zeros);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].ratio < 1) continue;
    if (i == 0) {
      text = "below " + std::to_string(points[0].zeros);
    } else {
      const Point &a = points[i - 1], &b = points[i];
      text = std::to_string(a.zeros + (b.zeros - a.zeros) * (1 - a.ratio) / (b.ratio - a.ratio));
    }
    break;
  }
  std::cout << nlohmann::ordered_json{{"name", name + "/crossover"}, {"zeros", text}}.dump()
            << std::endl;
}

bool measure_type(DType dtype, bool in_blocks, const std::string& command) {
  const std::vector<std::int64_t> rows = {1, 4, 8, 16, 32};
  std::vector<std::vector<Point>> points(rows.size());
  const std::string kind =
      "cpu_sparse/" + std::string(dtype_name(dtype)) + (in_blocks ? "_blocks" : "_values");
  for (const double zeros : {0.5, 0.75, 0.9, 0.95}) {
    const std::vector<std::byte> bytes = pruned_matrix(dtype, zeros, in_blocks);
    const device::WeightSource source{dtype, kOut, kIn, bytes.data(), device::WeightRole::kProduct,
                                      true};
    const std::size_t copies = kStackBytes / bytes.size();
    device::cpu::Team team(0);
    Form whole(team, device::cpu::SparseMode::kNever, source, copies);
    Form sparse(team, device::cpu::SparseMode::kAlways, source, copies);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      whole.set_rows(rows[r]);
      sparse.set_rows(rows[r]);
      const std::string name = kind + "_rows" + std::to_string(rows[r]) + "_zeros" +
                               std::to_string(static_cast<int>(100 * zeros + 0.5));
      points[r].push_back({zeros, measure(whole, sparse, name, command)});
      if (points[r].back().ratio != points[r].back().ratio) return false;
    }
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    print_crossover(kind + "_rows" + std::to_string(rows[r]), points[r]);
  }
  return true;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  using namespace tandem::bench;
  using tandem::DType;
  const std::vector<std::string> only(argv + 1, argv + argc);
  bool all_right = true;
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    if (!only.empty() && std::ranges::count(only, tandem::dtype_name(dtype)) == 0) continue;
    for (const bool in_blocks : {false, true}) all_right &= measure_type(dtype, in_blocks, argv[0]);
  }
  return all_right ? 0 : 1;
}
