// SPDX-License-Identifier: Apache-2.0
//
// dlopen once, with the reason kept where it fails.
#include "collectives/transport/nccl/library.h"

#include <dlfcn.h>

namespace tandem::collectives::nccl {
namespace {

struct Loaded {
  Library functions;
  std::string reason;

  Loaded() {
    void* handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reason = std::string("NCCL cannot be loaded: ") + dlerror();
      return;
    }
    find(handle, "ncclGetUniqueId", functions.get_unique_id);
    find(handle, "ncclCommInitRankConfig", functions.comm_init);
    find(handle, "ncclCommFinalize", functions.comm_finalize);
    find(handle, "ncclCommDestroy", functions.comm_destroy);
    find(handle, "ncclCommAbort", functions.comm_abort);
    find(handle, "ncclCommGetAsyncError", functions.async_error);
    find(handle, "ncclGroupStart", functions.group_start);
    find(handle, "ncclGroupEnd", functions.group_end);
    find(handle, "ncclSend", functions.send);
    find(handle, "ncclRecv", functions.receive);
    find(handle, "ncclGetErrorString", functions.error_string);
    functions.comm_shrink = reinterpret_cast<ShrinkFunction>(dlsym(handle, "ncclCommShrink"));
  }

  template <typename Function>
  void find(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) reason = std::string("libnccl.so.2 is too old: it has no ") + name;
  }
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

const Library* library() { return loaded().reason.empty() ? &loaded().functions : nullptr; }

const std::string& library_reason() { return loaded().reason; }

}  // namespace tandem::collectives::nccl
