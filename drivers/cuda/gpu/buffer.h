// SPDX-License-Identifier: Apache-2.0
//
// CudaBuffer: memory of a compute unit on a GPU, and slices of it as pointers.
//
// Host buffers are pinned and mapped: kernels use them by the host's address, over the link.
// Contents are undefined until written. Threads: the submitting thread.
#pragma once

#include <cstddef>
#include <span>

#include "cuda/gpu/gpu.h"
#include "device/buffer.h"

namespace tandem::cuda {

class CudaBuffer final : public device::Buffer {
 public:
  CudaBuffer(Gpu& gpu, std::size_t size_bytes, device::MemoryKind kind)
      : gpu_(gpu),
        size_bytes_(size_bytes),
        is_host_(kind == device::MemoryKind::kHost),
        range_(is_host_ ? gpu.pinned_memory : gpu.device_memory, size_bytes,
               Purpose::kActivations) {}

  std::size_t size_bytes() const override { return size_bytes_; }
  std::span<std::byte> host() override {
    if (!is_host_) return {};
    return {range_.data(), size_bytes_};
  }
  std::byte* address() override { return range_.data(); }
  const Gpu& gpu() const { return gpu_; }
  bool is_host() const { return is_host_; }

 private:
  const Gpu& gpu_;
  const std::size_t size_bytes_;
  const bool is_host_;
  const PoolRange range_;
};

// Returns the address of the first `bytes` bytes of a slice. Throws Error naming `what` where the
// slice is missing, of another unit, misaligned (to 4 bytes) or too short.
std::byte* bytes_of(const Gpu& gpu, const device::Slice& slice, std::size_t bytes,
                    const char* what);

// Returns the address of the first `count` floats of a slice.
inline float* floats_of(const Gpu& gpu, const device::Slice& slice, std::size_t count,
                        const char* what) {
  return reinterpret_cast<float*>(bytes_of(gpu, slice, count * sizeof(float), what));
}

// Converts a count. Throws Error naming `what` if it is negative.
std::size_t count_of(std::int64_t count, const char* what);

}  // namespace tandem::cuda
