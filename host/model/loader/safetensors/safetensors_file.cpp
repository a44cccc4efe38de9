// SPDX-License-Identifier: Apache-2.0
//
// Parsing and checking of a safetensors header.
#include "model/loader/safetensors/safetensors_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/loader/bounded_json.h"
#include "model/loader/printable.h"

namespace tandem::model {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors are read in place");

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxDims = 8;
constexpr JsonLimits kHeaderLimits{.bytes = kMaxHeaderBytes, .depth = 4, .values = 1u << 16};

struct ElementType {
  std::string_view name;
  std::uint64_t bits;
  std::optional<DType> dtype;
};

constexpr ElementType kElementTypes[] = {
    {"F32", 32, DType::kF32},
    {"F16", 16, DType::kF16},
    {"BF16", 16, DType::kBF16},
    {"F64", 64, {}},
    {"I64", 64, {}},
    {"U64", 64, {}},
    {"I32", 32, {}},
    {"U32", 32, {}},
    {"I16", 16, {}},
    {"U16", 16, {}},
    {"I8", 8, {}},
    {"U8", 8, {}},
    {"BOOL", 8, {}},
    {"F8_E4M3", 8, DType::kF8E4M3},
    {"F8_E5M2", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"F4", 4, {}},
    {"C64", 64, {}},
};

// One description of a header, held to the bytes of data there are.
class DescriptionReader {
 public:
  DescriptionReader(const SafetensorsFile& file, std::span<const std::byte> data)
      : file_(file), data_(data) {}

  SafetensorsTensor read(const std::string& name, const json& description) const {
    if (!description.is_object()) throw file_.tensor_error(name, "is not described by an object");
    for (const auto& [key, value] : description.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        throw file_.tensor_error(name, "has the unknown field '" + printable(key) + "'");
      }
    }
    SafetensorsTensor tensor;
    tensor.name = name;
    const std::uint64_t bits = read_type(description, tensor);
    const std::uint64_t values = read_shape(description, tensor);
    read_offsets(description, tensor);
    std::uint64_t size_bits = 0;
    if (__builtin_mul_overflow(values, bits, &size_bits) || size_bits % 8 != 0 ||
        size_bits / 8 != tensor.size_bytes) {
      throw file_.tensor_error(name, "its shape of " + tensor.type + " does not need the " +
                                         std::to_string(tensor.size_bytes) +
                                         " bytes that data_offsets name");
    }
    return tensor;
  }

 private:
  std::uint64_t read_type(const json& description, SafetensorsTensor& tensor) const {
    const json& type = json_member(description, "dtype");
    if (!type.is_string()) throw file_.tensor_error(tensor.name, "dtype is not a string");
    tensor.type = type.get<std::string>();
    const auto* found = std::ranges::find(kElementTypes, tensor.type, &ElementType::name);
    if (found == std::end(kElementTypes)) {
      throw file_.tensor_error(tensor.name, "the dtype '" + printable(tensor.type) +
                                                "' is unknown; readable: F32, F16, BF16, F8_E4M3");
    }
    tensor.dtype = found->dtype;
    return found->bits;
  }

  std::uint64_t read_shape(const json& description, SafetensorsTensor& tensor) const {
    const json& shape = json_member(description, "shape");
    if (!shape.is_array()) throw file_.tensor_error(tensor.name, "shape is not an array");
    if (shape.size() > kMaxDims) {
      throw file_.tensor_error(tensor.name, "shape has " + std::to_string(shape.size()) +
                                                " dimensions, at most " + std::to_string(kMaxDims) +
                                                " are read");
    }
    std::uint64_t values = 1;
    for (const json& dim : shape) {
      if (!dim.is_number_unsigned()) {
        throw file_.tensor_error(tensor.name,
                                 "shape holds " + printable_json(dim) + ", not a size");
      }
      tensor.shape.push_back(dim.get<std::uint64_t>());
      if (__builtin_mul_overflow(values, tensor.shape.back(), &values)) {
        throw file_.tensor_error(tensor.name, "the product of its shape overflows");
      }
    }
    return values;
  }

