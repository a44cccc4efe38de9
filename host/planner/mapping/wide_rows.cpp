// SPDX-License-Identifier: Apache-2.0
//
// Each loop is written once and compiled for two instruction sets. Eight partial results let the
// compiler use vectors, as it may not change the order of sums itself.
#include "planner/mapping/wide_rows.h"

#include <algorithm>
#include <limits>

namespace tandem::planner {
namespace {

constexpr std::size_t kLanes = 8;

[[gnu::always_inline]] inline void add_products_loop(double* deltas, double u_of_row,
                                                     double v_of_row, const double* u,
                                                     const double* v, std::size_t count) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::size_t k = 0; k < count; ++k) deltas[k] += (u_of_row - u[k]) * (v_of_row - v[k]);
}

[[gnu::always_inline]] inline double crossed_sum_loop(const double* a, const double* b,
                                                      const double* c, const double* d,
                                                      std::size_t count) {
  double lanes[kLanes] = {};
  const std::size_t even = count / kLanes * kLanes;
  for (std::size_t k = 0; k < even; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += (a[k + lane] - b[k + lane]) * (d[k + lane] - c[k + lane]);
    }
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (std::size_t k = even; k < count; ++k) sum += (a[k] - b[k]) * (d[k] - c[k]);
  return sum;
}

[[gnu::always_inline]] inline double least_loop(const double* values, std::size_t count) {
  double lanes[kLanes];
  std::ranges::fill(lanes, std::numeric_limits<double>::infinity());
  const std::size_t even = count / kLanes * kLanes;
  for (std::size_t k = 0; k < even; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = values[k + lane] < lanes[lane] ? values[k + lane] : lanes[lane];
    }
  }
  double least = *std::ranges::min_element(lanes);
  for (std::size_t k = even; k < count; ++k) least = std::min(least, values[k]);
  return least;
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_products_avx2(double* deltas, double u_of_row, double v_of_row,
                                               const double* u, const double* v,
                                               std::size_t count) {
  add_products_loop(deltas, u_of_row, v_of_row, u, v, count);
}

[[gnu::target("avx2")]] double crossed_sum_avx2(const double* a, const double* b, const double* c,
                                                const double* d, std::size_t count) {
  return crossed_sum_loop(a, b, c, d, count);
}

[[gnu::target("avx2")]] double least_avx2(const double* values, std::size_t count) {
  return least_loop(values, count);
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#endif

}  // namespace

void add_products(double* deltas, double u_of_row, double v_of_row, const double* u,
                  const double* v, std::size_t count) {
#if defined(__x86_64__)
  if (has_avx2()) return add_products_avx2(deltas, u_of_row, v_of_row, u, v, count);
#endif
  add_products_loop(deltas, u_of_row, v_of_row, u, v, count);
}

double crossed_sum(const double* a, const double* b, const double* c, const double* d,
                   std::size_t count) {
#if defined(__x86_64__)
  if (has_avx2()) return crossed_sum_avx2(a, b, c, d, count);
#endif
  return crossed_sum_loop(a, b, c, d, count);
}

double least_of(const double* values, std::size_t count) {
#if defined(__x86_64__)
  if (has_avx2()) return least_avx2(values, count);
#endif
  return least_loop(values, count);
}

}  // namespace tandem::planner
