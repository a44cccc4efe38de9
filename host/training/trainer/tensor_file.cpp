// SPDX-License-Identifier: Apache-2.0
//
// Files of a checkpoint (declared in checkpoint.h): raw bytes, and safetensors of f32. Parts are
// written at their places in a file of full length.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "common/error.h"
#include "model/loader/safetensors/safetensors_file.h"
#include "training/trainer/checkpoint.h"

namespace tandem::training {
namespace {

// A new file that is removed unless it is complete; or, with other flags, an existing one.
class NewFile {
 public:
  explicit NewFile(std::string path, int flags = O_CREAT | O_TRUNC) : path_(std::move(path)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
    if (file_ < 0) fail(errno);
  }
  ~NewFile() {
    if (file_ < 0) return;
    ::close(file_);
    ::unlink(path_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail(count < 0 ? errno : ENOSPC);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  void lengthen(std::uint64_t bytes) {
    if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail(errno);
  }
  void seek(std::uint64_t byte) {
    if (::lseek(file_, static_cast<off_t>(byte), SEEK_SET) < 0) fail(errno);
  }
  void keep() {
    if (::fsync(file_) != 0 && errno != EINVAL) fail(errno);
    const int file = std::exchange(file_, -1);
    if (::close(file) != 0) fail(errno);
  }

 private:
  [[noreturn]] void fail(int error) const {
    throw Error("train", "cannot write '" + path_ + "': " + std::strerror(error));
  }

  std::string path_;
  int file_ = -1;
};

std::uint64_t count_of(const std::vector<std::int64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

// Writes the head of a file; returns the bytes of the whole.
std::uint64_t write_head(NewFile& file, const std::vector<TensorPlace>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t end = 0;
  for (const TensorPlace& tensor : tensors) {
    const std::uint64_t begin = end;
    end += count_of(tensor.shape) * sizeof(float);
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(text)));
  return sizeof(length) + length + end;
}

struct PlacedPart {
  std::uint64_t byte = 0;  // offset in the file
  std::span<const float> values;
};

std::vector<PlacedPart> placed(const std::string& path, const std::vector<TensorPart>& parts) {
  const model::SafetensorsFile file(path);
  std::vector<PlacedPart> result;
  if (parts.empty()) return result;
  std::uint64_t values = 0;
  const std::byte* begin = file.tensors().front().data;
  for (const model::SafetensorsTensor& tensor : file.tensors()) {
    values += tensor.size_bytes;
    begin = std::min(begin, tensor.data);
  }
  for (const TensorPart& part : parts) {
    const model::SafetensorsTensor* found = file.find(part.name);
    const std::uint64_t first = part.first * sizeof(float);
    if (found == nullptr || found->size_bytes < first + part.values.size_bytes()) {
      throw file.tensor_error(part.name, "has no room for values that are to be written");
    }
    const auto place = static_cast<std::uint64_t>(found->data - begin);
    result.push_back({file.size_bytes() - values + place + first, part.values});
  }
  return result;
}

}  // namespace

void write_bytes(const std::string& path, std::span<const std::byte> bytes) {
  NewFile file(path);
  file.write(bytes);
  file.keep();
}

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Error("train", "cannot read '" + path + "': " + std::strerror(errno));
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw Error("train", "cannot read '" + path + "': " + std::strerror(errno));
  return bytes;
}

void write_tensors(const std::string& path, const std::vector<StoredTensor>& tensors) {
  NewFile file(path);
  std::vector<TensorPlace> places;
  for (const StoredTensor& tensor : tensors) places.push_back({tensor.name, tensor.shape});
  write_head(file, places);
  for (const StoredTensor& tensor : tensors) file.write(std::as_bytes(tensor.values));
  file.keep();
}

void create_tensors(const std::string& path, const std::vector<TensorPlace>& tensors) {
  NewFile file(path);
  file.lengthen(write_head(file, tensors));
  file.keep();
}

void write_parts(const std::string& path, const std::vector<TensorPart>& parts) {
  const std::vector<PlacedPart> places = placed(path, parts);
  NewFile file(path, 0);
  for (const PlacedPart& part : places) {
    file.seek(part.byte);
    file.write(std::as_bytes(part.values));
  }
  file.keep();
}

void read_tensors(const std::string& path, const std::vector<WantedTensor>& tensors) {
  const model::SafetensorsFile file(path);
  std::set<std::string> names;
  for (const WantedTensor& wanted : tensors) {
    names.insert(wanted.name);
    const model::SafetensorsTensor* found = file.find(wanted.name);
    if (found == nullptr) {
      throw Error("train", "'" + path + "' is of another model: it has no '" + wanted.name +
                               "'; resume with the model and optimizer that it was saved with");
    }
    const std::vector<std::uint64_t> shape(wanted.shape.begin(), wanted.shape.end());
    const std::uint64_t first = wanted.first * sizeof(float);
    if (found->shape != shape || found->dtype != DType::kF32 ||
        found->size_bytes < first + wanted.values.size_bytes()) {
      throw file.tensor_error(wanted.name, "has another shape than the model's");
    }
    if (wanted.values.empty()) continue;
    std::memcpy(wanted.values.data(), found->data + first, wanted.values.size_bytes());
  }
  for (const model::SafetensorsTensor& tensor : file.tensors()) {
    if (!names.contains(tensor.name)) {
      throw Error("train", "'" + path + "' is of another model: it has '" + tensor.name +
                               "'; resume with the model and optimizer that it was saved with");
    }
  }
}

}  // namespace tandem::training
