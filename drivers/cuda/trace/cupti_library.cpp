// SPDX-License-Identifier: Apache-2.0
//
// Loaded once; the library belongs to the toolkit's major version, as the runtime does.
#include "cuda/trace/cupti_library.h"

#include <cuda_runtime_api.h>

#include "common/loaded_library.h"

namespace tandem::cuda {
namespace {

struct Loaded {
  Cupti functions;
  LoadedLibrary library{"CUPTI", "libcupti.so." + std::to_string(CUDART_VERSION / 1000)};

  Loaded() {
    library.find("cuptiActivityRegisterCallbacks", functions.register_callbacks);
    library.find("cuptiActivityEnable", functions.enable);
    library.find("cuptiActivityDisable", functions.disable);
    library.find("cuptiActivityFlushAll", functions.flush_all);
    functions.flush_period =
        library.find_optional<decltype(functions.flush_period)>("cuptiActivityFlushPeriod");
    library.find("cuptiActivityGetNextRecord", functions.next_record);
    library.find("cuptiActivityGetNumDroppedRecords", functions.dropped_records);
    library.find("cuptiGetTimestamp", functions.timestamp_ns);
  }
};

}  // namespace

const Cupti* load_cupti(std::string& reason) {
  static const Loaded loaded;
  reason = loaded.library.reason();
  return reason.empty() ? &loaded.functions : nullptr;
}

}  // namespace tandem::cuda
