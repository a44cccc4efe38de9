// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers that shapes are computed with. Sums that leave 64 bits are not known.
#include <algorithm>

#include "planner/onnx/onnx_axes.h"

namespace tandem::planner {
namespace {

using MaybeValues = std::optional<std::vector<std::int64_t>>;

MaybeValues few(std::vector<std::int64_t> values) {
  if (static_cast<std::int64_t>(values.size()) > kMostOnnxValues) return std::nullopt;
  return values;
}

MaybeValues constant_values(const OnnxNode& node) {
  for (const OnnxAttribute& each : node.attributes) {
    if (each.name == "value" && each.tensor) return each.tensor->values;
    if (each.name == "value_int") return std::vector<std::int64_t>{each.number};
    if (each.name == "value_ints") return few(each.numbers);
  }
  return std::nullopt;
}

MaybeValues gathered_values(const OnnxCall& call) {
  if (call.input(1) == nullptr || !call.input(1)->values) return std::nullopt;
  if (call.input(0)->dims.size() != 1) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const std::int64_t at : *call.input(1)->values) {
    const auto& from = *call.input(0)->values;
    values.push_back(from[axis_in(call, at, from.size())]);
  }
  return values;
}

MaybeValues joined_values(const OnnxCall& call) {
  std::vector<std::int64_t> values;
  for (const OnnxShape* input : call.inputs) {
    if (input == nullptr || !input->values || input->dims.size() != 1) return std::nullopt;
    values.insert(values.end(), input->values->begin(), input->values->end());
  }
  return few(std::move(values));
}

MaybeValues sliced_values(const OnnxCall& call) {
  const auto begins = numbers_of(call, "starts", 1), ends = numbers_of(call, "ends", 2);
  const auto& from = *call.input(0)->values;
  const auto size = static_cast<std::int64_t>(from.size());
  const bool is_plain = call.input(0)->dims.size() == 1 && begins && ends && begins->size() == 1 &&
                        ends->size() == 1 &&
                        numbers_of(call, "steps", 4).value_or(OnnxDims{1}) == OnnxDims{1};
  if (!is_plain) return std::nullopt;
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t begin = place(begins->front()), end = place(ends->front());
  if (end <= begin) return std::vector<std::int64_t>();
  return std::vector<std::int64_t>(from.begin() + begin, from.begin() + end);
}

std::optional<std::int64_t> combined(std::string_view op, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  bool is_lost = false;
  if (op == "Add") is_lost = __builtin_add_overflow(left, right, &result);
  if (op == "Sub") is_lost = __builtin_sub_overflow(left, right, &result);
  if (op == "Mul") is_lost = __builtin_mul_overflow(left, right, &result);
  if (op == "Div") {
    is_lost = right == 0 || right == -1;
    if (!is_lost) result = left / right;
  }
  if (is_lost) return std::nullopt;
  return result;
}

MaybeValues combined_values(const OnnxCall& call) {
  if (call.input(1) == nullptr || !call.input(1)->values) return std::nullopt;
  // Real numbers that were whole, as after a Cast, are no longer known.
  constexpr int kInt32 = 6, kInt64 = 7;
  const int type = call.input(0)->type;
  if (call.node.op_type == "Div" && type != kInt32 && type != kInt64) return std::nullopt;
  const auto &left = *call.input(0)->values, &right = *call.input(1)->values;
  const std::size_t size = std::max(left.size(), right.size());
  if ((left.size() != size && left.size() != 1) || (right.size() != size && right.size() != 1)) {
    return std::nullopt;
  }
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < size; ++i) {
    const auto value = combined(call.node.op_type, left[left.size() == 1 ? 0 : i],
                                right[right.size() == 1 ? 0 : i]);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace

std::optional<std::vector<std::int64_t>> known_values(const OnnxCall& call) {
  const std::string_view op = call.node.op_type;
  if (op == "Constant") return constant_values(call.node);
  if (op == "Concat") return joined_values(call);
  if (call.input(0) == nullptr) return std::nullopt;
  if (op == "Shape") return few(call.input(0)->dims);
  if (!call.input(0)->values || call.input(0)->values->empty()) return std::nullopt;
  constexpr std::string_view kKept[] = {"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
  constexpr std::string_view kCombined[] = {"Add", "Div", "Mul", "Sub"};
  if (std::ranges::find(kKept, op) != std::end(kKept)) return call.input(0)->values;
  if (std::ranges::find(kCombined, op) != std::end(kCombined)) return combined_values(call);
  if (op == "Gather") return gathered_values(call);
  if (op == "Slice") return sliced_values(call);
  return std::nullopt;
}

}  // namespace tandem::planner
