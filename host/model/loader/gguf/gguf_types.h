// SPDX-License-Identifier: Apache-2.0
//
// The types that GGUF files name by number: of metadata values and of tensors. One table each.
//
// Threads: pure functions. Source: the GGUF specification (ggml project, docs/gguf.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace tandem::model {

enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};

std::string_view gguf_type_name(GgufType type);  // "u32", "string", ...
std::uint64_t gguf_type_bytes(GgufType type);    // of one value; 0: strings and arrays
bool gguf_is_integer(GgufType type);

// The element type of a tensor whose description states `id`; empty if it is unknown or
// unsupported.
std::optional<DType> gguf_tensor_dtype(std::uint32_t id);
// The reverse; empty for types that GGUF does not have or that are unsupported.
std::optional<std::uint32_t> gguf_tensor_type(DType dtype);

std::string gguf_tensor_type_name(std::uint32_t id);  // "Q4_K (12)"; "77" when unknown
std::string gguf_readable_tensor_types();             // "F32, F16, ... or BF16", for messages

}  // namespace tandem::model
