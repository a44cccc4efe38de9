// SPDX-License-Identifier: Apache-2.0
//
// FieldReader: reads the fields of a model's configuration by name.
//
// The file is TOML (its fields may be in a table [model]) or JSON. A field that is never read is an
// error. Threads: one. Errors: Error("train", "FILE: field 'width': ...") for a field that is
// missing, unknown or out of range.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tandem::training {

class FieldReader {
 public:
  using Value = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>>;
  using Fields = std::map<std::string, Value>;

  FieldReader(std::string path, Fields fields)
      : path_(std::move(path)), fields_(std::move(fields)) {}

  [[noreturn]] void fail(const std::string& field, const std::string& what) const;
  // Whole numbers from 1 to `most`.
  void take(const char* name, int& to, bool required, int most = 1 << 20);
  void take(const char* name, double& to);  // greater than 0
  void take(const char* name, bool& to);
  void take(const char* name, std::string& to);
  // Whole numbers from 1 to `most`; a single number is a list with one element.
  void take(const char* name, std::vector<int>& to, int most);
  void refuse_others() const;

 private:
  const Value* find(const char* name);

  std::string path_;
  Fields fields_;
  std::vector<std::string_view> known_;
};

FieldReader read_fields(const std::string& path);

// Resolves a path in a configuration: it is relative to that file. "bytes" is returned unchanged.
std::string beside(const std::string& file, const std::string& tokenizer);

// The field `kind` of that file; "llama" if there is none.
std::string model_kind(const std::string& path);

}  // namespace tandem::training
