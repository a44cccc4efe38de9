// SPDX-License-Identifier: Apache-2.0
//
// The tables of GGUF's numbered types.
#include "model/loader/gguf/gguf_types.h"

#include <algorithm>
#include <iterator>

namespace tandem::model {
namespace {

struct ValueType {
  std::string_view name;
  std::uint64_t bytes;
  bool integer;
};
// By number.
constexpr ValueType kValueTypes[] = {{"u8", 1, true},     {"i8", 1, true},    {"u16", 2, true},
                                     {"i16", 2, true},    {"u32", 4, true},   {"i32", 4, true},
                                     {"f32", 4, false},   {"bool", 1, false}, {"string", 0, false},
                                     {"array", 0, false}, {"u64", 8, true},   {"i64", 8, true},
                                     {"f64", 8, false}};
static_assert(std::size(kValueTypes) == static_cast<std::size_t>(GgufType::kF64) + 1);

struct TensorType {
  std::uint32_t id;
  std::string_view name;
  std::optional<DType> dtype;
};
// Those without a dtype are named so that a message can say which type an unsupported tensor has.
constexpr TensorType kTensorTypes[] = {{0, "F32", DType::kF32},
                                       {1, "F16", DType::kF16},
                                       {2, "Q4_0", DType::kQ4_0},
                                       {3, "Q4_1", DType::kQ4_1},
                                       {6, "Q5_0", DType::kQ5_0},
                                       {7, "Q5_1", DType::kQ5_1},
                                       {8, "Q8_0", DType::kQ8_0},
                                       {9, "Q8_1", {}},
                                       {10, "Q2_K", {}},
                                       {11, "Q3_K", {}},
                                       {12, "Q4_K", DType::kQ4_K},
                                       {13, "Q5_K", DType::kQ5_K},
                                       {14, "Q6_K", DType::kQ6_K},
                                       {15, "Q8_K", {}},
                                       {16, "IQ2_XXS", {}},
                                       {17, "IQ2_XS", {}},
                                       {18, "IQ3_XXS", {}},
                                       {19, "IQ1_S", {}},
                                       {20, "IQ4_NL", DType::kIQ4_NL},
                                       {21, "IQ3_S", {}},
                                       {22, "IQ2_S", {}},
                                       {23, "IQ4_XS", {}},
                                       {24, "I8", {}},
                                       {25, "I16", {}},
                                       {26, "I32", {}},
                                       {27, "I64", {}},
                                       {28, "F64", {}},
                                       {29, "IQ1_M", {}},
                                       {30, "BF16", DType::kBF16},
                                       {34, "TQ1_0", {}},
                                       {35, "TQ2_0", {}},
                                       {39, "MXFP4", {}}};

const TensorType* find(std::uint32_t id) {
  const auto* found = std::ranges::find(kTensorTypes, id, &TensorType::id);
  return found == std::end(kTensorTypes) ? nullptr : found;
}

const ValueType& facts(GgufType type) { return kValueTypes[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view gguf_type_name(GgufType type) { return facts(type).name; }
std::uint64_t gguf_type_bytes(GgufType type) { return facts(type).bytes; }
bool gguf_is_integer(GgufType type) { return facts(type).integer; }

std::optional<DType> gguf_tensor_dtype(std::uint32_t id) {
  const TensorType* type = find(id);
  return type == nullptr ? std::nullopt : type->dtype;
}

std::optional<std::uint32_t> gguf_tensor_type(DType dtype) {
  for (const TensorType& type : kTensorTypes) {
    if (type.dtype == dtype) return type.id;
  }
  return std::nullopt;
}

std::string gguf_tensor_type_name(std::uint32_t id) {
  const TensorType* type = find(id);
  if (type == nullptr) return std::to_string(id);
  return std::string(type->name) + " (" + std::to_string(id) + ")";
}

std::string gguf_readable_tensor_types() {
  std::string names;
  std::string_view last;
  for (const TensorType& type : kTensorTypes) {
    if (!type.dtype) continue;
    if (!last.empty()) names.append(names.empty() ? "" : ", ").append(last);
    last = type.name;
  }
  return names.append(" or ").append(last);
}

}  // namespace tandem::model
