// SPDX-License-Identifier: Apache-2.0
//
// CheckpointReader: checks.
#include "model/families/checkpoint_reader.h"

#include <cmath>

namespace tandem::model {
namespace {

std::string shape_of(std::int64_t rows, std::int64_t columns) {
  return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
}

}  // namespace

int CheckpointReader::positive(std::string_view name, std::uint32_t limit) const {
  const auto value = file_.get_uniform_u32(key(name));
  if (!value) throw error(name, "is missing");
  if (*value < 1 || *value > limit) {
    throw error(name, std::to_string(*value) + " is not in 1.." + std::to_string(limit));
  }
  return static_cast<int>(*value);
}

int CheckpointReader::positive_or(std::string_view name, int fallback, std::uint32_t limit) const {
  return has(name) ? positive(name, limit) : fallback;
}

float CheckpointReader::positive_float(std::string_view name, float fallback) const {
  const float value = file_.get_f32(key(name)).value_or(fallback);
  if (!(value > 0.0f)) throw error(name, "must be greater than 0");
  return value;
}

float CheckpointReader::soft_cap(std::string_view name, float fallback) const {
  const float value = file_.get_f32(key(name)).value_or(fallback);
  if (!(value >= 0.0f)) throw error(name, "must be at least 0");
  return value;
}

void CheckpointReader::check_shape(const TensorView& view, std::int64_t rows,
                                   std::int64_t columns) const {
  if (view.rows == rows && view.columns == columns) return;
  const std::string what = "has shape " + shape_of(view.rows, view.columns) +
                           ", the configuration needs " + shape_of(rows, columns);
  const CheckpointTensor* tensor = file_.find_tensor(view.name);
  throw tensor != nullptr ? file_.tensor_error(*tensor, what) : file_.field_error(view.name, what);
}

TensorView CheckpointReader::optional_matrix(const std::string& name, std::int64_t rows,
                                             std::int64_t columns) {
  const CheckpointTensor* tensor = file_.find_tensor(name);
  if (tensor == nullptr) return {};
  taken_.insert(name);
  TensorView view = file_.view(*tensor);
  check_shape(view, rows, columns);
  return view;
}

TensorView CheckpointReader::matrix(const std::string& name, std::int64_t rows,
                                    std::int64_t columns) {
  TensorView view = optional_matrix(name, rows, columns);
  if (!view) throw file_.missing_tensor_error(name);
  return view;
}

TensorView CheckpointReader::optional_vector(const std::string& name, std::int64_t columns) {
  TensorView view = optional_matrix(name, 1, columns);
  if (view && dtype_block_values(view.dtype) != 1) {
    throw file_.tensor_error(*file_.find_tensor(name), "a norm or bias must be F32, F16 or BF16");
  }
  return view;
}

TensorView CheckpointReader::vector(const std::string& name, std::int64_t columns) {
  TensorView view = optional_vector(name, columns);
  if (!view) throw file_.missing_tensor_error(name);
  return view;
}

std::vector<TensorView> CheckpointReader::row_slices(const std::string& name,
                                                     std::vector<std::int64_t> rows,
                                                     std::int64_t columns) {
  std::int64_t total = 0;
  for (const std::int64_t count : rows) total += count;
  TensorView rest = matrix(name, total, columns);
  const WeightScales scales = rest.scales;
  std::vector<TensorView> slices;
  std::int64_t first = 0;
  for (const std::int64_t count : rows) {
    rest.rows = count;
    if (scales) {
      const auto part = scales.of_rows(first, count, columns);
      if (!part) {
        throw file_.tensor_error(*file_.find_tensor(name),
                                 "its matrices begin inside blocks of scales");
      }
      rest.scales = *part;
    }
    slices.push_back(rest);
    rest.data += rest.size_bytes();
    first += count;
  }
  return slices;
}

std::vector<TensorView> CheckpointReader::experts(const std::string& name, int count,
                                                  std::int64_t rows, std::int64_t columns) {
  std::vector<TensorView> views = file_.experts(name, static_cast<std::uint32_t>(count));
  if (views.empty()) throw file_.missing_tensor_error(name);
  for (const TensorView& view : views) {
    taken_.insert(view.name);
    check_shape(view, rows, columns);
  }
  return views;
}

std::vector<float> CheckpointReader::optional_divisors(const std::string& name,
                                                       std::int64_t columns) {
  const TensorView view = optional_vector(name, columns);
  if (!view) return {};
  std::vector<float> divisors(static_cast<std::size_t>(columns));
  dequantize_row(view.dtype, view.data, divisors.data(), divisors.size());
  for (const float divisor : divisors) {
    if (!std::isfinite(divisor) || !(divisor > 0.0f)) {
      throw file_.tensor_error(*file_.find_tensor(name), "must hold numbers greater than 0");
    }
  }
  return divisors;
}

void CheckpointReader::refuse_unknown_tensors() const {
  file_.for_each_tensor([&](const CheckpointTensor& tensor) {
    // Old converters stored the rotary table, which follows from the configuration.
    if (taken_.contains(std::string(tensor.name)) ||
        tensor.name.ends_with(".attn_rot_embd.weight")) {
      return;
    }
    throw file_.tensor_error(tensor,
                             "a model of the " + architecture_ + " family has no such tensor");
  });
}

}  // namespace tandem::model
