// SPDX-License-Identifier: Apache-2.0
//
// TensorWeight: cuts a weight during loading.
#include "parallel/tensor_weight.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/error.h"

namespace tandem::device::parallel {
namespace {

std::string name_of(const WeightSource& source) {
  return "a weight of [" + std::to_string(source.out_features) + ", " +
         std::to_string(source.in_features) + "] " + std::string(dtype_name(source.dtype)) +
         (source.layer < 0 ? std::string() : " in layer " + std::to_string(source.layer));
}

// How many of `count` values each of `units` gets, whole blocks of the type.
std::int64_t share_of(const WeightSource& source, std::int64_t count, int units,
                      std::int64_t block) {
  if (count % units != 0) {
    throw Error("parallel", name_of(source) + ": " + std::to_string(count) +
                                " cannot be divided among " + std::to_string(units) +
                                " devices; use another number of them, or --split layers");
  }
  if (count / units % block != 0) {
    throw Error("parallel", name_of(source) + ": a share of " + std::to_string(count / units) +
                                " values for each of " + std::to_string(units) +
                                " devices cuts blocks of " + std::to_string(block) +
                                "; use another number of devices, --split layers, or another "
                                "--quantize");
  }
  return count / units;
}

// Scales of a share's rows; copied into `own` if their layout differs from the source.
WeightScales scales_of_rows(const WeightSource& source, std::int64_t first, std::int64_t count,
                            std::vector<float>& own) {
  if (!source.scales) return {};
  if (const auto part = source.scales.of_rows(first, count, source.in_features)) return *part;
  own = source.scales.by_row(first, count, source.in_features);
  return {own.data(), 1, source.scales.block_columns};
}

// Scales of columns that are whole blocks.
WeightScales scales_of_columns(const WeightSource& source, std::int64_t first, std::int64_t count,
                               std::vector<float>& own) {
  const WeightScales& scales = source.scales;
  if (!scales || scales.block_columns >= source.in_features) return scales;
  const std::int64_t from = first / scales.block_columns, width = count / scales.block_columns;
  own.clear();
  for (std::int64_t row = 0; row < source.out_features; row += scales.block_rows) {
    const float* line = scales.of_row(row, source.in_features) + from;
    own.insert(own.end(), line, line + width);
  }
  return {own.data(), scales.block_rows, scales.block_columns};
}

// Values along a row that must stay together.
std::int64_t block_of(const WeightSource& source) {
  const bool in_blocks = source.scales && source.scales.block_columns < source.in_features;
  return in_blocks ? source.scales.block_columns
                   : static_cast<std::int64_t>(dtype_block_values(source.dtype));
}

}  // namespace

TensorWeight::TensorWeight(const WeightSource& source, UnitGroup& group)
    : group_(group),
      out_features_(source.out_features),
      in_features_(source.in_features),
      split_(source.role == WeightRole::kTable ? WeightSplit::kNone : source.split) {
  const bool behind_layers = source.layer < 0 && split_ == WeightSplit::kOutputs;
  if (behind_layers && source.out_features % group.size() != 0) split_ = WeightSplit::kNone;
  if (group.size() == 1) split_ = WeightSplit::kNone;
  if (split_ == WeightSplit::kNone) {
    load_whole(source, shares_);
    return;
  }
  if (source.data == nullptr) throw Error("parallel", name_of(source) + " has no data");
  if (split_ == WeightSplit::kInputs) {
    load_inputs(source);
    return;
  }
  load_outputs(source);
  if (source.role != WeightRole::kBoth) return;
  WeightSource table = source;
  table.role = WeightRole::kTable;
  load_whole(table, tables_);
}

void TensorWeight::load_whole(const WeightSource& source,
                              std::vector<std::unique_ptr<Weight>>& to) {
  for (int index = 0; index < group_.size(); ++index) {
    group_.on(index, [&](ComputeUnit& unit) { to.push_back(unit.load(source)); });
  }
}

void TensorWeight::load_outputs(const WeightSource& source) {
  const int units = group_.size();
  const bool vector = source.out_features == 1;
  WeightSource part = source;
  if (part.role == WeightRole::kBoth) part.role = WeightRole::kProduct;
  std::size_t part_bytes = 0;
  if (vector) {
    part.in_features = share_of(source, source.in_features, units,
                                static_cast<std::int64_t>(dtype_block_values(source.dtype)));
    part_bytes = dtype_row_bytes(source.dtype, static_cast<std::size_t>(part.in_features));
  } else {
    part.out_features = share_of(source, source.out_features, units, 1);
    part_bytes = dtype_row_bytes(source.dtype, static_cast<std::size_t>(source.in_features)) *
                 static_cast<std::size_t>(part.out_features);
  }
  std::vector<float> scales;
  for (int index = 0; index < units; ++index) {
    part.data = source.data + static_cast<std::size_t>(index) * part_bytes;
    if (!vector) {
      part.scales = scales_of_rows(source, index * part.out_features, part.out_features, scales);
    }
    group_.on(index, [&](ComputeUnit& unit) { shares_.push_back(unit.load(part)); });
  }
}

void TensorWeight::load_inputs(const WeightSource& source) {
  const int units = group_.size();
  WeightSource part = source;
  part.in_features = share_of(source, source.in_features, units, block_of(source));
  part.transient = true;
  const auto rows = static_cast<std::size_t>(source.out_features);
  const std::size_t row_bytes =
      dtype_row_bytes(source.dtype, static_cast<std::size_t>(source.in_features));
  const std::size_t part_bytes =
      dtype_row_bytes(source.dtype, static_cast<std::size_t>(part.in_features));
  std::vector<std::byte> columns(rows * part_bytes);
  part.data = columns.data();
  std::vector<float> scales;
  for (int index = 0; index < units; ++index) {
    const std::byte* from = source.data + static_cast<std::size_t>(index) * part_bytes;
    for (std::size_t row = 0; row < rows; ++row) {
      std::memcpy(columns.data() + row * part_bytes, from + row * row_bytes, part_bytes);
    }
    part.scales = scales_of_columns(source, index * part.in_features, part.in_features, scales);
    group_.on(index, [&](ComputeUnit& unit) { shares_.push_back(unit.load(part)); });
  }
}

std::size_t TensorWeight::size_bytes() const {
  std::size_t sum = 0;
  for (const auto* list : {&shares_, &tables_}) {
    for (const auto& weight : *list) sum += weight->size_bytes();
  }
  return sum;
}

bool TensorWeight::borrows_source() const {
  const auto borrows = [](const auto& weight) { return weight->borrows_source(); };
  return std::ranges::any_of(shares_, borrows) || std::ranges::any_of(tables_, borrows);
}

}  // namespace tandem::device::parallel
