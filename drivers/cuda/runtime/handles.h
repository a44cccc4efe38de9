// SPDX-License-Identifier: Apache-2.0
//
// Owning handles of the CUDA runtime: streams, events, device memory, pinned host memory.
//
// Errors: check() throws DeviceError with the attempted action and the runtime's name for the
// error. Destructors ignore errors, because the device may be lost. A handle belongs to the device
// that is current when it is made. Waits poll, so that they can keep a deadline. Threads: a Buffer
// is used by one thread at a time; the rest as the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>

#include "common/deadline.h"

namespace tandem::cuda {

void check(cudaError_t error, const char* what);

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDisableTiming);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream);
  cudaError_t try_record(const Stream& stream);
  // False when the deadline passes first. Throws DeviceError when the work before it failed.
  bool wait(Deadline deadline) const;
  // cudaErrorNotReady when the deadline passes first.
  cudaError_t poll(Deadline deadline) const;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

enum class Memory { kDevice, kPinned };

// Memory that grows on demand. When it grows, its contents are lost.
template <Memory kind>
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { release(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Makes room for at least `bytes`. When it has to grow, it waits for the device. When memory is
  // exhausted, it throws DeviceError, and the buffer is empty.
  std::byte* reserve(std::size_t bytes);
  std::byte* data() const { return data_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  std::size_t size_bytes() const { return bytes_; }
  // Releases the memory without freeing it, because work may still use it.
  void leak() { data_ = nullptr; }

 private:
  void release();
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

using DeviceBuffer = Buffer<Memory::kDevice>;
using PinnedBuffer = Buffer<Memory::kPinned>;

}  // namespace tandem::cuda
