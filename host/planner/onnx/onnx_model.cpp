// SPDX-License-Identifier: Apache-2.0
//
// One function per message.
#include "planner/onnx/onnx_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "planner/onnx/wire_message.h"

namespace tandem::planner {
namespace {

constexpr int kOnnxInt32 = 6, kOnnxInt64 = 7;
constexpr int kMostOnnxDepth = 16;  // nesting depth of bodies

static_assert(std::endian::native == std::endian::little, "raw data is little-endian");

std::string text_in(const WireMessage& message, std::string_view name) {
  return std::string(message.bytes(name));
}

void add_raw_values(std::string_view raw, int type, std::vector<std::int64_t>& values) {
  const std::size_t width = type == kOnnxInt64 ? 8 : 4;
  for (std::size_t at = 0; at + width <= raw.size(); at += width) {
    std::int64_t wide = 0;
    std::int32_t narrow = 0;
    if (width == 8) {
      std::memcpy(&wide, raw.data() + at, width);
    } else {
      std::memcpy(&narrow, raw.data() + at, width);
      wide = narrow;
    }
    values.push_back(wide);
  }
}

OnnxTensor tensor_of(std::string_view bytes, const WirePath& path) {
  OnnxTensor tensor;
  std::vector<std::int64_t> values;
  std::string_view raw;
  WireMessage message(bytes, path);
  while (message.next()) {
    switch (message.field()) {
      case 1:
        message.add_numbers("dims", tensor.dims);
        break;
      case 2:
        tensor.type =
            static_cast<int>(std::clamp<std::int64_t>(message.number("data_type"), 0, 99));
        break;
      case 5:
      case 7:
        message.add_numbers(message.field() == 5 ? "int32_data" : "int64_data", values);
        break;
      case 8:
        tensor.name = text_in(message, "name");
        break;
      case 9:
        raw = message.bytes("raw_data");
        break;
      default:
        break;
    }
  }
  std::int64_t count = 1;
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0) path.refuse("'dims' has " + std::to_string(dim) + ", which is not a size");
    count = dim > kMostOnnxValues || count > kMostOnnxValues ? kMostOnnxValues + 1 : count * dim;
  }
  if (onnx_type_bits(tensor.type) == 0) {
    path.refuse("'data_type' is " + std::to_string(tensor.type) + ", not a type of numbers");
  }
  if (tensor.type != kOnnxInt32 && tensor.type != kOnnxInt64) return tensor;
  if (count > kMostOnnxValues) return tensor;
  if (values.empty()) add_raw_values(raw, tensor.type, values);
  if (static_cast<std::int64_t>(values.size()) == count) tensor.values = std::move(values);
  return tensor;
}

OnnxDim dim_of(std::string_view bytes, const WirePath& path) {
  OnnxDim dim;
  WireMessage message(bytes, path);
  while (message.next()) {
    if (message.field() == 1) {
      dim.size = message.number("dim_value");
      if (dim.size < 0) {
        path.refuse("'dim_value' is " + std::to_string(dim.size) +
                    ", which is not a size: a size that is given later has a name in 'dim_param'");
      }
    }
    if (message.field() == 2) dim.name = text_in(message, "dim_param");
  }
  return dim;
}

void read_shape(std::string_view bytes, const WirePath& path, OnnxValue& value) {
  value.has_shape = true;
  value.dims.clear();
  WireMessage message(bytes, path);
  while (message.next()) {
    if (message.field() != 1) continue;
    const WirePath dim{&path, "dim", static_cast<int>(value.dims.size())};
    value.dims.push_back(dim_of(message.bytes("dim"), dim));
  }
}

void read_tensor_type(std::string_view bytes, const WirePath& path, OnnxValue& value) {
  WireMessage message(bytes, path);
  while (message.next()) {
    if (message.field() == 1) {
      value.type = static_cast<int>(std::clamp<std::int64_t>(message.number("elem_type"), 0, 99));
    }
    if (message.field() == 2) {
      read_shape(message.bytes("shape"), WirePath{&path, "shape"}, value);
    }
  }
}

OnnxValue value_of(std::string_view bytes, const WirePath& path) {
  OnnxValue value;
  WireMessage message(bytes, path);
  while (message.next()) {
    if (message.field() == 1) value.name = text_in(message, "name");
    if (message.field() != 2) continue;
    const WirePath type{&path, "type"};
    WireMessage kinds(message.bytes("type"), type);
    while (kinds.next()) {
      if (kinds.field() != 1) continue;
      read_tensor_type(kinds.bytes("tensor_type"), WirePath{&type, "tensor_type"}, value);
    }
  }
  return value;
}

// Adds a weight of a body.
void add_body_weight(std::string_view bytes, const WirePath& path, OnnxNode& node) {
  constexpr std::int64_t kMostBits = std::int64_t{1} << 60;
  const OnnxTensor tensor = tensor_of(bytes, path);
  std::int64_t bits = onnx_type_bits(tensor.type);
  for (const std::int64_t dim : tensor.dims) {
    if (dim > 0 && bits > kMostBits / dim) path.refuse("'dims' are of no memory's size");
    bits *= dim;
  }
  node.body_bytes = std::min(kMostBits / 8, node.body_bytes + (bits + 7) / 8);
}

void read_body(std::string_view bytes, const WirePath& path, int depth, OnnxNode& node);

