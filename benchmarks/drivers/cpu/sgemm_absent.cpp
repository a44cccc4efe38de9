// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the baseline in builds without oneDNN (Debian: libdnnl-dev).
#include "sgemm_baseline.h"

namespace tandem::bench {

bool has_sgemm_baseline() { return false; }

void sgemm_baseline(std::int64_t, std::int64_t, std::int64_t, const float*, const float*, float*) {}

}  // namespace tandem::bench
