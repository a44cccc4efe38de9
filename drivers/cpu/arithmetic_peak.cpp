// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic peaks: rounds of a product loop on every thread, the best round counts.
#include "cpu/arithmetic_peak.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <vector>

#include "cpu/kernels/product_loop.h"

namespace tandem::device::cpu {
namespace {

constexpr int kRounds = 4;
constexpr double kRoundOps = 6e8;  // of one thread: about 1 ms with wide vectors

double measure(Team& team, const ProductLoop& loop) {
  const auto iterations = static_cast<std::size_t>(kRoundOps / loop.ops_per_iteration) + 1;
  const auto threads = static_cast<std::size_t>(team.size());
  std::vector<float> sums(threads);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    team.run(threads, [&](std::size_t item, std::size_t) { sums[item] = loop.run(iterations); });
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const double ops = loop.ops_per_iteration * static_cast<double>(iterations * threads);
    best = std::max(best, ops / time.count());
  }
  return best;
}

}  // namespace

PeakOps measure_peak_ops(Team& team) {
  PeakOps peak;
  peak.f32 = measure(team, f32_product_loop());
  const ProductLoop bf16 = bf16_dot_product_loop(), int8 = int8_dot_product_loop();
  peak.bf16 = bf16.run != nullptr ? measure(team, bf16) : peak.f32;
  peak.int8 = measure(team, int8.run != nullptr ? int8 : int16_product_loop());
  return peak;
}

PeakOps peak_ops(int num_threads) {
  static std::mutex mutex;
  static std::map<int, PeakOps> known;
  const std::lock_guard lock(mutex);
  PeakOps& peak = known[num_threads];
  if (peak.f32 == 0) {
    Team team(num_threads);
    peak = measure_peak_ops(team);
  }
  return peak;
}

}  // namespace tandem::device::cpu
