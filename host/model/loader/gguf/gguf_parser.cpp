// SPDX-License-Identifier: Apache-2.0
//
// Parsing and checking of a GGUF header.
#include "model/loader/gguf/gguf_parser.h"

#include <algorithm>
#include <bit>

#include "model/loader/printable.h"

namespace tandem::model {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF is read in place");

constexpr std::uint64_t kMinFieldBytes = 8 + 4 + 1;        // key length, type, one byte of value
constexpr std::uint64_t kMinTensorBytes = 8 + 4 + 8 + 12;  // name length, rank, a dimension, rest
constexpr int kMaxArrayDepth = 8;
constexpr std::uint64_t kMaxAlignment = 1u << 20;
constexpr std::uint64_t kMostTensorBytes = std::uint64_t{1} << 48;

}  // namespace

void GgufParser::fail(std::string_view field, std::uint64_t offset, const std::string& what) const {
  throw Error("gguf", path_ + ": field '" + printable(field) + "' at offset " +
                          std::to_string(offset) + ": " + what);
}

template <typename T>
T GgufParser::read(std::string_view field) {
  if (left() < sizeof(T)) {
    fail(field, at_,
         "the file ends here, " + std::to_string(sizeof(T)) + " bytes are needed and " +
             std::to_string(left()) + " are left; it is truncated");
  }
  T value;
  std::memcpy(&value, bytes_.data() + at_, sizeof(T));
  at_ += sizeof(T);
  return value;
}

std::string_view GgufParser::read_string(std::string_view field) {
  const std::uint64_t offset = at_;
  const auto length = read<std::uint64_t>(field);
  if (length > left()) {
    fail(field, offset,
         "a string of " + std::to_string(length) + " bytes, but " + std::to_string(left()) +
             " bytes are left in the file");
  }
  const auto* text = reinterpret_cast<const char*>(bytes_.data() + at_);
  at_ += length;
  return {text, static_cast<std::size_t>(length)};
}

void GgufParser::parse() {
  parse_header();
  for (std::uint64_t field = 0; field < num_fields_; ++field) parse_field();
  for (std::uint64_t tensor = 0; tensor < num_tensors_; ++tensor) parse_tensor();
  check_layout();
}

void GgufParser::parse_header() {
  char magic[4] = {};
  if (bytes_.size() >= 4) std::memcpy(magic, bytes_.data(), 4);
  if (std::string_view(magic, 4) != "GGUF") {
    fail("magic", 0, "not a GGUF file (it does not begin with \"GGUF\")");
  }
  at_ = 4;
  const auto version = read<std::uint32_t>("version");
  if (version == 0x02000000u || version == 0x03000000u) {
    fail("version", 4, "the file is big endian; convert it to little endian");
  }
  if (version != 2 && version != 3) {
    fail("version", 4,
         "version " + std::to_string(version) + " is not supported; versions 2 and 3 are");
  }
  num_tensors_ = read<std::uint64_t>("tensor_count");
  num_fields_ = read<std::uint64_t>("metadata_kv_count");
  if (num_tensors_ > left() / kMinTensorBytes) {
    fail("tensor_count", 8,
         std::to_string(num_tensors_) + " tensors cannot fit into a file of " +
             std::to_string(bytes_.size()) + " bytes");
  }
  if (num_fields_ > left() / kMinFieldBytes) {
    fail("metadata_kv_count", 16,
         std::to_string(num_fields_) + " fields cannot fit into a file of " +
             std::to_string(bytes_.size()) + " bytes");
  }
}

void GgufParser::parse_field() {
  const std::uint64_t offset = at_;
  const std::string_view key = read_string("metadata key");
  if (key.empty()) fail("metadata key", offset, "a key must not be empty");
  const std::uint64_t type_offset = at_;
  const auto type = read<std::uint32_t>(key);
  if (type > static_cast<std::uint32_t>(GgufType::kF64)) {
    fail(key, type_offset, "value type " + std::to_string(type) + " is unknown");
  }
  GgufField field;
  field.type = static_cast<GgufType>(type);
  if (field.type == GgufType::kArray) {
    const GgufField array = read_array_header(key);
    field.element = array.element;
    field.count = array.count;
    field.offset = at_;
    skip_array(key, array, 1);
  } else {
    field.offset = at_;
    skip_value(key, field.type, 0);
  }
  field.end = at_;
  if (!fields.emplace(key, field).second) fail(key, offset, "the key appears twice");
}

