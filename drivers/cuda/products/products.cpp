// SPDX-License-Identifier: Apache-2.0
//
// The workspace holds what the kernels for few rows add up in, cuBLASLt's own, and a slice of a
// weight in bf16. A slice is large enough for all multiprocessors to have tiles of a few hundred
// rows, and small enough to stay in the second-level cache until it has been read.
//
// Up to kMostQuantisedRows rows a quantised weight is read again for every 16 of them: at 4 to 8
// bits per value that is less than to write and read its values as bf16.
#include "cuda/products/products.h"

#include <algorithm>
#include <string>

#include "common/error.h"
#include "cuda/products/lt_matmul.h"
#include "cuda/runtime/handles.h"
#include "cuda/runtime/health.h"
#include "gemm/dequantise.h"
#include "gemm/narrow_product.h"
#include "gemm/packed_weight.h"
#include "gemm/quantised_product.h"

namespace tandem::cuda {
namespace {

// A launch that is refused is no fault of the device.
void check_launch(cudaError_t error, const char* what) {
  if (is_of_call(error)) {
    cudaGetLastError();  // what follows must not find it
    throw Error("cuda", std::string(what) + ": " + cudaGetErrorString(error));
  }
  check(error, what);
}

using gpu_kernels::BF16;
using gpu_kernels::is_packable;
using gpu_kernels::kPanelOutputs;
using gpu_kernels::row_bytes;
using gpu_kernels::StoredType;

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kFewRowsBytes =
    (gpu_kernels::kFewRowsWorkspaceBytes + kAlignment - 1) / kAlignment * kAlignment;

constexpr std::int64_t kMostQuantisedRows = 64;

// The number of rows of the next launch for a quantised weight, of the `left` ones. Never so few
// that the last of many rows would use dp4a. All but the last number are multiples of 4, so that
// outputs stay aligned.
std::int64_t next_rows(std::int64_t left) {
  constexpr std::int64_t kMost = gpu_kernels::kMaxQuantisedRows;
  if (left <= kMost) return left;
  return left - kMost <= gpu_kernels::kDotRows ? kMost - gpu_kernels::kDotRows : kMost;
}

bool is_multiplied_as_bf16(StoredType type) {
  return is_packable(type) || type == StoredType::kE4M3;
}

const void* rows_in_form(const ProductRows& x, RowForm form) {
  switch (form) {
    case RowForm::kBF16:
      return x.bf16;
    case RowForm::kF16:
      return x.f16;
    case RowForm::kE4M3:
      return x.e4m3_scales != nullptr ? x.e4m3 : nullptr;
    case RowForm::kQ8:
      return x.q8_notes != nullptr ? x.q8 : nullptr;
    default:
      return x.f32;
  }
}

MatmulShape shape_of(const Matrix& weight, std::int64_t rows, bool has_bias, bool accumulate) {
  return {weight.type,         rows,     weight.out_features, weight.in_features,
          weight.out_features, has_bias, accumulate};
}

// Outputs whose weights fit in a slice as bf16.
std::int64_t slice_outputs(const Matrix& weight, std::size_t slice_bytes) {
  const std::size_t row_bytes = 2 * static_cast<std::size_t>(weight.in_features);
  const std::size_t outputs = slice_bytes / row_bytes / kPanelOutputs * kPanelOutputs;
  if (outputs == 0) {
    throw Error("cuda", "a weight of " + std::to_string(weight.in_features) +
                            " inputs is too wide for products of many rows");
  }
  return std::min(static_cast<std::int64_t>(outputs), weight.out_features);
}

}  // namespace

StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return StoredType::kF32;
    case DType::kF16:
      return StoredType::kF16;
    case DType::kBF16:
      return StoredType::kBF16;
    case DType::kF8E4M3:
      return StoredType::kE4M3;
    case DType::kQ8_0:
      return StoredType::kQ8_0;
    case DType::kQ4_0:
      return StoredType::kQ4_0;
    case DType::kQ4_1:
      return StoredType::kQ4_1;
    case DType::kQ5_0:
      return StoredType::kQ5_0;
    case DType::kQ5_1:
      return StoredType::kQ5_1;
    case DType::kIQ4_NL:
      return StoredType::kIQ4_NL;
    case DType::kQ4_K:
      return StoredType::kQ4_K;
    case DType::kQ5_K:
      return StoredType::kQ5_K;
    case DType::kQ6_K:
      return StoredType::kQ6_K;
    default:
      throw Error("cuda", std::string(dtype_name(dtype)) + " is not a type of weights");
  }
}

