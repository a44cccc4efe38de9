// SPDX-License-Identifier: Apache-2.0
//
// Staging: a pinned buffer and a device buffer of equal size, and copies between them on a stream.
//
// Grows on demand; its contents are then lost. Threads: one. Errors: DeviceError with the runtime's
// text. Freeing waits for the device, so release() leaks the memory when kernels may hang.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

#include "common/error.h"

namespace tandem::transport::nccl {

inline void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw DeviceError("nccl", std::string(what) + ": " + cudaGetErrorString(error));
}

class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() {
    cudaFreeHost(host_);
    cudaFree(device_);
  }

  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) return;
    cudaFreeHost(std::exchange(host_, nullptr));
    cudaFree(std::exchange(device_, nullptr));
    bytes_ = 0;
    check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&host_), bytes, cudaHostAllocDefault),
               "taking pinned memory");
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&device_), bytes), "taking device memory");
    bytes_ = bytes;
  }
  void release() {
    host_ = nullptr;
    device_ = nullptr;
    bytes_ = 0;
  }

  std::byte* host() const { return host_; }
  std::byte* device() const { return device_; }

  void to_device(std::size_t begin, std::size_t bytes, cudaStream_t stream) {
    if (bytes == 0) return;
    check_cuda(
        cudaMemcpyAsync(device_ + begin, host_ + begin, bytes, cudaMemcpyHostToDevice, stream),
        "copying to the device");
  }
  void to_host(std::size_t begin, std::size_t bytes, cudaStream_t stream) {
    if (bytes == 0) return;
    check_cuda(
        cudaMemcpyAsync(host_ + begin, device_ + begin, bytes, cudaMemcpyDeviceToHost, stream),
        "copying from the device");
  }

 private:
  std::byte* host_ = nullptr;
  std::byte* device_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tandem::transport::nccl