void GgufParser::skip_value(std::string_view key, GgufType type, int depth) {
  if (type == GgufType::kString) {
    read_string(key);
  } else if (type == GgufType::kArray) {
    skip_array(key, read_array_header(key), depth + 1);
  } else if (type == GgufType::kBool) {
    const std::uint64_t offset = at_;
    if (read<std::uint8_t>(key) > 1) fail(key, offset, "a bool must be 0 or 1");
  } else {
    const std::uint64_t size = gguf_type_bytes(type);
    if (left() < size) fail(key, at_, "the file ends within the value; it is truncated");
    at_ += size;
  }
}

GgufField GgufParser::read_array_header(std::string_view key) {
  const std::uint64_t offset = at_;
  const auto element = read<std::uint32_t>(key);
  if (element > static_cast<std::uint32_t>(GgufType::kF64)) {
    fail(key, offset, "array element type " + std::to_string(element) + " is unknown");
  }
  GgufField array;
  array.type = GgufType::kArray;
  array.element = static_cast<GgufType>(element);
  array.count = read<std::uint64_t>(key);
  // A string needs at least its length, an array its type and count.
  std::uint64_t smallest = gguf_type_bytes(array.element);
  if (array.element == GgufType::kString) smallest = 8;
  if (array.element == GgufType::kArray) smallest = 12;
  if (array.count > left() / smallest) {
    fail(key, offset + 4,
         "an array of " + std::to_string(array.count) + " elements, but " + std::to_string(left()) +
             " bytes are left in the file");
  }
  return array;
}

void GgufParser::skip_array(std::string_view key, const GgufField& array, int depth) {
  if (depth > kMaxArrayDepth) {
    fail(key, at_, "arrays are nested deeper than " + std::to_string(kMaxArrayDepth));
  }
  const std::uint64_t size = gguf_type_bytes(array.element);
  if (size > 0 && array.element != GgufType::kBool) {
    at_ += array.count * size;  // cannot overflow: the count was held to the bytes left
    return;
  }
  for (std::uint64_t element = 0; element < array.count; ++element) {
    skip_value(key, array.element, depth);
  }
}

void GgufParser::parse_tensor() {
  GgufTensor tensor;
  tensor.offset = at_;
  tensor.name = read_string("tensor name");
  if (tensor.name.empty()) fail("tensor name", tensor.offset, "a tensor must have a name");
  const std::uint64_t rank_offset = at_;
  tensor.num_dims = read<std::uint32_t>(tensor.name);
  if (tensor.num_dims < 1 || tensor.num_dims > 4) {
    fail(tensor.name, rank_offset,
         "a tensor of " + std::to_string(tensor.num_dims) + " dimensions; 1 to 4 are allowed");
  }
  read_dims(tensor);
  tensor.data_offset = read<std::uint64_t>(tensor.name);
  if (!tensor_index.emplace(tensor.name, tensors.size()).second) {
    fail(tensor.name, tensor.offset, "the tensor appears twice");
  }
  tensors.push_back(tensor);
}

