// SPDX-License-Identifier: Apache-2.0
//
// NcclCalls over the functions of libnccl.so.2.
#include "cuda/group/nccl_calls.h"

#include "common/nccl_library.h"

namespace tandem::cuda {
namespace {

ncclComm_t comm_of(NcclCalls::Comm comm) { return static_cast<ncclComm_t>(comm); }

NcclCalls forwarding_calls() {
  NcclCalls calls;
  calls.make_comms = [](NcclCalls::Comm* comms, int count, const int* devices) {
    return static_cast<int>(
        nccl_library()->comm_init_all(reinterpret_cast<ncclComm_t*>(comms), count, devices));
  };
  calls.destroy_comm = [](NcclCalls::Comm comm) {
    return static_cast<int>(nccl_library()->comm_destroy(comm_of(comm)));
  };
  calls.abort_comm = [](NcclCalls::Comm comm) {
    return static_cast<int>(nccl_library()->comm_abort(comm_of(comm)));
  };
  calls.async_error = [](NcclCalls::Comm comm) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t result = nccl_library()->async_error(comm_of(comm), &state);
    return static_cast<int>(result != ncclSuccess ? result : state);
  };
  calls.begin_group = [] { return static_cast<int>(nccl_library()->group_start()); };
  calls.end_group = [] { return static_cast<int>(nccl_library()->group_end()); };
  calls.add_up = [](float* values, std::size_t count, NcclCalls::Comm comm, cudaStream_t stream) {
    return static_cast<int>(nccl_library()->all_reduce(values, values, count, ncclFloat32, ncclSum,
                                                       comm_of(comm), stream));
  };
  calls.error_string = [](int result) {
    return nccl_library()->error_string(static_cast<ncclResult_t>(result));
  };
  return calls;
}

}  // namespace

const NcclCalls* nccl_calls() {
  static const NcclCalls calls = forwarding_calls();
  return nccl_library() == nullptr ? nullptr : &calls;
}

const std::string& nccl_reason() { return nccl_library_reason(); }

}  // namespace tandem::cuda
