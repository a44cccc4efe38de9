// SPDX-License-Identifier: Apache-2.0
//
// Rows of one parameter, never made dense. Repeated rows of a rank are added up first.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "training/reducer/calls.h"
#include "training/reducer/values.h"

namespace tandem::training {
namespace {

CallPlan plan_of(const RowsCall& call) {
  CallPlan plan{*call.head.model, {}, call.head.error, {}};
  plan.lines = {"the step=" + std::to_string(call.head.step), "the call=rows",
                "the rows' type=" + std::string(dtype_name(call.head.type)),
                "the rows' flag last=" + std::to_string(call.head.last),
                "the rows' parameter=" + call.parameter.name};
  return plan;
}

// Empty if all rows are within the parameter.
std::string wrong_row(const RowsCall& call) {
  if (call.num_rows > 0 && (call.rows == nullptr || call.values == nullptr)) {
    return "rows of " + call.parameter.name + " without memory; give rows and values";
  }
  for (std::size_t i = 0; i < call.num_rows; ++i) {
    if (call.rows[i] >= 0 && static_cast<std::uint64_t>(call.rows[i]) < call.parameter.num_rows) {
      continue;
    }
    return "row " + std::to_string(call.rows[i]) + " is none of " + call.parameter.name +
           ", which has " + std::to_string(call.parameter.num_rows);
  }
  return {};
}

// Indices fit u32: a parameter has less than 2^32 values.
struct Input {
  std::vector<std::uint32_t> indices;
  const void* values = nullptr;
  RawVector<float> wide;  // for 16-bit values
  RawVector<std::byte> clipped;
  DType type = DType::kF32;  // f32 or f64
};

Input input_of(const RowsCall& call) {
  Input input;
  input.indices.reserve(call.num_rows);
  for (std::size_t i = 0; i < call.num_rows; ++i) {
    input.indices.push_back(static_cast<std::uint32_t>(call.rows[i]));
  }
  input.values = call.values;
  input.type = call.head.type;
  if (is_16_bit(call.head.type)) {
    input.wide.resize(call.num_rows * call.parameter.width);
    widen(call.values, input.wide.size(), call.head.type, input.wide.data());
    input.values = input.wide.data();
    input.type = DType::kF32;
  }
  return input;
}

collectives::SparseTensor no_rows(const RowsCall& call) {
  collectives::SparseTensor tensor;
  tensor.num_units = call.parameter.num_rows;
  tensor.width = static_cast<std::uint32_t>(call.parameter.width);
  tensor.type = call.head.type;
  return tensor;
}

collectives::SparseTensor reduce(CallContext& context, const RowsCall& call, const Input& input) {
  collectives::ReduceOptions options;
  options.reduction = collectives::Reduction::kMean;
  options.scheme = call.parameter.treatment.scheme;
  options.timeout = context.options.timeout;
  options.bucket = "rows of " + call.parameter.name;
  if (is_16_bit(call.head.type)) options.wire = call.head.type;
  if (call.head.type == DType::kF32) options.wire = context.options.wire;
  collectives::SparseView view;
  view.num_units = call.parameter.num_rows;
  view.width = static_cast<std::uint32_t>(call.parameter.width);
  view.type = input.type;
  view.num_entries = call.num_rows;
  view.indices = input.indices.data();
  view.values = input.values;
  collectives::SparseTensor mean = collectives::sparse_allreduce(context.group, view, options);
  if (!is_16_bit(call.head.type)) return mean;
  RawVector<std::byte> narrowed(mean.num_entries * call.parameter.width * 2);
  narrow(reinterpret_cast<const float*>(mean.values.data()), narrowed.size() / 2, call.head.type,
         narrowed.data());
  mean.values = std::move(narrowed);
  mean.type = call.head.type;
  return mean;
}

}  // namespace

CallResult run_rows(CallContext& context, const RowsCall& call, collectives::SparseTensor& mean) {
  CallPlan plan = plan_of(call);
  Input input;
  if (plan.error.empty()) plan.error = wrong_row(call);
  const std::uint64_t count = call.num_rows * call.parameter.width;
  if (plan.error.empty()) {
    input = input_of(call);
    if (first_non_finite(input.values, count, input.type)) plan.non_finite = 0;
  }
  collectives::CallOptions options;
  options.timeout = context.options.timeout;
  const auto bad = agree_on_call(context.group, plan, options);
  CallResult result;
  if (bad && context.options.non_finite == OnNonFinite::kStop) {
    throw NonFiniteError(call.head.step, bad->rank, call.parameter.name);
  }
  if (bad && context.options.non_finite == OnNonFinite::kSkip) {
    result.skipped = true;
    mean = no_rows(call);
    return result;
  }
  if (bad && context.options.non_finite == OnNonFinite::kClip) {
    result.clipped = true;
    input.clipped.resize(count * bytes_of(input.type));
    if (count > 0) std::memcpy(input.clipped.data(), input.values, input.clipped.size());
    clip(input.clipped.data(), count, input.type);
    input.values = input.clipped.data();
  }
  result.passed = bad && context.options.non_finite == OnNonFinite::kPass;  // the sums have it
  mean = reduce(context, call, input);
  result.sent = static_cast<double>(count);
  result.entries = static_cast<double>(mean.num_entries * call.parameter.width);
  result.meant = result.entries;
  return result;
}

}  // namespace tandem::training