std::size_t stored_bytes(StoredType type, std::int64_t out_features, std::int64_t in_features) {
  if (is_packable(type)) return packed_bytes(type, out_features, in_features);
  return static_cast<std::size_t>(out_features) *
         row_bytes(type, static_cast<std::size_t>(in_features));
}

void store_rows(const Matrix& matrix, std::int64_t first_row, std::int64_t num_rows,
                const std::byte* rows, std::byte* to, cudaStream_t stream) {
  if (is_packable(matrix.type)) {
    const cudaError_t error = gpu_kernels::pack_rows(
        {matrix.type, matrix.out_features, matrix.in_features, first_row, num_rows, rows, to},
        stream);
    if (error == cudaErrorInvalidValue) {
      throw Error("cuda",
                  "rows of a weight must be stored in whole panels of 16, inside the matrix");
    }
    check(error, "packing a weight");
    return;
  }
  const std::size_t bytes = row_bytes(matrix.type, static_cast<std::size_t>(matrix.in_features));
  check(
      cudaMemcpyAsync(to + static_cast<std::size_t>(first_row) * bytes, rows,
                      static_cast<std::size_t>(num_rows) * bytes, cudaMemcpyDeviceToDevice, stream),
      "storing a weight");
}

std::size_t Products::workspace_bytes(const ProductOptions& options) {
  return kFewRowsBytes + LtMatmul::kWorkspaceBytes + options.slice_bytes;
}

Products::Products(void* workspace, cudaStream_t stream, const ProductOptions& options)
    : options_(options),
      workspace_(static_cast<std::byte*>(workspace)),
      matmul_(std::make_unique<LtMatmul>(workspace_ + kFewRowsBytes)) {
  check(cudaMemsetAsync(workspace_, 0, kFewRowsBytes, stream), "zeroing the products' workspace");
}

Products::~Products() = default;

bool Products::takes_few(const Matrix& weight, std::int64_t rows) const {
  if (is_packable(weight.type)) return rows <= kMostQuantisedRows;
  const std::size_t bytes = row_bytes(weight.type, static_cast<std::size_t>(weight.in_features));
  return rows <= gpu_kernels::kMaxNarrowRows && bytes % 16 == 0 &&
         weight.scale_inputs % gpu_kernels::kNarrowScaleStep == 0;
}

RowForm Products::row_form(const Matrix& weight, std::int64_t rows) const {
  if (is_packable(weight.type)) {
    return takes_few(weight, rows) ? RowForm::kQ8 : RowForm::kBF16;
  }
  switch (weight.type) {
    case StoredType::kF16:
      return RowForm::kF16;
    case StoredType::kBF16:
      return RowForm::kBF16;
    case StoredType::kE4M3:
      return multiplies_e4m3(weight, rows) ? RowForm::kE4M3 : RowForm::kBF16;
    default:
      return RowForm::kF32;
  }
}

bool Products::multiplies_e4m3(const Matrix& weight, std::int64_t rows) const {
  return options_.e4m3_rows && weight.scales != nullptr && weight.scale_inputs == 0 &&
         !takes_few(weight, rows) && matmul_->plan(shape_of(weight, rows, false, false)) &&
         matmul_->plan(shape_of(weight, rows, false, true));
}

void Products::prepare(const Matrix& weight, std::int64_t rows, bool has_bias, bool accumulate) {
  if (takes_few(weight, rows)) return;
  MatmulShape shape = shape_of(weight, rows, has_bias, accumulate);
  if (!is_multiplied_as_bf16(weight.type) || multiplies_e4m3(weight, rows)) {
    matmul_->plan(shape);
    return;
  }
  shape.type = StoredType::kBF16;
  const std::int64_t step = slice_outputs(weight, options_.slice_bytes);
  for (std::int64_t first = 0; first < weight.out_features; first += step) {
    shape.out_features = std::min(step, weight.out_features - first);
    matmul_->plan(shape);
  }
}

