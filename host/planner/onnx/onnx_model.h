// SPDX-License-Identifier: Apache-2.0
//
// read_onnx_model: reads the operators, values and shapes of an ONNX model for the planner.
//
// Weights are passed over: of tensors only name, type and dimensions are kept, and the values of
// small whole-number tensors, which state shapes and axes. Names and texts are copies. Bodies of
// If, Loop and Scan leave the names that they use and the bytes of their weights. Threads: pure.
// Errors: Error("onnx", ...) with the path of the field. Source: onnx.proto of ONNX 1.16.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::planner {

struct OnnxTensor {
  std::string name;
  int type = 0;  // TensorProto.DataType
  std::vector<std::int64_t> dims;
  std::optional<std::vector<std::int64_t>> values;  // whole numbers, at most kMostOnnxValues
};
constexpr std::int64_t kMostOnnxValues = 64;

struct OnnxAttribute {
  std::string name;
  std::int64_t number = 0;
  std::vector<std::int64_t> numbers;
  std::string text;
  std::optional<OnnxTensor> tensor;
};

struct OnnxNode {
  std::string name, op_type, domain;
  std::vector<std::string> inputs, outputs;  // an empty name: not present
  std::vector<OnnxAttribute> attributes;
  bool has_body = false;
  std::vector<std::string> body_inputs;  // names that bodies use, their own among them
  std::int64_t body_bytes = 0;           // of the weights and constants of bodies

  const OnnxAttribute* attribute(std::string_view wanted) const;
  std::int64_t number(std::string_view wanted, std::int64_t otherwise) const;
};

constexpr std::int64_t kUnknownDim = -1;
struct OnnxDim {
  std::int64_t size = kUnknownDim;
  std::string name;  // name of a size that is given later, such as "batch"
};

struct OnnxValue {
  std::string name;
  int type = 0;  // 0: not a tensor
  bool has_shape = false;
  std::vector<OnnxDim> dims;
};

struct OnnxModel {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValue> inputs, values;  // values: outputs and value_info
};

OnnxModel read_onnx_model(std::string_view file);

// Bits of one element of a DataType; 0 for a type without a fixed size.
int onnx_type_bits(int type);

}  // namespace tandem::planner
