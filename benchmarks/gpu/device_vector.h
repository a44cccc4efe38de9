// SPDX-License-Identifier: Apache-2.0
//
// Device memory of a benchmark, and the try block around its main(). Threads: one. Errors:
// std::runtime_error with the runtime's text.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace tandem::bench {

inline void check_cuda(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(std::size_t size) : size_(size) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)));
    check_cuda(cudaMemset(data_, 0xa5, size * sizeof(T)));
    check_cuda(cudaDeviceSynchronize());  // streams that do not block wait for neither
  }
  explicit DeviceVector(const std::vector<T>& values) : DeviceVector(values.size()) {
    check_cuda(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
    check_cuda(cudaDeviceSynchronize());
  }
  ~DeviceVector() { cudaFree(data_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::vector<T> download() const {
    std::vector<T> values(size_);
    check_cuda(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// What every benchmark's main() does: 77 without a GPU, 1 with the reason where `run` fails.
template <typename Run>
int run_on_gpu(const char* program, const Run& run) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    std::fprintf(stderr, "%s: no GPU: %s\n", program, cudaGetErrorString(error));
    return 77;
  }
  try {
    run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", program, failure.what());
    return 1;
  }
  return 0;
}

}  // namespace tandem::bench
