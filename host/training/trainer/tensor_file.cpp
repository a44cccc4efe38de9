// SPDX-License-Identifier: Apache-2.0
//
// Files of a checkpoint (declared in checkpoint.h): raw bytes, and safetensors of f32.
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

// A new file that is removed unless it is complete.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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

std::string header_of(const std::vector<StoredTensor>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    const std::uint64_t begin = end;
    end += tensor.values.size_bytes();
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
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
  const std::string header = header_of(tensors);
  const std::uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const StoredTensor& tensor : tensors) file.write(std::as_bytes(tensor.values));
  file.keep();
}

void read_tensors(const std::string& path, const std::vector<WantedTensor>& tensors) {
  const model::SafetensorsFile file(path);
  std::set<std::string> names;
  for (const WantedTensor& wanted : tensors) {
    names.insert(wanted.name);
    const model::SafetensorsTensor* found = file.find(wanted.name);
    if (found == nullptr) {
      throw Error("train", "'" + path + "' is of another model: it has no '" + wanted.name + "'");
    }
    const std::vector<std::uint64_t> shape(wanted.shape.begin(), wanted.shape.end());
    if (found->shape != shape || found->size_bytes != wanted.values.size_bytes()) {
      throw file.tensor_error(wanted.name, "has another shape than the model's");
    }
    std::memcpy(wanted.values.data(), found->data, found->size_bytes);
  }
  for (const model::SafetensorsTensor& tensor : file.tensors()) {
    if (!names.contains(tensor.name)) {
      throw Error("train", "'" + path + "' is of another model: it has '" + tensor.name + "'");
    }
  }
}

}  // namespace tandem::training
