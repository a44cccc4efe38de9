// SPDX-License-Identifier: Apache-2.0
//
// ONNX requires that operators follow the operators whose results they need.
#include "planner/onnx/onnx_shapes.h"

#include <algorithm>
#include <utility>

namespace tandem::planner {
namespace {

constexpr int kFloatType = 1;

bool is_in_numbers(const OnnxValue& value) {
  return std::ranges::none_of(value.dims,
                              [](const OnnxDim& dim) { return dim.size == kUnknownDim; });
}

}  // namespace

OnnxShapes::OnnxShapes(const OnnxModel& model, const std::vector<std::string>& node_names,
                       const OnnxSizes& sizes)
    : sizes_(sizes) {
  for (const OnnxTensor& tensor : model.initializers) {
    add(tensor.name, {tensor.type, tensor.dims, tensor.values});
  }
  for (const OnnxValue& value : model.values) {
    if (value.type == 0 || !value.has_shape) continue;
    if (is_in_numbers(value)) {
      add_stated(value);
    } else {
      stated_.emplace(value.name, &value);
    }
  }
  for (const OnnxValue& value : model.inputs) {
    if (value.type != 0 && value.has_shape && find(value.name) == nullptr) add_stated(value);
  }
  for (std::size_t i = 0; i < model.nodes.size(); ++i) add_outputs(model.nodes[i], node_names[i]);
}

void OnnxShapes::add(const std::string& name, OnnxShape shape) {
  num_elements(shape.dims, name);
  shapes_.insert_or_assign(name, std::move(shape));
}

void OnnxShapes::add_stated(const OnnxValue& value) {
  OnnxShape shape{value.type, {}, std::nullopt};
  for (const OnnxDim& dim : value.dims) {
    const auto given = sizes_.find(dim.name);
    if (dim.size != kUnknownDim) {
      shape.dims.push_back(dim.size);
    } else if (given != sizes_.end()) {
      shape.dims.push_back(given->second);
    } else {
      unnamed_.insert(dim.name.empty() ? "of " + value.name : dim.name);
      shape.dims.push_back(1);
    }
  }
  add(value.name, std::move(shape));
}

void OnnxShapes::add_outputs(const OnnxNode& node, const std::string& name) {
  std::vector<std::optional<OnnxShape>> inferred = infer_outputs(call(node, name));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string& output = node.outputs[i];
    if (output.empty()) continue;
    const auto known = shapes_.find(output);
    if (known != shapes_.end()) {
      if (inferred[i]) known->second.values = std::move(inferred[i]->values);
      continue;
    }
    if (inferred[i]) {
      if (inferred[i]->type == 0) inferred[i]->type = kFloatType;
      add(output, std::move(*inferred[i]));
    } else if (const auto named = stated_.find(output); named != stated_.end()) {
      add_stated(*named->second);
    }
  }
}

const OnnxShape* OnnxShapes::find(const std::string& value) const {
  const auto found = shapes_.find(value);
  return found == shapes_.end() ? nullptr : &found->second;
}

OnnxCall OnnxShapes::call(const OnnxNode& node, const std::string& name) const {
  OnnxCall call{node, name, {}};
  for (const std::string& input : node.inputs) {
    call.inputs.push_back(input.empty() ? nullptr : find(input));
  }
  return call;
}

std::int64_t OnnxShapes::bytes(const std::string& value) const {
  const OnnxShape* shape = find(value);
  if (shape == nullptr) return 0;
  return (num_elements(shape->dims, value) * onnx_type_bits(shape->type) + 7) / 8;
}

}  // namespace tandem::planner
