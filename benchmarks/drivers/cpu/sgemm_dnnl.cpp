// SPDX-License-Identifier: Apache-2.0
//
// The baseline through oneDNN's C interface.
#include <oneapi/dnnl/dnnl.h>

#include "sgemm_baseline.h"

namespace tandem::bench {

bool has_sgemm_baseline() { return true; }

void sgemm_baseline(std::int64_t rows, std::int64_t out, std::int64_t in, const float* x,
                    const float* w, float* y) {
  dnnl_sgemm('N', 'T', rows, out, in, 1.0f, x, in, w, in, 0.0f, y, out);
}

}  // namespace tandem::bench
