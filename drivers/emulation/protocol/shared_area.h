// SPDX-License-Identifier: Apache-2.0
//
// SharedArea: a memory area that two processes share: an anonymous file (memfd) and its mapping.
// The system allocates its pages at the first access.
//
// Errors: std::system_error if the area cannot be made or mapped. Threads: any. Move-only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::emulation {

class SharedArea {
 public:
  SharedArea() = default;
  // Makes a new area of `size_bytes`, zero-filled; at least `reserved_bytes` of the address space
  // after it are kept inaccessible.
  static SharedArea create(const char* name, uint64_t size_bytes, uint64_t reserved_bytes = 0);
  // Maps the area of `descriptor`, which the object then owns.
  static SharedArea adopt(int descriptor, uint64_t size_bytes);
  // Maps `size_bytes` from `offset` on of the area of `descriptor`, which the caller owns.
  static SharedArea window(int descriptor, uint64_t offset, uint64_t size_bytes);

  SharedArea(SharedArea&& other) noexcept;
  SharedArea& operator=(SharedArea&& other) noexcept;
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;
  ~SharedArea();

  std::byte* data() const { return data_; }
  uint64_t size_bytes() const { return size_bytes_; }
  int descriptor() const { return descriptor_; }
  // Returns the pages of an interval to the system; they read as zero afterwards.
  void discard(uint64_t offset, uint64_t size_bytes) const;

 private:
  void map(const char* what, int descriptor, uint64_t offset);

  int descriptor_ = -1;
  uint64_t size_bytes_ = 0;
  uint64_t reserved_bytes_ = 0;  // address space after the mapping, including its guard
  std::byte* data_ = nullptr;
};

}  // namespace tandem::emulation
