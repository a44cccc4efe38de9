// SPDX-License-Identifier: Apache-2.0
//
// NcclCalls over the functions of libnccl.so.2.
#include "cuda/group/nccl_library.h"

#include <nccl.h>

#include "common/loaded_library.h"

namespace tandem::cuda {
namespace {

struct Functions {
  decltype(&ncclCommInitAll) comm_init_all = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
};
Functions functions;

ncclComm_t comm_of(NcclCalls::Comm comm) { return static_cast<ncclComm_t>(comm); }

struct Loaded {
  NcclCalls calls;
  LoadedLibrary library{"NCCL", "libnccl.so.2"};

  Loaded() {
    library.find("ncclCommInitAll", functions.comm_init_all);
    library.find("ncclCommDestroy", functions.comm_destroy);
    library.find("ncclCommAbort", functions.comm_abort);
    library.find("ncclCommGetAsyncError", functions.async_error);
    library.find("ncclGroupStart", functions.group_start);
    library.find("ncclGroupEnd", functions.group_end);
    library.find("ncclAllReduce", functions.all_reduce);
    library.find("ncclGetErrorString", functions.error_string);
    calls.make_comms = [](NcclCalls::Comm* comms, int count, const int* devices) {
      return static_cast<int>(
          functions.comm_init_all(reinterpret_cast<ncclComm_t*>(comms), count, devices));
    };
    calls.destroy_comm = [](NcclCalls::Comm comm) {
      return static_cast<int>(functions.comm_destroy(comm_of(comm)));
    };
    calls.abort_comm = [](NcclCalls::Comm comm) {
      return static_cast<int>(functions.comm_abort(comm_of(comm)));
    };
    calls.async_error = [](NcclCalls::Comm comm) {
      ncclResult_t state = ncclSuccess;
      const ncclResult_t result = functions.async_error(comm_of(comm), &state);
      return static_cast<int>(result != ncclSuccess ? result : state);
    };
    calls.begin_group = [] { return static_cast<int>(functions.group_start()); };
    calls.end_group = [] { return static_cast<int>(functions.group_end()); };
    calls.add_up = [](float* values, std::size_t count, NcclCalls::Comm comm, cudaStream_t stream) {
      return static_cast<int>(
          functions.all_reduce(values, values, count, ncclFloat32, ncclSum, comm_of(comm), stream));
    };
    calls.error_string = [](int result) {
      return functions.error_string(static_cast<ncclResult_t>(result));
    };
  }
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

const NcclCalls* nccl_calls() {
  return loaded().library.reason().empty() ? &loaded().calls : nullptr;
}

const std::string& nccl_reason() { return loaded().library.reason(); }

}  // namespace tandem::cuda
