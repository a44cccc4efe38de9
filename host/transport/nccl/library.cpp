// SPDX-License-Identifier: Apache-2.0
//
// dlopen once, with the reason kept where it fails.
#include "transport/nccl/library.h"

#include "common/loaded_library.h"

namespace tandem::transport::nccl {
namespace {

struct Loaded {
  Library functions;
  LoadedLibrary library{"NCCL", "libnccl.so.2"};

  Loaded() {
    library.find("ncclGetUniqueId", functions.get_unique_id);
    library.find("ncclCommInitRankConfig", functions.comm_init);
    library.find("ncclCommFinalize", functions.comm_finalize);
    library.find("ncclCommDestroy", functions.comm_destroy);
    library.find("ncclCommAbort", functions.comm_abort);
    library.find("ncclCommGetAsyncError", functions.async_error);
    library.find("ncclGroupStart", functions.group_start);
    library.find("ncclGroupEnd", functions.group_end);
    library.find("ncclSend", functions.send);
    library.find("ncclRecv", functions.receive);
    library.find("ncclGetErrorString", functions.error_string);
    functions.comm_shrink = library.find_optional<ShrinkFunction>("ncclCommShrink");
  }
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

const Library* library() {
  return loaded().library.reason().empty() ? &loaded().functions : nullptr;
}

const std::string& library_reason() { return loaded().library.reason(); }

}  // namespace tandem::transport::nccl