void read_body_node(std::string_view bytes, const WirePath& path, int depth, OnnxNode& node) {
  WireMessage message(bytes, path);
  while (message.next()) {
    if (message.field() == 1) node.body_inputs.push_back(text_in(message, "input"));
    if (message.field() != 5) continue;
    const WirePath attribute{&path, "attribute"};
    WireMessage parts(message.bytes("attribute"), attribute);
    while (parts.next()) {
      if (parts.field() == 5) add_body_weight(parts.bytes("t"), WirePath{&attribute, "t"}, node);
      if (parts.field() != 6 && parts.field() != 11) continue;
      read_body(parts.bytes("g"), WirePath{&attribute, "g"}, depth + 1, node);
    }
  }
}

void read_body(std::string_view bytes, const WirePath& path, int depth, OnnxNode& node) {
  if (depth > kMostOnnxDepth) path.refuse("bodies are nested too deep");
  WireMessage message(bytes, path);
  while (message.next()) {
    if (message.field() == 1) {
      read_body_node(message.bytes("node"), WirePath{&path, "node"}, depth, node);
    }
    if (message.field() == 5) {
      add_body_weight(message.bytes("initializer"), WirePath{&path, "initializer"}, node);
    }
    if (message.field() == 12) {
      node.body_inputs.push_back(value_of(message.bytes("output"), WirePath{&path, "output"}).name);
    }
  }
}

OnnxAttribute attribute_of(std::string_view bytes, const WirePath& path, OnnxNode& node) {
  OnnxAttribute attribute;
  WireMessage message(bytes, path);
  while (message.next()) {
    switch (message.field()) {
      case 1:
        attribute.name = text_in(message, "name");
        break;
      case 3:
        attribute.number = message.number("i");
        break;
      case 4:
        attribute.text = text_in(message, "s");
        break;
      case 5:
        attribute.tensor = tensor_of(message.bytes("t"), WirePath{&path, "t"});
        break;
      case 6:
      case 11:
        node.has_body = true;
        read_body(message.bytes("g"), WirePath{&path, "g"}, 0, node);
        break;
      case 8:
        message.add_numbers("ints", attribute.numbers);
        break;
      default:
        break;
    }
  }
  return attribute;
}

OnnxNode onnx_node_of(std::string_view bytes, const WirePath& path) {
  OnnxNode node;
  WireMessage message(bytes, path);
  while (message.next()) {
    switch (message.field()) {
      case 1:
        node.inputs.push_back(text_in(message, "input"));
        break;
      case 2:
        node.outputs.push_back(text_in(message, "output"));
        break;
      case 3:
        node.name = text_in(message, "name");
        break;
      case 4:
        node.op_type = text_in(message, "op_type");
        break;
      case 5: {
        const WirePath attribute{&path, "attribute", static_cast<int>(node.attributes.size())};
        node.attributes.push_back(attribute_of(message.bytes("attribute"), attribute, node));
        break;
      }
      case 7:
        node.domain = text_in(message, "domain");
        break;
      default:
        break;
    }
  }
  if (node.op_type.empty()) path.refuse("'op_type' is missing");
  return node;
}

void read_onnx_graph(std::string_view bytes, const WirePath& path, OnnxModel& model) {
  WireMessage message(bytes, path);
  const auto next_path = [&](std::string_view name, const auto& list) {
    return WirePath{&path, name, static_cast<int>(list.size())};
  };
  while (message.next()) {
    switch (message.field()) {
      case 1:
        model.nodes.push_back(onnx_node_of(message.bytes("node"), next_path("node", model.nodes)));
        break;
      case 5:
        model.initializers.push_back(
            tensor_of(message.bytes("initializer"), next_path("initializer", model.initializers)));
        break;
      case 11:
        model.inputs.push_back(value_of(message.bytes("input"), next_path("input", model.inputs)));
        break;
      case 12:
      case 13:
        model.values.push_back(
            value_of(message.bytes(message.field() == 12 ? "output" : "value_info"),
                     WirePath{&path, message.field() == 12 ? "output" : "value_info"}));
        break;
      case 15:
        WirePath{&path, "sparse_initializer"}.refuse(
            "sparse weights are not read; store them as dense ones");
      default:
        break;
    }
  }
  if (model.nodes.empty()) path.refuse("'node' is missing: the graph has no operators");
}

}  // namespace

const OnnxAttribute* OnnxNode::attribute(std::string_view wanted) const {
  const auto found = std::ranges::find(attributes, wanted, &OnnxAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

std::int64_t OnnxNode::number(std::string_view wanted, std::int64_t otherwise) const {
  const OnnxAttribute* found = attribute(wanted);
  return found == nullptr ? otherwise : found->number;
}

OnnxModel read_onnx_model(std::string_view file) {
  OnnxModel model;
  const WirePath root, graph{&root, "graph"};
  bool has_graph = false;
  WireMessage message(file, root);
  while (message.next()) {
    if (message.field() != 7) continue;
    if (has_graph) graph.refuse("the model has two graphs");
    has_graph = true;
    read_onnx_graph(message.bytes("graph"), graph, model);
  }
  if (!has_graph) root.refuse("'graph' is missing; is this an ONNX model?");
  return model;
}

int onnx_type_bits(int type) {
  // By number: undefined, float, uint8, int8, uint16, int16, int32, int64, string, bool, float16,
  // double, uint32, uint64, complex64, complex128, bfloat16, four kinds of float8, uint4, int4,
  // float4. Text counts as a pointer.
  constexpr std::array<int, 24> kBits = {0,  32, 8,  8,   16, 16, 32, 64, 64, 8, 16, 64,
                                         32, 64, 64, 128, 16, 8,  8,  8,  8,  4, 4,  4};
  return type > 0 && type < static_cast<int>(kBits.size()) ? kBits[static_cast<std::size_t>(type)]
                                                           : 0;
}

}  // namespace tandem::planner
