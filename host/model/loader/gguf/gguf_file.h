// SPDX-License-Identifier: Apache-2.0
//
// GgufFile: the metadata and tensor table of a GGUF file, checked completely before use.
//
// Versions 2 and 3, little endian. The constructor reads the whole header once and checks it
// against the file's size: magic, version, counts, string lengths, value and array types (nested
// too), unique keys and tensor names, alignment, tensor shapes, types, offsets, order and overlap.
// No allocation trusts a size in the file; memory is proportional to the bytes that are there.
// Ownership: owns the mapping; string views and tensor data live as long as the GgufFile.
// Threads: immutable. Errors: Error("gguf", "FILE: field 'x' at offset N: ...").
// Source: the GGUF specification (ggml project, docs/gguf.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/error.h"
#include "model/loader/checkpoint.h"
#include "model/loader/gguf/gguf_types.h"
#include "model/loader/mapped_file.h"

namespace tandem::model {

struct GgufField {
  GgufType type = GgufType::kU8;
  GgufType element = GgufType::kU8;  // of an array
  std::uint64_t count = 1;           // elements of an array
  std::uint64_t offset = 0;          // of the value's (an array's first element's) bytes
  std::uint64_t end = 0;             // the offset after them
};

struct GgufTensor : CheckpointTensor {
  std::uint64_t offset = 0;       // of its description in the file
  std::uint64_t data_offset = 0;  // of its data in the file
};

class GgufFile final : public Checkpoint {
 public:
  explicit GgufFile(const std::string& path);
  // Parses bytes in memory, which must outlive the object; `name` is for messages.
  GgufFile(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const { return path_; }
  bool has(std::string_view key) const override { return fields_.contains(key); }
  bool is_array(std::string_view key) const override {
    const GgufField* field = find(key);
    return field != nullptr && field->type == GgufType::kArray;
  }

  std::optional<std::uint32_t> get_u32(std::string_view key) const override;
  std::optional<float> get_f32(std::string_view key) const override;
  std::optional<bool> get_bool(std::string_view key) const override;
  std::optional<std::string_view> get_string(std::string_view key) const override;
  std::optional<std::vector<float>> get_f32s(std::string_view key) const override;
  std::optional<std::vector<std::int32_t>> get_i32s(std::string_view key) const override;
  std::optional<std::vector<bool>> get_bools(std::string_view key) const override;
  std::optional<std::uint32_t> get_uniform_u32(std::string_view key) const override;
  std::optional<std::vector<std::string_view>> get_strings(std::string_view key) const;
  std::vector<std::string_view> require_strings(std::string_view key) const;

  // Every field without conversion, in the file's order; the payload of an array begins with its
  // header.
  struct RawField {
    std::string_view key;
    GgufType type;
    std::string_view payload;
  };
  std::vector<RawField> raw_fields() const;

  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* find_tensor(std::string_view name) const override;
  void for_each_tensor(
      const std::function<void(const CheckpointTensor& tensor)>& visit) const override;
  bool rotates_neighbours() const override { return true; }

  // Errors about a key or a tensor of this file, with its offset; to throw.
  Error field_error(std::string_view key, const std::string& what) const override;
  Error tensor_error(const CheckpointTensor& tensor, const std::string& what) const override;
  Error missing_tensor_error(std::string_view name) const override;

  void read_ahead(const std::function<void(double)>& progress) const override;
  void release(std::span<const std::byte> part) const override;

 private:
  const GgufField* find(std::string_view key) const;
  const GgufField* find_typed(std::string_view key, GgufType type) const;
  const GgufField* find_array(std::string_view key, GgufType element) const;
  std::uint64_t integer_at(std::string_view key, GgufType type, std::uint64_t offset) const;

  std::string path_;
  std::optional<MappedFile> mapping_;
  std::span<const std::byte> bytes_;
  std::unordered_map<std::string_view, GgufField> fields_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> tensor_index_;
};

}  // namespace tandem::model