  void read_offsets(const json& description, SafetensorsTensor& tensor) const {
    const json& offsets = json_member(description, "data_offsets");
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      throw file_.tensor_error(tensor.name, "data_offsets are not two sizes");
    }
    const auto begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
    if (begin > end || end > data_.size()) {
      throw file_.tensor_error(tensor.name, "data_offsets [" + std::to_string(begin) + ", " +
                                                std::to_string(end) + "] are not inside the " +
                                                std::to_string(data_.size()) + " bytes of data" +
                                                (begin <= end ? "; the file is truncated" : ""));
    }
    tensor.data = data_.data() + begin;
    tensor.size_bytes = end - begin;
  }

  const SafetensorsFile& file_;
  std::span<const std::byte> data_;
};

// `tensors` sorted by place: side by side they must be all of `data`.
void check_cover(const SafetensorsFile& file, const std::vector<SafetensorsTensor>& tensors,
                 std::span<const std::byte> data) {
  const std::byte* at = data.data();
  std::string_view before = "the header";
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.data != at) {
      throw file.tensor_error(tensor.name, std::string(tensor.data < at ? "overlaps "
                                                                        : "leaves a "
                                                                          "gap behind ") +
                                               "'" + printable(before) + "'");
    }
    at += tensor.size_bytes;
    before = tensor.name;
  }
  if (at != data.data() + data.size()) {
    throw Error("safetensors", file.path() + ": " + std::to_string(data.data() + data.size() - at) +
                                   " bytes behind '" + printable(before) + "' belong to no tensor");
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), mapping_(path) {
  bytes_ = mapping_->bytes();
  read();
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, std::string name)
    : path_(std::move(name)), bytes_(bytes) {
  read();
}

Error SafetensorsFile::tensor_error(std::string_view name, const std::string& what) const {
  return Error("safetensors", path_ + ": tensor '" + printable(name) + "': " + what);
}

// The header's text, held to the file's size.
std::string_view SafetensorsFile::header() const {
  std::uint64_t header_bytes = 0;
  if (bytes_.size() < sizeof header_bytes) {
    throw Error("safetensors", path_ + ": is truncated within the header's length");
  }
  std::memcpy(&header_bytes, bytes_.data(), sizeof header_bytes);
  const std::uint64_t left = bytes_.size() - sizeof header_bytes;
  if (header_bytes > left || header_bytes > kMaxHeaderBytes) {
    throw Error("safetensors", path_ + ": a header of " + std::to_string(header_bytes) +
                                   " bytes is claimed, " + std::to_string(left) +
                                   " bytes follow and at most " + std::to_string(kMaxHeaderBytes) +
                                   " are allowed; no safetensors file, or a truncated one");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + sizeof header_bytes),
                              header_bytes);
  if (!text.starts_with('{')) {
    throw Error("safetensors", path_ + ": the header does not begin with '{'");
  }
  return text;
}

void SafetensorsFile::read() {
  const std::string_view text = header();
  const auto data = bytes_.subspan(sizeof(std::uint64_t) + text.size());
  const DescriptionReader reader(*this, data);
  bool has_metadata = false;
  const auto take = [&](const std::string& name, const json& description) {
    if (name != "__metadata__") {
      tensors_.push_back(reader.read(name, description));
    } else if (has_metadata || !description.is_object()) {
      throw tensor_error(name, "must be one object");
    } else {
      has_metadata = true;
    }
  };
  parse_json(text, path_, kHeaderLimits, {{{}, take}});
  // Empty tensors go before what begins where they do.
  std::ranges::stable_sort(tensors_, [](const auto& a, const auto& b) {
    return a.data != b.data ? a.data < b.data : a.size_bytes < b.size_bytes;
  });
  check_cover(*this, tensors_, data);
  for (std::size_t at = 0; at < tensors_.size(); ++at) {
    if (!index_.emplace(tensors_[at].name, at).second) {
      throw tensor_error(tensors_[at].name, "occurs twice in the header");
    }
  }
}

const SafetensorsTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

void SafetensorsFile::read_ahead(const std::function<void(double)>& progress) const {
  if (mapping_) mapping_->read_ahead(progress);
}

void SafetensorsFile::release(std::span<const std::byte> part) const {
  if (mapping_) mapping_->release(part);
}

}  // namespace tandem::model
