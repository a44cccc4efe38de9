// SPDX-License-Identifier: Apache-2.0
//
// CpuWeight: the checks of a WeightSource, and of weights in descriptors.
#include "cpu/weight.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/error.h"
#include "tensor/tensor_view.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kCopyPart = std::size_t{1} << 20;
constexpr std::size_t kCopyStep = 4;     // outputs; products are cut at multiples of it, too
constexpr std::int64_t kScaleStep = 16;  // inputs; products take pairs that have one scale

bool is_weight(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || packs_for_products(dtype);
}

std::string shape(std::int64_t out, std::int64_t in) {
  return "[" + std::to_string(out) + ", " + std::to_string(in) + "]";
}

void check_scales(const WeightScales& scales, std::int64_t in_features) {
  if (!scales) return;
  const bool is_whole = scales.block_columns >= in_features;
  if (scales.block_rows <= 0 || scales.block_columns <= 0 ||
      (!is_whole && scales.block_columns % kScaleStep != 0)) {
    throw Error("cpu", "scales for blocks of " + shape(scales.block_rows, scales.block_columns) +
                           " are not supported; use blocks with columns a multiple of " +
                           std::to_string(kScaleStep) + " or all " + std::to_string(in_features));
  }
}

void check_source(const WeightSource& source) {
  if (source.data == nullptr || source.out_features <= 0 || source.in_features <= 0) {
    throw Error("cpu", "a weight of shape " + shape(source.out_features, source.in_features) +
                           (source.data == nullptr ? " has no data" : " is empty"));
  }
  if (!is_weight(source.dtype)) {
    throw Error("cpu",
                "weights of type " + std::string(dtype_name(source.dtype)) +
                    " cannot be multiplied; use floats of 16 or 32 bits or a quantised type");
  }
  if (source.in_features % dtype_block_values(source.dtype) != 0) {
    throw Error("cpu", "rows of " + std::to_string(source.in_features) +
                           " values do not divide into blocks of " +
                           std::string(dtype_name(source.dtype)));
  }
  if (source.role == WeightRole::kVector && source.out_features != 1) {
    throw Error("cpu", "a vector of shape " + shape(source.out_features, source.in_features) +
                           " is a matrix; load it for products");
  }
  const bool is_table = source.role == WeightRole::kTable || source.role == WeightRole::kBoth;
  if (source.dtype == DType::kF8E4M3 && is_table) {
    throw Error("cpu",
                "a table of type f8_e4m3 is not supported; use bf16, f16 or a quantised type");
  }
  check_scales(source.scales, source.in_features);
}

bool is_sparse(const WeightSource& source, SparseChoice& choice) {
  if (!choice.looks_for_zeros() || !can_be_sparse(source)) return false;
  // The whole form must fit where it would be made: a wrong shape is refused before it is read.
  if (packs_for_products(source.dtype) || source.transient) {
    require_memory(dtype_row_bytes(source.dtype, static_cast<std::size_t>(source.in_features)) *
                       static_cast<std::size_t>(source.out_features),
                   "a weight");
  }
  return choice.pays(source.dtype, sampled_zeros(source));
}

}  // namespace

CpuWeight::CpuWeight(const WeightSource& source, Team& team, SparseChoice* sparse)
    : source_(source) {
  check_source(source);
  const bool is_vector = source.role == WeightRole::kVector;
  if (source.dtype == DType::kF8E4M3) {
    scale_inputs_ = source.scales ? source.scales.block_columns : source.in_features;
  }
  row_bytes_ = dtype_row_bytes(source.dtype, source.in_features);
  if (source.out_features == 1) {
    vector_.resize(source.in_features);
    dequantize_row({"", source.dtype, 1, source.in_features, source.data, source.scales}, 0,
                   vector_.data());
  }
  if (is_vector) {
    source_.data = nullptr;
    return;
  }
  if (source.role != WeightRole::kTable) {
    if (sparse != nullptr && is_sparse(source, *sparse)) {
      sparse_.emplace(source, team);
    } else if (packs_for_products(source.dtype)) {
      packed_.emplace(source, team);
    }
  }
  source_.scales = {};  // read while packing
  if (!source.transient) return;
  if (holds_products() && source.role == WeightRole::kProduct) {
    source_.data = nullptr;
  } else {
    copy_rows(team);
  }
}

void CpuWeight::copy_rows(Team& team) {
  const std::size_t whole_bytes = row_bytes_ * static_cast<std::size_t>(source_.out_features);
  require_memory(whole_bytes, "a copy of a weight");
  copy_.emplace(whole_bytes);
  const std::size_t steps_per_part = kCopyPart / (row_bytes_ * kCopyStep);
  const std::size_t rows_per_part = std::max<std::size_t>(1, steps_per_part) * kCopyStep;
  copied_rows_.emplace(team.regions(tiling::box_of<1>({source_.out_features}),
                                    {static_cast<std::int64_t>(rows_per_part)}));
  team.place(*copied_rows_, [&](const tiling::Box<1>& rows, std::size_t) {
    const std::size_t begin = static_cast<std::size_t>(rows.lower[0]) * row_bytes_;
    std::memcpy(copy_->data() + begin, source_.data + begin,
                static_cast<std::size_t>(rows.size()) * row_bytes_);
  });
  source_.data = copy_->data();
}

const CpuWeight& cpu_weight(const Weight* weight, std::int64_t out_features,
                            std::int64_t in_features, const char* what) {
  const auto* mine = dynamic_cast<const CpuWeight*>(weight);
  if (mine == nullptr) {
    throw Error("cpu", std::string(what) + " is missing or was loaded by another unit");
  }
  if ((out_features != 0 && mine->out_features() != out_features) ||
      (in_features != 0 && mine->in_features() != in_features)) {
    throw Error("cpu", std::string(what) + " has shape " +
                           shape(mine->out_features(), mine->in_features()) + " where " +
                           shape(out_features, in_features) + " is needed (0: any)");
  }
  return *mine;
}

}  // namespace tandem::device::cpu
