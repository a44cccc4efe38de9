// SPDX-License-Identifier: Apache-2.0
//
// Finds NCCL's functions by name, once per process.
#include "common/nccl_library.h"

#include "common/loaded_library.h"

namespace tandem {
namespace {

struct Loaded {
  NcclLibrary functions;
  LoadedLibrary library{"NCCL", "libnccl.so.2"};

  template <typename Function>
  void find_optional(const char* name, Function& function) {
    function = library.find_optional<Function>(name);
  }

  Loaded() {
    library.find("ncclGetUniqueId", functions.get_unique_id);
    library.find("ncclCommInitAll", functions.comm_init_all);
    library.find("ncclCommDestroy", functions.comm_destroy);
    library.find("ncclCommAbort", functions.comm_abort);
    library.find("ncclCommGetAsyncError", functions.async_error);
    library.find("ncclGroupStart", functions.group_start);
    library.find("ncclGroupEnd", functions.group_end);
    library.find("ncclAllReduce", functions.all_reduce);
    library.find("ncclSend", functions.send);
    library.find("ncclRecv", functions.receive);
    library.find("ncclGetErrorString", functions.error_string);
    functions.comm_init =
        library.find_optional<decltype(&ncclCommInitRankConfig)>("ncclCommInitRankConfig");
    functions.comm_finalize =
        library.find_optional<decltype(&ncclCommFinalize)>("ncclCommFinalize");
    functions.comm_shrink = library.find_optional<NcclShrinkFunction>("ncclCommShrink");
    find_optional("ncclMemAlloc", functions.mem_alloc);
    find_optional("ncclMemFree", functions.mem_free);
    find_optional("ncclCommWindowRegister", functions.window_register);
    find_optional("ncclCommWindowDeregister", functions.window_deregister);
    find_optional("ncclTeamLsa", functions.team_lsa);
  }
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

const NcclLibrary* nccl_library() {
  return loaded().library.reason().empty() ? &loaded().functions : nullptr;
}

const std::string& nccl_library_reason() { return loaded().library.reason(); }

}  // namespace tandem
