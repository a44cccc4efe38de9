// SPDX-License-Identifier: Apache-2.0
//
// NcclLibrary: the functions of libnccl.so.2, for every user of NCCL in the tree.
//
// The library is loaded at the first call of nccl_library() and stays loaded, so that a program
// starts on machines without NCCL. Part of the tree only where nccl.h is (target tandem_nccl).
// Threads: any. Errors: nccl_library_reason() says what is missing.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>

// nccl.h declares it from version 2.27 on.
struct ncclWindow_vidmem;

namespace tandem {

// nccl.h declares ncclCommShrink from version 2.27 on.
using NcclShrinkFunction = ncclResult_t (*)(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int);

// Windows of symmetric memory, and the ranks that reach each other by loads and stores, as later
// headers declare them.
using NcclWindow = ncclWindow_vidmem*;
struct NcclTeam {
  int num_ranks, rank, stride;
};

struct NcclLibrary {
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) comm_init = nullptr;  // null before NCCL 2.14
  decltype(&ncclCommInitAll) comm_init_all = nullptr;
  decltype(&ncclCommFinalize) comm_finalize = nullptr;  // null before NCCL 2.14
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  NcclShrinkFunction comm_shrink = nullptr;  // null before NCCL 2.27
  // Null before NCCL 2.19, 2.27 and 2.28.
  ncclResult_t (*mem_alloc)(void**, std::size_t) = nullptr;
  ncclResult_t (*mem_free)(void*) = nullptr;
  ncclResult_t (*window_register)(ncclComm_t, void*, std::size_t, NcclWindow*, int) = nullptr;
  ncclResult_t (*window_deregister)(ncclComm_t, NcclWindow) = nullptr;
  NcclTeam (*team_lsa)(ncclComm_t) = nullptr;
};

// Null if the library cannot be used; nccl_library_reason() then says why.
const NcclLibrary* nccl_library();
const std::string& nccl_library_reason();

}  // namespace tandem
