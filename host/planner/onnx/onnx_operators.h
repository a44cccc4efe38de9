// SPDX-License-Identifier: Apache-2.0
//
// infer_outputs: shapes of an operator's outputs as far as they follow from those of its inputs.
//
// Covers what networks for images and language are made of; others keep what the file says of
// them. Whole numbers of small tensors are followed too, so that a Reshape whose target is computed
// from a Shape has a shape. Threads: pure. Errors: Error("onnx", ...) naming the operator where
// shapes do not go together. Source: the operators' specifications, ONNX 1.16.
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
  std::optional<std::vector<std::int64_t>> values;  // where they are known and few
};

struct OnnxCall {
  const OnnxNode& node;
  std::string name;
  std::vector<const OnnxShape*> inputs;  // none: left out or not known

  const OnnxShape* input(std::size_t at) const { return at < inputs.size() ? inputs[at] : nullptr; }
  [[noreturn]] void refuse(const std::string& what) const;
};

// Product of dimensions. Throws Error naming `name` where it passes kMostOnnxElements.
std::int64_t num_elements(const OnnxDims& dims, const std::string& name);
std::string dims_text(const OnnxDims& dims);

// [outputs of the node] nothing where a shape does not follow.
std::vector<std::optional<OnnxShape>> infer_outputs(const OnnxCall& call);

// Of the first output, where its values follow from those of the inputs.
std::optional<std::vector<std::int64_t>> known_values(const OnnxCall& call);

// Sizes of windows over the spatial dimensions (from the third on) of a convolution or pooling.
OnnxDims window_of(const OnnxCall& call);

}  // namespace tandem::planner
