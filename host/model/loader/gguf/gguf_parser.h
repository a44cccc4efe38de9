// SPDX-License-Identifier: Apache-2.0
//
// GgufParser: one bounded pass over a GGUF header (internal to GgufFile).
//
// Every read is checked against the bytes left; every error names file, field and offset. After
// parse(), offsets and counts of the fields need no further bounds checks.
#pragma once

#include <cstring>

#include "model/loader/gguf/gguf_file.h"

namespace tandem::model {

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> bytes, const std::string& path)
      : bytes_(bytes), path_(path) {}

  void parse();

  std::unordered_map<std::string_view, GgufField> fields;
  std::vector<GgufTensor> tensors;
  std::unordered_map<std::string_view, std::size_t> tensor_index;

 private:
  [[noreturn]] void fail(std::string_view field, std::uint64_t offset,
                         const std::string& what) const;
  std::uint64_t left() const { return bytes_.size() - at_; }
  template <typename T>
  T read(std::string_view field);
  std::string_view read_string(std::string_view field);

  void parse_header();
  void parse_field();
  void skip_value(std::string_view key, GgufType type, int depth);
  GgufField read_array_header(std::string_view key);
  void skip_array(std::string_view key, const GgufField& array, int depth);
  void parse_tensor();
  void read_dims(GgufTensor& tensor);
  void check_length(std::uint64_t data_start) const;
  void check_layout();
  std::uint64_t read_alignment() const;

  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::uint64_t at_ = 0;
  std::uint64_t num_tensors_ = 0, num_fields_ = 0;
};

}  // namespace tandem::model
