// SPDX-License-Identifier: Apache-2.0
//
// Every rank keeps its own history; they are joined when all have ended.
#include "apps/collectives/sparsify_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "apps/collectives/bench_options.h"
#include "apps/collectives/launch_ranks.h"
#include "collectives/sparsifier/candidates.h"
#include "collectives/sparsifier/selection_kernels.h"

namespace tandem::apps {
namespace {

struct RankMeasurements {
  std::vector<collectives::StepResult> steps;
  std::vector<double> plain_reads_s;
  double residual_norm = 0;
  std::string clears;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double plain_read_s(std::span<const float> values, ThreadPool* threads, std::mutex& turn) {
  const std::lock_guard<std::mutex> lock(turn);
  std::atomic<std::uint32_t> seen{0};
  const auto begin = std::chrono::steady_clock::now();
  collectives::for_each_part(
      0, values.size(), threads, [&](std::uint64_t first, std::uint64_t end, std::size_t) {
        seen ^= collectives::read_plainly(values.data() + first, end - first);
      });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

RankMeasurements run_steps(collectives::Group& group, const std::string& name,
                           const SparsifyGradients& gradients, const SparsifyRunOptions& options) {
  RankMeasurements history;
  const auto sparsifier =
      collectives::make_sparsifier(name, gradients.num_values(), options.sparsifier);
  history.clears = collectives::clearing_rule_name(sparsifier->clearing_rule());
  std::vector<float> gradient;
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    gradients.fill(group.rank(), step, gradient);
    history.steps.push_back(sparsifier->step(group, gradient));
    history.steps.back().mean = {};  // its memory is not needed
    if (group.rank() != 0) continue;
    history.plain_reads_s.push_back(
        plain_read_s(sparsifier->residual(), options.sparsifier.threads, *options.sparsifier.turn));
  }
  history.residual_norm = sparsifier->residual_norm();
  return history;
}

SparsifyMeasurement summary(const std::vector<RankMeasurements>& ranks,
                            const SparsifyRunOptions& options, std::uint64_t num_values) {
  SparsifyMeasurement measured;
  std::vector<double> select_ms, accumulate_ms;
  const std::uint64_t first_counted = options.steps - std::max<std::uint64_t>(1, options.steps / 4);
  const auto num_counted = static_cast<double>(options.steps - first_counted);
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    double select_s = 0, accumulate_s = 0;
    for (const RankMeasurements& rank : ranks) {
      select_s = std::max(select_s, rank.steps[step].select_seconds);
      accumulate_s = std::max(accumulate_s, rank.steps[step].accumulate_seconds);
    }
    accumulate_ms.push_back(accumulate_s * 1e3);
    const collectives::StepResult& result = ranks.front().steps[step];
    if (!result.local) select_ms.push_back(select_s * 1e3);
    const double share = result.sent / static_cast<double>(num_values);
    measured.density_all += share / static_cast<double>(options.steps);
    if (step < first_counted) continue;
    measured.density_sent += share / num_counted;
    measured.build_up += result.build_up / num_counted;
    measured.inefficiency += result.inefficiency / num_counted;
  }
  measured.select_ms = median(select_ms);
  measured.accumulate_ms = median(accumulate_ms);
  measured.plain_read_ms = median(ranks.front().plain_reads_s) * 1e3;
  if (measured.select_ms > 0) measured.of_plain_read = measured.plain_read_ms / measured.select_ms;
  measured.residual_norm = ranks.front().residual_norm;
  measured.clears = ranks.front().clears;
  return measured;
}

}  // namespace

SparsifyMeasurement measure_sparsifier(const std::string& name, const SparsifyGradients& gradients,
                                       const SparsifyRunOptions& options) {
  SparsifyRunOptions run = options;
  std::mutex turn;
  run.sparsifier.turn = &turn;
  if (run.sparsifier.layer_sizes.empty()) run.sparsifier.layer_sizes = gradients.layer_sizes();
  std::vector<RankMeasurements> ranks(static_cast<std::size_t>(run.world));
  BenchOptions launch;  // inproc
  launch.world = run.world;
  launch_ranks(launch, {}, [&](collectives::Group& group) {
    ranks[static_cast<std::size_t>(group.rank())] = run_steps(group, name, gradients, run);
  });
  SparsifyMeasurement measured = summary(ranks, run, gradients.num_values());
  measured.name = name;
  return measured;
}

}  // namespace tandem::apps
