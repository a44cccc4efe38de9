// SPDX-License-Identifier: Apache-2.0
//
// SparseWeight: counting and packing over the team.
#include "cpu/sparse_weight.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "cpu/kernels/sparse_products/sparse_rows.h"
#include "cpu/products.h"

namespace tandem::device::cpu {
namespace {

constexpr std::int64_t kSampledRows = 64;
constexpr std::int64_t kRowsPerPart = 64;  // a multiple of the rows of a kernel's step
// Rows of activations at which both kernels take the same time: 7 at 90 % zeros, 10 at 75 %. The
// kernel for few rows has a share that does not fall with the values.
constexpr double kEvenRows = 5, kEvenRowsOfWhole = 20;

bool is_quantized(DType dtype) { return dtype_block_values(dtype) > 1; }

// Magnitudes between which f16 loses less than the blocks of quantised types did.
constexpr float kLeastF16Scale = 0x1p-12f, kMostF16 = 65504.0f;

const std::byte* stored_row(const WeightSource& source, std::int64_t row) {
  return source.data +
         static_cast<std::size_t>(row) * dtype_row_bytes(source.dtype, source.in_features);
}

// A row in the type in which it is kept. Of floats it is that of the source.
class KeptRow {
 public:
  KeptRow(const WeightSource& source, DType dtype, std::int64_t row)
      : row_(stored_row(source, row)) {
    if (!is_quantized(source.dtype)) return;
    const auto in_features = static_cast<std::size_t>(source.in_features);
    floats_.resize(in_features);
    dequantize_row(source.dtype, row_, floats_.data(), in_features);
    row_ = reinterpret_cast<const std::byte*>(floats_.data());
    if (dtype != DType::kF16) return;
    halves_.resize(in_features);
    for (std::size_t i = 0; i < in_features; ++i) halves_[i] = f32_to_f16(floats_[i]);
    row_ = reinterpret_cast<const std::byte*>(halves_.data());
  }
  const std::byte* data() const { return row_; }
  float greatest() const {
    float most = 0;
    for (const float value : floats_) most = std::max(most, std::abs(value));
    return most;
  }

 private:
  const std::byte* row_;
  std::vector<float> floats_;
  std::vector<std::uint16_t> halves_;
};

DType kept_type(DType dtype) { return is_quantized(dtype) ? DType::kF16 : dtype; }

std::size_t non_zeros_of(const WeightSource& source, DType dtype, const KeptRow& row) {
  return count_non_zeros(dtype, row.data(), static_cast<std::size_t>(source.in_features));
}

double zero_part(std::uint64_t non_zeros, std::int64_t rows, std::int64_t columns) {
  return 1.0 - static_cast<double>(non_zeros) / static_cast<double>(rows * columns);
}

}  // namespace

bool can_be_sparse(const WeightSource& source) {
  return has_sparse_rows(kept_type(source.dtype)) && source.out_features > 1 &&
         source.in_features <= static_cast<std::int64_t>(kMostSparseInputs);
}

double sampled_zeros(const WeightSource& source) {
  const std::int64_t rows = std::min(kSampledRows, source.out_features);
  std::uint64_t non_zeros = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const DType dtype = kept_type(source.dtype);
    non_zeros +=
        non_zeros_of(source, dtype, KeptRow(source, dtype, source.out_features * i / rows));
  }
  return zero_part(non_zeros, rows, source.in_features);
}

double sparse_value_bytes(DType dtype, double zeros) {
  const auto kept = static_cast<double>(dtype_block_bytes(kept_type(dtype)));
  return (kept + sizeof(std::uint8_t)) * (1.0 - zeros) +
         static_cast<double>(sizeof(std::uint16_t)) / kSparseBlockInputs;
}

float SparseWeight::count(const WeightSource& source, Team& team,
                          std::vector<std::uint32_t>& counts) const {
  std::mutex mutex;
  float most = 0;
  team.run_regions(regions_, [&](const tiling::Box<1>& part, std::size_t) {
    float here = 0;
    for (std::int64_t row = part.lower[0]; row < part.upper[0]; ++row) {
      const KeptRow kept(source, dtype_, row);
      here = std::max(here, kept.greatest());
      counts[static_cast<std::size_t>(row)] =
          static_cast<std::uint32_t>(non_zeros_of(source, dtype_, kept));
    }
    const std::lock_guard lock(mutex);
    most = std::max(most, here);
  });
  return most;
}

SparseWeight::SparseWeight(const WeightSource& source, Team& team)
    : dtype_(kept_type(source.dtype)),
      starts_(static_cast<std::size_t>(source.out_features) + 1),
      regions_(team.regions(tiling::box_of<1>({source.out_features}), {kRowsPerPart})) {
  const auto in_features = static_cast<std::size_t>(source.in_features);
  std::vector<std::uint32_t> counts(static_cast<std::size_t>(source.out_features));
  const float most = count(source, team, counts);
  if (is_quantized(source.dtype) && !(most >= kLeastF16Scale && most <= kMostF16)) {
    dtype_ = DType::kF32;
    count(source, team, counts);
  }
  std::uint64_t non_zeros = 0;
  for (std::size_t row = 0; row < counts.size(); ++row) {
    non_zeros += counts[row];
    starts_[row + 1] = starts_[row] + sparse_row_bytes(dtype_, in_features, counts[row]);
  }
  zeros_ = zero_part(non_zeros, source.out_features, source.in_features);
  require_memory(size_bytes() + kSparseSlackBytes, "a weight without its zeros");
  memory_.emplace(size_bytes() + kSparseSlackBytes);
  team.place(regions_, [&](const tiling::Box<1>& part, std::size_t) {
    for (std::int64_t row = part.lower[0]; row < part.upper[0]; ++row) {
      pack_sparse_row(dtype_, KeptRow(source, dtype_, row).data(), in_features,
                      memory_->data() + starts_[static_cast<std::size_t>(row)]);
    }
  });
}

std::size_t SparseWeight::few_rows() const {
  const double even = kEvenRows + kEvenRowsOfWhole * (1.0 - zeros_);
  return std::min(static_cast<std::size_t>(std::llround(even)), kFewRows);
}

}  // namespace tandem::device::cpu
