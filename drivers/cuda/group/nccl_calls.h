// SPDX-License-Identifier: Apache-2.0
//
// NcclCalls: the NCCL functions that NcclReducer uses, without NCCL's header; a test can replace
// them.
//
// nccl_calls() forwards to the process's one NCCL (common/nccl_library.h), which it loads.
// Threads: any. Errors: a result other than 0 is NCCL's; error_string() says what it means.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace tandem::cuda {

struct NcclCalls {
  using Comm = void*;
  // Makes one communicator per device, for this process alone. comms, devices: [count].
  int (*make_comms)(Comm* comms, int count, const int* devices) = nullptr;
  int (*destroy_comm)(Comm comm) = nullptr;
  int (*abort_comm)(Comm comm) = nullptr;  // ends kernels that wait for a lost peer
  int (*async_error)(Comm comm) = nullptr;
  int (*begin_group)() = nullptr;
  int (*end_group)() = nullptr;
  // values[i] = the sum over all communicators, f32, in place.
  int (*add_up)(float* values, std::size_t count, Comm comm, cudaStream_t stream) = nullptr;
  const char* (*error_string)(int result) = nullptr;
};

// Null where NCCL cannot be used, or this build lacks its header; nccl_reason() then says why.
const NcclCalls* nccl_calls();
const std::string& nccl_reason();

}  // namespace tandem::cuda
