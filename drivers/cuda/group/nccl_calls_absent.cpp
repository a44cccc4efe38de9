// SPDX-License-Identifier: Apache-2.0
//
// Stands in for NCCL in builds without its header: sums of several GPUs go through host memory.
#include "cuda/group/nccl_calls.h"

namespace tandem::cuda {

const NcclCalls* nccl_calls() { return nullptr; }

const std::string& nccl_reason() {
  static const std::string reason =
      "this build has no NCCL: install nccl.h beside the CUDA toolkit, then configure again";
  return reason;
}

}  // namespace tandem::cuda
