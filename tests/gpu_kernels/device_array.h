// SPDX-License-Identifier: Apache-2.0
//
// DeviceArray: device memory of a test, filled with a pattern, with a fence of the pattern on both
// sides.
//
// download() checks the fences: a kernel that writes outside its array fails its test.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/kernel_path.h"

namespace tandem::gpu_kernels {

inline void check_cuda(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&memory_), bytes() + 2 * kFence));
    check_cuda(cudaMemset(memory_, kPattern, bytes() + 2 * kFence));
  }
  explicit DeviceArray(std::span<const T> values) : DeviceArray(values.size()) {
    check_cuda(cudaMemcpy(data(), values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(std::span<const T>(values)) {}
  ~DeviceArray() { cudaFree(memory_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return reinterpret_cast<T*>(memory_ + kFence); }

  std::vector<T> download() {
    check_cuda(cudaDeviceSynchronize());
    std::vector<unsigned char> all(bytes() + 2 * kFence);
    check_cuda(cudaMemcpy(all.data(), memory_, all.size(), cudaMemcpyDeviceToHost));
    for (std::size_t at = 0; at < kFence; ++at) {
      EXPECT_EQ(all[at], kPattern) << "written before the array";
      EXPECT_EQ(all[kFence + bytes() + at], kPattern) << "written behind the array";
    }
    std::vector<T> values(size_);
    std::copy_n(all.data() + kFence, bytes(), reinterpret_cast<unsigned char*>(values.data()));
    return values;
  }

 private:
  static constexpr std::size_t kFence = 256;
  static constexpr unsigned char kPattern = 0xa5;
  std::size_t bytes() const { return size_ * sizeof(T); }

  std::size_t size_;
  unsigned char* memory_ = nullptr;
};

// A run of a test: on a GPU, or under the SIMT interpreter in one of its orders. Each program
// defines its runs. start_run returns an empty string, or why the run is impossible.
std::vector<int> runs();
std::string name_of_run(int run);
std::string start_run(int run);

// Whether the path's kernels can run there.
bool runs_path(KernelPath path);

// Starts the run, or skips the test; TANDEM_TEST_REQUIRE=cuda makes that a failure.
void start_or_skip(int run);

class KernelTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { start_or_skip(GetParam()); }
};

}  // namespace tandem::gpu_kernels
