// SPDX-License-Identifier: Apache-2.0
//
// Health: whether a GPU still works; all its units share it.
//
// CUDA's device errors are sticky: after one, every later call of the process fails. The first such
// error therefore loses the GPU permanently, with a reason; require() then fails at once and no
// unit calls the driver again. An error of a single call (a bad argument or shape, full memory)
// leaves the GPU usable: check() throws Error for it. A wait reports errors of earlier work, so
// note() loses the GPU for any error. Threads: any.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <string>

namespace tandem::cuda {

// Whether an error concerns only the call that returned it, not the GPU.
bool is_of_call(cudaError_t error);

class Health {
 public:
  explicit Health(std::string device) : device_(std::move(device)) {}

  const std::string& device() const { return device_; }  // "cuda:0"
  bool lost() const { return lost_; }

  // Throws DeviceError when the GPU is lost.
  void require() const;

  // Checks the result of a call of the runtime. Throws Error where is_of_call(); else DeviceError,
  // and the GPU is lost.
  void check(cudaError_t error, const char* what);

  // Records the result without throwing. Returns true for success.
  bool note(cudaError_t error, const char* what);

  // Marks the GPU as lost, for example because it does not answer.
  void lose(const std::string& reason);

 private:
  const std::string device_;
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace tandem::cuda
