// SPDX-License-Identifier: Apache-2.0
//
// SafetensorsFile: the tensors of one safetensors file, its header checked completely before use.
//
// Format: eight bytes of header length, a JSON object {name: {dtype, shape, data_offsets}}, data.
// The constructor checks lengths, types, shapes (products must not overflow) and offsets. As the
// format demands, the tensors cover the data without gap or overlap. No allocation trusts a size in
// the file. A tensor of an unsupported element type is kept with the type's name, so that it is an
// error only if the model uses it.
// Ownership: owns the mapping; tensor data live as long as the SafetensorsFile, wherever it moves.
// Threads: immutable. Errors: Error("safetensors", "FILE: tensor 'x': ...").
// Source: the safetensors format (Hugging Face, safetensors/README.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/error.h"
#include "model/loader/mapped_file.h"
#include "tensor/dtype.h"

namespace tandem::model {

struct SafetensorsTensor {
  std::string name;
  std::string type;                  // as the file spells it: "BF16"
  std::optional<DType> dtype;        // empty: an unsupported type
  std::vector<std::uint64_t> shape;  // outermost first
  const std::byte* data = nullptr;
  std::uint64_t size_bytes = 0;
};

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  // Bytes in memory, which must outlive the object; `name` is for messages.
  SafetensorsFile(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const { return path_; }
  std::size_t size_bytes() const { return bytes_.size(); }
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }  // in the file's order
  const SafetensorsTensor* find(std::string_view name) const;

  // Makes an error about a tensor of this file, to throw.
  Error tensor_error(std::string_view name, const std::string& what) const;

  void read_ahead(const std::function<void(double)>& progress) const;
  void release(std::span<const std::byte> part) const;  // as MappedFile's

 private:
  std::string_view header() const;
  void read();

  std::string path_;
  std::optional<MappedFile> mapping_;
  std::span<const std::byte> bytes_;
  std::vector<SafetensorsTensor> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace tandem::model
