// SPDX-License-Identifier: Apache-2.0
//
// Buffer: memory of a compute unit, and Slice: a place inside one.
//
// Ownership: a Buffer belongs to the caller that allocated it, and the unit outlives it. A Slice
// borrows. Threads: the unit's submitting thread.
#pragma once

#include <cstddef>
#include <span>

namespace tandem::device {

enum class MemoryKind {
  kDevice,  // where the unit computes fastest
  kHost,    // readable and writable by the host and by attention units: pinned memory on a GPU
};

class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::size_t size_bytes() const = 0;

  // The bytes as the host sees them; empty if the buffer is not host memory. Valid as long as the
  // buffer. The contents are those at the last wait() of the unit.
  virtual std::span<std::byte> host() = 0;

  // The bytes as units of the same device see them; host().data() if that is not empty. Only such
  // units may read or write through it.
  virtual std::byte* address() = 0;
};

struct Slice {
  Buffer* buffer = nullptr;
  std::size_t offset_bytes = 0;

  explicit operator bool() const { return buffer != nullptr; }
};

// The `count` floats that begin at the slice, at the address that units of its device use.
inline std::span<float> device_floats(const Slice& slice, std::size_t count) {
  return {reinterpret_cast<float*>(slice.buffer->address() + slice.offset_bytes), count};
}

// The `count` floats of a host buffer that begin at the slice.
inline std::span<float> host_floats(const Slice& slice, std::size_t count) {
  return {reinterpret_cast<float*>(slice.buffer->host().data() + slice.offset_bytes), count};
}

}  // namespace tandem::device
