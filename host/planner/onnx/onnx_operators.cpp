// SPDX-License-Identifier: Apache-2.0
//
// One function per rule, and a table from operators to rules.
#include "planner/onnx/onnx_operators.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "common/error.h"
#include "planner/onnx/onnx_axes.h"

namespace tandem::planner {
namespace {

using MaybeDims = std::optional<OnnxDims>;
using DimsRule = MaybeDims (*)(const OnnxCall&);

constexpr int kOnnxBool = 9, kOnnxInt64Type = 7;

MaybeDims same_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr) return std::nullopt;
  return call.input(0)->dims;
}

OnnxDims broadcast(const OnnxCall& call, const OnnxDims& left, const OnnxDims& right) {
  if (left.size() < right.size()) return broadcast(call, right, left);
  OnnxDims dims = left;
  const std::size_t shift = left.size() - right.size();
  for (std::size_t i = 0; i < right.size(); ++i) {
    std::int64_t& dim = dims[shift + i];
    if (dim != right[i] && dim != 1 && right[i] != 1) {
      call.refuse("shapes " + dims_text(left) + " and " + dims_text(right) + " do not match");
    }
    if (dim == 1) dim = right[i];
  }
  return dims;
}

MaybeDims broadcast_dims(const OnnxCall& call) {
  OnnxDims dims;
  for (const OnnxShape* input : call.inputs) {
    if (input == nullptr) return std::nullopt;
    dims = broadcast(call, dims, input->dims);
  }
  return dims;
}

MaybeDims matmul_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr || call.input(1) == nullptr) return std::nullopt;
  OnnxDims left = call.input(0)->dims, right = call.input(1)->dims;
  if (left.empty() || right.empty()) call.refuse("a factor is a single number");
  const bool is_row = left.size() == 1, is_column = right.size() == 1;
  if (is_row) left.insert(left.begin(), 1);
  if (is_column) right.push_back(1);
  const std::int64_t rows = left[left.size() - 2], columns = right.back();
  if (left.back() != right[right.size() - 2]) {
    call.refuse("factors " + dims_text(left) + " and " + dims_text(right) + " do not match");
  }
  OnnxDims dims = broadcast(call, OnnxDims(left.begin(), left.end() - 2),
                            OnnxDims(right.begin(), right.end() - 2));
  if (!is_row) dims.push_back(rows);
  if (!is_column) dims.push_back(columns);
  return dims;
}

MaybeDims gemm_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr || call.input(1) == nullptr) return std::nullopt;
  const OnnxDims &left = call.input(0)->dims, &right = call.input(1)->dims;
  const std::size_t of_left = call.node.number("transA", 0) != 0 ? 1 : 0;
  const std::size_t of_right = call.node.number("transB", 0) != 0 ? 1 : 0;
  if (left.size() != 2 || right.size() != 2 || left[1 - of_left] != right[of_right]) {
    call.refuse("factors " + dims_text(left) + " and " + dims_text(right) + " do not match");
  }
  return OnnxDims{left[of_left], right[1 - of_right]};
}

// Along one spatial dimension.
struct Window {
  std::int64_t size = 1, stride = 1, dilation = 1, begin_pad = 0, end_pad = 0;

  std::int64_t reach() const { return (size - 1) * dilation + 1; }
};

std::vector<Window> windows_of(const OnnxCall& call) {
  const OnnxDims sizes = window_of(call);
  const std::size_t n = sizes.size();
  const auto strides = small_numbers(call, "strides", OnnxDims(n, 1), n);
  const auto dilations = small_numbers(call, "dilations", OnnxDims(n, 1), n);
  const auto pads = small_numbers(call, "pads", OnnxDims(2 * n, 0), 2 * n);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < n; ++i) {
    if (strides[i] < 1 || dilations[i] < 1 || sizes[i] < 1) {
      call.refuse("'kernel_shape', 'strides' and 'dilations' are at least 1");
    }
    windows.push_back({sizes[i], strides[i], dilations[i], pads[i], pads[n + i]});
  }
  return windows;
}

OnnxDims slide(const OnnxCall& call, std::int64_t channels) {
  const OnnxDims& from = call.input(0)->dims;
  const OnnxAttribute* pad = call.node.attribute("auto_pad");
  const bool is_same = pad != nullptr && pad->text.starts_with("SAME");
  const bool rounds_up = call.node.number("ceil_mode", 0) != 0;
  OnnxDims dims = {from[0], channels};
  for (const Window& window : windows_of(call)) {
    const std::int64_t size = from[dims.size()];
    if (is_same) {
      dims.push_back((size + window.stride - 1) / window.stride);
      continue;
    }
    const std::int64_t room = size + window.begin_pad + window.end_pad - window.reach();
    if (room < 0) call.refuse("the window is larger than the input " + dims_text(from));
    std::int64_t count = (room + (rounds_up ? window.stride - 1 : 0)) / window.stride + 1;
    // A window that would begin in the padding after the input does not count.
    if (rounds_up && (count - 1) * window.stride >= size + window.begin_pad) --count;
    dims.push_back(count);
  }
  return dims;
}

