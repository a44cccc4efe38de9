// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the baseline in builds without oneDNN (Debian: libdnnl-dev).
#include "bf16_baseline.h"

namespace tandem::bench {

std::unique_ptr<Bf16Baseline> bf16_baseline(std::int64_t, std::int64_t, std::int64_t, const void*,
                                            void*, float*) {
  return nullptr;
}

}  // namespace tandem::bench