std::uint64_t Products::run(const ProductRows& x, std::span<const Target> targets,
                            cudaStream_t stream) {
  if (x.rows < 1) return 0;
  std::uint64_t bytes = 0;
  for (const Target& target : targets) {
    const Matrix& weight = *target.weight;
    if (weight.in_features != x.in_features ||
        rows_in_form(x, row_form(weight, x.rows)) == nullptr) {
      throw Error("cuda", "the rows of a product do not have the width or the form of its weight");
    }
    bytes += stored_bytes(weight.type, weight.out_features, weight.in_features);
  }
  // neighbours of one type go in one launch
  for (std::size_t first = 0; first < targets.size();) {
    std::size_t last = first + 1;
    if (takes_few(*targets[first].weight, x.rows)) {
      while (last < targets.size() && last - first < gpu_kernels::kMaxTargets &&
             targets[last].weight->type == targets[first].weight->type) {
        ++last;
      }
      run_few(x, targets.subspan(first, last - first), stream);
    } else {
      run_many(x, targets[first], stream);
    }
    first = last;
  }
  return bytes;
}

void Products::run_few(const ProductRows& x, std::span<const Target> targets, cudaStream_t stream) {
  const auto describe = [&](auto& job, std::int64_t first, std::int64_t rows) {
    job.type = targets[0].weight->type;
    job.rows = static_cast<int>(rows);
    job.in_features = x.in_features;
    job.num_targets = static_cast<int>(targets.size());
    job.workspace = workspace_;
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const Matrix& weight = *targets[t].weight;
      float* out = targets[t].out + first * weight.out_features;
      job.targets[t] = {
          weight.data, weight.scales,         weight.out_features,  targets[t].bias,
          out,         targets[t].accumulate, weight.scale_outputs, weight.scale_inputs};
    }
  };
  if (is_packable(targets[0].weight->type)) {
    for (std::int64_t first = 0; first < x.rows;) {
      const std::int64_t rows = next_rows(x.rows - first);
      gpu_kernels::QuantisedProduct job;
      describe(job, first, rows);
      job.x = x.q8 + first * x.in_features;
      job.notes = x.q8_notes + first * (x.in_features / 32);
      check_launch(gpu_kernels::quantised_product(job, stream), "multiplying quantised weights");
      first += rows;
    }
  } else {
    gpu_kernels::NarrowProduct job;
    describe(job, 0, x.rows);
    job.x = rows_in_form(x, row_form(*targets[0].weight, x.rows));
    check_launch(gpu_kernels::narrow_product(job, stream), "multiplying weights");
  }
}

void Products::run_many(const ProductRows& x, const Target& target, cudaStream_t stream) {
  const Matrix& weight = *target.weight;
  const RowForm form = row_form(weight, x.rows);
  MatmulShape shape = shape_of(weight, x.rows, target.bias != nullptr, target.accumulate);
  MatmulOperands operands{weight.data,   rows_in_form(x, form), weight.scales,
                          x.e4m3_scales, target.bias,           target.out};
  if (!is_multiplied_as_bf16(weight.type) || form == RowForm::kE4M3) {
    matmul_->run(shape, operands, stream);
    return;
  }
  auto* slice = reinterpret_cast<BF16*>(workspace_ + kFewRowsBytes + LtMatmul::kWorkspaceBytes);
  shape.type = StoredType::kBF16;
  operands.weight = slice;
  const std::int64_t step = slice_outputs(weight, options_.slice_bytes);
  for (std::int64_t first = 0; first < weight.out_features; first += step) {
    shape.out_features = std::min(step, weight.out_features - first);
    check_launch(
        gpu_kernels::dequantise_rows(
            {weight.type, weight.out_features, weight.in_features, weight.data, weight.scales,
             first, shape.out_features, slice, weight.scale_outputs, weight.scale_inputs},
            stream),
        "dequantising a weight");
    if (target.bias != nullptr) operands.bias = target.bias + first;
    operands.out = target.out + first;
    matmul_->run(shape, operands, stream);
  }
}

}  // namespace tandem::cuda
