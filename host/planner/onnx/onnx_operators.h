// SPDX-License-Identifier: Apache-2.0
//
// infer_outputs: computes the shapes of an operator's outputs from those of its inputs.
//
// It covers the operators of common image and language networks; other operators keep the shapes
// that the file states. Values of small whole-number tensors are computed too, so that a Reshape
// gets a shape if its target is computed from a Shape. Threads: pure. Errors: Error("onnx", ...)
// that names the operator if shapes do not match. Source: the operator specifications of ONNX 1.16.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/onnx/onnx_model.h"

namespace tandem::planner {

using OnnxDims = std::vector<std::int64_t>;
constexpr std::int64_t kMostOnnxElements = std::int64_t{1} << 40;  // of a tensor

struct OnnxShape {
  int type = 0;
  OnnxDims dims;
  std::optional<std::vector<std::int64_t>> values;  // if they are known and few
};

struct OnnxCall {
  const OnnxNode& node;
  std::string name;
  std::vector<const OnnxShape*> inputs;  // nullptr: not present or not known

  const OnnxShape* input(std::size_t at) const { return at < inputs.size() ? inputs[at] : nullptr; }
  [[noreturn]] void refuse(const std::string& what) const;
};

// Returns the product of the dimensions. Throws Error with `name` if it exceeds kMostOnnxElements.
std::int64_t num_elements(const OnnxDims& dims, const std::string& name);
std::string dims_text(const OnnxDims& dims);

// [outputs of the node] Nothing if the inputs do not determine a shape.
std::vector<std::optional<OnnxShape>> infer_outputs(const OnnxCall& call);

// The values of the first output, if the values of the inputs determine them.
std::optional<std::vector<std::int64_t>> known_values(const OnnxCall& call);

// The window sizes of a convolution or pooling over the spatial dimensions (the third and later).
OnnxDims window_of(const OnnxCall& call);

}  // namespace tandem::planner