MaybeDims conv_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr || call.input(1) == nullptr) return std::nullopt;
  const OnnxDims &from = call.input(0)->dims, &weight = call.input(1)->dims;
  const std::int64_t group = call.node.number("group", 1);
  if (from.size() < 3 || weight.size() != from.size() || group < 1 || group > from[1] ||
      weight[1] != from[1] / group) {
    call.refuse("input " + dims_text(from) + " and weight " + dims_text(weight) +
                " do not match in " + std::to_string(group) + " groups");
  }
  return slide(call, weight[0]);
}

MaybeDims conv_transpose_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr || call.input(1) == nullptr) return std::nullopt;
  const OnnxDims &from = call.input(0)->dims, &weight = call.input(1)->dims;
  const std::int64_t group = call.node.number("group", 1);
  if (from.size() < 3 || weight.size() != from.size() || weight[0] != from[1] || group < 1 ||
      group > from[1]) {
    call.refuse("input " + dims_text(from) + " and weight " + dims_text(weight) + " do not match");
  }
  const std::size_t n = from.size() - 2;
  if (call.node.attribute("output_shape") != nullptr) {
    OnnxDims dims = {from[0], weight[1] * group};
    for (const std::int64_t size : small_numbers(call, "output_shape", {}, n)) dims.push_back(size);
    return dims;
  }
  const OnnxAttribute* pad = call.node.attribute("auto_pad");
  const bool is_same = pad != nullptr && pad->text.starts_with("SAME");
  const auto more = small_numbers(call, "output_padding", OnnxDims(n, 0), n);
  OnnxDims dims = {from[0], weight[1] * group};
  for (const Window& window : windows_of(call)) {
    const std::int64_t size = from[dims.size()];
    if (is_same) {
      dims.push_back(size * window.stride);
      continue;
    }
    dims.push_back(window.stride * (size - 1) + more[dims.size() - 2] + window.reach() -
                   window.begin_pad - window.end_pad);
    if (dims.back() < 0) call.refuse("'pads' are larger than the output");
  }
  return dims;
}

MaybeDims pool_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr) return std::nullopt;
  if (call.input(0)->dims.size() < 3) call.refuse("the input has no spatial dimensions");
  return slide(call, call.input(0)->dims[1]);
}

MaybeDims global_pool_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr) return std::nullopt;
  OnnxDims dims = call.input(0)->dims;
  for (std::size_t i = 2; i < dims.size(); ++i) dims[i] = 1;
  return dims;
}

