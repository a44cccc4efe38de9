// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic peaks: rounds of a product loop on every thread, the best round counts.
#include "cpu/arithmetic_peak.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "cpu/kernels/speed/product_loop.h"

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
  const auto bf16 = bf16_dot_product_loops(), int8 = int8_dot_product_loops();
  peak.bf16 = bf16.empty() ? peak.f32 : measure(team, bf16.front());
  peak.int8 = measure(team, int8.empty() ? int16_product_loop() : int8.front());
  return peak;
}

PeakOps peak_ops(const ThreadPlan& plan) {
  static std::mutex mutex;
  static std::vector<std::pair<ThreadPlan, PeakOps>> known;
  const std::lock_guard lock(mutex);
  for (const auto& [measured, peak] : known) {
    if (measured == plan) return peak;
  }
  Team team(plan);
  const PeakOps peak = measure_peak_ops(team);
  known.emplace_back(plan, peak);
  return peak;
}

}  // namespace tandem::device::cpu
