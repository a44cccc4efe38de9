// SPDX-License-Identifier: Apache-2.0
//
// No baseline: this build has no oneDNN (Debian: libdnnl-dev).
#include "sgemm_baseline.h"

namespace tandem::bench {

bool has_sgemm_baseline() { return false; }

void sgemm_baseline(std::int64_t, std::int64_t, std::int64_t, const float*, const float*, float*) {}

}  // namespace tandem::bench