const std::unordered_map<std::string_view, DimsRule>& rules() {
  static const auto* const kRules = [] {
    auto* table = new std::unordered_map<std::string_view, DimsRule>;
    const auto add = [&](DimsRule rule, std::initializer_list<std::string_view> operators) {
      for (const std::string_view each : operators) table->emplace(each, rule);
    };
    add(same_dims, {"Abs",
                    "BatchNormalization",
                    "Cast",
                    "CastLike",
                    "Ceil",
                    "Celu",
                    "Clip",
                    "Cos",
                    "CumSum",
                    "DequantizeLinear",
                    "Dropout",
                    "Elu",
                    "Erf",
                    "Exp",
                    "Floor",
                    "Gelu",
                    "HardSigmoid",
                    "HardSwish",
                    "Hardmax",
                    "Identity",
                    "GroupNormalization",
                    "InstanceNormalization",
                    "IsInf",
                    "IsNaN",
                    "LRN",
                    "LayerNormalization",
                    "LeakyRelu",
                    "Log",
                    "LogSoftmax",
                    "LpNormalization",
                    "Mish",
                    "Neg",
                    "Not",
                    "QuantizeLinear",
                    "RMSNormalization",
                    "Reciprocal",
                    "Relu",
                    "RotaryEmbedding",
                    "Round",
                    "ScatterElements",
                    "ScatterND",
                    "Selu",
                    "Sigmoid",
                    "Sign",
                    "Sin",
                    "Softmax",
                    "Softplus",
                    "Softsign",
                    "Sqrt",
                    "Tanh",
                    "ThresholdedRelu",
                    "Trilu"});
    add(broadcast_dims, {"Add",   "And",         "BitShift", "BitwiseAnd",
                         "Div",   "Equal",       "Greater",  "GreaterOrEqual",
                         "Less",  "LessOrEqual", "Max",      "Mean",
                         "Min",   "Mod",         "Mul",      "Or",
                         "PRelu", "Pow",         "Sub",      "Sum",
                         "Where", "Xor"});
    add(matmul_dims, {"MatMul", "MatMulInteger"});
    add(gemm_dims, {"Gemm"});
    add(conv_dims, {"Conv", "ConvInteger"});
    add(conv_transpose_dims, {"ConvTranspose"});
    add(pool_dims, {"AveragePool", "LpPool", "MaxPool"});
    add(global_pool_dims, {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"});
    return table;
  }();
  return *kRules;
}

// The type of Constant and ConstantOfShape: that of the value, otherwise float.
int constant_type(const OnnxNode& node) {
  constexpr int kFloatType = 1;
  const OnnxAttribute* value = node.attribute("value");
  if (value != nullptr && value->tensor) return value->tensor->type;
  const bool is_whole =
      node.attribute("value_int") != nullptr || node.attribute("value_ints") != nullptr;
  return is_whole ? kOnnxInt64Type : kFloatType;
}

int output_type(const OnnxCall& call) {
  const std::string_view op = call.node.op_type;
  const auto type_of = [&](std::size_t at) {
    return call.input(at) != nullptr ? call.input(at)->type : 0;
  };
  constexpr std::string_view kBools[] = {"And",   "Equal", "Greater", "GreaterOrEqual",
                                         "IsInf", "IsNaN", "Less",    "LessOrEqual",
                                         "Not",   "Or",    "Xor"};
  constexpr std::string_view kIndices[] = {"ArgMax", "ArgMin", "NonZero", "Shape", "Size"};
  constexpr int kInt32Type = 6, kUint8Type = 2;
  if (op == "Cast") {
    const std::int64_t to = call.node.number("to", 0);
    if (to < 0 || to > 99 || onnx_type_bits(static_cast<int>(to)) == 0) {
      call.refuse("'to' is " + std::to_string(to) + ", not a type of numbers");
    }
    return static_cast<int>(to);
  }
  if (op == "Constant" || op == "ConstantOfShape") return constant_type(call.node);
  if (std::ranges::find(kBools, op) != std::end(kBools)) return kOnnxBool;
  if (std::ranges::find(kIndices, op) != std::end(kIndices)) return kOnnxInt64Type;
  if (op == "Where" || op == "CastLike" || op == "DequantizeLinear") return type_of(1);
  if (op == "QuantizeLinear") return call.input(2) != nullptr ? type_of(2) : kUint8Type;
  if (op == "MatMulInteger" || op == "ConvInteger") return kInt32Type;
  return type_of(0);
}

}  // namespace

void OnnxCall::refuse(const std::string& what) const {
  throw Error("onnx", "node '" + name + "' (" + node.op_type + "): " + what);
}

std::int64_t num_elements(const OnnxDims& dims, const std::string& name) {
  std::int64_t count = 1;
  bool is_empty = false;
  for (const std::int64_t dim : dims) {
    is_empty = is_empty || dim == 0;
    if (dim == 0) continue;
    if (dim < 0) throw Error("onnx", "'" + name + "' has the shape " + dims_text(dims));
    if (dim > kMostOnnxElements / count) {
      throw Error("onnx",
                  "'" + name + "' has the shape " + dims_text(dims) + ", more than 2^40 elements");
    }
    count *= dim;
  }
  return is_empty ? 0 : count;
}

std::string dims_text(const OnnxDims& dims) {
  std::string text = "[";
  for (const std::int64_t dim : dims) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dim);
  }
  return text + "]";
}

OnnxDims window_of(const OnnxCall& call) {
  const bool has_weight = call.node.op_type.starts_with("Conv");
  const OnnxDims& shape = call.input(has_weight ? 1 : 0)->dims;
  const std::size_t n = shape.size() - 2;
  const OnnxDims of_weight = has_weight ? OnnxDims(shape.begin() + 2, shape.end()) : OnnxDims(n, 1);
  return small_numbers(call, "kernel_shape", of_weight, n);
}

std::vector<std::optional<OnnxShape>> infer_outputs(const OnnxCall& call) {
  std::vector<std::optional<OnnxShape>> outputs(call.node.outputs.size());
  const bool is_standard = call.node.domain.empty() || call.node.domain == "ai.onnx";
  if (outputs.empty() || !is_standard) return outputs;
  std::vector<MaybeDims> dims(outputs.size());
  const auto rule = rules().find(call.node.op_type);
  if (rule != rules().end()) {
    dims[0] = rule->second(call);
  } else if (call.node.op_type == "Split") {
    dims = split_dims(call);
  } else {
    dims[0] = axes_dims(call);
  }
  const int type = output_type(call);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!dims[i]) continue;
    num_elements(*dims[i], call.node.outputs[i]);
    outputs[i] = OnnxShape{type, *dims[i], std::nullopt};
  }
  if (outputs[0]) outputs[0]->values = known_values(call);
  return outputs;
}

}  // namespace tandem::planner
