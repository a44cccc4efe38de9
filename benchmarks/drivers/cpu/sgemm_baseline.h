// SPDX-License-Identifier: Apache-2.0
//
// The baseline of prefill: oneDNN's sgemm on the same cores. A build without oneDNN has no baseline
// (sgemm_absent.cpp).
#pragma once

#include <cstdint>

namespace tandem::bench {

bool has_sgemm_baseline();

// y [rows, out] = x [rows, in] * w^T, w [out, in], on all threads of the library.
void sgemm_baseline(std::int64_t rows, std::int64_t out, std::int64_t in, const float* x,
                    const float* w, float* y);

}  // namespace tandem::bench
