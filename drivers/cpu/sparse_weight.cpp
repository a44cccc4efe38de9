// SPDX-License-Identifier: Apache-2.0
//
// SparseWeight: counting and packing over the team.
#include "cpu/sparse_weight.h"

#include <algorithm>
#include <cmath>

#include "cpu/kernels/sparse_products/sparse_rows.h"
#include "cpu/products.h"

namespace tandem::device::cpu {
namespace {

constexpr std::int64_t kSampledRows = 64;
constexpr std::int64_t kRowsPerPart = 64;  // a multiple of the rows of a kernel's step
// Rows of activations at which both kernels take the same time: 7 at 90 % zeros, 10 at 75 %. The
// kernel for few rows has a share that does not fall with the values.
constexpr double kEvenRows = 5, kEvenRowsOfWhole = 20;

const std::byte* row_of(const WeightSource& source, std::int64_t row) {
  return source.data +
         static_cast<std::size_t>(row) * dtype_row_bytes(source.dtype, source.in_features);
}

std::size_t non_zeros_of(const WeightSource& source, std::int64_t row) {
  return count_non_zeros(source.dtype, row_of(source, row),
                         static_cast<std::size_t>(source.in_features));
}

double zero_part(std::uint64_t non_zeros, std::int64_t rows, std::int64_t columns) {
  return 1.0 - static_cast<double>(non_zeros) / static_cast<double>(rows * columns);
}

}  // namespace

bool can_be_sparse(const WeightSource& source) {
  return has_sparse_rows(source.dtype) && source.out_features > 1 &&
         source.in_features <= static_cast<std::int64_t>(kMostSparseInputs);
}

double sampled_zeros(const WeightSource& source) {
  const std::int64_t rows = std::min(kSampledRows, source.out_features);
  std::uint64_t non_zeros = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    non_zeros += non_zeros_of(source, source.out_features * i / rows);
  }
  return zero_part(non_zeros, rows, source.in_features);
}

SparseWeight::SparseWeight(const WeightSource& source, Team& team)
    : starts_(static_cast<std::size_t>(source.out_features) + 1),
      regions_(team.regions(tiling::box_of<1>({source.out_features}), {kRowsPerPart})) {
  const auto in_features = static_cast<std::size_t>(source.in_features);
  std::vector<std::uint32_t> counts(static_cast<std::size_t>(source.out_features));
  team.run_regions(regions_, [&](const tiling::Box<1>& part, std::size_t) {
    for (std::int64_t row = part.lower[0]; row < part.upper[0]; ++row) {
      counts[static_cast<std::size_t>(row)] = static_cast<std::uint32_t>(non_zeros_of(source, row));
    }
  });
  std::uint64_t non_zeros = 0;
  for (std::size_t row = 0; row < counts.size(); ++row) {
    non_zeros += counts[row];
    starts_[row + 1] = starts_[row] + sparse_row_bytes(source.dtype, in_features, counts[row]);
  }
  zeros_ = zero_part(non_zeros, source.out_features, source.in_features);
  require_memory(size_bytes() + kSparseSlackBytes, "a weight without its zeros");
  memory_.emplace(size_bytes() + kSparseSlackBytes);
  team.place(regions_, [&](const tiling::Box<1>& part, std::size_t) {
    for (std::int64_t row = part.lower[0]; row < part.upper[0]; ++row) {
      pack_sparse_row(source.dtype, row_of(source, row), in_features,
                      memory_->data() + starts_[static_cast<std::size_t>(row)]);
    }
  });
}

std::size_t SparseWeight::few_rows() const {
  const double even = kEvenRows + kEvenRowsOfWhole * (1.0 - zeros_);
  return std::min(static_cast<std::size_t>(std::llround(even)), kFewRows);
}

}  // namespace tandem::device::cpu
