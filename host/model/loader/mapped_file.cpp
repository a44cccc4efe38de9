// SPDX-License-Identifier: Apache-2.0
//
// mmap of a regular file.
#include "model/loader/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "common/error.h"

namespace tandem::model {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error("model", path + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // Without it, opening a pipe blocks until another process opens it for writing.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail(path, "cannot open the model file");
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    throw Error(
        "model",
        path + ": not a regular file; name a GGUF file, or a directory as published on model hubs");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    ::close(file);
    return;  // an empty mapping is not allowed; empty bytes say the same
  }
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (mapping == MAP_FAILED) fail(path, "cannot map " + std::to_string(size) + " bytes");
  bytes_ = {static_cast<const std::byte*>(mapping), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedFile::read_ahead(const std::function<void(double)>& progress) const {
  constexpr std::size_t kChunk = std::size_t{64} << 20, kPage = 4096;
  unsigned sum = 0;
  for (std::size_t at = 0; at < bytes_.size(); at += kChunk) {
    const std::size_t end = std::min(bytes_.size(), at + kChunk);
    ::madvise(const_cast<std::byte*>(bytes_.data() + at), end - at, MADV_WILLNEED);
    for (std::size_t page = at; page < end; page += kPage) {
      sum += static_cast<unsigned>(*static_cast<const volatile std::byte*>(&bytes_[page]));
    }
    if (progress) progress(static_cast<double>(end) / static_cast<double>(bytes_.size()));
  }
  static_cast<void>(sum);
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const std::uintptr_t begin = std::max(address(part.data()), address(bytes_.data()));
  const std::uintptr_t end =
      std::min(address(part.data() + part.size()), address(bytes_.data() + bytes_.size()));
  const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace tandem::model
