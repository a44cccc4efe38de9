// SPDX-License-Identifier: Apache-2.0
//
// ONNX files for tests: a few messages in protobuf's wire format.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tandem::planner {

inline std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7f) | 0x80);
  return text + static_cast<char>(value);
}
inline std::string number_field(int field, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value));
}
inline std::string bytes_field(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}

constexpr int kTestFloat = 1, kTestInt64 = 7;

// Whole numbers as int64_data.
inline std::string tensor_text(const std::string& name, const std::vector<std::int64_t>& dims,
                               int type = kTestFloat,
                               const std::vector<std::int64_t>& values = {}) {
  std::string text, packed;
  for (const std::int64_t dim : dims) text += number_field(1, dim);
  for (const std::int64_t value : values) packed += varint(static_cast<std::uint64_t>(value));
  text += number_field(2, type) + bytes_field(8, name);
  return values.empty() ? text : text + bytes_field(7, packed);
}

// A size below 0 is named "batch".
inline std::string value_text(const std::string& name, const std::vector<std::int64_t>& dims,
                              int type = kTestFloat) {
  std::string shape;
  for (const std::int64_t dim : dims) {
    shape += bytes_field(1, dim < 0 ? bytes_field(2, "batch") : number_field(1, dim));
  }
  const std::string tensor = number_field(1, type) + bytes_field(2, shape);
  return bytes_field(1, name) + bytes_field(2, bytes_field(1, tensor));
}

inline std::string int_attribute(const std::string& name, std::int64_t value) {
  return bytes_field(5, bytes_field(1, name) + number_field(3, value));
}
inline std::string ints_attribute(const std::string& name, const std::vector<std::int64_t>& list) {
  std::string text = bytes_field(1, name);
  for (const std::int64_t value : list) text += number_field(8, value);
  return bytes_field(5, text);
}

inline std::string node_text(const std::string& op, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs,
                             const std::string& attributes = "", const std::string& name = "") {
  std::string text;
  for (const std::string& each : inputs) text += bytes_field(1, each);
  for (const std::string& each : outputs) text += bytes_field(2, each);
  if (!name.empty()) text += bytes_field(3, name);
  return text + bytes_field(4, op) + attributes;
}

class OnnxText {
 public:
  OnnxText& node(const std::string& op, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& attributes = "",
                 const std::string& name = "") {
    return add(1, node_text(op, inputs, outputs, attributes, name));
  }
  OnnxText& weight(const std::string& name, const std::vector<std::int64_t>& dims,
                   int type = kTestFloat, const std::vector<std::int64_t>& values = {}) {
    return add(5, tensor_text(name, dims, type, values));
  }
  OnnxText& input(const std::string& name, const std::vector<std::int64_t>& dims,
                  int type = kTestFloat) {
    return add(11, value_text(name, dims, type));
  }
  OnnxText& value(const std::string& name, const std::vector<std::int64_t>& dims) {
    return add(13, value_text(name, dims));
  }
  OnnxText& add(int field, const std::string& message) {
    graph_ += bytes_field(field, message);
    return *this;
  }
  // With a version and a field that no reader knows.
  std::string model() const {
    return number_field(1, 9) + bytes_field(7, graph_) + bytes_field(900, "x");
  }

 private:
  std::string graph_;
};

}  // namespace tandem::planner
