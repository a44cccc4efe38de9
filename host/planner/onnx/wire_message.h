// SPDX-License-Identifier: Apache-2.0
//
// WireMessage: reads the fields of one message in protobuf's wire format, one after the other.
//
// ONNX needs some 30 fields of 8 messages. Generated code would add the whole schema, need a
// compiler and copy every weight; this reader skips weights and unknown fields. Texts point into
// the file. Threads: one per object. Errors: Error("onnx", ...) with the path of the message, such
// as graph.node[3].attribute[0]. Source: protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::planner {

// The position of a message in the file, for errors. Borrows its parent.
struct WirePath {
  const WirePath* parent = nullptr;
  std::string_view name;
  int index = -1;  // index of a repeated field

  std::string text() const;
  [[noreturn]] void refuse(const std::string& what) const;
};

class WireMessage {
 public:
  WireMessage(std::string_view bytes, const WirePath& path) : rest_(bytes), path_(path) {}

  bool next();  // moves to the next field; false after the last one
  int field() const { return field_; }
  // Values of the current field. `name` is the name of the field in an error.
  std::int64_t number(std::string_view name) const;
  std::string_view bytes(std::string_view name) const;
  // Appends the values of the field: one number, or several packed ones.
  void add_numbers(std::string_view name, std::vector<std::int64_t>& numbers) const;
  const WirePath& path() const { return path_; }

 private:
  void expect(std::string_view name, int type) const;

  std::string_view rest_, bytes_;
  const WirePath& path_;
  int field_ = 0, type_ = 0;
  std::uint64_t value_ = 0;
};

}  // namespace tandem::planner
