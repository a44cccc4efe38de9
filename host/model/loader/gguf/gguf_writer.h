// SPDX-License-Identifier: Apache-2.0
//
// GgufWriter: writes a GGUF file (version 3, little endian) from metadata and tensors.
//
// Metadata is kept in memory. Callbacks supply the bytes of each tensor during the write, so only
// one tensor is in memory. Only the types of tensors are checked: keys may repeat and payloads may
// be wrong, because tests write damaged files with it. Threads: one per writer. Errors:
// Error("gguf", ...) with the system's reason if a write fails, before the next callback; or for a
// type that GGUF does not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "model/loader/gguf/gguf_types.h"
#include "tensor/dtype.h"

namespace tandem::model {

class GgufWriter {
 public:
  void set_u32(std::string_view key, std::uint32_t value);
  void set_u64(std::string_view key, std::uint64_t value);
  void set_f32(std::string_view key, float value);
  void set_bool(std::string_view key, bool value);
  void set_string(std::string_view key, std::string_view value);
  void set_strings(std::string_view key, const std::vector<std::string>& values);
  void set_f32s(std::string_view key, const std::vector<float>& values);
  void set_i32s(std::string_view key, const std::vector<std::int32_t>& values);
  // Any type and payload: for fields of another file, and for damaged fields.
  void set_raw(std::string_view key, std::uint32_t type, std::string_view payload);

  // `fill` is called while writing, in order, with the tensor's bytes to set.
  using Fill = std::function<void(std::byte* data, std::size_t size)>;
  // dims: innermost first, [columns, rows]. `size_bytes` as the dtype needs.
  void add_tensor(std::string_view name, const std::vector<std::uint64_t>& dims, DType dtype,
                  Fill fill);
  void add_tensor(std::string_view name, const std::vector<std::uint64_t>& dims,
                  const std::vector<float>& values);  // f32

  void write(std::ostream& out) const;
  void save(const std::string& path) const;
  std::string bytes() const;

 private:
  void set_typed(std::string_view key, GgufType type, std::string_view payload);

  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint32_t type;
    std::size_t size_bytes;
    Fill fill;
  };
  std::uint64_t num_fields_ = 0;
  std::string fields_;
  std::vector<Tensor> tensors_;
};

}  // namespace tandem::model