void GgufParser::read_dims(GgufTensor& tensor) {
  const std::uint64_t offset = at_;
  for (std::uint32_t dim = 0; dim < tensor.num_dims; ++dim) {
    tensor.dims[dim] = read<std::uint64_t>(tensor.name);
  }
  const std::uint64_t type_offset = at_;
  const auto type = read<std::uint32_t>(tensor.name);
  const auto dtype = gguf_tensor_dtype(type);
  if (!dtype) {
    fail(tensor.name, type_offset,
         "the tensor has type " + gguf_tensor_type_name(type) + ", which is not supported; use " +
             gguf_readable_tensor_types());
  }
  tensor.dtype = *dtype;
  const auto block = static_cast<std::uint64_t>(dtype_block_values(*dtype));
  if (tensor.dims[0] % block != 0) {
    fail(tensor.name, offset,
         "rows of " + std::to_string(tensor.dims[0]) + " values are not a multiple of " +
             std::to_string(block) + ", the block of " + std::string(dtype_name(*dtype)));
  }
  std::uint64_t size = dtype_block_bytes(*dtype);
  for (std::uint32_t dim = 0; dim < tensor.num_dims; ++dim) {
    const std::uint64_t factor = dim == 0 ? tensor.dims[0] / block : tensor.dims[dim];
    if (factor == 0 || __builtin_mul_overflow(size, factor, &size) || size > kMostTensorBytes) {
      fail(tensor.name, offset, "its shape needs no bytes, or more than a file can have");
    }
  }
  tensor.size_bytes = size;
}

std::uint64_t GgufParser::read_alignment() const {
  const auto field = fields.find("general.alignment");
  if (field == fields.end()) return 32;
  const std::uint64_t offset = field->second.offset;
  if (field->second.type != GgufType::kU32) {
    fail("general.alignment", offset, "must be an unsigned 32-bit integer");
  }
  std::uint32_t alignment;
  std::memcpy(&alignment, bytes_.data() + offset, sizeof alignment);
  if (alignment < 8 || alignment > kMaxAlignment || !std::has_single_bit(alignment)) {
    fail("general.alignment", offset,
         std::to_string(alignment) + " is not a power of two from 8 to " +
             std::to_string(kMaxAlignment));
  }
  return alignment;
}

// The likely reason is a truncated download, so this error names both lengths before any error
// names a tensor. Offsets that overflow are left to the checks of the tensors.
void GgufParser::check_length(std::uint64_t data_start) const {
  std::uint64_t promised = data_start;
  for (const GgufTensor& tensor : tensors) {
    std::uint64_t end = 0;
    if (__builtin_add_overflow(tensor.data_offset, tensor.size_bytes, &end)) return;
    if (__builtin_add_overflow(end, data_start, &end)) return;
    promised = std::max(promised, end);
  }
  if (promised <= bytes_.size()) return;
  throw Error("gguf", path_ + ": the file has " + std::to_string(bytes_.size()) +
                          " bytes and its header promises " + std::to_string(promised) +
                          "; it was cut off (copy or download it again) or its header is damaged");
}

// Turns data offsets into file offsets; they must be aligned, in range and not overlap.
void GgufParser::check_layout() {
  const std::uint64_t alignment = read_alignment();
  if (tensors.empty()) return;
  const std::uint64_t start = (at_ + alignment - 1) / alignment * alignment;
  check_length(start);
  for (GgufTensor& tensor : tensors) {
    if (tensor.data_offset % alignment != 0) {
      fail(tensor.name, tensor.offset,
           "its data offset " + std::to_string(tensor.data_offset) + " is not a multiple of " +
               std::to_string(alignment));
    }
    const bool inside = start <= bytes_.size() && tensor.data_offset <= bytes_.size() - start &&
                        tensor.size_bytes <= bytes_.size() - start - tensor.data_offset;
    if (!inside) {
      fail(tensor.name, tensor.offset,
           "its " + std::to_string(tensor.size_bytes) + " bytes of data at offset " +
               std::to_string(tensor.data_offset) + " of the data section end beyond the file's " +
               std::to_string(bytes_.size()) + " bytes; the file is truncated or wrong");
    }
    tensor.data_offset += start;
    tensor.data = bytes_.data() + tensor.data_offset;
  }
  std::vector<const GgufTensor*> order;
  for (const GgufTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const GgufTensor* a, const GgufTensor* b) {
    return a->data_offset < b->data_offset;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->data_offset + order[i - 1]->size_bytes > order[i]->data_offset) {
      fail(order[i]->name, order[i]->offset,
           "its data overlaps that of '" + printable(order[i - 1]->name) + "'");
    }
  }
}

}  // namespace tandem::model
