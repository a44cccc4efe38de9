// SPDX-License-Identifier: Apache-2.0
//
// SparseChoice: the table, and the measurement of its entries.
#include "cpu/sparse_choice.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>

#include "common/error.h"
#include "common/median.h"
#include "cpu/kernels/sparse_products/sparse_rows.h"
#include "cpu/products.h"
#include "cpu/sparse_weight.h"
#include "cpu/weight.h"
#include "tensor/quantize.h"

namespace tandem::device::cpu {
namespace {

constexpr double kSteps[] = {0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95};
constexpr double kMargin = 0.95;  // of the dense time: noise must not make a model slower
constexpr std::int64_t kOutputs = 8192, kInputs = 2048;
constexpr std::size_t kRows = 32;
constexpr int kSamples = 9;
constexpr std::size_t kMostWashBytes = std::size_t{256} << 20;

double step_below(double zeros) {
  constexpr double kSlack = 0.01;  // rows round, and few of them are counted
  double step = kSteps[0];
  for (const double s : kSteps) step = s <= zeros + kSlack ? s : step;
  return step;
}

double whole_value_bytes(DType dtype) {
  return static_cast<double>(dtype_block_bytes(dtype)) /
         static_cast<double>(dtype_block_values(dtype));
}

// A random matrix of which a part is zero. Some rows repeat: they do not change the time.
std::vector<std::byte> random_matrix(DType dtype, double zeros) {
  constexpr std::size_t kDrawnRows = 256;
  std::minstd_rand random(5);
  const auto limit = static_cast<std::uint32_t>(
      zeros * static_cast<double>(std::minstd_rand::max() - std::minstd_rand::min()));
  std::vector<float> values(kDrawnRows * kInputs);
  for (float& value : values) value = random() - std::minstd_rand::min() < limit ? 0.0f : 1.0f;
  const std::size_t row_bytes = dtype_row_bytes(dtype, kInputs);
  const std::size_t some = kDrawnRows * row_bytes;
  std::vector<std::byte> bytes(static_cast<std::size_t>(kOutputs) * row_bytes);
  for (std::size_t row = 0; row < kDrawnRows; ++row) {
    quantize_row(dtype, values.data() + row * kInputs, bytes.data() + row * row_bytes, kInputs);
  }
  for (std::size_t at = some; at < bytes.size(); at += some) {
    std::memcpy(bytes.data() + at, bytes.data(), some);
  }
  return bytes;
}

// Of one core, as the kernel tells it: sysconf() adds up the caches of a whole processor.
std::size_t last_level_cache_bytes() {
  constexpr std::size_t kUnknown = std::size_t{32} << 20;
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  std::size_t kilobytes = 0;
  return file >> kilobytes ? kilobytes << 10 : kUnknown;
}

// Reads so much that the last cache holds nothing else.
class CacheWash {
 public:
  CacheWash() : values_(wash_bytes(last_level_cache_bytes()) / sizeof(std::uint64_t), 1) {}
  void wash() { sum_ = std::accumulate(values_.begin(), values_.end(), sum_); }

 private:
  std::vector<std::uint64_t> values_;
  volatile std::uint64_t sum_ = 0;  // so that the values are read
};

}  // namespace

SparseMode sparse_mode(std::string_view word) {
  if (word == "auto") return SparseMode::kAuto;
  if (word == "always") return SparseMode::kAlways;
  if (word == "never") return SparseMode::kNever;
  throw Error("cpu", "'" + std::string(word) + "' is none of auto, always, never");
}

std::string sparse_note(const SparseSpeed& speed) {
  char text[128];
  std::snprintf(text, sizeof text, "%s weights with %.0f %% zeros: %.1f times as fast without them",
                std::string(dtype_name(speed.dtype)).c_str(), 100 * speed.zeros,
                speed.dense_seconds / speed.sparse_seconds);
  return text;
}

std::size_t wash_bytes(std::size_t cache_bytes) {
  return std::min(2 * cache_bytes, kMostWashBytes);
}

SparseSpeed measure_sparse_speed(Team& team, DType dtype, double zeros) {
  const std::vector<std::byte> bytes = random_matrix(dtype, zeros);
  const WeightSource source{dtype, kOutputs, kInputs, bytes.data()};
  SparseChoice always(SparseMode::kAlways, {});
  const CpuWeight dense(source, team), sparse(source, team, &always);
  CacheWash cache;
  Products products(team);
  const std::vector<float> x(kRows * kInputs, 1.0f);
  std::vector<float> y(kRows * kOutputs);
  const auto seconds = [&](const CpuWeight& weight, std::size_t rows) {
    const RowSource input{x.data(), rows, kInputs, {}, nullptr, 0, nullptr, Activation::kSilu};
    const Product product{0, &weight, nullptr, y.data(), false};
    cache.wash();
    const auto start = std::chrono::steady_clock::now();
    products.run({&input, 1}, {&product, 1});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  SparseSpeed speed{dtype, zeros, 0, 0};
  for (const std::size_t rows : {std::size_t{1}, kRows}) {
    std::vector<double> dense_times, sparse_times;
    for (int sample = 0; sample < kSamples; ++sample) {
      dense_times.push_back(seconds(dense, rows));
      sparse_times.push_back(seconds(sparse, rows));
    }
    const double calls = rows == 1 ? static_cast<double>(kRows) : 1.0;
    speed.dense_seconds += calls * median(dense_times);
    speed.sparse_seconds += calls * median(sparse_times);
  }
  return speed;
}

bool SparseChoice::pays(DType dtype, double zeros) {
  if (mode_ == SparseMode::kNever || zeros < kLeastZeros) return false;
  if (mode_ == SparseMode::kAlways) return true;
  if (sparse_value_bytes(dtype, zeros) > whole_value_bytes(dtype)) return false;
  const double step = step_below(zeros);
  auto known = std::ranges::find_if(table_, [&](const SparseSpeed& speed) {
    return speed.dtype == dtype && speed.zeros == step;
  });
  if (known == table_.end()) known = table_.insert(table_.end(), measure_(dtype, step));
  return known->sparse_seconds < kMargin * known->dense_seconds;
}

}  // namespace tandem::device::cpu
