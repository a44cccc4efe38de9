// SPDX-License-Identifier: Apache-2.0
//
// Loops over rows of whole numbers in doubles, with the widest vectors that the processor has.
//
// Sums of whole numbers below 2^53 are exact in any order, so every processor gives the same
// result. Threads: pure. Errors: none.
#pragma once

#include <cstddef>

namespace tandem::planner {

// deltas[k] += (u_of_row - u[k]) * (v_of_row - v[k]) for k < count.
void add_products(double* deltas, double u_of_row, double v_of_row, const double* u,
                  const double* v, std::size_t count);

// Sum of (a[k] - b[k]) * (d[k] - c[k]) for k < count.
double crossed_sum(const double* a, const double* b, const double* c, const double* d,
                   std::size_t count);

// The least of `count` values; infinity if there are none.
double least_of(const double* values, std::size_t count);

}  // namespace tandem::planner
