// SPDX-License-Identifier: Apache-2.0
//
// GGUF serialisation: header, metadata, tensor table, then aligned tensor data.
#include "model/loader/gguf/gguf_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <type_traits>

#include "common/error.h"
#include "model/loader/gguf/gguf_types.h"

namespace tandem::model {
namespace {

constexpr std::uint64_t kAlignment = 32;

template <typename T>
void put(std::string& out, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void put_string(std::string& out, std::string_view text) {
  put<std::uint64_t>(out, text.size());
  out.append(text);
}

template <typename T>
std::string scalar(T value) {
  std::string out;
  put(out, value);
  return out;
}

template <typename T>
std::string array(GgufType type, const std::vector<T>& values) {
  std::string out;
  put(out, static_cast<std::uint32_t>(type));
  put<std::uint64_t>(out, values.size());
  for (const T& value : values) {
    if constexpr (std::is_same_v<T, std::string>) {
      put_string(out, value);
    } else {
      put(out, value);
    }
  }
  return out;
}

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

// Throws at once when a write fails: the next tensor may take minutes.
void put_bytes(std::ostream& out, const void* data, std::size_t size) {
  errno = 0;
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  out.flush();
  if (!out) {
    throw Error("gguf",
                std::string("cannot write: ") + (errno != 0 ? std::strerror(errno) : "no reason"));
  }
}

}  // namespace

void GgufWriter::set_raw(std::string_view key, std::uint32_t type, std::string_view payload) {
  put_string(fields_, key);
  put(fields_, type);
  fields_.append(payload);
  ++num_fields_;
}

void GgufWriter::set_typed(std::string_view key, GgufType type, std::string_view payload) {
  set_raw(key, static_cast<std::uint32_t>(type), payload);
}

void GgufWriter::set_u32(std::string_view key, std::uint32_t value) {
  set_typed(key, GgufType::kU32, scalar(value));
}
void GgufWriter::set_u64(std::string_view key, std::uint64_t value) {
  set_typed(key, GgufType::kU64, scalar(value));
}
void GgufWriter::set_f32(std::string_view key, float value) {
  set_typed(key, GgufType::kF32, scalar(value));
}
void GgufWriter::set_bool(std::string_view key, bool value) {
  set_typed(key, GgufType::kBool, scalar<std::uint8_t>(value ? 1 : 0));
}

void GgufWriter::set_string(std::string_view key, std::string_view value) {
  std::string payload;
  put_string(payload, value);
  set_typed(key, GgufType::kString, payload);
}

void GgufWriter::set_strings(std::string_view key, const std::vector<std::string>& values) {
  set_typed(key, GgufType::kArray, array(GgufType::kString, values));
}
void GgufWriter::set_f32s(std::string_view key, const std::vector<float>& values) {
  set_typed(key, GgufType::kArray, array(GgufType::kF32, values));
}
void GgufWriter::set_i32s(std::string_view key, const std::vector<std::int32_t>& values) {
  set_typed(key, GgufType::kArray, array(GgufType::kI32, values));
}

void GgufWriter::add_tensor(std::string_view name, const std::vector<std::uint64_t>& dims,
                            DType dtype, Fill fill) {
  std::uint64_t values = 1;
  for (const std::uint64_t dim : dims) values *= dim;
  const auto type = gguf_tensor_type(dtype);
  if (!type) {
    throw Error("gguf", "tensors of type " + std::string(dtype_name(dtype)) +
                            " cannot be written; use " + gguf_readable_tensor_types());
  }
  tensors_.push_back(
      {std::string(name), dims, *type, dtype_row_bytes(dtype, values), std::move(fill)});
}

void GgufWriter::add_tensor(std::string_view name, const std::vector<std::uint64_t>& dims,
                            const std::vector<float>& values) {
  add_tensor(name, dims, DType::kF32, [values](std::byte* data, std::size_t size) {
    std::memcpy(data, values.data(), std::min(size, values.size() * sizeof(float)));
  });
}

void GgufWriter::write(std::ostream& out) const {
  std::string header = "GGUF";
  put<std::uint32_t>(header, 3);
  put<std::uint64_t>(header, tensors_.size());
  put<std::uint64_t>(header, num_fields_);
  header += fields_;
  std::uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    put_string(header, tensor.name);
    put<std::uint32_t>(header, static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::uint64_t dim : tensor.dims) put(header, dim);
    put(header, tensor.type);
    put(header, offset);
    offset = aligned(offset + tensor.size_bytes);
  }
  header.resize(aligned(header.size()));
  put_bytes(out, header.data(), header.size());
  std::vector<std::byte> data;
  for (const Tensor& tensor : tensors_) {
    data.assign(aligned(tensor.size_bytes), std::byte{0});
    tensor.fill(data.data(), tensor.size_bytes);
    put_bytes(out, data.data(), data.size());
  }
}

void GgufWriter::save(const std::string& path) const {
  const auto fail = [&] {
    throw Error("gguf", "cannot write " + path + ": " + std::strerror(errno));
  };
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) fail();
  write(out);
  out.close();
  if (!out) fail();
}

std::string GgufWriter::bytes() const {
  std::ostringstream out;
  write(out);
  return std::move(out).str();
}

}  // namespace tandem::model
