// SPDX-License-Identifier: Apache-2.0
//
// Typed access to checked GGUF metadata.
#include "model/loader/gguf/gguf_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/loader/gguf/gguf_parser.h"

namespace tandem::model {
namespace {

template <typename T>
T load(std::span<const std::byte> bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// Sign-extended to 64 bits and read as unsigned: a negative number becomes a huge one.
std::uint64_t load_integer(std::span<const std::byte> bytes, GgufType type, std::uint64_t offset) {
  switch (type) {
    case GgufType::kU8:
      return load<std::uint8_t>(bytes, offset);
    case GgufType::kI8:
      return static_cast<std::uint64_t>(std::int64_t{load<std::int8_t>(bytes, offset)});
    case GgufType::kU16:
      return load<std::uint16_t>(bytes, offset);
    case GgufType::kI16:
      return static_cast<std::uint64_t>(std::int64_t{load<std::int16_t>(bytes, offset)});
    case GgufType::kU32:
      return load<std::uint32_t>(bytes, offset);
    case GgufType::kI32:
      return static_cast<std::uint64_t>(std::int64_t{load<std::int32_t>(bytes, offset)});
    default:
      return load<std::uint64_t>(bytes, offset);
  }
}

template <typename T>
T require(std::optional<T> value, const GgufFile& file, std::string_view key) {
  if (!value) throw file.field_error(key, "is missing");
  return *std::move(value);
}

}  // namespace

GgufFile::GgufFile(const std::string& path) : path_(path), mapping_(path) {
  bytes_ = mapping_->bytes();
  GgufParser parser(bytes_, path_);
  parser.parse();
  fields_ = std::move(parser.fields);
  tensors_ = std::move(parser.tensors);
  tensor_index_ = std::move(parser.tensor_index);
}

GgufFile::GgufFile(std::span<const std::byte> bytes, std::string name)
    : path_(std::move(name)), bytes_(bytes) {
  GgufParser parser(bytes_, path_);
  parser.parse();
  fields_ = std::move(parser.fields);
  tensors_ = std::move(parser.tensors);
  tensor_index_ = std::move(parser.tensor_index);
}

Error GgufFile::field_error(std::string_view key, const std::string& what) const {
  const GgufField* field = find(key);
  // An absent key has no offset; the metadata begins at 24.
  return Error("gguf", path_ + ": field '" + std::string(key) + "' at offset " +
                           std::to_string(field != nullptr ? field->offset : 24) + ": " + what);
}

Error GgufFile::tensor_error(const CheckpointTensor& tensor, const std::string& what) const {
  const GgufTensor* mine = find_tensor(tensor.name);
  return Error("gguf", path_ + ": field '" + std::string(tensor.name) + "' at offset " +
                           std::to_string(mine != nullptr ? mine->offset : 24) + ": " + what);
}

Error GgufFile::missing_tensor_error(std::string_view name) const {
  return field_error("tensor_count", "the tensor '" + std::string(name) + "' is missing");
}

const GgufField* GgufFile::find(std::string_view key) const {
  const auto found = fields_.find(key);
  return found == fields_.end() ? nullptr : &found->second;
}

const GgufField* GgufFile::find_typed(std::string_view key, GgufType type) const {
  const GgufField* field = find(key);
  if (field != nullptr && field->type != type) {
    throw field_error(key, "has type " + std::string(gguf_type_name(field->type)) + ", must be " +
                               std::string(gguf_type_name(type)));
  }
  return field;
}

const GgufField* GgufFile::find_array(std::string_view key, GgufType element) const {
  const GgufField* field = find_typed(key, GgufType::kArray);
  if (field != nullptr && field->element != element) {
    throw field_error(key, "is an array of " + std::string(gguf_type_name(field->element)) +
                               ", must be one of " + std::string(gguf_type_name(element)));
  }
  return field;
}

std::uint64_t GgufFile::integer_at(std::string_view key, GgufType type,
                                   std::uint64_t offset) const {
  if (!gguf_is_integer(type)) {
    throw field_error(
        key, "has type " + std::string(gguf_type_name(type)) + ", must be an unsigned integer");
  }
  const std::uint64_t value = load_integer(bytes_, type, offset);
  if (value > std::numeric_limits<std::uint32_t>::max()) {
    throw field_error(key, "is negative or does not fit into 32 bits");
  }
  return value;
}

std::optional<std::uint32_t> GgufFile::get_u32(std::string_view key) const {
  const GgufField* field = find(key);
  if (field == nullptr) return std::nullopt;
  return static_cast<std::uint32_t>(integer_at(key, field->type, field->offset));
}

std::optional<std::uint32_t> GgufFile::get_uniform_u32(std::string_view key) const {
  const GgufField* field = find(key);
  if (field == nullptr) return std::nullopt;
  if (field->type != GgufType::kArray) return get_u32(key);
  if (field->count == 0) throw field_error(key, "is an empty array");
  const std::uint64_t first = integer_at(key, field->element, field->offset);
  const auto step = gguf_type_bytes(field->element);
  for (std::uint64_t i = 1; i < field->count; ++i) {
    if (integer_at(key, field->element, field->offset + i * step) != first) {
      throw field_error(key, "differs between layers, which is not supported");
    }
  }
  return static_cast<std::uint32_t>(first);
}

std::optional<float> GgufFile::get_f32(std::string_view key) const {
  const GgufField* field = find(key);
  if (field == nullptr) return std::nullopt;
  const float value = field->type == GgufType::kF64
                          ? static_cast<float>(load<double>(bytes_, field->offset))
                          : load<float>(bytes_, find_typed(key, GgufType::kF32)->offset);
  if (!std::isfinite(value)) throw field_error(key, "is not a finite number");
  return value;
}

std::optional<bool> GgufFile::get_bool(std::string_view key) const {
  const GgufField* field = find_typed(key, GgufType::kBool);
  if (field == nullptr) return std::nullopt;
  return load<std::uint8_t>(bytes_, field->offset) != 0;
}

std::optional<std::string_view> GgufFile::get_string(std::string_view key) const {
  const GgufField* field = find_typed(key, GgufType::kString);
  if (field == nullptr) return std::nullopt;
  const auto length = load<std::uint64_t>(bytes_, field->offset);
  return std::string_view(reinterpret_cast<const char*>(bytes_.data() + field->offset + 8),
                          static_cast<std::size_t>(length));
}

std::optional<std::vector<std::string_view>> GgufFile::get_strings(std::string_view key) const {
  const GgufField* field = find_array(key, GgufType::kString);
  if (field == nullptr) return std::nullopt;
  std::vector<std::string_view> strings;
  strings.reserve(field->count);
  std::uint64_t at = field->offset;
  for (std::uint64_t i = 0; i < field->count; ++i) {
    const auto length = load<std::uint64_t>(bytes_, at);
    strings.emplace_back(reinterpret_cast<const char*>(bytes_.data() + at + 8),
                         static_cast<std::size_t>(length));
    at += 8 + length;
  }
  return strings;
}

std::optional<std::vector<float>> GgufFile::get_f32s(std::string_view key) const {
  const GgufField* field = find_array(key, GgufType::kF32);
  if (field == nullptr) return std::nullopt;
  std::vector<float> values(field->count);
  if (!values.empty()) {
    std::memcpy(values.data(), bytes_.data() + field->offset, values.size() * sizeof(float));
  }
  return values;
}

std::optional<std::vector<std::int32_t>> GgufFile::get_i32s(std::string_view key) const {
  const GgufField* field = find_typed(key, GgufType::kArray);
  if (field == nullptr) return std::nullopt;
  const auto width = gguf_type_bytes(field->element);
  if (!gguf_is_integer(field->element) || width == 8) find_array(key, GgufType::kI32);  // throws
  std::vector<std::int32_t> values(field->count);
  for (std::uint64_t i = 0; i < field->count; ++i) {
    values[i] =
        static_cast<std::int32_t>(load_integer(bytes_, field->element, field->offset + i * width));
  }
  return values;
}

std::optional<std::vector<bool>> GgufFile::get_bools(std::string_view key) const {
  const GgufField* field = find_typed(key, GgufType::kArray);
  if (field == nullptr) return std::nullopt;
  if (field->element != GgufType::kBool && !gguf_is_integer(field->element)) {
    find_array(key, GgufType::kBool);  // throws
  }
  const auto width = field->element == GgufType::kBool ? 1 : gguf_type_bytes(field->element);
  std::vector<bool> values(field->count);
  for (std::uint64_t i = 0; i < field->count; ++i) {
    const std::byte* at = bytes_.data() + field->offset + i * width;
    values[i] = std::any_of(at, at + width, [](std::byte byte) { return byte != std::byte{0}; });
  }
  return values;
}

std::vector<std::string_view> GgufFile::require_strings(std::string_view key) const {
  return require(get_strings(key), *this, key);
}

std::vector<GgufFile::RawField> GgufFile::raw_fields() const {
  constexpr std::uint64_t kArrayHeaderBytes = 4 + 8;
  std::vector<RawField> raw;
  for (const auto& [key, field] : fields_) {
    const std::uint64_t begin =
        field.offset - (field.type == GgufType::kArray ? kArrayHeaderBytes : 0);
    raw.push_back({key,
                   field.type,
                   {reinterpret_cast<const char*>(bytes_.data() + begin),
                    static_cast<std::size_t>(field.end - begin)}});
  }
  std::ranges::sort(raw, {}, [](const RawField& field) { return field.payload.data(); });
  return raw;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

void GgufFile::for_each_tensor(
    const std::function<void(const CheckpointTensor& tensor)>& visit) const {
  for (const GgufTensor& tensor : tensors_) visit(tensor);
}

void GgufFile::read_ahead(const std::function<void(double)>& progress) const {
  if (mapping_) mapping_->read_ahead(progress);
}

void GgufFile::release(std::span<const std::byte> part) const {
  if (mapping_) mapping_->release(part);
}

}  // namespace tandem::model
