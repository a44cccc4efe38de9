// SPDX-License-Identifier: Apache-2.0
//
// Keeps the first reason of a loss.
#include "cuda/runtime/health.h"

#include "common/error.h"

namespace tandem::cuda {
namespace {

std::string describe(cudaError_t error, const char* what) {
  std::string reason =
      std::string(what) + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
  if (error == cudaErrorMemoryAllocation) {
    reason += "; leave the driver more memory: lower --kv-memory";
  }
  return reason;
}

}  // namespace

bool is_of_call(cudaError_t error) {
  return error == cudaErrorInvalidValue || error == cudaErrorInvalidConfiguration ||
         error == cudaErrorMemoryAllocation;
}

void Health::require() const {
  if (!lost_) return;
  const std::lock_guard lock(mutex_);
  throw DeviceError("cuda", device_ + " is lost: " + reason_);
}

void Health::check(cudaError_t error, const char* what) {
  if (is_of_call(error) && !lost_) {
    cudaGetLastError();  // what follows must not find it
    throw Error("cuda", device_ + ": " + describe(error, what));
  }
  if (!note(error, what)) require();
}

bool Health::note(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return true;
  lose(describe(error, what));
  return false;
}

void Health::lose(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (lost_) return;
  reason_ = reason;
  lost_ = true;
}

}  // namespace tandem::cuda
