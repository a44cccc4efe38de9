// SPDX-License-Identifier: Apache-2.0
//
// MappedFile: a file's bytes, read-only, mapped rather than read.
//
// Ownership: owns the mapping; bytes() stay where they are when the object is moved. Threads:
// immutable. A file that shrinks while it is mapped ends the process (SIGBUS), as with every mmap.
// Errors: Error("model", ...) naming the file.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace tandem::model {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }

  // Reads everything into the page cache; calls `progress` with fractions up to 1.
  void read_ahead(const std::function<void(double)>& progress) const;

  // Unmaps the whole pages of `part` that belong to this file from the process's memory. They stay
  // in the page cache and can be read again.
  void release(std::span<const std::byte> part) const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace tandem::model
