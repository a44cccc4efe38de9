// SPDX-License-Identifier: Apache-2.0
//
// Vectorised passes over one row of logits.
//
// Every pass reads the row once, in memory order, with the best instruction set of the machine.
// NaN counts as -inf and +inf as the largest finite float. Threads: any; pure functions. Numerics:
// exponentials within 4 ulp of f32, 0 below about e^-87; sums in double over fixed blocks, so that
// sums on two instruction sets differ only by their exponentials.
#pragma once

#include <span>

namespace tandem::model {

// -inf when no logit is finite.
float best_logit(std::span<const float> logits);

// Copies the logits, with NaN as -inf and +inf as the largest finite float. `to` may be the same
// memory.
void clean_logits(std::span<const float> logits, float* to);

// The lowest index of a logit equal to `best`, which must be one of them after cleaning.
std::size_t first_equal(std::span<const float> logits, float best);

// Sum of exp(logit - best).
double sum_of_exponentials(std::span<const float> logits, float best);

// weights[i] = exp((logit - best) * factor), factor > 0.
void exponentials(std::span<const float> logits, float best, float factor, float* weights);

// Sum of values that are at least 0.
double sum_of(std::span<const float> values);

}  // namespace tandem::model
