// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the nccl transport in builds without CUDA or NCCL: says how to enable it.
#include "transport/nccl/nccl.h"

namespace tandem::transport::nccl {

bool available() { return false; }

std::string unavailable_reason() {
  return "this build has no nccl transport: install the CUDA toolkit and nccl.h, then configure "
         "again";
}

UniqueId make_unique_id() { throw Error("transport", unavailable_reason()); }

std::unique_ptr<Transport> connect(const Options&) {
  throw Error("transport", unavailable_reason());
}

}  // namespace tandem::transport::nccl
