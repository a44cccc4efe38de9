// SPDX-License-Identifier: Apache-2.0
//
// Library: the functions of libnccl.so.2, loaded when first asked for.
//
// So that a program that has this transport starts on machines without NCCL. Threads: any. The
// library stays loaded. Errors: reason() where it is missing or lacks a function.
#pragma once

#include <nccl.h>

#include <string>

namespace tandem::transport::nccl {

// Where the header is older than 2.27 the function does not exist.
using ShrinkFunction = ncclResult_t (*)(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int);

struct Library {
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) comm_init = nullptr;
  decltype(&ncclCommFinalize) comm_finalize = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  ShrinkFunction comm_shrink = nullptr;  // null before NCCL 2.27
};

// Null when the library cannot be used; library_reason() then says why.
const Library* library();
const std::string& library_reason();

}  // namespace tandem::transport::nccl
