// SPDX-License-Identifier: Apache-2.0
//
// No baseline: this build has no oneDNN (Debian: libdnnl-dev).
#include "bf16_baseline.h"

namespace tandem::bench {

std::unique_ptr<Bf16Baseline> bf16_baseline(std::int64_t, std::int64_t, std::int64_t, const void*,
                                            void*, float*) {
  return nullptr;
}

}  // namespace tandem::bench
