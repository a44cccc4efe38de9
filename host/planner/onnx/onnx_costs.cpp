// SPDX-License-Identifier: Apache-2.0
//
// Counts are doubles: they only become times.
#include "planner/onnx/onnx_costs.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::planner {
namespace {

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, op) != names.end();
}

double elements_of(const OnnxShape* shape, const std::string& name) {
  return shape == nullptr ? 0 : static_cast<double>(num_elements(shape->dims, name));
}

double outputs_of(const OnnxCall& call, const OnnxShapes& shapes) {
  double sum = 0;
  for (const std::string& output : call.node.outputs) {
    if (!output.empty()) sum += elements_of(shapes.find(output), output);
  }
  return sum;
}

// Steps of a sum per output of MatMul and Gemm.
double inner_size(const OnnxCall& call) {
  const OnnxDims& left = call.input(0)->dims;
  const bool is_turned = call.node.op_type == "Gemm" && call.node.number("transA", 0) != 0;
  if (left.empty()) return 1;
  return static_cast<double>(is_turned ? left.front() : left.back());
}

// Of a convolution, by outputs, or by inputs where it is transposed; of a recurrent operator all.
double product_operations(const OnnxCall& call, double outputs) {
  const OnnxDims &from = call.input(0)->dims, &weight = call.input(1)->dims;
  const double weights = elements_of(call.input(1), call.name);
  const auto per = [](double count, std::int64_t parts) {
    return parts > 0 ? count / static_cast<double>(parts) : 0;
  };
  if (is_one_of(call.node.op_type, {"Conv", "ConvInteger"})) {
    return 2 * outputs * (weight.empty() ? 0 : per(weights, weight[0]));
  }
  const double inputs = elements_of(call.input(0), call.name);
  if (call.node.op_type == "ConvTranspose") {
    return 2 * inputs * (weight.empty() ? 0 : per(weights, weight[0]));
  }
  if (is_one_of(call.node.op_type, {"GRU", "LSTM", "RNN"})) {
    return 2 * (from.empty() ? 0 : per(inputs, from.back())) *
           (weights + elements_of(call.input(2), call.name));
  }
  return 2 * outputs * inner_size(call);
}

bool is_product(std::string_view op) {
  return is_one_of(op, {"Conv", "ConvInteger", "ConvTranspose", "GRU", "Gemm", "LSTM", "MatMul",
                        "MatMulInteger", "RNN"});
}

double widest_bits(const OnnxCall& call) {
  int most = 16;
  for (const OnnxShape* input : call.inputs) {
    if (input != nullptr) most = std::max(most, onnx_type_bits(input->type));
  }
  return most;
}

}  // namespace

bool is_onnx_view(const OnnxNode& node) {
  return is_one_of(node.op_type, {"Constant", "Dropout", "Flatten", "Identity", "Reshape", "Shape",
                                  "Squeeze", "Unsqueeze"});
}

double onnx_operations(const OnnxCall& call, const OnnxShapes& shapes) {
  const double outputs = outputs_of(call, shapes);
  const std::string_view op = call.node.op_type;
  if (is_onnx_view(call.node) ||
      is_one_of(op, {"Concat", "Gather", "Slice", "Split", "Transpose"})) {
    return 0;
  }
  if (is_product(op) && call.input(0) != nullptr && call.input(1) != nullptr) {
    return product_operations(call, outputs);
  }
  const double most = std::max(outputs, elements_of(call.input(0), call.name));
  if (is_one_of(op, {"AveragePool", "LpPool", "MaxPool"}) && call.input(0) != nullptr &&
      call.input(0)->dims.size() > 2) {
    double window = 1;
    for (const std::int64_t size : window_of(call)) window *= static_cast<double>(size);
    return outputs * window;
  }
  constexpr double kOfNormalised = 8;
  const bool is_normalised = op.ends_with("Normalization") || op.ends_with("Softmax");
  return is_normalised ? kOfNormalised * most : most;
}

double onnx_bytes(const OnnxCall& call, const OnnxShapes& shapes) {
  if (is_onnx_view(call.node)) return 0;
  double sum = 0;
  for (const std::string& output : call.node.outputs) {
    if (!output.empty()) sum += static_cast<double>(shapes.bytes(output));
  }
  const bool reads_part = call.node.op_type == "Gather" || call.node.op_type == "Slice";
  if (reads_part) sum *= 2;
  for (std::size_t i = reads_part ? 1 : 0; i < call.node.inputs.size(); ++i) {
    sum += static_cast<double>(shapes.bytes(call.node.inputs[i]));
  }
  return sum;
}

OnnxCosts::OnnxCosts(const DeviceSheet& sheet)
    : ops_per_s_(sheet.f16_ops_per_s * sheet.reached.dense_ops),
      bytes_per_s_(sheet.bytes_per_s * sheet.reached.weight_bandwidth),
      launch_s_(sheet.launch_s) {
  if (ops_per_s_ > 0 && bytes_per_s_ > 0) return;
  throw Error("onnx",
              "'" + sheet.name + "' runs attention only, no dense layers; name a GPU or a CPU");
}

double OnnxCosts::seconds(const OnnxCall& call, const OnnxShapes& shapes) const {
  if (is_onnx_view(call.node)) return 0;
  constexpr double kBitsOfRate = 16;
  const double operations = onnx_operations(call, shapes) * widest_bits(call) / kBitsOfRate;
  return launch_s_ + std::max(operations / ops_per_s_, onnx_bytes(call, shapes) / bytes_per_s_);
}

}  // namespace tandem::planner
