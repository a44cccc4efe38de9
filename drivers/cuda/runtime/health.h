// SPDX-License-Identifier: Apache-2.0
//
// Health: whether a GPU still works, for all units of it.
//
// CUDA's errors of a device are sticky: after one, every later call in the process fails. So the
// first such error loses the GPU for good, with what was tried and why; from then on require()
// fails at once and no unit asks the driver again. An error that is a call's own (an argument or a
// shape that it refuses, full memory) leaves the GPU as it was: check() throws Error for it. Where
// the work before is waited for, no call is to blame, and note() loses the GPU for any error.
// Threads: any.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <string>

namespace tandem::cuda {

// Whether an error says something of the call that returned it, and nothing of the GPU.
bool is_of_call(cudaError_t error);

class Health {
 public:
  explicit Health(std::string device) : device_(std::move(device)) {}

  const std::string& device() const { return device_; }  // "cuda:0"
  bool lost() const { return lost_; }

  // Throws DeviceError when the GPU is lost.
  void require() const;

  // What a call of the runtime said. Throws Error where is_of_call(); else DeviceError, and the GPU
  // is lost.
  void check(cudaError_t error, const char* what);

  // Takes note without a throw; true when all is well.
  bool note(cudaError_t error, const char* what);

  // It does not answer, or does what it should not.
  void lose(const std::string& reason);

 private:
  const std::string device_;
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace tandem::cuda
